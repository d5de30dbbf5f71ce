"""`assay evaluate`: telemetry in, verdicts out, line by line; what was judged before is answered from the ledger."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import click
from msgspec import Struct

from assay.flows.identity.authenticate import authenticate
from assay.flows.tools import Tools
from assay.flows.verdicts.evaluate_many import Evaluated, evaluate_many
from assay.flows.verdicts.explain_verdict import ExplainedRule, VerdictExplainer
from assay.flows.verdicts.read_verdicts import Decided
from assay.kernel.errors import Blame, Error
from assay.surfaces.cli.acting import credential_option, plain, read_credential, within
from assay.surfaces.cli.evaluating import open_judging
from assay.surfaces.cli.evaluation_summary import EvaluationSummary, Tally, summary_text
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand
from assay.surfaces.cli.verdict_text import rule_line

_NO = EXIT_CODES[Blame.ANSWER]
_MOST_WORKERS = 64
# Lines of a file are all there: so many may be recorded together.
_TOGETHER = 64
# Far above what a record may have.
_LONGEST = 1024 * 1024


class EvaluatedLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `--json` prints for each line: what was decided, in its rules' words too, or why it was refused."""

    line: int
    decided: Decided | None = None
    explained: tuple[ExplainedRule, ...] = ()
    code: str | None = None
    message: str | None = None


class _Summed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of `--json`."""

    summary: EvaluationSummary


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option(
    "--workers",
    type=click.IntRange(1, _MOST_WORKERS),
    default=1,
    show_default=True,
    metavar="N",
    help="So many records at once; those of one subject stay in order. With 1, each line of a pipe is answered before"
    " the next is read.",
)
@click.option("--resume", is_flag=True, help="Say nothing of records that were judged before, only count them.")
@credential_option
@click.pass_context
def evaluate(context: click.Context, file: BinaryIO, workers: int, credential: str | None, *, resume: bool) -> None:
    """Judge the telemetry in FILE, one JSON record in each line, by the knowledge graph in use.

    Each rule's verdict is a line of its own: what was measured against which limit of which clause, and why it stands.
    A record is answered when its verdicts are on disk. One that was judged before is answered with what is recorded,
    so whatever was interrupted goes on by running the same command again. FLAG is an answer: exit 0. A line that is
    refused costs no other anything, and the exit code is then 1.
    """
    call: Call = context.obj
    token = read_credential(credential)
    tally = Tally()
    with open_judging(call, writable=True) as (tools, _), call.progress("evaluating", beside_answers=True) as progress:
        tenant_id = authenticate(tools, token, at=tools.clock.now()).principal.tenant_id
        explainer = VerdictExplainer(tools, tenant_id)
        size = _size(file)
        lines, together = _counted(file, progress, size), 1 if size is None else _TOGETHER
        try:
            _answer_all(
                call, tools, explainer, lines, tally, token=token, workers=workers, resume=resume, together=together
            )
        except (Error, KeyboardInterrupt):
            if tally.line:
                call.warn(f"stopped after line {tally.line}; run the same command again to go on where it stopped")
            raise
    _sum_up(call, tally.summary())
    context.exit(_NO if tally.refused else 0)


def _answer_all(
    call: Call,
    tools: Tools,
    explainer: VerdictExplainer,
    lines: Iterator[bytes],
    tally: Tally,
    *,
    token: str,
    workers: int,
    resume: bool,
    together: int,
) -> None:
    # Closed here and now, so that workers are at rest before anything is said about where it stopped.
    with closing(
        evaluate_many(
            tools, lines, credential=within(tools, token, "verdicts:write"), workers=workers, together=together
        )
    ) as results:
        for one in results:
            explained = () if one.decided is None else explainer.explain(one.decided)
            tally.count(one, explained)
            if not (resume and one.decided is not None and not one.decided.is_new):
                _tell(call, one, explained)


def _tell(call: Call, one: Evaluated, explained: tuple[ExplainedRule, ...]) -> None:
    value = EvaluatedLine(line=one.line, decided=one.decided, explained=explained, code=one.code, message=one.message)
    if one.decided is None:
        call.answer_one_of_many(value, f"line {one.line}  refused: {plain(one.message or '')} [{one.code}]")
        return
    told = zip(one.decided.verdicts, explained, strict=True)
    lines = [rule_line(one.decided.telemetry_id, one.decided.subject, verdict, rule) for verdict, rule in told]
    call.answer_one_of_many(value, "\n".join(lines))


def _sum_up(call: Call, summary: EvaluationSummary) -> None:
    if call.as_json:
        call.answer_one_of_many(_Summed(summary=summary), "")
    else:
        call.say(summary_text(summary))


def _size(file: BinaryIO) -> int | None:
    """Of a file whose lines are all there; a pipe has none."""
    try:
        found = Path(file.name).stat()
    except (OSError, TypeError, AttributeError):
        return None
    return found.st_size if S_ISREG(found.st_mode) else None


def _counted(file: BinaryIO, progress: Any, size: int | None) -> Iterator[bytes]:  # noqa: ANN401  whatever moves a bar
    """Line by line; of one that is too long for a record only the beginning, which is refused, is ever in memory."""
    done = 0
    while line := file.readline(_LONGEST):
        yield line
        done += len(line)
        while len(line) == _LONGEST and not line.endswith(b"\n"):
            line = file.readline(_LONGEST)
            done += len(line)
        progress(done, size)
