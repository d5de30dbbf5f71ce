"""People, agents and services: each version is kept, logged without a name, and all of it is one commit."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError
from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.erase_record import erase_record
from assay.identity.errors import IdentityError, InvalidPrincipalError
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from tests.acting import (
    amend_principal,
    disable_principal,
    erase_principal,
    inspect_principal,
    list_principals,
    set_password,
)
from tests.flows._people import ADMIN, PASSWORD, TENANT, Desk, LostError, opened_desk
from tests.raising import raises

AMIRA = PrincipalId("user:amira")
NOBODY = PrincipalId("user:nobody")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        yield one


def test_a_new_principal_is_stored_and_logged(desk: Desk) -> None:
    """The entry says everything but the name, which is a commitment that can be opened and erased."""
    added = desk.add(password=None)
    assert desk.read(lambda unit: unit.identity.find_principal(TENANT, AMIRA)) == added
    (body,) = desk.entries(EntryKind.PRINCIPAL_ADDED)
    assert (body["id"], body["roles"], body["version"], body["recorded_by"]) == (AMIRA, ["ops_team"], 1, ADMIN)
    assert set(body["name"]) == {"$commitment"}


def test_a_name_can_be_erased_from_the_ledger(desk: Desk) -> None:
    """What was committed to is kept beside the entry until somebody asks for it to go."""
    desk.add(password=None)
    sequence = desk.head()
    (kept,) = desk.read(lambda unit: unit.ledger.disclosures(TENANT, sequence))
    assert bytes(kept.value) == b'"The user:amira"'
    erase_record(desk.tools, TENANT, sequence, by=ADMIN, reason="asked to", at=desk.start)
    assert desk.read(lambda unit: unit.ledger.disclosures(TENANT, sequence)) == ()


def test_erasing_the_entry_of_a_name_takes_the_name_off_that_version(desk: Desk) -> None:
    """The record never held it, so what is shown is what is still kept."""
    desk.add(password=None)
    erase_record(desk.tools, TENANT, desk.head(), by=ADMIN, reason="asked to", at=desk.start)
    found = desk.read(lambda unit: unit.identity.find_principal(TENANT, AMIRA))
    assert found is not None
    assert (found.id, found.name, found.roles) == (AMIRA, None, ("ops_team",))


def test_an_erased_name_is_in_no_version_and_in_no_file(desk: Desk, tmp_path: Path) -> None:
    """Every version named the person; afterwards none does, and neither do the bytes on disk."""
    desk.add(password=None)
    for name in ("Zebulon Uniquename", "Zebulon Otherwise"):
        amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(name=name), by=ADMIN, at=desk.start)
    assert _in_files(tmp_path, b"Zebulon")
    erasure = erase_principal(desk.tools, TENANT, AMIRA, by=ADMIN, reason="asked to", at=desk.start)
    assert erasure.scrubbed
    assert not _in_files(tmp_path, b"Zebulon")
    assert not _in_files(tmp_path, b"The user:amira")
    view = inspect_principal(desk.tools, TENANT, AMIRA, at=desk.start)
    assert [version.name for version in view.history] == [None, None, None]
    erased = [body["sequence_number"] for body in desk.entries(EntryKind.ERASURE)]
    assert tuple(erased) == erasure.sequence_numbers
    assert audit_ledger(desk.tools, TENANT).holds


def test_a_principal_without_a_name_goes_on_and_may_be_named_again(desk: Desk) -> None:
    """A later version that says nothing about the name has none, and logs none."""
    desk.add(password=None)
    erase_principal(desk.tools, TENANT, AMIRA, by=ADMIN, reason="asked to", at=desk.start)
    with raises(LedgerFlowError.nothing_to_erase):
        erase_principal(desk.tools, TENANT, AMIRA, by=ADMIN, reason="again", at=desk.start)
    with pytest.raises(NotFoundError):
        erase_principal(desk.tools, TENANT, NOBODY, by=ADMIN, reason="who", at=desk.start)
    changed = amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(action_tier=1), by=ADMIN, at=desk.start)
    assert changed.name is None
    assert desk.entries(EntryKind.PRINCIPAL_CHANGED)[-1]["name"] is None
    named = amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(name="Amira"), by=ADMIN, at=desk.start)
    assert desk.read(lambda unit: unit.identity.find_principal(TENANT, AMIRA)) == named


def _in_files(folder: Path, words: bytes) -> bool:
    return any(words in file.read_bytes() for file in (folder / "node").glob("assay.db*"))


def test_a_person_may_get_a_password_in_the_same_commit(desk: Desk) -> None:
    """The ledger learns that one was set, and neither the password nor its hash."""
    desk.add()
    (body,) = desk.entries(EntryKind.CREDENTIAL_ISSUED)
    assert (body["credential"], body["credential_id"], body["principal_id"]) == ("password", None, AMIRA)
    texts = desk.read(lambda unit: [row.text for row in unit.ledger.entries(TENANT)])
    assert not any(b"argon2" in text or PASSWORD.encode() in text for text in texts)


def test_an_id_is_given_once(desk: Desk) -> None:
    """The second is refused and leaves no entry."""
    desk.add(password=None)
    before = desk.head()
    with raises(IdentityFlowError.exists):
        desk.add(password=None)
    assert desk.head() == before


def test_a_machine_gets_no_password(desk: Desk) -> None:
    """Neither when it is added nor later."""
    desk.add("ai:planner", kind=PrincipalKind.AGENT)
    with raises(IdentityError.machine_password):
        set_password(desk.tools, TENANT, PrincipalId("ai:planner"), PASSWORD, by=ADMIN, at=desk.start)


@pytest.mark.parametrize("password", ["short", "x" * 1025, "correct horse \udcff"])
def test_a_password_is_long_text(desk: Desk, password: str) -> None:
    """The refusal tells its length and never the password."""
    with raises(IdentityFlowError.password_form) as refusal:
        desk.add(password=password)
    assert password not in str(refusal.value)
    assert list_principals(desk.tools, TENANT) == ()


def test_an_amendment_is_the_next_version(desk: Desk) -> None:
    """Earlier versions stay, and the entry holds the new one."""
    first = desk.add(password=None)
    second = amend_principal(
        desk.tools, TENANT, AMIRA, PrincipalChange(roles=("auditor",)), by=ADMIN, at=desk.at(minutes=1)
    )
    view = inspect_principal(desk.tools, TENANT, AMIRA, at=desk.at(minutes=2))
    assert (view.principal, view.history) == (second, (first, second))
    (body,) = desk.entries(EntryKind.PRINCIPAL_CHANGED)
    assert (body["version"], body["roles"]) == (2, ["auditor"])
    assert set(body["name"]) == {"$commitment"}


def test_an_amendment_cannot_predate_the_version_it_amends(desk: Desk) -> None:
    """Time only moves forward within one principal."""
    desk.add(password=None)
    with pytest.raises(InvalidPrincipalError):
        amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(name="B"), by=ADMIN, at=desk.at(minutes=-1))


def test_whoever_is_unknown_cannot_be_amended(desk: Desk) -> None:
    """Also not disabled, looked at, or given a password."""
    with pytest.raises(NotFoundError):
        amend_principal(desk.tools, TENANT, NOBODY, PrincipalChange(name="B"), by=ADMIN, at=desk.start)
    with pytest.raises(NotFoundError):
        disable_principal(desk.tools, TENANT, NOBODY, by=ADMIN, at=desk.start)
    with pytest.raises(NotFoundError):
        inspect_principal(desk.tools, TENANT, NOBODY, at=desk.start)
    with pytest.raises(NotFoundError):
        set_password(desk.tools, TENANT, NOBODY, PASSWORD, by=ADMIN, at=desk.start)


def test_disabling_is_a_version_and_can_be_undone(desk: Desk) -> None:
    """Nothing is forgotten: three versions tell the story."""
    desk.add(password=None)
    disabled = disable_principal(desk.tools, TENANT, AMIRA, by=ADMIN, at=desk.at(minutes=1))
    assert not disabled.is_active(desk.at(minutes=1))
    enabled = amend_principal(
        desk.tools, TENANT, AMIRA, PrincipalChange(disabled_at=None), by=ADMIN, at=desk.at(minutes=2)
    )
    assert enabled.is_active(desk.at(minutes=3))
    assert enabled.version == 3


def test_amendments_at_once_are_all_kept(desk: Desk) -> None:
    """Each applies to the version before it, so no change is lost."""
    desk.add(password=None)
    changes = [PrincipalChange(trust_mask=5), PrincipalChange(action_tier=2), PrincipalChange(name="Amira B")]
    start = threading.Barrier(len(changes))

    def amend(change: PrincipalChange) -> None:
        start.wait()
        amend_principal(desk.tools, TENANT, AMIRA, change, by=ADMIN, at=desk.at(minutes=1))

    threads = [threading.Thread(target=amend, args=(change,)) for change in changes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    latest = inspect_principal(desk.tools, TENANT, AMIRA, at=desk.at(minutes=2)).principal
    assert (latest.version, latest.trust_mask, latest.action_tier, latest.name) == (4, 5, 2, "Amira B")


def test_a_failing_commit_leaves_nothing(desk: Desk) -> None:
    """No principal without its entry, no entry without its principal, no password alone."""
    before = desk.head()
    with pytest.raises(LostError):
        desk.failing().add()
    assert desk.head() == before
    assert list_principals(desk.tools, TENANT) == ()
    desk.add()
    before = desk.head()
    failing = desk.failing().tools
    with pytest.raises(LostError):
        amend_principal(failing, TENANT, AMIRA, PrincipalChange(name="B"), by=ADMIN, at=desk.start)
    with pytest.raises(LostError):
        set_password(failing, TENANT, AMIRA, "another long password", by=ADMIN, at=desk.start)
    assert desk.head() == before
    assert len(inspect_principal(desk.tools, TENANT, AMIRA, at=desk.start).history) == 1
    assert desk.session()
