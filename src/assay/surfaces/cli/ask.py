"""`assay ask`, `resume`, `outcome`, `outcomes`, `answers` and `emit`: questions, answers and what came of them."""

import json
import sys
from pathlib import Path

import click

from assay.operations.delivery import (
    ANSWER_ASK,
    ANSWER_RESUME,
    EVENT_EMIT,
    OPERATIONS,
    OUTCOME_REPORT,
    OUTCOMES_REPORT,
)
from assay.surfaces.cli.derive import add_operations, common_options, derive_command
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.perform import perform, show
from assay.surfaces.cli.text_file import read_bytes

# Those of PRAMANA 7.4.1.
OUTCOMES = ("success", "failure", "partial", "indeterminate")

ask = derive_command(ANSWER_ASK)
resume = derive_command(ANSWER_RESUME)
outcomes = derive_command(OUTCOMES_REPORT)
emit = derive_command(EVENT_EMIT)


@click.group(cls=Group)
def answers() -> None:
    """Answers that were given: list, show, prove, claims; and their outcomes."""


add_operations(answers, "answers", OPERATIONS)


@click.command(cls=NodeCommand)
@click.argument(
    "file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), metavar="[FILE|-]", required=False
)
@click.option("--answer", metavar="ANSWER", help="Of this answer of the node, in place of FILE; with --outcome.")
@click.option("--outcome", "came", type=click.Choice(OUTCOMES), help="What came of --answer.")
@click.option("--context", metavar="TEXT", help="What --answer was for, for the person who looks for a root cause.")
@common_options(OUTCOME_REPORT)
@click.pass_obj
def outcome(
    call: Call, /, file: Path | None, answer: str | None, came: str | None, context: str | None, **where: str | None
) -> None:
    """Report the PHALA signal in FILE to the rules it names; the same signal again counts once.

    Of an answer of this node, --answer and --outcome are enough: rules, strands and level are those of the answer. So
    they are of a signal in FILE that has `answer_id` and leaves them out.
    """
    signal = _named(answer, came, context) if file is None else _read(file, answer, came, context)
    given = {"signal": signal}
    show(call, OUTCOME_REPORT, given, perform(call, OUTCOME_REPORT, given, **where))


def _named(answer: str | None, came: str | None, context: str | None) -> bytes:
    """The signal of an answer of the node, which says the rest."""
    if answer is None or came is None:
        raise click.UsageError("expected FILE, or --answer ANSWER and --outcome OUTCOME")
    told = {"answer_id": answer, "outcome": came, "query_context": context}
    return json.dumps({name: value for name, value in told.items() if value is not None}).encode()


def _read(file: Path, *named: str | None) -> bytes:
    if any(one is not None for one in named):
        raise click.UsageError("expected FILE, or --answer, --outcome and --context, got both")
    return sys.stdin.buffer.read() if str(file) == "-" else read_bytes(file)
