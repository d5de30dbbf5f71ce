"""`assay demo`: see it work, and see the forgeries refused."""

import shutil
import tempfile
from pathlib import Path
from textwrap import fill
from time import perf_counter
from typing import TYPE_CHECKING

import click

from assay.kernel.errors import Blame
from assay.surfaces.cli.output import EXIT_CODES, Call, Command

if TYPE_CHECKING:
    from assay.surfaces.cli.demo_step import Chapter, Step

_TITLE = 20
# A mark, a title, and the blanks after them: words go on below their beginning.
_MARGIN = _TITLE + 3


@click.command(cls=Command)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Work in this new or empty folder and keep it.",
)
@click.option(
    "--serve",
    "is_served",
    is_flag=True,
    help="Make one node with a week of sample data in all rooms, and serve its console until Ctrl-C.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="With --serve: the port; 0 lets the system choose."
)
@click.pass_context
def demo(context: click.Context, keep: Path | None, *, is_served: bool, port: int) -> None:
    """See every room work, the forgeries refused, and all of it verified offline.

    A ledger written from several threads, proven, forged and rewritten; a flood compiled from observations, and a dam
    on which two people vote; a plant's telemetry judged by the local model against the law; an agent's deletion that
    waits for an approval; answers with an authenticity level, and a rule that people correct; a service whose kill
    switch fires and is restored. In the end another process verifies every entry of every node from a file and a key.
    Exit 4 when anything is not as it should be.

    With --serve, one node of a port authority instead: verdicts of four sectors, high water in many cells, claims and
    permits, answers with outcomes, a fired kill switch, and a full review desk; the sample's logins are printed.
    """
    call: Call = context.obj
    if keep is not None:
        if keep.exists() and any(keep.iterdir()):
            raise click.UsageError(f"expected a new or empty folder, got `{keep}`")
        keep.mkdir(parents=True, exist_ok=True)
    folder = keep or Path(tempfile.mkdtemp(prefix="assay-demo-"))
    try:
        is_right = _serve(context, call, folder, port) if is_served else _run(call, folder)
    finally:
        if keep is None:
            shutil.rmtree(folder)
    if not is_right:
        context.exit(EXIT_CODES[Blame.OURS])


def _run(call: Call, folder: Path) -> bool:
    from assay.surfaces.cli.demo_step import Chapter
    from assay.surfaces.cli.demo_steps import run_demo

    began, steps, chapter = perf_counter(), [], ""
    for one in run_demo(folder):
        if isinstance(one, Chapter):
            chapter = one.title
        else:
            steps.append({"chapter": chapter, "step": one.title, "words": one.words, "is_right": one.is_right})
        if not call.as_json:
            _show(call, one)
    wrong = sum(not step["is_right"] for step in steps)
    seconds = round(perf_counter() - began, 1)
    words = f"{len(steps)} steps, everything as it should be" if not wrong else f"{wrong} steps NOT as it should be: ✗"
    told = {"is_right": not wrong, "seconds": seconds, "steps": steps}
    call.answer(told, f"\n{words}, in {seconds} s")
    call.say("Look at a node with a week of data in its console: assay demo --serve")
    return not wrong


def _serve(context: click.Context, call: Call, folder: Path, port: int) -> bool:
    """Make the sample and serve it; true when the server was stopped."""
    from dataclasses import replace

    from assay.surfaces.cli.serve import serve
    from assay.surfaces.sample import LOGINS, PASSWORD, make_sample

    for sentence in make_sample(folder):
        call.say(sentence)
    call.say(f"\nLog in to the console at /console with the password “{PASSWORD}”:")
    for name, shown, roles in LOGINS:
        call.say(f"  {name:<12} {shown:<16} {', '.join(roles)}")
    context.obj = replace(call, home=folder)
    context.invoke(serve, port=port)
    return True


def _show(call: Call, one: "Chapter | Step") -> None:
    from rich.markup import escape

    from assay.surfaces.cli.demo_step import Step

    console = call.console()
    if not isinstance(one, Step):
        console.print(f"\n[bold]{one.title}.[/] {escape(one.words)}", highlight=False)
        return
    mark = "[green]✓[/]" if one.is_right else "[red]✗[/]"
    words = fill(one.words, max(console.width - _MARGIN, _MARGIN), break_long_words=False, break_on_hyphens=False)
    told = escape(words).replace("\n", "\n" + " " * _MARGIN)
    console.print(f"{mark} {one.title:<{_TITLE}} {told}", highlight=False, soft_wrap=True)
