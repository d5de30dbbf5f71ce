"""Principals and their credentials: versions and ends are read from the ledger, the newest version counts."""

import pytest
from msgspec.structs import replace

from assay.identity.credential import (
    API_KEY_ENTROPY_BYTES,
    ApiKeyPrefix,
    ApiKeyRecord,
    ApiKeyRevocation,
    PasswordRecord,
    issue_api_key,
    revoke_api_key,
)
from assay.identity.principal import PrincipalChange, amend_principal
from assay.identity.session import (
    SESSION_ENTROPY_BYTES,
    SessionId,
    SessionRecord,
    SessionRevocation,
    open_session,
    revoke_session,
)
from assay.kernel.ids import parse_principal_id
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Database, Unit
from tests.contract._kit import AT, Kit, refused, tamper
from tests.contract._people import add_credential, add_person, end_credential
from tests.contract._records import ACME, ALICE, BOB, GLOBEX, later, note, person


def _api_key(letter: str, tenant: str = "acme") -> ApiKeyRecord:
    owner = person(ALICE, ACME if tenant == "acme" else GLOBEX)
    return issue_api_key(owner, entropy=letter.encode() * API_KEY_ENTROPY_BYTES, scopes=("*",), at=AT)[1]


def _session(letter: str) -> SessionRecord:
    return open_session(person(), entropy=letter.encode() * SESSION_ENTROPY_BYTES, at=AT)[1]


def _password(letter: str, minutes: int) -> PasswordRecord:
    encoded = f"$argon2id$v=19$m=65536,t=3,p=4${letter * 22}${letter * 43}"
    return PasswordRecord(tenant_id=ACME, principal_id=ALICE, encoded=encoded, set_at=later(minutes), set_by=BOB)


def test_versions_of_a_principal_are_those_of_the_ledger(database: Database) -> None:
    first = person()
    second = amend_principal(first, PrincipalChange(roles=("reviewer",)), at=later(1), by=BOB)
    database.write(lambda unit: add_person(unit, first))
    database.append(note(1))
    database.write(lambda unit: add_person(unit, second))
    assert database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) == second
    assert database.read(lambda unit: unit.identity.recorded_in(ACME, ALICE)) == (1, 3)
    assert database.read(lambda unit: unit.identity.recorded_in(GLOBEX, ALICE)) == ()
    assert database.read(lambda unit: unit.identity.principal_history(ACME, ALICE)) == (first, second)
    assert database.read(lambda unit: unit.identity.principals(ACME)) == (second,)
    nameless = tuple(replace(one, name=None) for one in (first, second))
    assert database.read(lambda unit: unit.identity.histories(ACME)) == (nameless,)


def test_a_unit_reads_what_it_has_recorded_and_not_stored_yet(database: Database) -> None:
    first = person()
    second = amend_principal(first, PrincipalChange(roles=("ops_team",)), at=later(1), by=BOB)
    key = _api_key("a")
    end = revoke_api_key(key, by=BOB, reason="lost", at=later(1))
    database.write(lambda unit: add_person(unit, first))

    def work(unit: Unit) -> None:
        add_person(unit, second)
        add_person(unit, person(BOB))
        add_credential(unit, key)
        end_credential(unit, end)
        assert unit.identity.principals(ACME) == (second, person(BOB))
        assert unit.identity.principals(ACME, after=ALICE, limit=1) == (person(BOB),)
        assert unit.identity.principals_with(ACME, ["ops_team"]) == (replace(second, name=None),)
        assert unit.identity.find_api_key(key.prefix) == key
        holder = unit.identity.find_holder(ACME, ALICE, key.prefix)
        assert holder is not None
        assert (holder.principal, holder.ends, holder.password_set_at) == (second, (end,), None)

    database.write(work)


def test_a_principal_is_read_once_and_anew_as_soon_as_it_differs(database: Database) -> None:
    first = person()
    database.write(lambda unit: add_person(unit, first))
    found = [database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) for _ in range(2)]
    assert found[0] is found[1]
    second = amend_principal(first, PrincipalChange(action_tier=1), at=later(1), by=BOB)
    database.write(lambda unit: add_person(unit, second))
    assert database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) == second


def test_a_name_is_kept_apart_from_the_entry_and_can_be_erased(kit: Kit) -> None:
    """By the entry that logged it, in that tenant; the version stays, and another version keeps its own."""
    first, database = person(), kit.open()
    second = amend_principal(first, PrincipalChange(name="Somebody Else"), at=later(1), by=BOB)
    foreign = person(ALICE, GLOBEX)
    for one in (first, second, foreign):
        database.write(lambda unit, one=one: add_person(unit, one))  # type: ignore[misc]  # bound at once
    texts = kit.force("SELECT text FROM ledger")
    assert not any(b"Somebody" in bytes(text) for (text,) in texts)  # type: ignore[call-overload]  # a column of bytes
    assert database.read(lambda unit: unit.identity.named_in(ACME, ALICE)) == (1, 2)
    kit.force("DELETE FROM disclosure WHERE tenant_id = 'acme' AND sequence_number = 1")
    assert database.read(lambda unit: unit.identity.named_in(ACME, ALICE)) == (2,)
    history = database.read(lambda unit: unit.identity.principal_history(ACME, ALICE))
    assert history == (replace(first, name=None), second)
    assert database.read(lambda unit: unit.identity.principals(ACME)) == (second,)
    assert database.read(lambda unit: unit.identity.find_principal(GLOBEX, ALICE)) == foreign
    database.close()


def test_a_name_that_its_entry_does_not_commit_to_is_damage(kit: Kit) -> None:
    database = kit.open()
    database.write(lambda unit: add_person(unit, person()))
    salt, value = kit.force("SELECT salt, value FROM disclosure")[0]
    kit.force("DELETE FROM disclosure")
    other = str(value).replace("Somebody", "Impostor")
    columns = "tenant_id, sequence_number, pointer, salt, value"
    kit.force(f"INSERT INTO disclosure ({columns}) VALUES ('acme', 1, '/name', '{salt}', '{other}')")
    with pytest.raises(DamagedRecordError, match="not what its entry commits to"):
        database.read(lambda unit: unit.identity.find_principal(ACME, ALICE))
    database.close()


def test_principals_are_listed_by_the_bytes_of_their_id_and_per_tenant(database: Database) -> None:
    """The order does not depend on the language a server is set up for."""
    names = ("user:a-b", "user:a.b", "user:a_b", "user:ab", "user:z", "ai:z", "ai:a1", "ai:a-1")
    everyone = [person(parse_principal_id(name)) for name in names]

    def add(unit: Unit) -> None:
        for one in everyone:
            add_person(unit, one)
        add_person(unit, person(BOB, GLOBEX))

    database.write(add)
    listed = database.read(lambda unit: unit.identity.principals(ACME))
    assert [one.id for one in listed] == sorted(names)
    page = database.read(lambda unit: unit.identity.principals(ACME, after=sorted(names)[1], limit=3))
    assert [one.id for one in page] == sorted(names)[2:5]
    assert database.read(lambda unit: unit.identity.find_principal(GLOBEX, ALICE)) is None


def test_principals_are_found_by_a_role_or_an_id_of_their_newest_version(database: Database) -> None:
    alice, bob = person(), person(BOB)
    odd = amend_principal(bob, PrincipalChange(roles=("ops_team", "reviewer")), at=later(1), by=ALICE)
    had = amend_principal(alice, PrincipalChange(roles=("auditor",)), at=later(1), by=BOB)
    lost = amend_principal(had, PrincipalChange(roles=()), at=later(2), by=BOB)

    def add(unit: Unit) -> None:
        for one in (alice, bob, odd, had, lost, person(ALICE, GLOBEX)):
            add_person(unit, one)

    def found(*names: str) -> list[str]:
        return [one.id for one in database.read(lambda unit: unit.identity.principals_with(ACME, names))]

    database.write(add)
    assert found("ops_team") == found("ops_team", "ops_team") == [BOB]
    assert found(ALICE, "ops_team") == [ALICE, BOB]
    assert found("auditor") == found("ops") == found('a"b', "a\\b", "a!b") == found() == []


def test_keys_of_many_and_their_ends_are_read_at_once(database: Database) -> None:
    one, two, foreign = _api_key("a"), _api_key("b"), _api_key("c", "globex")
    end = revoke_api_key(one, by=BOB, reason="lost", at=later(1))

    def add(unit: Unit) -> None:
        for record in (one, two, foreign):
            add_credential(unit, record)
        add_credential(unit, _session("d"))
        end_credential(unit, end)

    database.write(add)
    assert database.read(lambda unit: unit.identity.api_keys_of(ACME, [BOB, ALICE, ALICE])) == (one, two)
    assert database.read(lambda unit: unit.identity.api_keys_of(ACME, [])) == ()
    prefixes = [one.prefix, two.prefix]
    assert database.read(lambda unit: unit.identity.ends(ACME, prefixes, ApiKeyRevocation)) == (end,)
    assert database.read(lambda unit: unit.identity.ends(ACME, prefixes, SessionRevocation)) == ()
    assert database.read(lambda unit: unit.identity.ends(GLOBEX, prefixes, ApiKeyRevocation)) == ()


def test_api_keys_are_found_by_prefix_and_listed_in_order(kit: Kit) -> None:
    first, second, foreign = _api_key("a"), _api_key("b"), _api_key("c", "globex")
    database = kit.open()
    for record in (second, first, foreign):
        database.write(lambda unit, record=record: add_credential(unit, record))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: add_credential(unit, first))
    database.close()
    again = kit.open()
    assert again.read(lambda unit: unit.identity.find_api_key(first.prefix)) == first
    assert again.read(lambda unit: unit.identity.find_api_key(ApiKeyPrefix("ak_" + "z" * 12))) is None
    assert again.read(lambda unit: unit.identity.api_keys_of(ACME, [ALICE])) == (second, first)
    again.close()


def test_each_revocation_is_a_later_fact(database: Database) -> None:
    key = _api_key("a")
    leaked = revoke_api_key(key, at=later(1), by=BOB, reason="leaked")
    earlier = revoke_api_key(key, at=AT, by=BOB, reason="leaked before")
    database.write(lambda unit: add_credential(unit, key))
    for one in (leaked, earlier):
        database.write(lambda unit, one=one: end_credential(unit, one))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.identity.ends(ACME, [key.prefix], ApiKeyRevocation)) == (leaked, earlier)
    assert database.read(lambda unit: unit.identity.find_api_key(key.prefix)) == key


def test_the_newest_password_counts(kit: Kit) -> None:
    """The ledger says which one that is: without its row, an earlier password does not count again."""
    database = kit.open()
    assert database.read(lambda unit: unit.identity.find_password(ACME, ALICE)) is None
    for record in (_password("a", 0), _password("b", 1)):
        database.write(lambda unit, record=record: add_credential(unit, record))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.identity.find_password(ACME, ALICE)) == _password("b", 1)
    assert database.read(lambda unit: unit.identity.find_password(GLOBEX, ALICE)) is None
    tamper(kit, "DELETE FROM credential WHERE sequence_number = 2")
    with pytest.raises(DamagedRecordError, match="that entry 2 set, got none"):
        database.read(lambda unit: unit.identity.find_password(ACME, ALICE))
    database.close()


def test_sessions_are_found_and_revoked(database: Database) -> None:
    session = _session("s")
    ended = revoke_session(session, at=later(1), by=ALICE, reason="logged out")
    database.write(lambda unit: add_credential(unit, session))
    with refused("store.conflict"):
        database.write(lambda unit: add_credential(unit, session))
    database.write(lambda unit: end_credential(unit, ended))
    assert database.read(lambda unit: unit.identity.find_session(session.id)) == session
    assert database.read(lambda unit: unit.identity.ends(ACME, [session.id], SessionRevocation)) == (ended,)
    assert database.read(lambda unit: unit.identity.find_session(SessionId("st_" + "z" * 16))) is None
