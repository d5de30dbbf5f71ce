"""A docket holds what a slice comes to, once for all records."""

from assay.verdicts.docket import UNRULED, docket_key, open_docket, parts_of
from assay.verdicts.envelope import CitationRole
from assay.verdicts.graph.hash import versioned
from assay.verdicts.graph.node import (
    Definition,
    Jurisdiction,
    NodeId,
    Precedent,
    PrecedentRelation,
    RiskTier,
    Subject,
)
from assay.verdicts.slice import RuleSlice, Slice
from tests.verdicts.judging import NOON, exemption, obligation, part_of

PART = part_of(
    obligation("ob-1", "must_not_exceed", "a", 5), exempted={"ob-1": [exemption("x-1", "a == 1")]}, tier="low"
)


def test_each_kind_of_node_can_be_cited_in_its_role_only() -> None:
    part = RuleSlice(
        rule=PART.rule,
        obligations=PART.obligations,
        exemptions=PART.exemptions,
        definitions=(versioned(Definition(id=NodeId("d-1"), term="stack", definition_text="a pipe")),),
        precedents=(versioned(Precedent(id=NodeId("p-1"), summary="earlier", relation=PrecedentRelation.AMENDS)),),
        jurisdictions=(versioned(Jurisdiction(id=NodeId("j-1"))),),
    )
    roles = {citation.node_id: citation.role for citation in open_docket(part, is_mapped=True).citations}
    assert roles == {
        "ob-1": CitationRole.OBLIGATION,
        "d-1": CitationRole.DEFINITION_RESOLVED,
        "x-1": CitationRole.EXEMPTION_CONSIDERED,
        "p-1": CitationRole.PRECEDENT_REFERENCED,
        "j-1": CitationRole.JURISDICTION_MATCHED,
    }


def test_an_exemption_belongs_to_the_obligation_that_names_it() -> None:
    part = part_of(
        obligation("ob-1", "must_not_exceed", "a", 5),
        obligation("ob-2", "must_not_exceed", "a", 5),
        exempted={"ob-2": [exemption("x-1", "a == 1")]},
    )
    one, two = open_docket(part, is_mapped=True).checks
    assert (one.waivers, [waiver.exemption_id for waiver in two.waivers]) == ((), ["x-1"])


def test_without_a_rule_nobody_says_low() -> None:
    unruled = open_docket(None, is_mapped=True)
    assert (unruled.rule_id, unruled.tier) == (UNRULED, RiskTier.MEDIUM)
    ruled = open_docket(PART, is_mapped=True)
    assert (ruled.rule_id, ruled.tier) == ("rule-1", RiskTier.LOW)


def test_every_record_runs_at_least_once() -> None:
    """Unmapped subjects and subjects without rules run all steps too."""
    subject = versioned(Subject(id=NodeId("s-1")))
    assert parts_of(Slice(asked="s", as_of=NOON)) == (None,)
    assert parts_of(Slice(asked="s", as_of=NOON, subject=subject)) == (None,)
    assert parts_of(Slice(asked="s", as_of=NOON, subject=subject, rules=(PART,))) == (PART,)


def test_equal_slices_have_equal_keys() -> None:
    subject = versioned(Subject(id=NodeId("s-1")))
    found = Slice(asked="s", as_of=NOON, subject=subject)
    elsewhere = Slice(asked="s", as_of=NOON, subject=versioned(Subject(id=NodeId("s-2"))))
    again = part_of(obligation("ob-1", "must_not_exceed", "a", 5), tier="low")
    other = part_of(obligation("ob-2", "must_not_exceed", "a", 5), tier="low")
    assert docket_key(found, PART) == docket_key(found, again)
    assert docket_key(found, PART) != docket_key(found, other)
    assert docket_key(found, PART) != docket_key(elsewhere, PART)
    assert docket_key(found, None) != docket_key(Slice(asked="s", as_of=NOON), None)
