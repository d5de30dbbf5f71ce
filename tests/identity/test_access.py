"""Every requirement by itself: met or not, why, and what would change it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.identity.access import Needs, RequirementName, Standing, check_access, find_unmet
from assay.identity.browser import csrf_token, is_csrf_token
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.identity.session import SESSION_ENTROPY_BYTES, open_session
from assay.kernel.ids import TenantId
from tests.identity.people import NOON as AT
from tests.identity.people import make_principal

_PERSON = make_principal(change=PrincipalChange(roles=("operator",)))
_ROBOT = replace(_PERSON, kind=PrincipalKind.AGENT)
_NEEDS = Needs(scope="log:write", roles=("operator", "admin"), tier=2)


def _unmet(needs: Needs = _NEEDS, tenant: str | None = None, **change: object) -> list[RequirementName]:
    fields = {"principal": _ROBOT, "scopes": ("*",), "active_tier": 3, "has_session": False, **change}
    standing = Standing(**fields)  # type: ignore[arg-type]  # any of its fields
    tenant_id = TenantId(tenant or _PERSON.tenant_id)
    found = check_access(needs, standing, tenant_id=tenant_id, at=AT)
    for one in found:
        assert one.met == (one.remedy is None)
        assert one.reason
    missing = [one.name for one in found if not one.met]
    first = find_unmet(found)
    assert (None if first is None else first.name) == (missing[0] if missing else None)
    return missing


def test_whoever_meets_all_is_let_in() -> None:
    assert _unmet() == []
    assert _unmet(scopes=("log:write",)) == []
    assert (
        _unmet(Needs(scope=None, roles=None, tier=1), scopes=("truth:read",), principal=replace(_ROBOT, roles=())) == []
    )


def test_what_a_person_has_to_want_now_takes_a_session() -> None:
    """A key of the same person is not enough, and only a person can be told to log in."""
    needs = replace(_NEEDS, session=True)
    assert _unmet(needs, principal=_PERSON, has_session=True) == []
    assert _unmet(needs, principal=_PERSON) == [RequirementName.SESSION]
    assert _unmet(needs) == [RequirementName.SESSION]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"tenant": "other"}, RequirementName.TENANT),
        ({"principal": replace(_ROBOT, disabled_at=AT)}, RequirementName.ACTIVE),
        ({"scopes": ("log:read",)}, RequirementName.SCOPE),
        ({"scopes": ()}, RequirementName.SCOPE),
        ({"principal": replace(_ROBOT, roles=("auditor",))}, RequirementName.ROLE),
        ({"active_tier": 1}, RequirementName.TIER),
    ],
)
def test_each_requirement_refuses_by_itself(change: dict[str, object], expected: RequirementName) -> None:
    assert _unmet(**change) == [expected]  # type: ignore[arg-type]  # any of its fields


def test_a_fired_switch_holds_machines_and_lets_people_set_things_right() -> None:
    assert _unmet(principal=_PERSON, active_tier=0) == []


def test_all_that_is_wrong_is_told_at_once() -> None:
    nobody = replace(_ROBOT, roles=(), disabled_at=AT)
    assert _unmet(principal=nobody, scopes=(), active_tier=0, tenant="other") == list(RequirementName)[:5]


@given(entropy=st.binary(min_size=SESSION_ENTROPY_BYTES, max_size=SESSION_ENTROPY_BYTES))
def test_the_token_of_a_page_follows_from_its_session_and_gives_nothing_away(entropy: bytes) -> None:
    token, _ = open_session(_PERSON, entropy=entropy, at=AT)
    csrf = csrf_token(token)
    assert is_csrf_token(csrf, token)
    assert not is_csrf_token(None, token)
    assert not is_csrf_token("", token)
    assert csrf not in token
    assert token.partition(".")[2] not in csrf
