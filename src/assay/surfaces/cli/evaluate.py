"""`assay evaluate`: telemetry in, verdicts out, line by line; what was judged before is answered from the ledger."""

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from time import monotonic
from typing import Any, BinaryIO

import click
import msgspec
from msgspec import Struct

from assay.flows.request import BulkLine
from assay.flows.verdicts.explain_verdict import ExplainedRule
from assay.flows.verdicts.read_verdicts import Decided
from assay.kernel.errors import Blame, Error
from assay.operations.shown.verdicts import HELD, standing_word
from assay.operations.verdicts import EVALUATE_LINES
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand
from assay.surfaces.cli.perform import Perform, performing
from assay.surfaces.cli.table import table_text
from assay.surfaces.cli.verdict_text import rule_line
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Verdict

_NO = EXIT_CODES[Blame.ANSWER]
# Lines of a file are all there: so many may be judged together, as long as that takes no time to speak of.
_FEWEST, _MOST = 8, 64
_BRIEF_SECONDS = 1.0
# Far above what a record may have.
_LONGEST = 1024 * 1024


_WORDS = (*(one.value for one in Verdict), HELD)


_HEADS = {Verdict.NULL_UNMAPPED.value: "UNMAPPED", Verdict.NULL_STALE.value: "STALE"}


_MOST_RULES = 20


class EvaluatedLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `--json` prints for each line: what was decided, in its rules' words too, or why it was refused."""

    line: int
    decided: Decided | None = None
    explained: tuple[ExplainedRule, ...] = ()
    code: str | None = None
    message: str | None = None


class RuleSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: how often it came to what; `rule_id` is empty where no rule applied."""

    rule_id: str
    rule_name: str | None
    tier: str
    counts: dict[str, int]


class EvaluationSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`judged` are new, `repeated` were recorded before, `held` wait for a person; `refusals` are by code."""

    lines: int
    judged: int
    repeated: int
    refused: int
    refusals: dict[str, int]
    held: int
    verdicts: dict[str, int]
    rules: tuple[RuleSummary, ...]


class Tally:
    """Counts results as they come; `line` is the last one that was answered."""

    def __init__(self) -> None:
        self.line = 0
        self._lines = 0
        self._judged = 0
        self._repeated = 0
        self._refusals: Counter[str] = Counter()
        self._rules: dict[str, tuple[str | None, str, Counter[str]]] = {}

    @property
    def refused(self) -> int:
        return self._refusals.total()

    def count(self, one: EvaluatedLine) -> None:
        self.line = one.line
        self._lines += 1
        if one.decided is None:
            self._refusals[one.code or ""] += 1
            return
        self._judged += one.decided.is_new
        self._repeated += not one.decided.is_new
        for verdict, rule in zip(one.decided.verdicts, one.explained, strict=True):
            known = self._rules.setdefault(verdict.rule_id, (rule.rule_name, verdict.tier, Counter()))
            known[2][standing_word(verdict)] += 1

    def summary(self) -> EvaluationSummary:
        rules = [
            RuleSummary(rule_id=rule_id, rule_name=name, tier=tier, counts={word: counts[word] for word in _WORDS})
            for rule_id, (name, tier, counts) in self._rules.items()
        ]
        total: Counter[str] = sum((counts for _, _, counts in self._rules.values()), Counter())
        return EvaluationSummary(
            lines=self._lines,
            judged=self._judged,
            repeated=self._repeated,
            refused=self.refused,
            refusals=dict(self._refusals),
            held=total[HELD],
            verdicts={one.value: total[one.value] for one in Verdict},
            rules=tuple(rules),
        )


def summary_text(summary: EvaluationSummary) -> str:
    """For standard error: the rules with most against them first, then the records in one line."""
    ranked = sorted(summary.rules, key=lambda one: (one.counts[Verdict.CLEAR] - sum(one.counts.values()), one.rule_id))
    told = ranked[:_MOST_RULES]
    heads = ["RULE", "TIER", *(_HEADS.get(word, word) for word in _WORDS)]
    rows = [(_name(one), one.tier, *(str(one.counts[word]) for word in _WORDS)) for one in told]
    parts = [table_text(heads, rows, stream=sys.stderr)] if rows else []
    if len(ranked) > len(told):
        parts.append(f"and {len(ranked) - len(told)} more rules")
    return "\n".join([*parts, _records(summary)])


def _name(one: RuleSummary) -> str:
    return "(no rule)" if one.rule_id == UNRULED else one.rule_name or one.rule_id


def _records(summary: EvaluationSummary) -> str:
    codes = ", ".join(f"{count} {code}" for code, count in sorted(summary.refusals.items()))
    refused = f"{summary.refused} refused ({codes})" if codes else "none refused"
    held = f", {summary.held} held: see `assay verdict hold-list`" if summary.held else ""
    return f"{summary.lines} records: {summary.judged} judged, {summary.repeated} judged before, {refused}{held}"


class _Summed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of `--json`."""

    summary: EvaluationSummary


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--resume", is_flag=True, help="Say nothing of records that were judged before, only count them.")
@common_options(EVALUATE_LINES)
@click.pass_context
def evaluate(context: click.Context, /, file: BinaryIO, *, resume: bool, **where: str | None) -> None:
    """Judge the telemetry in FILE, one JSON record in each line, by the knowledge graph in use.

    Each rule's verdict is a line of its own: what was measured against which limit of which clause, and why it stands.
    A record is answered when its verdicts are on disk; each line of a pipe is answered before the next is read. One
    that was judged before is answered with what is recorded, so an interrupted run is continued by running the same
    command again. FLAG is an answer: exit 0. A line that is refused does not stop the others, and the exit code is
    then 1.
    """
    call: Call = context.obj
    tally = Tally()
    size = _size(file)
    with (
        performing(call, (EVALUATE_LINES,), **where) as perform,
        call.progress("evaluating", beside_answers=True) as progress,
    ):
        try:
            for one in _evaluated(perform, _counted(file, progress, size), is_file=size is not None):
                tally.count(one)
                if not (resume and one.decided is not None and not one.decided.is_new):
                    _tell(call, one)
        except (Error, KeyboardInterrupt):
            if tally.line:
                call.warn(f"stopped after line {tally.line}; run the same command again to go on where it stopped")
            raise
    _sum_up(call, tally.summary())
    context.exit(_NO if tally.refused else 0)


def _evaluated(perform: Perform, lines: Iterator[bytes], *, is_file: bool) -> Iterator[EvaluatedLine]:
    """Answers in the order of lines; more lines at once while that is quick."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    size = _FEWEST if is_file else 1
    while block := list(islice(numbered, size)):
        began = monotonic()
        given = {"records": b"\n".join(line.rstrip(b"\r\n") for _, line in block), "explain": True}
        answers: tuple[BulkLine, ...] = perform(EVALUATE_LINES, given)
        for (number, _), answer in zip(block, answers, strict=False):
            yield _line(number, answer)
        if is_file:
            size = min(2 * size, _MOST) if monotonic() - began < _BRIEF_SECONDS else max(size // 2, _FEWEST)


def _line(number: int, answer: BulkLine) -> EvaluatedLine:
    if answer.line is None:
        raise Error(f"expected an answer to line {number}, got [{answer.code}] {answer.problem}")
    if answer.receipt is None:
        return EvaluatedLine(line=number, code=answer.code, message=answer.problem)
    receipt = dict(answer.receipt)
    explained = msgspec.convert(receipt.pop("explained"), tuple[ExplainedRule, ...])
    return EvaluatedLine(line=number, decided=msgspec.convert(receipt, Decided), explained=explained)


def _tell(call: Call, one: EvaluatedLine) -> None:
    if one.decided is None:
        call.answer_one_of_many(one, f"line {one.line}  refused: {plain(one.message or '')} [{one.code}]")
        return
    told = zip(one.decided.verdicts, one.explained, strict=True)
    lines = [rule_line(one.decided.telemetry_id, one.decided.subject, verdict, rule) for verdict, rule in told]
    call.answer_one_of_many(one, "\n".join(lines))


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
