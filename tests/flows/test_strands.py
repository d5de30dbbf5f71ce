"""Strands of one's own: five items, a function, and nothing that it does can refuse an answer."""

import pytest

from assay.delivery.answerer import Question
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.strand import Absence, StrandId, StrandResult, StrandType, absent, present
from assay.flows.delivery.strands import StrandFunction, Strands
from assay.kernel.ids import PrincipalId
from tests.contract._kit import refused
from tests.verdicts.judging import NOON

_QUESTION = Question(
    query_type="vessel.status", question={"ship": "Ada"}, asked_by=PrincipalId("user:a"), asked_at=NOON
)
_RULES = (RuleRef(rule_id=RuleId("MAR-1"), version=1),)
_ID = StrandId("x-port")


def _table(function: StrandFunction, name: str = _ID, *, registered: bool = False) -> Strands:
    table = Strands()
    table.strand(
        name,
        name="Port",
        how_to_check="the port has approved the ship",
        absence_implication="no port has approved the ship",
        contact="ops",
        registered=registered,
    )(function)
    return table


def _checked(function: StrandFunction) -> StrandResult:
    return _table(function).freeze().checks[_ID].check(_QUESTION, _RULES)


@pytest.mark.clause("pramana", "6.5")
def test_evidence_makes_a_strand_present_and_none_makes_it_absent() -> None:
    found = _checked(lambda question, rules: f"{question.query_type} under {rules[0].rule_id}")
    assert (found.present, found.evidence) == (True, ("vessel.status under MAR-1",))
    assert found.checked_at == NOON
    missing = _checked(lambda _question, _rules: None)
    assert (missing.present, missing.absence) == (False, Absence.NOT_CONFIRMED)
    assert "the port has approved the ship" in missing.reason


def test_a_check_may_give_the_result_itself() -> None:
    for told in (present(_ID, "seen", evidence=["log"], at=NOON), absent(_ID, "unseen", at=NOON)):
        assert _checked(lambda _question, _rules, told=told: told) == told  # type: ignore[misc]  # bound at once


@pytest.mark.parametrize("said", [True, "", "  ", 7, []])
def test_a_check_that_shows_nothing_has_failed(said: object) -> None:
    """A bare yes is no evidence: whoever asks why the level is what it is must have something to look at."""
    with refused("delivery.strand_check"):
        _checked(lambda _question, _rules: said)  # type: ignore[arg-type, return-value]  # what a program may do


@pytest.mark.clause("pramana", "13.4")
@pytest.mark.clause("pramana", "15")
def test_an_id_without_x_must_be_registered_and_each_is_taken_once() -> None:
    with refused("delivery.strand"):
        _table(lambda _question, _rules: None, "port")
    table = _table(lambda _question, _rules: None, "port", registered=True)
    with refused("delivery.strand_check"):
        table.add(table.freeze().strands.types[3], table.freeze().checks[StrandId("port")], registered=True)
    with refused("delivery.strand"):
        table.freeze(table.freeze().strands)


def test_the_core_is_nobodys_to_redefine() -> None:
    kind = StrandType(
        strand_type_id=StrandId("proof"), name="p", how_to_check="h", absence_implication="a", contact="c"
    )
    table = _table(lambda _question, _rules: None)
    with refused("delivery.strand_check"):
        table.add(kind, table.freeze().checks[_ID], registered=True)
