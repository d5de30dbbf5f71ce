"""A principal is well formed or refused, allowed nothing by default, and never edited."""

import msgspec
import pytest

from assay.identity.errors import InvalidPrincipalError
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind, amend_principal
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from tests.identity.people import ADMIN, NOON, TENANT, later, make_principal

# A valid Ed25519 public key: RFC 8032, section 7.1, test 1.
KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def test_a_new_principal_may_do_nothing() -> None:
    """The defaults are the strict ones."""
    principal = make_principal()
    assert (principal.roles, principal.trust_mask, principal.action_tier) == ((), 0, 0)
    assert principal.risk_ceiling is RiskTier.READ_ONLY
    assert (principal.authenticity_level_floor, principal.public_key, principal.version) == (0, None, 1)


def test_roles_are_kept_sorted_and_once_however_they_were_given() -> None:
    """Equal sets of roles are equal bytes."""
    principal = make_principal(change=PrincipalChange(roles=("reviewer", "admin", "reviewer")))
    assert principal.roles == ("admin", "reviewer")


def test_a_risk_ceiling_may_be_given_by_its_name() -> None:
    """As every other surface has it; another word is refused with those there are."""
    named = PrincipalChange(risk_ceiling="DELETE")  # type: ignore[arg-type]  # as somebody would who reads JSON
    assert make_principal(change=named).risk_ceiling is RiskTier.DELETE
    with pytest.raises(InvalidPrincipalError, match=r"expected one of READ_ONLY, .* got `HUGE`"):
        make_principal(change=PrincipalChange(risk_ceiling="HUGE"))  # type: ignore[arg-type]  # wrong on purpose


def test_every_problem_is_named_at_once() -> None:
    """A refused principal lists all that is wrong, field by field."""
    with pytest.raises(InvalidPrincipalError) as caught:
        Principal(
            id=PrincipalId("Amira"),
            tenant_id=TENANT,
            kind="robot",  # type: ignore[arg-type]  # wrong on purpose
            name=" ",
            roles=("Zed", "admin", "admin"),
            trust_mask=2**32,
            action_tier=4,
            risk_ceiling="HUGE",  # type: ignore[arg-type]  # wrong on purpose
            authenticity_level_floor=-1,
            public_key="beef",
            created_at=NOON,
            disabled_at=later(hours=-2),
            version=0,
            recorded_at=later(hours=-1),
            recorded_by=ADMIN,
        )
    assert caught.value.code == "identity.principal"
    assert {problem.field for problem in caught.value.problems} == {
        *("id", "kind", "name", "roles", "trust_mask", "action_tier", "risk_ceiling", "authenticity_level_floor"),
        *("public_key", "disabled_at", "version", "recorded_at"),
    }
    assert all(f"{problem.field}: {problem.message}" in str(caught.value) for problem in caught.value.problems)


@pytest.mark.parametrize(
    "change",
    [
        PrincipalChange(trust_mask=True),
        PrincipalChange(trust_mask=-1),
        PrincipalChange(trust_mask=10**5000, action_tier=10**5000),
        PrincipalChange(action_tier=True),
        PrincipalChange(name="two\nlines"),
        PrincipalChange(roles=("has space",)),
        PrincipalChange(public_key=KEY.upper()),
        PrincipalChange(public_key="00" * 32),
    ],
)
def test_each_malformed_grant_is_refused(change: PrincipalChange) -> None:
    """A bool is no number, and a public key of small order (all zeros) would let anyone sign."""
    with pytest.raises(InvalidPrincipalError):
        make_principal(change=change)


def test_text_ids_are_required() -> None:
    """An id of another type is a problem of that field, not a crash."""
    with pytest.raises(InvalidPrincipalError, match="id: expected text, got int"):
        msgspec.structs.replace(make_principal(), id=7)


def test_a_change_is_a_new_version_and_the_old_one_stays() -> None:
    """Id, tenant, kind and birth never change; what is left out stays."""
    first = make_principal(change=PrincipalChange(roles=("reviewer",), trust_mask=3))
    second = amend_principal(first, PrincipalChange(action_tier=2, public_key=KEY), at=later(hours=1), by=ADMIN)
    assert (first.version, first.action_tier, first.public_key) == (1, 0, None)
    assert (second.version, second.action_tier, second.public_key) == (2, 2, KEY)
    assert (second.roles, second.trust_mask) == (("reviewer",), 3)
    assert (second.id, second.tenant_id, second.kind) == (first.id, first.tenant_id, first.kind)
    assert (second.created_at, second.recorded_at, second.recorded_by) == (NOON, later(hours=1), ADMIN)


def test_a_field_can_be_cleared_by_saying_none() -> None:
    """None is a value; only what is left out stays."""
    first = make_principal(change=PrincipalChange(public_key=KEY))
    assert amend_principal(first, PrincipalChange(public_key=None), at=NOON, by=ADMIN).public_key is None


def test_a_version_cannot_be_older_than_the_one_it_follows() -> None:
    """History reads forwards."""
    first = make_principal()
    with pytest.raises(InvalidPrincipalError, match="recorded_at"):
        amend_principal(first, PrincipalChange(name="x"), at=later(seconds=-1), by=ADMIN)


def test_a_bad_change_is_refused_like_a_bad_start() -> None:
    """The next version is checked in full."""
    with pytest.raises(InvalidPrincipalError, match="action_tier"):
        amend_principal(make_principal(), PrincipalChange(action_tier=9), at=NOON, by=ADMIN)


def test_a_disabled_principal_is_active_until_that_instant() -> None:
    """From `disabled_at` on, nothing; a later version may clear it."""
    principal = make_principal(change=PrincipalChange(disabled_at=later(hours=1)))
    assert principal.is_active(later(minutes=59))
    assert not principal.is_active(later(hours=1))
    again = amend_principal(principal, PrincipalChange(disabled_at=None), at=later(hours=2), by=ADMIN)
    assert again.is_active(later(hours=3))


@pytest.mark.parametrize(("kind", "person"), [("person", True), ("agent", False), ("service", False)])
def test_only_a_person_is_a_person(kind: str, person: bool) -> None:  # noqa: FBT001  a parameter
    """Agents and services are machines."""
    assert make_principal(kind=PrincipalKind(kind)).is_person() is person


def test_a_principal_survives_the_way_to_bytes_and_back() -> None:
    """What a store reads is checked again, and an unknown field is refused."""
    principal = make_principal(change=PrincipalChange(roles=("admin",), public_key=KEY))
    text = msgspec.json.encode(principal)
    assert msgspec.json.decode(text, type=Principal) == principal
    with pytest.raises(InvalidPrincipalError):
        msgspec.json.decode(text.replace(b'"action_tier":0', b'"action_tier":7'), type=Principal)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text.replace(b'"action_tier"', b'"tier"'), type=Principal)
