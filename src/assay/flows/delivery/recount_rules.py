"""Do the counters say what the history says, and the rows about rules what the ledger says; rule by rule."""

from collections import Counter
from collections.abc import Iterator
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
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.ports.database import Unit


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

    def work(unit: Unit) -> Recount:
        stored = {RuleId(one.rule_id): tally_of(one) for one in unit.delivery.counters(tenant_id)}
        problems = list(check_rows(unit, tenant_id))
        tainted = _tainted(unit, tenant_id)
        signals = 0
        for rule_id, outcomes in _by_rule(unit, tenant_id):
            signals += len(outcomes)
            told = check_tally(stored.pop(rule_id, Tally()), outcomes, tainted=tainted[rule_id])
            problems += [f"{rule_id}: {one}" for one in told]
        problems += [f"{rule_id}: counted, and nothing was reported" for rule_id, one in stored.items() if one.total]
        return Recount(rules=len(unit.delivery.counters(tenant_id)), signals=signals, problems=tuple(problems))

    return tools.database.read(work)


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
