"""An administrator looks after principals: proved in the very commit that acts, and of one tenant."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import NotSignedInError, SessionRequiredError
from assay.flows.identity.amend_principal import amend_principal
from assay.flows.identity.change_tier import request_tier
from assay.flows.identity.disable_principal import disable_principal
from assay.flows.identity.issue_api_key import issue_api_key
from assay.flows.identity.keep_principals import (
    add_principal_as_admin,
    amend_principal_as_admin,
    disable_principal_as_admin,
)
from assay.identity.errors import RoleMissingError
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.registry.errors import TierChangeError
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk

_ROOT, _AMIRA, _NEW = PrincipalId("user:root"), PrincipalId("user:amira"), PrincipalId("ai:new")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as made:
        made.add(_ROOT, roles=("admin",))
        made.add(_AMIRA, roles=())
        yield made


def _add(desk: Desk, credential: str) -> Principal:
    return add_principal_as_admin(
        desk.tools,
        _NEW,
        kind=PrincipalKind.AGENT,
        name="New",
        granted=PrincipalChange(trust_mask=2),
        credential=credential,
        at=desk.at(minutes=2),
    )


def _amend(desk: Desk, credential: str) -> Principal:
    change = PrincipalChange(trust_mask=4)
    return amend_principal_as_admin(desk.tools, _AMIRA, change, credential=credential, at=desk.at(minutes=2))


def _disable(desk: Desk, credential: str) -> Principal:
    return disable_principal_as_admin(desk.tools, _AMIRA, credential=credential, at=desk.at(minutes=2))


_ACTS = [_add, _amend, _disable]
Act = Callable[[Desk, str], Principal]


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
    session = desk.session(_ROOT)
    amend_principal(desk.tools, TENANT, _ROOT, PrincipalChange(roles=()), by=ADMIN, at=desk.at(minutes=1))
    _nothing(desk, RoleMissingError, act, session)
    disable_principal(desk.tools, TENANT, _ROOT, by=ADMIN, at=desk.at(minutes=1))
    _nothing(desk, NotSignedInError, act, session)


@pytest.mark.parametrize("act", _ACTS)
def test_an_administrators_key_is_not_enough(desk: Desk, act: Act) -> None:
    key, _ = issue_api_key(desk.tools, TENANT, _ROOT, by=ADMIN, at=desk.start)
    _nothing(desk, SessionRequiredError, act, key)


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
    change = PrincipalChange(action_tier=3)
    with pytest.raises(TierChangeError):
        amend_principal_as_admin(desk.tools, _ROOT, change, credential=session, at=desk.at(minutes=2))
    with pytest.raises(TierChangeError):
        request_tier(desk.tools, _ROOT, 3, reason="mine", credential=session, at=desk.at(minutes=2))
    assert desk.head() == before


def test_whoever_is_disabled_already_stays_so_since_then(desk: Desk) -> None:
    """A later `disabled_at` would say that something was allowed in between."""
    first = disable_principal(desk.tools, TENANT, _AMIRA, by=ADMIN, at=desk.at(minutes=1))
    session = desk.session(_ROOT)
    before = desk.head()
    assert _disable(desk, session) == first
    assert desk.head() == before


def _nothing(desk: Desk, error: type[Error], act: Act, credential: str) -> None:
    before = desk.head()
    with pytest.raises(error):
        act(desk, credential)
    assert desk.head() == before
