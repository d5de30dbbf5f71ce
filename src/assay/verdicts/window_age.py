"""Freshness and `since_last`: how long ago there was evidence, by earlier records or by what this one states."""

import re
from collections.abc import Sequence

from assay.kernel.errors import TypeFormError
from assay.kernel.instant import Instant, parse_foreign_instant
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.telemetry import find_reading
from assay.verdicts.window_fact import BufferedRecord, WindowDoubt, WindowFact, span_seconds
from assay.verdicts.window_plan import WindowPlan

# How a date begins in ISO 8601, and a second that RFC 3339 has and an instant of ours has not.
_DATED = re.compile(r"\s*\d{4}-?\d\d-?\d\d(?:[Tt\s-]|\s*\Z)", re.ASCII)
_LEAP = re.compile(r"(\A\d{4}-\d\d-\d\d[Tt]\d\d:\d\d):60(?:\.\d+)?([Zz+-])", re.ASCII)


def age_fact(
    plan: WindowPlan,
    now: BufferedRecord,
    before: Sequence[BufferedRecord],
    dropped_until: Instant | None,
    *,
    is_cautious: bool,
) -> WindowFact:
    """The current record is left out: its own instant is no evidence, only one before it that its value states.

    Lost records could only add evidence: where the record itself states an instant in the window, they are not missed.
    """
    evidence = [moment for record in before if (moment := _evidence_at(plan, record)) is not None]
    stated = _stated_instant(plan, now)
    if stated is not None and stated < now.timestamp:
        evidence.append(stated)
    latest = max(evidence, default=None)
    is_unsure = (
        dropped_until is not None
        and (latest is None or latest <= dropped_until)
        and (plan.seconds is None or span_seconds(now.timestamp - dropped_until) < plan.seconds)
        and (is_cautious or not _is_recent(plan, latest, now.timestamp))
    )
    return WindowFact(
        obligation_id=plan.obligation_id,
        kind=plan.kind,
        metric=plan.metric,
        window_seconds=plan.seconds,
        records=len(evidence),
        shown=None if latest is None or is_unsure else span_seconds(now.timestamp - latest),
        newest_at=latest,
        doubt=WindowDoubt.WINDOW if is_unsure else None,
    )


def _is_recent(plan: WindowPlan, latest: Instant | None, as_of: Instant) -> bool:
    """Whether it is recent enough already: what is missing could only be later."""
    is_bounded = plan.is_freshness or plan.demand in (ObligationType.MUST_NOT_EXCEED, ObligationType.MUST_BE_BELOW)
    return is_bounded and latest is not None and plan.test(span_seconds(as_of - latest)) is True


def _evidence_at(plan: WindowPlan, record: BufferedRecord) -> Instant | None:
    """When there was evidence, by a record; `since_last` asks for the record alone, whatever it says.

    `inspected: false` says that there is none. A record tells of no later time than its own: that would be a plan. A
    text that begins as a date and names no instant leaves open when it was.
    """
    reading = find_reading(record.readings, plan.metric)
    if reading is None or reading.value is None:
        return None
    if not plan.is_freshness:
        return record.timestamp
    if reading.value is False:
        return None
    stated = _stated_instant(plan, record)
    if stated is not None:
        return stated if stated <= record.timestamp else None
    return None if isinstance(reading.value, str) and _DATED.match(reading.value) else record.timestamp


def _stated_instant(plan: WindowPlan, record: BufferedRecord) -> Instant | None:
    """The instant in a text, to the microsecond below; a leap second is the last microsecond before it ends."""
    reading = find_reading(record.readings, plan.metric)
    if not plan.is_freshness or reading is None or not isinstance(reading.value, str):
        return None
    try:
        return parse_foreign_instant(_LEAP.sub(r"\1:59.999999\2", reading.value))
    except TypeFormError:
        return None
