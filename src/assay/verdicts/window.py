"""Windows: what earlier records of a subject say, computed once, stored with the entry and never looked up again.

obligation -> plan_window -> WindowPlan; plans + record + earlier records -> window_facts -> WindowFact for each
The clock is the record's timestamp (SKI 12, `as_of`), and a window is (as_of - w, as_of]. Records later than `as_of`
are not looked at, so a late record takes its place in time. Freshness and `since_last` leave the current record out.
"""

from collections.abc import Iterable, Sequence

from assay.kernel.instant import Instant
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.window_age import age_fact
from assay.verdicts.window_aggregate import aggregate_fact, run_fact
from assay.verdicts.window_fact import BufferedRecord, WindowFact, WindowKind, buffer_record
from assay.verdicts.window_plan import WindowPlan


def window_facts(
    plans: Iterable[WindowPlan],
    telemetry: Telemetry,
    earlier: Sequence[BufferedRecord],
    *,
    dropped_until: Instant | None = None,
) -> dict[str, WindowFact]:
    """One fact for each plan, by obligation.

    `earlier` are the subject's kept records in any order; those after `as_of` and a copy of this very record are passed
    over. `dropped_until` is up to when records may have been dropped: a window that reaches back there is in doubt.
    """
    return facts_at(plans, buffer_record(telemetry), earlier, dropped_until=dropped_until)


def facts_at(
    plans: Iterable[WindowPlan],
    now: BufferedRecord,
    earlier: Sequence[BufferedRecord],
    *,
    dropped_until: Instant | None = None,
    is_cautious: bool = False,
) -> dict[str, WindowFact]:
    """The same for a record of which no more is known than what is kept of it.

    `is_cautious` keeps every doubt, also one that can no longer matter: so facts were once found, and stored.
    """
    before = [
        record for record in earlier if record.timestamp <= now.timestamp and record.telemetry_id != now.telemetry_id
    ]
    before.sort(key=lambda record: (record.timestamp, record.telemetry_id))
    return {plan.obligation_id: _fact(plan, now, before, dropped_until, is_cautious=is_cautious) for plan in plans}


def _fact(
    plan: WindowPlan,
    now: BufferedRecord,
    before: Sequence[BufferedRecord],
    dropped_until: Instant | None,
    *,
    is_cautious: bool,
) -> WindowFact:
    if plan.kind is WindowKind.AGE:
        return age_fact(plan, now, before, dropped_until, is_cautious=is_cautious)
    if plan.kind is WindowKind.RUN:
        return run_fact(plan, (*before, now), dropped_until)
    return aggregate_fact(plan, (*before, now), dropped_until, is_cautious=is_cautious)
