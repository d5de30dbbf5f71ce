"""Do the counters say what the history says, and the rows about rules what the ledger says; rule by rule."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from assay.delivery.outcome import Outcome, Signal
from assay.delivery.rule import RuleId
from assay.delivery.tally import Tally, check_tally
from assay.delivery.twowrong import Success
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.outcome_batch import tally_of
from assay.flows.delivery.rule_proofs import check_rows
from assay.flows.ledger.compare_rows import RowProblem
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters

_KINDS = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL, Outcome.INDETERMINATE)


class Recount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`problems` name each counter that differs, and each row that its entry does not bear out."""

    rules: int
    signals: int
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


class RecountRules(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every rule of the tenant."""


def recount_rules(tools: Tools, caller: Caller, request: RecountRules) -> Recount:  # noqa: ARG001 - asks nothing
    """Count every outcome again and compare with the counters, and each row about a rule with its entry.

    All of it is read from one state of the database.
    """
    tenant_id = caller.tenant_id

    return tools.database.read(lambda unit: _recount(unit, tenant_id))


def check_rules(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """For an audit: counters that the outcomes do not give, and rows about rules that differ from their entries."""
    for problem in _recount(unit, tenant_id).problems:
        yield RowProblem(code="ledger.row_differs", message=problem, entry=None)


def _recount(unit: Unit, tenant_id: TenantId) -> Recount:
    rows = unit.delivery.counters(tenant_id)
    stored = {RuleId(row.rule_id): tally_of(row) for row in rows}
    problems = [*check_rows(unit, tenant_id), *_open_items(unit, tenant_id, rows)]
    tainted = _tainted(unit, tenant_id)
    signals = 0
    for rule_id, outcomes in _by_rule(unit, tenant_id):
        signals += len(outcomes)
        told = check_tally(stored.pop(rule_id, Tally()), outcomes, tainted=tainted[rule_id])
        problems += [f"{rule_id}: {one}" for one in told]
    problems += [f"{rule_id}: counted, and nothing was reported" for rule_id, one in stored.items() if one.total]
    return Recount(rules=len(rows), signals=signals, problems=tuple(problems))


def _open_items(unit: Unit, tenant_id: TenantId, rows: Iterable[RuleCounters]) -> Iterator[str]:
    """A rule whose counters name an item that is not open about it."""
    open_items = {(one.rule_id, one.item_id) for one in unit.delivery.items(tenant_id, open_only=True)}
    for row in rows:
        if row.item_id is not None and (row.rule_id, row.item_id) not in open_items:
            yield f"{row.rule_id}: `{row.item_id}` is counted as open, and is not"


def verify_counters(unit: Unit, tenant_id: TenantId, rule_ids: Sequence[str], rows: Iterable[RuleCounters]) -> None:
    """Raise unless the counters of these rules add up to the outcomes that were reported of them."""
    counted = {row.rule_id: (row.success, row.failure, row.partial, row.indeterminate) for row in rows}
    reported = unit.delivery.outcome_counts(tenant_id, rule_ids)
    for rule_id in rule_ids:
        found = tuple(reported.get((rule_id, kind), 0) for kind in _KINDS)
        if counted.get(rule_id, (0, 0, 0, 0)) != found:
            told = f"expected counters of `{rule_id}` as its outcomes give them, {found}"
            raise DamagedRecordError(f"{told}, got {counted.get(rule_id)}")


def _by_rule(unit: Unit, tenant_id: TenantId) -> Iterator[tuple[RuleId, list[Outcome]]]:
    kinds = {one.value: one for one in Outcome}
    for rule_id, rows in groupby(unit.delivery.every_outcome(tenant_id), key=attrgetter("rule_id")):
        yield RuleId(rule_id), [kinds[row.outcome] for row in rows]


def _tainted(unit: Unit, tenant_id: TenantId) -> Counter[str]:
    """For each rule the successes told of it of which the latest finding is that two steps were wrong."""
    by_answer = groupby(unit.delivery.every_finding(tenant_id), key=attrgetter("answer_id"))
    latest = ((answer_id, list(rows)[-1]) for answer_id, rows in by_answer)
    lucky = [answer_id for answer_id, row in latest if read_text(row.text, Success).finding.is_tainted]
    told = (read_text(row.text, Signal) for one in lucky for row in unit.delivery.answer_signals(tenant_id, one))
    return Counter(rule_id for one in told if one.outcome is Outcome.SUCCESS for rule_id in one.rule_ids)
