"""The counters of a rule as a row, and as what the room counts and watches with."""

from assay.delivery.rule import RuleId
from assay.delivery.tally import Tally
from assay.delivery.trigger import Watch
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters


def load_counters(unit: Unit, tenant_id: TenantId, rule_id: RuleId) -> RuleCounters:
    """Where the rule stands; one of which nothing was reported stands at nothing."""
    found = unit.delivery.find_counters(tenant_id, rule_id)
    return counters_of(rule_id, Tally(), Watch(), item_id=None) if found is None else found


def tally_of(row: RuleCounters) -> Tally:
    return Tally(
        total=row.total,
        success=row.success,
        failure=row.failure,
        partial=row.partial,
        indeterminate=row.indeterminate,
        consecutive_failures=row.consecutive_failures,
        tainted_success=row.tainted_success,
    )


def watch_of(row: RuleCounters) -> Watch:
    return Watch(
        streak=row.streak,
        is_open=row.item_id is not None,
        absorbed=row.absorbed,
        batched_until=row.batched_until,
    )


def counters_of(rule_id: RuleId, tally: Tally, watch: Watch, *, item_id: str | None) -> RuleCounters:
    return RuleCounters(
        rule_id=rule_id,
        total=tally.total,
        success=tally.success,
        failure=tally.failure,
        partial=tally.partial,
        indeterminate=tally.indeterminate,
        consecutive_failures=tally.consecutive_failures,
        tainted_success=tally.tainted_success,
        streak=watch.streak,
        item_id=item_id,
        absorbed=watch.absorbed,
        batched_until=watch.batched_until,
    )
