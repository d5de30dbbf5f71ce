"""A stream of outcomes, one JSON text in each line: many share one commit, and each line has its own answer."""

from collections.abc import Sequence

from msgspec import Struct

from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.report_outcome import Told, report_in_turn
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
    """Every line is answered once, in order, when it is on disk or refused; those that count share one commit."""
    done: Sequence[Reported | Error]
    try:
        done = report_in_turn(tools, [Told(line, credential, at) for line in lines])
    except Error as refusal:
        # The unit of work as a whole, as where the database stayed busy: nothing of it was counted.
        done = [refusal] * len(lines)
    return tuple(_line(number, one) for number, one in enumerate(done, 1))


def _line(number: int, done: Reported | Error) -> ReportedLine:
    if not isinstance(done, Error):
        return ReportedLine(line=number, reported=done)
    if done.blame is Blame.OURS:
        raise done
    return ReportedLine(line=number, code=done.code, problem=str(done))
