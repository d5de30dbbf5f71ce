"""A stream of outcomes, one JSON text in each line: many share one commit, and each line has its own answer."""

from collections.abc import Sequence

from msgspec import Struct

from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.report_outcome import report_outcome, report_outcomes
from assay.flows.tools import Tools
from assay.kernel.errors import Blame, Error
from assay.kernel.instant import Instant

__all__ = ["ReportedLine", "report_many"]


class ReportedLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of one line, counted from 1: what it did to the rules, or why nothing."""

    line: int
    reported: Reported | None = None
    code: str | None = None
    problem: str | None = None


def report_many(tools: Tools, lines: Sequence[bytes], *, credential: str, at: Instant) -> tuple[ReportedLine, ...]:
    """Every line is answered once, in order, when it is on disk or refused.

    All in one commit where none is refused; else each in its own, and the good ones find that they were not counted.
    """
    try:
        done = report_outcomes(tools, [(line, None) for line in lines], credential=credential, at=at)
    except Error as error:
        if error.blame is Blame.OURS:
            raise
        return tuple(_one(tools, number, line, credential, at) for number, line in enumerate(lines, 1))
    return tuple(ReportedLine(line=number, reported=one) for number, one in enumerate(done, 1))


def _one(tools: Tools, number: int, line: bytes, credential: str, at: Instant) -> ReportedLine:
    try:
        return ReportedLine(line=number, reported=report_outcome(tools, line, credential=credential, at=at))
    except Error as error:
        if error.blame is Blame.OURS:
            raise
        return ReportedLine(line=number, code=error.code, problem=str(error))
