"""Recount: do the counters of rules say what their outcomes, findings and root causes say."""

from msgspec import Struct
from msgspec.structs import asdict

from assay.delivery.rule import RuleId
from assay.flows.delivery.outcome_batch import load_all_counters, recounted
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters

# What follows from settings of the time too: these are compared with their entry alone.
_NOT_COUNTED = frozenset({"streak", "absorbed", "batched_until", "sequence_number"})


class Recount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`problems` name each counter that differs."""

    rules: int
    signals: int
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


class RecountRules(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every rule of the tenant."""


def recount_rules(tools: Tools, caller: Caller, request: RecountRules) -> Recount:  # noqa: ARG001 - asks nothing
    """Count every outcome again and compare with the counters.

    All of it is read from one state of the database; a row that its entry does not bear out is refused.
    """
    return tools.database.read(lambda unit: _recount(unit, caller.tenant_id))


def _recount(unit: Unit, tenant_id: TenantId) -> Recount:
    stored = load_all_counters(unit, tenant_id, unit.delivery.rule_ids(tenant_id))
    signals, problems = 0, list[str]()
    for name, row in sorted(stored.items()):
        again = recounted(unit, tenant_id, RuleId(name))
        signals += again.total
        problems += _differences(row, again)
    return Recount(rules=len(stored), signals=signals, problems=tuple(problems))


def _differences(row: RuleCounters, again: RuleCounters) -> list[str]:
    counted = asdict(again)
    return [
        f"{row.rule_id}: {name}: expected {counted[name]}, got {value}"
        for name, value in asdict(row).items()
        if name not in _NOT_COUNTED and value != counted[name]
    ]
