"""Groups that import a command only when it is called, so that `assay --help` is quick."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from assay.surfaces.cli.output import Group

__all__ = ["Entrance", "LazyGroup"]


class Entrance(NamedTuple):
    """Where a command is (`module:attribute`), and what the list of commands says about it."""

    target: str
    short_help: str


class LazyGroup(Group):
    """A group whose commands are a table; listing them imports none of them."""

    def __init__(self, *args: Any, entrances: Mapping[str, Entrance], **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self.entrances = entrances

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.entrances, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entrance = self.entrances.get(cmd_name)
        if entrance is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = entrance.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - a wrong table is ours, and a test walks it
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's own
        """The table's own words; importing the commands for theirs would cost what this class saves."""
        rows = [(name, entrance.short_help) for name, entrance in self.entrances.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
