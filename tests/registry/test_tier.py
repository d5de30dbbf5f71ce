"""May this agent do this, here and now: deny by default, and every no has its code."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.identity.finding import CredentialFinding, CredentialState
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.errors import Blame
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.registry.action import (
    Action,
    ActionRequest,
    ActionType,
    Grant,
    RollbackDescriptor,
    RollbackMethod,
    grant_of,
    index_actions,
)
from assay.registry.bits import BOOK, MANIFEST, READ, SUPER
from assay.registry.errors import DeniedError, RegistryError
from assay.registry.tier import (
    Refusal,
    Ruling,
    check_execution,
    check_rollback,
    decide,
    default_tier,
    log_action,
    require,
)
from tests.identity.people import NOON, later, make_principal
from tests.raising import raises
from tests.registry.fleet import AGENT, BOOKING, LOOK, admin, ask, make_grant, make_power

_TOKEN = CredentialFinding(state=CredentialState.VALID, reason="held")
_masks = st.integers(0, 2**12 - 1)


@pytest.mark.clause("forja", "FRJ-005")
def test_an_undeclared_action_is_off() -> None:
    ruling = decide(make_grant(tier=3), make_power(), ask("DROP_TABLES"))
    assert (ruling.allowed, ruling.refusal) == (False, Refusal.UNDECLARED)


@pytest.mark.clause("forja", "FRJ-005")
def test_tier_zero_is_off_for_everyone() -> None:
    """Even for a principal of the highest tier with every bit."""
    off = Action(id="ADMIN_RESET", type=ActionType.ADMIN)
    ruling = decide(make_grant(2**32 - 1, tier=3), make_power(extra=[off]), ask(off.id))
    assert ruling.refusal is Refusal.UNDECLARED


def test_a_restricted_action_is_closed_to_agents() -> None:
    shut = Action(id="SINK", type=ActionType.WRITE, tier=1, restricted="a master's decision")
    ruling = decide(make_grant(), make_power(extra=[shut]), ask(shut.id))
    assert ruling.refusal is Refusal.RESTRICTED
    assert "a master's decision" in ruling.reason


@pytest.mark.parametrize(("capability", "trust"), [(READ, READ | BOOK), (READ | BOOK, READ), (READ, READ)])
def test_a_missing_bit_is_an_ordinary_denial(capability: int, trust: int) -> None:
    """Both the service and the principal must hold it; it is not an attempt at more, so it is not counted."""
    ruling = decide(make_grant(trust), make_power(capability_mask=capability), ask())
    assert (ruling.refusal, ruling.missing, ruling.counted) == (Refusal.BITS_MISSING, BOOK, False)


def test_super_implies_nothing() -> None:
    assert decide(make_grant(SUPER), make_power(), ask()).refusal is Refusal.BITS_MISSING


@pytest.mark.parametrize(("issued", "active"), [(1, 3), (3, 1), (0, 3), (3, 0)])
def test_an_action_above_the_active_tier_is_closed(issued: int, active: int) -> None:
    """The lower of what was issued and what the service's switch leaves."""
    ruling = decide(make_grant(tier=issued), make_power(active_tier=active), ask())
    assert ruling.refusal is Refusal.TIER_CLOSED


@pytest.mark.clause("forja", "FRJ-011")
@pytest.mark.parametrize(
    "wish", [{"requested_tier": 3}, {"requested_tier": 10**30}, {"requested_mask": READ | MANIFEST}]
)
def test_asking_for_more_than_was_issued_is_refused_and_counted(wish: dict[str, int]) -> None:
    ruling = decide(make_grant(), make_power(), ask(**wish))
    assert (ruling.refusal, ruling.counted) == (Refusal.SELF_ESCALATION, True)
    with raises(DeniedError.self_escalation) as caught:
        require(ruling)
    assert caught.value.code == "FRJ-011"


@pytest.mark.clause("forja", "FRJ-011")
def test_no_other_no_hides_an_attempt_at_more() -> None:
    """An undeclared action with a wish for more is an escalation first."""
    assert decide(make_grant(), make_power(), ask("NOWHERE", requested_tier=3)).counted


def test_asking_for_less_narrows_this_one_request() -> None:
    grant = make_grant()
    assert decide(grant, make_power(), ask(requested_tier=2, requested_mask=BOOK)).allowed
    assert decide(grant, make_power(), ask(requested_tier=1)).refusal is Refusal.TIER_CLOSED
    assert decide(grant, make_power(), ask(requested_mask=READ)).refusal is Refusal.BITS_MISSING


@given(
    trust=_masks, capability=_masks, needs=_masks, asked=st.none() | _masks, issued=st.integers(0, 3),
    active=st.integers(0, 3), tier=st.integers(0, 3), wish=st.none() | st.integers(0, 4), shut=st.booleans(),
)  # fmt: skip
def test_allowed_is_exactly_the_formula(  # noqa: PLR0917  every term of the formula
    trust: int,
    capability: int,
    needs: int,
    asked: int | None,
    issued: int,
    active: int,
    tier: int,
    wish: int | None,
    shut: bool,  # noqa: FBT001  a parameter
) -> None:
    """Needed within (capability AND trust), 1 <= action tier <= active tier, not restricted, and no escalation."""
    action = Action(id="X", type=ActionType.WRITE, tier=tier, needs=needs, restricted="shut" if shut else None)
    power = make_power(capability_mask=capability, active_tier=active, actions=index_actions([action]))
    ruling = decide(make_grant(trust, issued), power, ask("X", requested_tier=wish, requested_mask=asked))
    escalates = (wish is not None and wish > issued) or (asked is not None and asked & ~trust != 0)
    held = trust if asked is None else asked
    within = needs & ~(capability & held) == 0
    open_tier = 1 <= tier <= min(active, issued, 3 if wish is None else wish)
    assert ruling.counted == escalates
    assert ruling.allowed == (not escalates and within and open_tier and not shut)


@pytest.mark.clause("forja", "FRJ-007")
def test_writes_are_logged_before_they_run() -> None:
    """From tier 2 on; a read is not."""
    assert decide(make_grant(), make_power(), ask()).log_first
    assert not decide(make_grant(), make_power(), ask(LOOK.id)).log_first


@pytest.mark.clause("forja", "FRJ-007")
def test_an_action_runs_only_when_exactly_this_was_logged_before() -> None:
    log = log_action(make_grant(), make_power(), ask(), parameters={"box": 1}, at=NOON)
    assert check_execution(BOOKING, log, by=AGENT, parameters={"box": 1}, at=NOON).allowed
    other = PrincipalId("ai:other")
    early = Instant(NOON - timedelta(seconds=1))
    refused = [
        check_execution(BOOKING, None, by=AGENT, parameters={"box": 1}, at=NOON),
        check_execution(BOOKING, log, by=AGENT, parameters={"box": 2}, at=NOON),
        check_execution(BOOKING, log, by=other, parameters={"box": 1}, at=NOON),
        check_execution(BOOKING, log, by=AGENT, parameters={"box": 1}, at=early),
        check_execution(replace(BOOKING, id="OTHER"), log, by=AGENT, parameters={"box": 1}, at=NOON),
    ]
    assert {ruling.refusal for ruling in refused} == {Refusal.NOT_LOGGED}


def test_a_read_needs_no_log() -> None:
    assert check_execution(LOOK, None, by=AGENT, parameters={}, at=NOON).allowed


@pytest.mark.clause("forja", "FRJ-008")
def test_what_cannot_be_undone_does_not_run() -> None:
    bare = replace(BOOKING, id="BARE", rollback=None)
    with raises(DeniedError.no_rollback):
        log_action(make_grant(), make_power(extra=[bare]), ask("BARE"), parameters={}, at=NOON)
    assert check_execution(bare, None, by=AGENT, parameters={}, at=NOON).refusal is Refusal.NO_ROLLBACK


def test_a_refused_request_is_not_logged_as_an_action() -> None:
    with pytest.raises(DeniedError):
        log_action(make_grant(READ), make_power(), ask(), parameters={}, at=NOON)


@pytest.mark.clause("forja", "FRJ-009")
def test_only_a_person_with_a_session_token_undoes() -> None:
    expired = CredentialFinding(state=CredentialState.EXPIRED, reason="old")
    assert check_rollback(BOOKING.id, by=make_principal(), token=_TOKEN, at=NOON).allowed
    refused = [
        check_rollback(BOOKING.id, by=None, token=_TOKEN, at=NOON),
        check_rollback(BOOKING.id, by=make_principal(), token=None, at=NOON),
        check_rollback(BOOKING.id, by=make_principal(), token=expired, at=NOON),
        check_rollback(BOOKING.id, by=make_principal("ai:planner", kind=PrincipalKind.AGENT), token=_TOKEN, at=NOON),
        check_rollback(BOOKING.id, by=admin(disabled_at=NOON), token=_TOKEN, at=later(seconds=1)),
    ]
    assert {ruling.refusal for ruling in refused} == {Refusal.ROLLBACK_TOKEN}


@pytest.mark.parametrize("refusal", list(Refusal))
def test_every_refusal_is_an_error_of_the_same_code(refusal: Refusal) -> None:
    """So problem details carry it; and it is an honest no, not a fault."""
    with pytest.raises(DeniedError, match="why") as caught:
        require(Ruling(reason="why", refusal=refusal))
    assert (caught.value.code, caught.value.blame) == (refusal.value, Blame.ANSWER)


def test_a_yes_raises_nothing() -> None:
    require(decide(make_grant(), make_power(), ask()))


@pytest.mark.parametrize(
    ("method", "path", "tier"),
    [("GET", "/x", 1), ("head", "/x", 1), ("POST", "/x", 2), ("PUT", "/x", 2), ("PATCH", "/x", 2), ("DELETE", "/x", 0),
     ("GET", "/admin/x", 0), ("POST", "/api/Admin/x", 0), ("GET", "/administer", 1)],
)  # fmt: skip
def test_a_route_without_a_tier_gets_one_by_its_method(method: str, path: str, tier: int) -> None:
    """Deleting, and everything below `/admin/`, is off until it is declared."""
    assert default_tier(method, path) == tier


def test_a_grant_is_what_the_principal_was_issued() -> None:
    agent = make_principal("ai:planner", kind=PrincipalKind.AGENT, change=PrincipalChange(trust_mask=5, action_tier=2))
    assert grant_of(agent) == Grant(principal_id=AGENT, trust_mask=5, action_tier=2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Grant(principal_id=AGENT, trust_mask=-1, action_tier=1),
        lambda: Grant(principal_id=AGENT, trust_mask=1, action_tier=4),
        lambda: Grant(principal_id=AGENT, trust_mask=1, action_tier=True),
        lambda: ActionRequest(action_id="X", requested_tier=-1),
        lambda: ActionRequest(action_id="X", requested_mask=True),
        lambda: Action(id="", type=ActionType.READ),
        lambda: Action(id="X", type=ActionType.READ, tier=4),
        lambda: Action(id="X", type=ActionType.READ, needs=-1),
        lambda: make_power(active_tier=9),
        lambda: make_power(capability_mask=-1),
        lambda: index_actions([LOOK, LOOK]),
        lambda: RollbackDescriptor(method=RollbackMethod.MANUAL, description=" "),
        lambda: RollbackDescriptor(method=RollbackMethod.MANUAL, description="x", action_id="Y"),
        lambda: RollbackDescriptor(method=RollbackMethod.INVERSE_ACTION, description="x"),
        lambda: RollbackDescriptor(method="magic", description="x"),  # type: ignore[arg-type]  # refused
    ],
)
def test_what_contradicts_itself_is_refused(make: object) -> None:
    with raises(RegistryError.invalid_rule):
        make()  # type: ignore[operator]  # each is a function
