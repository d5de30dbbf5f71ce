"""An action of a service, requirement by requirement: what is told and what is decided are one thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.flows.identity.explain_access import explain_action
from assay.identity.access import find_unmet
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.registry.action import Action, ActionRequest, ActionType, ServicePower, grant_of, index_actions
from assay.registry.bits import READ, WRITE
from assay.registry.tier import decide
from tests.identity.people import make_principal


def _agent(mask: int, tier: int) -> PrincipalChange:
    return PrincipalChange(trust_mask=mask, action_tier=tier)


@given(
    mask=st.sampled_from([0, READ, WRITE, READ | WRITE]),
    capability=st.sampled_from([0, READ, READ | WRITE]),
    tier=st.integers(0, 3),
    active=st.integers(0, 3),
    action_tier=st.integers(0, 3),
    restricted=st.sampled_from([None, "never"]),
    asked=st.sampled_from(["book", "burn"]),
)
def test_the_first_no_that_is_told_is_the_no_that_is_decided(
    mask: int, capability: int, tier: int, active: int, action_tier: int, restricted: str | None, asked: str
) -> None:
    """For every agent, service and action: same answer, same code, same words; and each no has a remedy."""
    principal = make_principal("ai:planner", kind=PrincipalKind.AGENT, change=_agent(mask, tier))
    book = Action(id="book", type=ActionType.WRITE, tier=action_tier, needs=READ | WRITE, restricted=restricted)
    power = ServicePower(
        service_id="berths", capability_mask=capability, active_tier=active, actions=index_actions([book])
    )
    found = explain_action(principal, power, asked)
    ruling = decide(grant_of(principal), power, ActionRequest(action_id=asked))
    unmet = find_unmet(found)
    assert (unmet is None) == ruling.allowed
    if unmet is not None:
        assert (unmet.code, unmet.reason) == (ruling.refusal, ruling.reason)
    assert all((one.remedy is None) == one.met for one in found)


@pytest.mark.parametrize(
    ("mask", "capability", "remedy"),
    [(READ, READ | WRITE, "the principal is given WRITE"), (READ | WRITE, READ, "the service is given WRITE")],
)
def test_a_missing_bit_is_named_with_whoever_lacks_it(mask: int, capability: int, remedy: str) -> None:
    principal = make_principal("ai:planner", kind=PrincipalKind.AGENT, change=_agent(mask, 3))
    book = Action(id="book", type=ActionType.WRITE, tier=1, needs=READ | WRITE)
    power = ServicePower(service_id="berths", capability_mask=capability, active_tier=3, actions=index_actions([book]))
    assert [one.remedy for one in explain_action(principal, power, "book") if not one.met] == [remedy]
