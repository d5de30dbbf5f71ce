"""A strand is there or not, with evidence; whatever goes wrong with a check makes it absent."""

from typing import Any

import pytest

from assay.delivery.errors import DeliveryError
from assay.delivery.strand import (
    CAPABILITY,
    CORE,
    CORE_REGISTRY,
    KNOWLEDGE,
    MOST_STRANDS,
    PROOF,
    Absence,
    StrandId,
    StrandRegistry,
    StrandResult,
    StrandType,
    absent,
    check_capability,
    check_knowledge,
    check_proof,
    present,
    register_strands,
    settle_strands,
)
from tests.delivery.answers import extended
from tests.identity.people import NOON
from tests.raising import raises

_INDEX = {"MAR-YK-007": {"maritime"}, "INF-LL-001": {"logistics", "maritime"}}


@pytest.mark.clause("pramana", "6.1")
@pytest.mark.parametrize(("asked", "expected"), [("ukc", True), ("UKC", False), ("", False)])
def test_capability_is_a_declared_query_type(asked: str, *, expected: bool) -> None:
    found = check_capability(asked, ["ukc", "eta"], service="org.ukc", source="registry", at=NOON)
    assert (found.strand, found.present, found.evidence) == (CAPABILITY, expected, ("registry",))


@pytest.mark.clause("pramana", "6.2")
@pytest.mark.parametrize(
    ("cited", "domain", "expected"),
    [
        (["MAR-YK-007"], "maritime", True),
        (["MAR-YK-007", "INF-LL-001"], "maritime", True),
        (["MAR-YK-007", "INF-LL-001"], "logistics", False),
        (["NOWHERE"], "maritime", False),
        ([], "maritime", False),
    ],
)
def test_knowledge_is_every_cited_rule_authoritative(cited: list[str], domain: str, *, expected: bool) -> None:
    found = check_knowledge(cited, _INDEX, domain=domain, source="graph sha256:1", at=NOON)
    assert (found.strand, found.present) == (KNOWLEDGE, expected)
    assert found.evidence[0] == "graph sha256:1"


@pytest.mark.clause("pramana", "6.3")
@pytest.mark.parametrize(
    ("coverage", "expected"),
    [(90.0, True), (100.0, True), (89.99, False), (0.0, False), (float("nan"), False), (100.1, False)],
)
def test_proof_is_coverage_at_the_threshold(coverage: float, *, expected: bool) -> None:
    found = check_proof(coverage, source="proof", at=NOON)
    assert (found.strand, found.present) == (PROOF, expected)


def test_the_threshold_of_proof_is_the_operators() -> None:
    assert check_proof(70.0, source="proof", at=NOON, threshold_pct=60.0).present


@pytest.mark.clause("pramana", "6.4")
@pytest.mark.parametrize("why", [Absence.ERROR, Absence.TIMED_OUT])
def test_a_failed_or_late_check_is_an_absent_strand(why: Absence) -> None:
    result = absent(PROOF, "the registry did not answer", at=NOON, absence=why)
    report = settle_strands(CORE_REGISTRY, [result], at=NOON)
    assert PROOF in report.missing
    assert report.results[2].absence is why


@pytest.mark.clause("pramana", "11.3")
@pytest.mark.clause("pramana", "12.1")
def test_every_defined_strand_is_in_the_report_once_and_in_order() -> None:
    there = present(KNOWLEDGE, "seen", evidence=("x",), at=NOON)
    report = settle_strands(CORE_REGISTRY, [there], at=NOON)
    assert [one.strand for one in report.results] == list(CORE)
    assert (report.present, report.missing) == ((KNOWLEDGE,), (CAPABILITY, PROOF))
    assert report.results[0].absence is Absence.NOT_IMPLEMENTED


def test_of_two_results_the_stricter_stands() -> None:
    yes, no = present(PROOF, "seen", evidence=("x",), at=NOON), absent(PROOF, "not seen", at=NOON)
    for order in ([yes, no], [no, yes], [no, no]):
        assert PROOF in settle_strands(CORE_REGISTRY, order, at=NOON).missing
    assert PROOF in settle_strands(CORE_REGISTRY, [yes, yes], at=NOON).present


def test_a_result_of_an_undefined_strand_is_refused() -> None:
    foreign = present(StrandId("x-other"), "seen", evidence=("x",), at=NOON)
    with raises(DeliveryError.strand, match="x-other"):
        settle_strands(CORE_REGISTRY, [foreign], at=NOON)


@pytest.mark.parametrize(
    "changes", [{"present": True}, {"present": False, "absence": None}, {"present": True, "absence": None}]
)
def test_a_result_is_present_with_evidence_or_absent_with_a_reason(changes: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"strand": PROOF, "reason": "r", "absence": Absence.ERROR, "checked_at": NOON}
    with raises(DeliveryError.strand):
        StrandResult(**(fields | changes))


@pytest.mark.clause("pramana", "15")
@pytest.mark.clause("pramana", "13.4")
def test_a_private_strand_carries_its_prefix_and_a_public_one_is_registered() -> None:
    assert register_strands([extended(1)]).ids() == (*CORE, "x-extra-1")
    with raises(DeliveryError.strand, match="x-"):
        register_strands([extended(1, private=False)])
    assert register_strands([extended(1, private=False)], registered={"extra-1"}).ids()[-1] == "extra-1"


@pytest.mark.clause("pramana", "6.5")
def test_an_id_is_unique() -> None:
    with raises(DeliveryError.strand, match="distinct"):
        register_strands([extended(1), extended(1)])
    with raises(DeliveryError.strand):
        StrandRegistry(types=(extended(1),))


@pytest.mark.clause("pramana", "15")
@pytest.mark.parametrize("missing", ["strand_type_id", "name", "how_to_check", "absence_implication", "contact"])
def test_a_registration_says_all_five_things(missing: str) -> None:
    fields: dict[str, Any] = {
        "strand_type_id": "x-a", "name": "A", "how_to_check": "look", "absence_implication": "b", "contact": "c",
    }  # fmt: skip
    assert StrandType(**fields).strand_type_id == "x-a"
    with raises(DeliveryError.strand):
        StrandType(**(fields | {missing: " "}))
    with pytest.raises(TypeError):
        StrandType(**{name: value for name, value in fields.items() if name != missing})


@pytest.mark.parametrize("name", ["X-a", "x_", "-a", "a--b", "x-" + "a" * 80, "a b", "é"])
def test_a_strand_id_has_a_form(name: str) -> None:
    with raises(DeliveryError.strand):
        StrandType(strand_type_id=StrandId(name), name="A", how_to_check="l", absence_implication="b", contact="c")


def test_no_more_strands_are_defined_than_an_outcome_can_name() -> None:
    def some(count: int) -> list[StrandType]:
        told = {"name": "n", "how_to_check": "h", "absence_implication": "a", "contact": "c"}
        return [StrandType(strand_type_id=StrandId(f"x-s{number}"), **told) for number in range(count)]

    assert len(register_strands(some(MOST_STRANDS - 3)).ids()) == MOST_STRANDS
    with raises(DeliveryError.strand, match=f"at most {MOST_STRANDS} strands"):
        register_strands(some(MOST_STRANDS - 2))
