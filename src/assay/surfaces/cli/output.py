"""What every command shares: where the node is, `--json`, and how answers, words and errors are printed.

A command is declared with `cls=Command` (or `NodeCommand` when it works on a node), takes the `Call` by
`@click.pass_obj`, and ends in `call.answer(value, text)`. Data goes to standard output, words to standard error.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from assay.kernel.errors import Blame, Error

if TYPE_CHECKING:
    # Only for the types: a command pays for these when it opens a node.
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from assay.config import Config
    from assay.flows.tools import Tools
    from assay.identity.problem import Problem
    from assay.kernel.ids import TenantId

# The documented exit codes; 0 is yes.
EXIT_CODES = {Blame.ANSWER: 1, Blame.USAGE: 2, Blame.INPUT: 3, Blame.OURS: 4}
_PRINTED_WIDTH = 160
_NUMBER_NAMES = {"integer": "N", "integer range": "N", "float": "X", "float range": "X"}
# Longer than any first sentence of a command.
_WHOLE = 1000


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of the command line; options before and after the command's name fill it in."""

    home: Path
    as_json: bool = False
    as_csv: bool = False
    debug: bool = False

    def answer(self, value: object, text: str) -> None:
        """Print the answer: the value as JSON when asked for, else the text; an empty text is no line."""
        if self.as_csv:
            self._answer_csv(value)
        elif self.as_json or text:
            click.echo(json_text(value) if self.as_json else text)

    def answer_table(
        self, value: object, heads: "Sequence[str]", rows: "Iterable[Sequence[str]]", *, nothing: str
    ) -> None:
        """Print a list: the value as JSON or CSV when asked for, else a table; of an empty one words, no data."""
        from assay.surfaces.cli.table import table_text

        cells = list(rows)
        if self.as_json:
            click.echo(json_text(value))
        elif self.as_csv:
            self._answer_csv(value if isinstance(value, list | tuple) else (), heads, cells)
        elif cells:
            click.echo(table_text(heads, cells))
        else:
            self.say(nothing)

    def _answer_csv(self, value: object, heads: "Sequence[str]" = (), cells: "Sequence[Sequence[str]]" = ()) -> None:
        """The rows with all of their fields; a table as it is shown where what is told is no list of rows."""
        from assay.flows.csv_text import cell_of, render_records, render_table

        text = render_records(value)
        if not text:
            text = render_table(list(heads), [[cell_of(one) for one in row] for row in cells]) if heads else ""
        click.echo(text, nl=False)

    def answer_one_of_many(self, value: object, text: str) -> None:
        """As `answer`, for answers without a known end: with `--json`, one line for each."""
        click.echo(json_line(value) if self.as_json else text)

    def say(self, words: str) -> None:
        """Words for a person, on standard error; none with `--json`."""
        if not self.as_json:
            click.echo(words, err=True)

    def warn(self, words: str) -> None:
        """What a person must know even when a program reads the answer."""
        click.echo(f"{styled('warning:', fg='yellow', bold=True)} {words}", err=True)

    def open_node(self, *, writable: bool = False) -> "AbstractContextManager[tuple[Tools, Config]]":
        """The node in the home folder; reading works beside a running server, writing takes the writer's place."""
        from assay.wiring import open_node

        return open_node(self.home, writable=writable)

    @property
    def has_node(self) -> bool:
        """Whether there is a node in the home folder."""
        from assay.wiring import CONFIG_FILE

        return (self.home / CONFIG_FILE).is_file()

    def tenant_of(self, config: "Config", given: str | None) -> "TenantId":
        from assay.kernel.ids import parse_tenant_id

        return parse_tenant_id(given or config.node.tenant)

    def console(self) -> "Console":
        """For tables and colours on standard output; wide enough in a file or pipe that nothing is cut."""
        from rich.console import Console

        return Console() if sys.stdout.isatty() else Console(width=_PRINTED_WIDTH, soft_wrap=True)

    @contextmanager
    def progress(self, words: str, *, beside_answers: bool = False) -> "Iterator[Any]":
        """A callable (done, total) that moves a bar on standard error, when that is a terminal and a person reads.

        There is none `beside_answers` that scroll by on the same terminal: they show that it goes on.
        """
        if self.as_json or not sys.stderr.isatty() or (beside_answers and sys.stdout.isatty()):
            yield lambda _done, _total: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(words, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


class Command(click.Command):
    """A command with `--json`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **kwargs)
        self.params.append(_json_option())
        for one in self.params:
            _name_number(one)


class NodeCommand(Command):
    """A command with `--json` and `--home`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **kwargs)
        self.params.append(_home_option())


class ListCommand(NodeCommand):
    """A command that lists: it has `--csv` too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **kwargs)
        self.params.append(_csv_option())


class Group(click.Group):
    """A group of such commands; their class is `NodeCommand` unless they say otherwise."""

    command_class = NodeCommand
    group_class = type

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with its whole first sentence: half of one tells nobody which command to take."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in found if one is not None and not one.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


tenant_option = click.option("--tenant", metavar="NAME", help="The tenant; else the one of assay.toml.")


def json_text(value: object) -> str:
    """Indented JSON in the order of the fields: stable, and readable."""
    import msgspec

    return msgspec.json.format(_encoded(value), indent=2).decode()


def json_line(value: object) -> str:
    return _encoded(value).decode()


def _encoded(value: object) -> bytes:
    """Exact decimals are numbers, as in every record that is hashed; quotes would make them texts."""
    import msgspec

    return msgspec.json.Encoder(decimal_format="number").encode(value)


def report_error(code: str, message: str, *, as_json: bool, problems: "Sequence[Problem]" = ()) -> None:
    """The one form of an error: JSON on standard output when a program asked, else a line for a person.

    Of an error with several problems each has a line of its own, for they are mended one by one.
    """
    if as_json:
        told = {"problems": problems} if problems else {}
        click.echo(json_text({"error": {"code": code, "message": message, **told}}))
    elif len(problems) > 1:
        lines = [f"  {one.field}: {one.message}" for one in problems]
        head = f"{styled('error:', fg='red', bold=True)} {len(problems)} problems [{code}]"
        click.echo("\n".join([head, *lines]), err=True)
    else:
        click.echo(f"{styled('error:', fg='red', bold=True)} {message} [{code}]", err=True)


def styled(text: str, **style: Any) -> str:  # noqa: ANN401 - click's own
    """Colour for a terminal; click takes it away where the stream is none, and `NO_COLOR` asks for none."""
    return text if os.environ.get("NO_COLOR") else click.style(text, **style)


def problems_of(error: Error) -> "tuple[Problem, ...]":
    """What is wrong with each field, where an error says that; None of it where it says something else."""
    from assay.identity.problem import Problem

    found = getattr(error, "problems", ())
    return tuple(found) if all(isinstance(one, Problem) for one in found) else ()


def _name_number(parameter: click.Parameter) -> None:
    """`N` where click would write INTEGER RANGE, `X` where it would write FLOAT; the range stands beside the help."""
    kind = parameter.type
    if isinstance(parameter, click.Option) and parameter.metavar is None:
        parameter.metavar = _NUMBER_NAMES.get(kind.name)
    if isinstance(kind, click.IntRange | click.FloatRange):
        # So that a refusal says `not a valid integer`.
        kind.name = kind.name.removesuffix(" range")


def _json_option() -> click.Option:
    return click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_set_json,
        help="Answer in JSON on standard output, errors included.",
    )


def _csv_option() -> click.Option:
    return click.Option(
        ["--csv"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_set_csv,
        help="Answer in CSV on standard output; what a spreadsheet would calculate is text.",
    )


def _home_option() -> click.Option:
    return click.Option(
        ["--home"],
        type=click.Path(path_type=Path, file_okay=False),
        expose_value=False,
        is_eager=True,
        callback=_set_home,
        metavar="DIR",
        help="The node's folder; else ASSAY_HOME, else the current folder.",
    )


def _set_json(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's own
    call = cast("Call", ctx.find_root().obj)
    if value and call.as_csv:
        raise click.UsageError("expected one of --csv and --json, got both")
    call.as_json = call.as_json or value


def _set_csv(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's own
    call = cast("Call", ctx.find_root().obj)
    if value and call.as_json:
        raise click.UsageError("expected one of --csv and --json, got both")
    call.as_csv = value


def _set_home(ctx: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    if value is not None:
        cast("Call", ctx.find_root().obj).home = value
