"""A session is a person's, is short, and can be taken back."""

from datetime import timedelta

import pytest

from assay.identity.errors import IdentityError, InvalidSessionError, MalformedSessionTokenError
from assay.identity.finding import CredentialState
from assay.identity.principal import Principal, PrincipalKind
from assay.identity.session import (
    SESSION_ENTROPY_BYTES,
    SessionRecord,
    SessionRevocation,
    check_session,
    open_session,
    parse_session_id,
    parse_session_token,
    revoke_session,
)
from assay.kernel.instant import Instant
from tests.identity.people import ADMIN, NOON, later, make_principal
from tests.raising import raises

ENTROPY = bytes(range(SESSION_ENTROPY_BYTES))
AMIRA = make_principal()


def login(lifetime: timedelta = timedelta(minutes=15)) -> tuple[str, SessionRecord]:
    token, record = open_session(AMIRA, entropy=ENTROPY, at=NOON, lifetime=lifetime)
    return parse_session_token(token)[1], record


def state(
    record: SessionRecord, secret: str, at: Instant, revocations: tuple[SessionRevocation, ...] = ()
) -> CredentialState:
    return check_session(record, secret, AMIRA, at=at, revocations=revocations).state


def test_a_session_lasts_fifteen_minutes_unless_told_otherwise() -> None:
    """Up to and not including its end."""
    token, record = open_session(AMIRA, entropy=ENTROPY, at=NOON)
    session_id, secret = parse_session_token(token)
    assert session_id == record.id
    assert state(record, secret, later(minutes=14, seconds=59)) is CredentialState.VALID
    assert state(record, secret, later(minutes=15)) is CredentialState.EXPIRED
    assert state(record, "x" * 43, NOON) is CredentialState.WRONG_SECRET


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.clause("pramana", "14.5")
@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.SERVICE])
def test_a_machine_never_holds_a_session(kind: PrincipalKind) -> None:
    """A human session token is a person's: it is not issued to a machine, nor accepted from one."""
    machine = make_principal(kind=kind)
    with raises(IdentityError.machine_session) as caught:
        open_session(machine, entropy=ENTROPY, at=NOON)
    assert caught.value.code == "identity.machine_session"
    secret, record = login()
    with raises(IdentityError.machine_session):
        check_session(record, secret, machine, at=NOON, revocations=())


def test_a_revoked_session_is_over_at_once() -> None:
    """Revocation is a later fact; those of other sessions change nothing."""
    secret, record = login()
    revoked = revoke_session(record, at=later(minutes=5), by=ADMIN, reason="left the desk")
    assert state(record, secret, later(minutes=4), (revoked,)) is CredentialState.VALID
    assert state(record, secret, later(minutes=5), (revoked,)) is CredentialState.REVOKED


@pytest.mark.parametrize("lifetime", [timedelta(), timedelta(seconds=-1), timedelta(hours=12, microseconds=1)])
def test_a_session_cannot_be_endless_or_empty(lifetime: timedelta) -> None:
    """Twelve hours is the longest."""
    login(timedelta(hours=12))
    with pytest.raises(InvalidSessionError, match="expires_at"):
        login(lifetime)


def test_a_session_is_never_checked_against_somebody_else() -> None:
    """A mixed-up look-up is our fault."""
    secret, record = login()
    stranger: Principal = make_principal("user:bela")
    with raises(IdentityError.wrong_record):
        check_session(record, secret, stranger, at=NOON, revocations=())


@pytest.mark.parametrize("text", ["", "st_", "st_" + "a" * 16, "ak_" + "a" * 16 + "." + "x" * 43])
def test_a_malformed_token_is_refused_without_being_repeated(text: str) -> None:
    """Most of a mistyped token is still a secret."""
    with pytest.raises(MalformedSessionTokenError) as caught:
        parse_session_token(text)
    assert len(text) < len("ak_....") or text not in str(caught.value)


def test_ids_entropy_and_reasons_are_checked() -> None:
    """The small refusals, each with its code."""
    with pytest.raises(MalformedSessionTokenError):
        parse_session_id("st_1")
    with raises(IdentityError.entropy):
        open_session(AMIRA, entropy=b"few", at=NOON)
    with pytest.raises(InvalidSessionError, match="reason"):
        revoke_session(login()[1], at=NOON, by=ADMIN, reason="")
