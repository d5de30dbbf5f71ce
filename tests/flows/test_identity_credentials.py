"""API keys, passwords and sessions: shown once, refused alike, ended for good."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.identity.authenticate import authenticate, check_credential, require_session
from assay.identity.caller import Via
from assay.identity.credential import ApiKeyPrefix
from assay.identity.errors import IdentityError, InvalidCredentialError, InvalidSessionError
from assay.identity.finding import CredentialState
from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.ledger import EntryKind
from tests.acting import (
    disable_principal,
    inspect_principal,
    issue_api_key,
    log_in,
    log_out,
    revoke_api_key,
    rotate_api_key,
    set_password,
)
from tests.flows._people import ADMIN, PASSWORD, TENANT, Desk, LostError, opened_desk
from tests.raising import raises

AMIRA = PrincipalId("user:amira")
PLANNER = PrincipalId("ai:planner")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        one.add()
        one.add("ai:planner", kind=PrincipalKind.AGENT)
        yield one


def _issue(desk: Desk, **options: timedelta) -> tuple[str, ApiKeyPrefix]:
    ends = options.get("lifetime")
    text, record = issue_api_key(
        desk.tools,
        TENANT,
        PLANNER,
        scopes=("ledger:append",),
        expires_at=None if ends is None else desk.at(seconds=ends.total_seconds()),
        by=ADMIN,
        at=desk.start,
    )
    return text, record.prefix


def test_an_api_key_proves_its_principal(desk: Desk) -> None:
    """Also which scopes it carries, and that no session was shown."""
    text, prefix = _issue(desk)
    proved = authenticate(desk.tools, text, at=desk.start)
    assert (proved.principal.id, proved.via, proved.credential_id) == (PLANNER, Via.API_KEY, prefix)
    assert proved.has_scope("ledger:append")
    assert not proved.has_scope("principal:add")
    with raises(IdentityFlowError.session_required):
        require_session(proved)


def test_no_secret_and_no_hash_of_one_is_logged(desk: Desk) -> None:
    """The entry holds the prefix, the principal, the scopes and the times."""
    text, prefix = _issue(desk)
    body = desk.entries(EntryKind.CREDENTIAL_ISSUED)[-1]
    assert body["credential_id"] == prefix
    assert body["scopes"] == ["ledger:append"]
    record = desk.read(lambda unit: unit.identity.find_api_key(prefix))
    assert record is not None
    secret = text.partition(".")[2]
    entries = desk.read(lambda unit: b"".join(row.text for row in unit.ledger.entries(TENANT)))
    assert secret.encode() not in entries
    assert record.secret_hash.encode() not in entries


def test_every_way_to_be_wrong_looks_the_same(desk: Desk) -> None:
    """A stranger cannot tell an unknown key from a wrong secret, a revoked key or a disabled principal."""
    text, prefix = _issue(desk)
    other, _ = _issue(desk)
    ended, ended_prefix = _issue(desk)
    revoke_api_key(desk.tools, TENANT, ended_prefix, reason="lost", by=ADMIN, at=desk.at(minutes=1))
    wrong = {
        "": CredentialState.UNKNOWN,
        "not a key": CredentialState.UNKNOWN,
        "st_": CredentialState.UNKNOWN,
        "ak_aaaaaaaaaaaa." + "A" * 43: CredentialState.UNKNOWN,
        "st_aaaaaaaaaaaaaaaa." + "A" * 43: CredentialState.UNKNOWN,
        f"{prefix}.{other.partition('.')[2]}": CredentialState.WRONG_SECRET,
        text.upper(): CredentialState.UNKNOWN,
        text + " ": CredentialState.UNKNOWN,
        ended: CredentialState.REVOKED,
    }
    messages = set()
    for credential, state in wrong.items():
        finding, proved = desk.read(lambda unit, one=credential: check_credential(unit, one, at=desk.at(minutes=2)))  # type: ignore[misc]  # the default binds the loop's value
        assert (finding.state, proved) == (state, None), credential
        with pytest.raises(NotSignedInError) as refusal:
            authenticate(desk.tools, credential, at=desk.at(minutes=2))
        messages.add(str(refusal.value))
    assert len(messages) == 1


def test_a_disabled_principal_proves_nothing(desk: Desk) -> None:
    """Keys and sessions are refused from that instant on, and no new key is issued."""
    text, prefix = _issue(desk)
    token = desk.session()
    for one in (PLANNER, AMIRA):
        disable_principal(desk.tools, TENANT, one, by=ADMIN, at=desk.at(minutes=1))
    for credential in (text, token):
        assert authenticate(desk.tools, credential, at=desk.at(seconds=59)).principal.tenant_id == TENANT
        with pytest.raises(NotSignedInError):
            authenticate(desk.tools, credential, at=desk.at(minutes=1))
    with raises(IdentityError.disabled):
        issue_api_key(desk.tools, TENANT, PLANNER, by=ADMIN, at=desk.at(minutes=2))
    with raises(IdentityError.disabled):
        rotate_api_key(desk.tools, TENANT, prefix, overlap=timedelta(), by=ADMIN, at=desk.at(minutes=2))
    with pytest.raises(NotSignedInError):
        desk.session(minutes=2)


def test_a_rotated_key_and_its_heir_overlap(desk: Desk) -> None:
    """Both work during the overlap, then only the heir; the ledger has both facts."""
    old, prefix = _issue(desk)
    new, record = rotate_api_key(
        desk.tools, TENANT, prefix, overlap=timedelta(hours=1), by=ADMIN, at=desk.at(minutes=1)
    )
    assert record.scopes == ("ledger:append",)
    for credential in (old, new):
        assert authenticate(desk.tools, credential, at=desk.at(minutes=60)).principal.id == PLANNER
    with pytest.raises(NotSignedInError):
        authenticate(desk.tools, old, at=desk.at(minutes=61))
    (body,) = desk.entries(EntryKind.CREDENTIAL_REVOKED)
    assert (body["credential_id"], body["reason"]) == (prefix, f"rotated to `{record.prefix}`")
    view = inspect_principal(desk.tools, TENANT, PLANNER, at=desk.at(minutes=61))
    assert [(key.prefix, key.live) for key in view.api_keys] == [(prefix, False), (record.prefix, True)]


def test_a_key_that_will_end_can_end_sooner(desk: Desk) -> None:
    """A rotation's overlap is a courtesy, and a leak ends it."""
    old, prefix = _issue(desk)
    rotate_api_key(desk.tools, TENANT, prefix, overlap=timedelta(days=1), by=ADMIN, at=desk.start)
    revoke_api_key(desk.tools, TENANT, prefix, reason="leaked", by=ADMIN, at=desk.at(minutes=1))
    with pytest.raises(NotSignedInError):
        authenticate(desk.tools, old, at=desk.at(minutes=1))


def test_an_ended_key_has_no_heir_and_ends_once(desk: Desk) -> None:
    """Rotating it would bring it back to life."""
    _, prefix = _issue(desk)
    revoke_api_key(desk.tools, TENANT, prefix, reason="lost", by=ADMIN, at=desk.at(minutes=1))
    _, expired = _issue(desk, lifetime=timedelta(minutes=1))
    for one in (prefix, expired):
        with raises(IdentityFlowError.credential_ended):
            rotate_api_key(desk.tools, TENANT, one, overlap=timedelta(), by=ADMIN, at=desk.at(minutes=1))
        with raises(IdentityFlowError.credential_ended):
            revoke_api_key(desk.tools, TENANT, one, reason="again", by=ADMIN, at=desk.at(minutes=1))


def test_a_key_of_another_tenant_is_not_there(desk: Desk) -> None:
    """A prefix finds the key everywhere; the tenant still decides who may end it."""
    _, prefix = _issue(desk)
    with pytest.raises(NotFoundError):
        revoke_api_key(desk.tools, TenantId("globex"), prefix, reason="mine", by=ADMIN, at=desk.start)
    with pytest.raises(NotFoundError):
        issue_api_key(desk.tools, TenantId("globex"), PLANNER, by=ADMIN, at=desk.start)


def test_a_revocation_says_why(desk: Desk) -> None:
    _, prefix = _issue(desk)
    with pytest.raises(InvalidCredentialError):
        revoke_api_key(desk.tools, TENANT, prefix, reason=" ", by=ADMIN, at=desk.start)


def test_a_password_opens_a_session_for_a_quarter_of_an_hour(desk: Desk) -> None:
    """The token proves a person by session, and the ledger says that it was issued."""
    token, record = log_in(desk.tools, TENANT, AMIRA, PASSWORD, at=desk.start)
    proved = authenticate(desk.tools, token, at=desk.at(minutes=14))
    require_session(proved)
    assert (proved.principal.id, proved.credential_id) == (AMIRA, record.id)
    with pytest.raises(NotSignedInError):
        authenticate(desk.tools, token, at=desk.at(minutes=15))
    body = desk.entries(EntryKind.CREDENTIAL_ISSUED)[-1]
    assert (body["credential"], body["credential_id"], body["issued_by"]) == ("session", record.id, AMIRA)


def test_every_failed_login_looks_the_same_and_is_not_recorded(desk: Desk) -> None:
    """An unknown person, a machine, a wrong password and another tenant get one answer."""
    before = desk.head()
    asked = [
        (TENANT, AMIRA, PASSWORD + "!"),
        (TENANT, AMIRA, ""),
        (TENANT, AMIRA, "\udcff" * 12),
        (TENANT, PrincipalId("user:nobody"), PASSWORD),
        (TENANT, PLANNER, PASSWORD),
        (TenantId("globex"), AMIRA, PASSWORD),
    ]
    messages = set()
    for tenant, name, password in asked:
        with pytest.raises(NotSignedInError) as refusal:
            log_in(desk.tools, tenant, name, password, at=desk.start)
        messages.add(str(refusal.value))
    assert len(messages) == 1
    assert desk.head() == before


def test_no_session_outlives_twelve_hours(desk: Desk) -> None:
    with pytest.raises(InvalidSessionError):
        log_in(desk.tools, TENANT, AMIRA, PASSWORD, lifetime=timedelta(hours=13), at=desk.start)


def test_logging_out_ends_the_session_at_once(desk: Desk) -> None:
    """A token that is not live cannot be ended again, and an API key is no session."""
    token = desk.session()
    revocation = log_out(desk.tools, token, at=desk.at(minutes=1))
    with pytest.raises(NotSignedInError):
        authenticate(desk.tools, token, at=desk.at(minutes=1))
    with pytest.raises(NotSignedInError):
        log_out(desk.tools, token, at=desk.at(minutes=2))
    (body,) = desk.entries(EntryKind.CREDENTIAL_REVOKED)
    assert (body["credential"], body["credential_id"]) == ("session", revocation.session_id)
    with raises(IdentityFlowError.session_required):
        log_out(desk.tools, _issue(desk)[0], at=desk.at(minutes=2))


def test_a_new_password_shuts_out_whoever_knew_the_old_one(desk: Desk) -> None:
    """Sessions opened before it end, and the old password opens none."""
    token = desk.session()
    set_password(desk.tools, TENANT, AMIRA, "another long password", by=ADMIN, at=desk.at(minutes=1))
    with pytest.raises(NotSignedInError):
        authenticate(desk.tools, token, at=desk.at(minutes=2))
    with pytest.raises(NotSignedInError):
        desk.session(minutes=2)
    assert log_in(desk.tools, TENANT, AMIRA, "another long password", at=desk.at(minutes=2))


def test_a_failing_commit_issues_and_ends_nothing(desk: Desk) -> None:
    """No key without its entry, no end without its entry."""
    text, prefix = _issue(desk)
    token = desk.session()
    before, failing = desk.head(), desk.failing()
    with pytest.raises(LostError):
        _issue(failing)
    with pytest.raises(LostError):
        rotate_api_key(failing.tools, TENANT, prefix, overlap=timedelta(), by=ADMIN, at=desk.start)
    with pytest.raises(LostError):
        revoke_api_key(failing.tools, TENANT, prefix, reason="lost", by=ADMIN, at=desk.start)
    with pytest.raises(LostError):
        log_out(failing.tools, token, at=desk.start)
    with pytest.raises(LostError):
        failing.session()
    assert desk.head() == before
    assert len(inspect_principal(desk.tools, TENANT, PLANNER, at=desk.start).api_keys) == 1
    for credential in (text, token):
        assert authenticate(desk.tools, credential, at=desk.start).principal.tenant_id == TENANT
