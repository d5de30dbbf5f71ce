"""An administrator looks after principals: proved in the very commit that acts, and of one tenant."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.identity.principals import amend
from assay.identity.caller import Caller
from assay.identity.errors import IdentityError
from assay.identity.principal import Principal, PrincipalChange
from assay.kernel.errors import Code, Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.registry.errors import DeniedError
from tests.acting import amend_principal, caller_of, disable_principal, issue_api_key, plain, request_tier
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk
from tests.raising import raises

_ROOT, _AMIRA, _NEW = PrincipalId("user:root"), PrincipalId("user:amira"), PrincipalId("ai:new")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as made:
        made.add(_ROOT, roles=("admin",))
        made.add(_AMIRA, roles=())
        yield made


def _perform(desk: Desk, who: str | Caller, operation_name: str, **given: object) -> Principal:
    """As a door does; a caller who is given was permitted before."""
    operation, dispatcher = BY_NAME[operation_name], Dispatcher(tools=desk.tools)
    asked = parse_request(operation, given)
    if isinstance(who, Caller):
        outcome = dispatcher.perform(operation, who, asked)
    else:
        outcome = dispatcher(operation, caller_of(desk.tools, who, at=desk.at(minutes=2)), asked)
    return plain(outcome.value)


def _add(desk: Desk, credential: str | Caller) -> Principal:
    return _perform(desk, credential, "principal.add", principal_id=_NEW, kind="agent", name="New", trust_mask=2)


def _amend(desk: Desk, credential: str | Caller) -> Principal:
    return _perform(desk, credential, "principal.amend", principal_id=_AMIRA, trust_mask=4)


def _disable(desk: Desk, credential: str | Caller) -> Principal:
    return _perform(desk, credential, "principal.disable", principal_id=_AMIRA)


_ACTS = [_add, _amend, _disable]
Act = Callable[[Desk, str | Caller], Principal]


@pytest.mark.parametrize("act", _ACTS)
def test_each_act_is_one_version_and_one_entry_by_whoever_did_it(desk: Desk, act: Act) -> None:
    session, before = desk.session(_ROOT), desk.head()
    done = act(desk, session)
    assert (done.recorded_by, done.tenant_id) == (_ROOT, TENANT)
    assert desk.head() == before + 1
    assert desk.tools.database.read(lambda unit: unit.identity.find_principal(TENANT, done.id)) == done


@pytest.mark.parametrize("act", _ACTS)
def test_whoever_lost_the_role_or_the_session_since_does_nothing(desk: Desk, act: Act) -> None:
    """The door looked a moment ago; the commit looks again."""
    session = caller_of(desk.tools, desk.session(_ROOT), at=desk.at(minutes=2))
    session = Dispatcher(tools=desk.tools).permit(BY_NAME["principal.add"], session)
    amend_principal(desk.tools, TENANT, _ROOT, PrincipalChange(roles=()), by=ADMIN, at=desk.at(minutes=1))
    _nothing(desk, IdentityError.role, act, session)
    disable_principal(desk.tools, TENANT, _ROOT, by=ADMIN, at=desk.at(minutes=1))
    _nothing(desk, NotSignedInError, act, session)


@pytest.mark.parametrize("act", _ACTS)
def test_an_administrators_key_is_not_enough(desk: Desk, act: Act) -> None:
    key, _ = issue_api_key(desk.tools, TENANT, _ROOT, by=ADMIN, at=desk.start)
    _nothing(desk, IdentityFlowError.session_required, act, key)


@pytest.mark.parametrize("act", [_amend, _disable])
def test_an_administrator_of_another_tenant_finds_nobody(desk: Desk, act: Act) -> None:
    other = TenantId("other")
    desk.add("user:sue", tenant=other, roles=("admin",))
    _nothing(desk, NotFoundError, act, desk.session("user:sue", tenant=other))


def test_whoever_joins_joins_the_administrators_own_tenant(desk: Desk) -> None:
    other = TenantId("other")
    desk.add("user:sue", tenant=other, roles=("admin",))
    before = desk.head()
    assert _add(desk, desk.session("user:sue", tenant=other)).tenant_id == other
    assert desk.head() == before


@pytest.mark.clause("forja", "FRJ-015")
def test_an_administrator_does_not_amend_their_own_tier(desk: Desk) -> None:
    session, before = desk.session(_ROOT), desk.head()
    root = caller_of(desk.tools, session, at=desk.at(minutes=2))
    with raises(DeniedError.tier_change):
        amend(desk.tools, root, _ROOT, PrincipalChange(action_tier=3))
    with raises(DeniedError.tier_change):
        request_tier(desk.tools, _ROOT, 3, reason="mine", credential=session, at=desk.at(minutes=2))
    assert desk.head() == before


def test_whoever_is_disabled_already_stays_so_since_then(desk: Desk) -> None:
    """A later `disabled_at` would say that something was allowed in between."""
    first = disable_principal(desk.tools, TENANT, _AMIRA, by=ADMIN, at=desk.at(minutes=1))
    session = desk.session(_ROOT)
    before = desk.head()
    assert _disable(desk, session) == first
    assert desk.head() == before


def _nothing(desk: Desk, error: Code | type[Error], act: Act, credential: str | Caller) -> None:
    before = desk.head()
    with raises(error):
        act(desk, credential)
    assert desk.head() == before
