"""`assay demo`: see it work, and see the forgeries refused."""

import shutil
import tempfile
from pathlib import Path
from time import perf_counter

import click

from assay.kernel.errors import Blame
from assay.surfaces.cli.output import EXIT_CODES, Call, Command

__all__ = ["demo"]


@click.command(cls=Command)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Work in this new or empty folder and keep it.",
)
@click.pass_context
def demo(context: click.Context, keep: Path | None) -> None:
    """A thousand entries from several threads, a checkpoint, a proof verified in another process, forgeries refused.

    Then truth: a flood compiled from observations, a critical claim that waits for two people's votes, the state
    replayed from the ledger and verified offline. Then verdicts: a plant's telemetry judged by the local model against
    a signed graph of the law, a verdict of high risk held and attested by a person, everything replayed and verified
    offline. Exit 4 when anything is not as it should be.
    """
    call: Call = context.obj
    if keep is not None:
        if keep.exists() and any(keep.iterdir()):
            raise click.UsageError(f"expected a new or empty folder, got `{keep}`")
        keep.mkdir(parents=True, exist_ok=True)
    folder = keep or Path(tempfile.mkdtemp(prefix="assay-demo-"))
    try:
        is_right = _run(call, folder)
    finally:
        if keep is None:
            shutil.rmtree(folder)
    if not is_right:
        context.exit(EXIT_CODES[Blame.OURS])


def _run(call: Call, folder: Path) -> bool:
    from rich.markup import escape

    from assay.surfaces.cli.demo_steps import run_demo

    console, began, steps = call.console(), perf_counter(), []
    for step in run_demo(folder):
        steps.append({"step": step.title, "words": step.words, "is_right": step.is_right})
        if not call.as_json:
            mark = "[green]✓[/]" if step.is_right else "[red]✗[/]"
            console.print(f"{mark} [bold]{step.title:<20}[/] {escape(step.words)}", highlight=False)
    is_right = all(step["is_right"] for step in steps)
    seconds = round(perf_counter() - began, 1)
    if call.as_json:
        call.answer({"is_right": is_right, "seconds": seconds, "steps": steps}, "")
    else:
        words = "everything as it should be" if is_right else "NOT as it should be: see the lines marked ✗"
        console.print(f"\n{words}, in {seconds} s", highlight=False)
    return is_right
