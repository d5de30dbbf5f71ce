"""API keys prove a principal for as long as nothing says otherwise; only hashes of their secrets are kept."""

import hashlib
from datetime import timedelta

import msgspec
import pytest

from assay.identity.credential import (
    API_KEY_ENTROPY_BYTES,
    ApiKeyPrefix,
    ApiKeyRecord,
    ApiKeyRevocation,
    PasswordRecord,
    check_api_key,
    has_scope,
    issue_api_key,
    parse_api_key,
    parse_api_key_prefix,
    revoke_api_key,
    rotate_api_key,
    set_password,
)
from assay.identity.errors import IdentityError, InvalidCredentialError, MalformedApiKeyError
from assay.identity.finding import CredentialState, unknown_credential
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from tests.identity.people import ADMIN, NOON, TENANT, later, make_principal
from tests.raising import raises

ENTROPY = bytes(range(API_KEY_ENTROPY_BYTES))
OTHER = bytes(range(1, API_KEY_ENTROPY_BYTES + 1))
AMIRA = make_principal()


def issue(expires_at: Instant | None = None) -> tuple[str, ApiKeyRecord]:
    return issue_api_key(AMIRA, entropy=ENTROPY, scopes=["ledger:append"], at=NOON, expires_at=expires_at)


def state(
    record: ApiKeyRecord, secret: str, at: Instant = NOON, revocations: tuple[ApiKeyRevocation, ...] = ()
) -> CredentialState:
    return check_api_key(record, secret, AMIRA, at=at, revocations=revocations).state


def test_the_secret_is_shown_once_and_kept_only_as_its_hash() -> None:
    """The stored bytes hold SHA-256 of the secret text and not the secret."""
    text, record = issue()
    prefix, secret = parse_api_key(text)
    assert prefix == record.prefix
    assert record.secret_hash == "sha256:" + hashlib.sha256(secret.encode()).hexdigest()
    assert secret.encode() not in msgspec.json.encode(record)


def test_the_right_secret_is_accepted_and_any_other_is_not() -> None:
    """One changed character is enough; so is a text that is no secret at all."""
    text, record = issue()
    _, secret = parse_api_key(text)
    changed = ("A" if secret[0] != "A" else "B") + secret[1:]
    assert check_api_key(record, secret, AMIRA, at=NOON, revocations=()).accepted
    for wrong in (changed, "", "é" * 43, secret + "=", secret.lower()):
        assert state(record, wrong) is CredentialState.WRONG_SECRET


def test_a_key_is_valid_from_its_issue_up_to_and_not_including_its_end() -> None:
    """Both edges of the lifetime."""
    text, record = issue(expires_at=later(hours=1))
    _, secret = parse_api_key(text)
    assert state(record, secret, later(seconds=-1)) is CredentialState.NOT_YET_VALID
    assert state(record, secret, later(minutes=59)) is CredentialState.VALID
    assert state(record, secret, later(hours=1)) is CredentialState.EXPIRED


def test_a_revocation_is_a_later_fact_and_the_earliest_one_counts() -> None:
    """Facts about other keys change nothing."""
    text, record = issue()
    _, secret = parse_api_key(text)
    early = revoke_api_key(record, at=later(hours=1), by=ADMIN, reason="lost")
    late = revoke_api_key(record, at=later(hours=9), by=ADMIN, reason="lost again")
    elsewhere = msgspec.structs.replace(early, prefix=ApiKeyPrefix("ak_" + "a" * 12), revoked_at=NOON)
    facts = (late, elsewhere, early)
    assert state(record, secret, later(minutes=59), facts) is CredentialState.VALID
    assert state(record, secret, later(hours=1), facts) is CredentialState.REVOKED


def test_whoever_lacks_the_secret_learns_nothing_about_the_key() -> None:
    """A revoked and expired key answers a wrong secret like any other."""
    _, record = issue(expires_at=later(hours=1))
    revoked = revoke_api_key(record, at=NOON, by=ADMIN, reason="lost")
    assert state(record, "x" * 43, later(hours=2), (revoked,)) is CredentialState.WRONG_SECRET


def test_the_key_of_a_disabled_principal_opens_nothing() -> None:
    """The principal's latest version is part of the question."""
    text, record = issue()
    disabled = make_principal(change=PrincipalChange(disabled_at=NOON))
    finding = check_api_key(record, parse_api_key(text)[1], disabled, at=NOON, revocations=())
    assert (finding.state, finding.accepted) == (CredentialState.DISABLED, False)


def test_a_key_is_never_checked_against_somebody_else() -> None:
    """A mixed-up look-up is our fault, not a plain no."""
    text, record = issue()
    for stranger in (make_principal("user:bela"), make_principal(tenant=TenantId("other"))):
        with raises(IdentityError.wrong_record):
            check_api_key(record, parse_api_key(text)[1], stranger, at=NOON, revocations=())


def test_rotation_keeps_the_old_key_for_the_overlap_and_no_longer() -> None:
    """Both keys work until the overlap ends; scopes and lifetime are inherited."""
    text, old = issue(expires_at=later(days=30))
    new_text, new, ends = rotate_api_key(
        old, AMIRA, entropy=OTHER, at=later(days=1), overlap=timedelta(hours=6), by=ADMIN
    )
    secret, new_secret = parse_api_key(text)[1], parse_api_key(new_text)[1]
    assert (new.scopes, new.expires_at) == (old.scopes, later(days=31))
    assert state(old, secret, later(days=1, hours=5), (ends,)) is CredentialState.VALID
    assert state(new, new_secret, later(days=1, hours=5), (ends,)) is CredentialState.VALID
    assert state(old, secret, later(days=1, hours=6), (ends,)) is CredentialState.REVOKED
    assert state(new, new_secret, later(days=1, hours=6), (ends,)) is CredentialState.VALID


def test_an_endless_key_rotates_into_an_endless_key_and_never_backwards() -> None:
    """A negative overlap would be a revocation in the past."""
    _, old = issue()
    _, new, _ = rotate_api_key(old, AMIRA, entropy=OTHER, at=NOON, overlap=timedelta(), by=ADMIN)
    assert new.expires_at is None
    with pytest.raises(InvalidCredentialError, match="overlap"):
        rotate_api_key(old, AMIRA, entropy=OTHER, at=NOON, overlap=timedelta(seconds=-1), by=ADMIN)


def test_a_secret_needs_all_its_random_bytes() -> None:
    """Too few, and too many, are refused: someone miscounted."""
    for entropy in (ENTROPY[:-1], ENTROPY + b"x", b""):
        with raises(IdentityError.entropy):
            issue_api_key(AMIRA, entropy=entropy, scopes=["*"], at=NOON)


@pytest.mark.parametrize("text", ["", "ak_", "ak_aaaaaaaaaaaa", "ak_aaaaaaaaaaaa.short", "AK_aaaaaaaaaaaa." + "x" * 43])
def test_a_malformed_key_is_refused_without_being_repeated(text: str) -> None:
    """Most of a mistyped key is still a secret, so the message does not show it."""
    with pytest.raises(MalformedApiKeyError) as caught:
        parse_api_key(text)
    assert len(text) < len("ak_....") or text not in str(caught.value)


def test_a_prefix_has_its_form() -> None:
    """Twelve of base32's lower-case letters and digits."""
    assert parse_api_key_prefix("ak_" + "a2" * 6) == "ak_" + "a2" * 6
    with pytest.raises(MalformedApiKeyError):
        parse_api_key_prefix("ak_" + "a1" * 6)


def test_scopes_are_named_one_by_one_or_all_at_once() -> None:
    """A key without any scope could do nothing, so it is refused; so is a scope out of form."""
    _, record = issue()
    assert has_scope(record, "ledger:append")
    assert not has_scope(record, "ledger:erase")
    _, every = issue_api_key(AMIRA, entropy=ENTROPY, scopes=["*"], at=NOON)
    assert has_scope(every, "ledger:erase")
    for scopes in ([], ["Ledger"], ["a:b:c"]):
        with pytest.raises(InvalidCredentialError, match="scopes"):
            issue_api_key(AMIRA, entropy=ENTROPY, scopes=scopes, at=NOON)


def test_a_key_that_ends_before_it_starts_is_refused() -> None:
    """So is a revocation without a reason."""
    with pytest.raises(InvalidCredentialError, match="expires_at"):
        issue(expires_at=NOON)
    with pytest.raises(InvalidCredentialError, match="reason"):
        revoke_api_key(issue()[1], at=NOON, by=ADMIN, reason=" ")


ENCODED = "$argon2id$v=19$m=65536,t=3,p=4$" + "c2FsdHNhbHRzYWx0c2FsdA" + "$" + "A" * 43


def test_a_password_is_held_only_as_argon2id() -> None:
    """Another scheme is refused, and a plain password in its place is not repeated."""
    record = set_password(AMIRA, ENCODED, at=NOON, by=ADMIN)
    assert (record.principal_id, record.tenant_id) == (AMIRA.id, TENANT)
    for text in ("hunter2", ENCODED.replace("argon2id", "argon2i"), ""):
        with pytest.raises(InvalidCredentialError) as caught:
            PasswordRecord(tenant_id=TENANT, principal_id=AMIRA.id, encoded=text, set_at=NOON, set_by=ADMIN)
        assert "hunter2" not in str(caught.value)


def test_a_machine_has_no_password() -> None:
    """Agents and services prove themselves by keys."""
    with raises(IdentityError.machine_password):
        set_password(make_principal(kind=PrincipalKind.AGENT), ENCODED, at=NOON, by=ADMIN)


def test_an_unknown_credential_is_a_plain_no() -> None:
    """The caller whose store has no record still has an answer to give."""
    finding = unknown_credential("ak_nobody")
    assert (finding.accepted, finding.state) == (False, CredentialState.UNKNOWN)
