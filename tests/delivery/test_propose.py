"""A wrong rule is corrected by a proposal that a second person accepts; nothing else changes a rule."""

import pytest
from msgspec.structs import replace

from assay.delivery.errors import DeliveryError
from assay.delivery.plugin import Category
from assay.delivery.propose import ProposalRoute, accept_proposal, propose_correction
from assay.delivery.rule import RuleSource, cite, fold_rules, render_ref, verify_author
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.digest import digest_of
from tests.delivery.answers import RULE
from tests.delivery.items import REGISTRY, REVIEWER, SECOND, TICKET, conclusion, make_registry
from tests.identity.people import NOON, later, make_principal
from tests.raising import raises

_NEW = "clearance is at least 1.5 m plus squat"
_WRONG = conclusion(Category.RULE, _NEW)


@pytest.mark.clause("pramana", "10.1")
@pytest.mark.clause("pramana", "14.3")
def test_category_c_proposes_a_version_that_a_second_person_puts_in_force() -> None:
    proposal = propose_correction(_WRONG, REGISTRY)
    assert proposal is not None
    assert (proposal.base_version, proposal.content, proposal.proposed_by) == (1, _NEW, "user:amira")
    version, certificate = accept_proposal(
        proposal, REGISTRY, seen=proposal.content_hash, by=SECOND, at=later(hours=2), ticket_id=TICKET
    )
    after = fold_rules([version, certificate], REGISTRY)
    assert [render_ref(one) for one in cite(after, [RULE, RULE]).rules] == ["MAR-YK-007@2"]
    assert (after.certified(), len(after.get(RULE).versions)) == ((RULE,), 2)
    assert (version.recorded_by, certificate.certified_by) == ("user:amira", "user:bela")
    assert (version.domains, version.capabilities) == (("maritime",), ("vessel.ukc-status",))
    assert REGISTRY.get(RULE).latest.version == 1
    assert (REGISTRY.authority(), after.authority()) == ({}, {RULE: ("maritime",)})


@pytest.mark.clause("pramana", "10.1")
@pytest.mark.parametrize("category", [Category.ROUTING, Category.APPLICATION])
def test_the_other_categories_leave_the_rule_alone(category: Category) -> None:
    assert propose_correction(conclusion(category), REGISTRY) is None


@pytest.mark.clause("pramana", "10.1")
def test_a_rule_that_was_corrected_meanwhile_needs_no_second_correction() -> None:
    """The version that failed was wrong, and a person may say so; the text they conclude is in force already."""
    proposal = propose_correction(_WRONG, REGISTRY)
    assert proposal is not None
    version, _ = accept_proposal(
        proposal, REGISTRY, seen=proposal.content_hash, by=SECOND, at=later(hours=2), ticket_id=TICKET
    )
    after = fold_rules([version], REGISTRY)
    assert propose_correction(_WRONG, after) is None
    current = replace(_WRONG, rule=after.get(RULE).ref)
    with raises(DeliveryError.proposal, match="is the text in force"):
        propose_correction(current, after)


@pytest.mark.parametrize(
    ("source", "route"),
    [
        (RuleSource.GRAPH, ProposalRoute.GRAPH_DRAFT),
        (RuleSource.CONTRACT, ProposalRoute.CONTRACT_VERSION),
        (RuleSource.CODE, ProposalRoute.CODE_CHANGE),
    ],
)
def test_a_rule_that_lives_elsewhere_is_corrected_there(source: RuleSource, route: ProposalRoute) -> None:
    registry = make_registry(source)
    proposal = propose_correction(_WRONG, registry)
    assert proposal is not None
    assert proposal.route is route
    with raises(DeliveryError.proposal, match="source"):
        accept_proposal(proposal, registry, seen=proposal.content_hash, by=SECOND, at=NOON, ticket_id=TICKET)


@pytest.mark.parametrize("by", [REVIEWER, make_principal("user:clerk")], ids=["proposer", "no role"])
def test_the_proposer_and_those_without_the_role_accept_nothing(by: Principal) -> None:
    proposal = propose_correction(_WRONG, REGISTRY)
    assert proposal is not None
    with raises(DeliveryError.certification):
        accept_proposal(proposal, REGISTRY, seen=proposal.content_hash, by=by, at=NOON, ticket_id=TICKET)


def test_a_stale_or_doctored_proposal_is_refused() -> None:
    proposal = propose_correction(_WRONG, REGISTRY)
    assert proposal is not None
    seen = proposal.content_hash
    version, _ = accept_proposal(proposal, REGISTRY, seen=seen, by=SECOND, at=NOON, ticket_id=TICKET)
    with raises(DeliveryError.proposal, match="in force"):
        accept_proposal(proposal, fold_rules([version], REGISTRY), seen=seen, by=SECOND, at=NOON, ticket_id=TICKET)
    with raises(DeliveryError.proposal, match="hash"):
        accept_proposal(replace(proposal, content="else"), REGISTRY, seen=seen, by=SECOND, at=NOON, ticket_id=TICKET)
    with raises(DeliveryError.certification, match="changed"):
        accept_proposal(proposal, REGISTRY, seen=digest_of(b"x"), by=SECOND, at=NOON, ticket_id=TICKET)


def test_a_correction_says_something_new() -> None:
    with raises(DeliveryError.proposal, match="in force"):
        propose_correction(conclusion(Category.RULE, "old text"), REGISTRY)
    with raises(DeliveryError.proposal, match="none"):
        propose_correction(replace(_WRONG, corrected_rule=None), REGISTRY)


@pytest.mark.clause("pramana", "14.3")
@pytest.mark.clause("pramana", "14.4")
def test_only_those_with_the_role_add_to_the_registry() -> None:
    operator = make_principal("user:op", change=PrincipalChange(roles=("operator",)))
    verify_author(operator, at=NOON)
    plugin = make_principal("ai:slm-ukc", kind=PrincipalKind.AGENT)
    with raises(DeliveryError.rule_author, match="ai:slm-ukc"):
        verify_author(plugin, at=NOON)
    gone = make_principal("user:gone", change=PrincipalChange(roles=("operator",), disabled_at=NOON))
    with raises(DeliveryError.rule_author):
        verify_author(gone, at=later(hours=1))
