"""Groups that import a command only when it is called, so that `assay --help` is quick."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from assay.surfaces.cli.output import Group


class Entrance(NamedTuple):
    """Where a command is, what the list of commands says about it, and under which heading.

    `target` is `module:attribute`, or `@` and the name of the operation that the command follows from.
    """

    target: str
    short_help: str
    heading: str = "Commands"


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
        if entrance.target.startswith("@"):
            from assay.operations.table import BY_NAME
            from assay.surfaces.cli.derive import derive_command

            return derive_command(BY_NAME[entrance.target[1:]])
        module, _, attribute = entrance.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - a wrong table is ours, and a test walks it
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; a name that is nearly one of the table's is answered with that one."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = " or ".join(f"'{name}'" for name in get_close_matches(args[0], self.list_commands(ctx), n=2))
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean {near}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's own
        """The table's own words; importing the commands for theirs would cost what this class saves."""
        # Every heading's column is as wide as the longest name, so that the whole list reads as one.
        width = max(map(len, self.entrances))
        for heading in dict.fromkeys(entrance.heading for entrance in self.entrances.values()):
            rows = [
                (name.ljust(width), entrance.short_help)
                for name, entrance in self.entrances.items()
                if entrance.heading == heading
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)
