"""Principals and what proves them: added, never changed, the latest version counts."""

from msgspec.structs import replace

from assay.identity.credential import (
    API_KEY_ENTROPY_BYTES,
    ApiKeyPrefix,
    ApiKeyRecord,
    PasswordRecord,
    issue_api_key,
    revoke_api_key,
)
from assay.identity.principal import PrincipalChange, amend_principal
from assay.identity.session import SESSION_ENTROPY_BYTES, SessionId, SessionRecord, open_session, revoke_session
from assay.kernel.ids import parse_principal_id
from assay.ports.database import Database, Unit
from tests.contract._kit import AT, Kit, refused
from tests.contract._records import ACME, ALICE, BOB, GLOBEX, later, person


def _api_key(letter: str, tenant: str = "acme") -> ApiKeyRecord:
    owner = person(ALICE, ACME if tenant == "acme" else GLOBEX)
    return issue_api_key(owner, entropy=letter.encode() * API_KEY_ENTROPY_BYTES, scopes=("*",), at=AT)[1]


def _session(letter: str) -> SessionRecord:
    return open_session(person(), entropy=letter.encode() * SESSION_ENTROPY_BYTES, at=AT)[1]


def _password(letter: str, minutes: int) -> PasswordRecord:
    encoded = f"$argon2id$v=19$m=65536,t=3,p=4${letter * 22}${letter * 43}"
    return PasswordRecord(tenant_id=ACME, principal_id=ALICE, encoded=encoded, set_at=later(minutes), set_by=BOB)


def test_versions_of_a_principal_follow_one_another(database: Database) -> None:
    first = person()
    second = amend_principal(first, PrincipalChange(roles=("reviewer",)), at=later(1), by=BOB)
    third = amend_principal(second, PrincipalChange(roles=()), at=later(2), by=BOB)
    with refused("store.conflict"):
        database.write(lambda unit: unit.identity.add_principal(second, 1))
    database.write(lambda unit: unit.identity.add_principal(first, 1))
    with refused("store.conflict"):
        database.write(lambda unit: unit.identity.add_principal(first, 1))
    with refused("store.conflict"):
        database.write(lambda unit: unit.identity.add_principal(third, 1))
    database.write(lambda unit: unit.identity.add_principal(second, 4))
    assert database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) == second
    assert database.read(lambda unit: unit.identity.recorded_in(ACME, ALICE)) == (1, 4)
    assert database.read(lambda unit: unit.identity.recorded_in(GLOBEX, ALICE)) == ()
    assert database.read(lambda unit: unit.identity.principal_history(ACME, ALICE)) == (first, second)
    assert database.read(lambda unit: unit.identity.principals(ACME)) == (second,)


def test_a_principal_is_judged_once_and_anew_as_soon_as_it_differs(database: Database) -> None:
    first = person()
    database.write(lambda unit: unit.identity.add_principal(first, 1))
    found = [database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) for _ in range(2)]
    assert found[0] is found[1]
    second = amend_principal(first, PrincipalChange(action_tier=1), at=later(1), by=BOB)
    database.write(lambda unit: unit.identity.add_principal(second, 2))
    assert database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) == second


def test_a_name_is_kept_apart_from_the_record_and_can_be_forgotten(kit: Kit) -> None:
    """By the entry that logged it, in that tenant; the version stays, and another version keeps its own."""
    first, database = person(), kit.open()
    second = amend_principal(first, PrincipalChange(name="Somebody Else"), at=later(1), by=BOB)
    foreign = person(ALICE, GLOBEX)
    for one, number in ((first, 7), (second, 9), (foreign, 7)):
        database.write(lambda unit, one=one, number=number: unit.identity.add_principal(one, number))  # type: ignore[misc]  # bound at once
    assert not any("Somebody" in str(record) for (record,) in kit.force("SELECT record FROM principal"))
    assert database.read(lambda unit: unit.identity.named_in(ACME, ALICE)) == (7, 9)
    database.write(lambda unit: unit.identity.erase_name(ACME, 7))
    assert database.read(lambda unit: unit.identity.named_in(ACME, ALICE)) == (9,)
    history = database.read(lambda unit: unit.identity.principal_history(ACME, ALICE))
    assert history == (replace(first, name=None), second)
    assert database.read(lambda unit: unit.identity.principals(ACME)) == (second,)
    assert database.read(lambda unit: unit.identity.find_principal(GLOBEX, ALICE)) == foreign
    assert sorted(str(name) for (name,) in kit.force("SELECT name FROM principal_name")) == [
        "Somebody",
        "Somebody Else",
    ]
    database.close()


def test_principals_are_listed_by_the_bytes_of_their_id_and_per_tenant(database: Database) -> None:
    """The order does not depend on the language a server is set up for."""
    names = ("user:a-b", "user:a.b", "user:a_b", "user:ab", "user:z", "ai:z", "ai:a1", "ai:a-1")
    everyone = [person(parse_principal_id(name)) for name in names]

    def add(unit: Unit) -> None:
        for one in everyone:
            unit.identity.add_principal(one, 1)
        unit.identity.add_principal(person(BOB, GLOBEX), 1)

    database.write(add)
    listed = database.read(lambda unit: unit.identity.principals(ACME))
    assert [one.id for one in listed] == sorted(names)
    assert database.read(lambda unit: unit.identity.find_principal(GLOBEX, ALICE)) is None


def test_whoever_has_a_role_or_an_id_is_found_without_reading_the_others(database: Database) -> None:
    """By the version in force; the caller looks at each, so that one too many does no harm and none is missing."""
    alice, bob = person(), person(BOB)
    odd = amend_principal(bob, PrincipalChange(roles=("ops_team", "reviewer")), at=later(1), by=ALICE)

    def add(unit: Unit) -> None:
        for number, one in enumerate((alice, bob, odd, person(ALICE, GLOBEX)), 1):
            unit.identity.add_principal(one, number)

    def found(*names: str) -> list[str]:
        return [one.id for one in database.read(lambda unit: unit.identity.principals_with(ACME, names))]

    database.write(add)
    assert found("ops_team") == found("ops_team", "ops_team") == [BOB]
    assert found(ALICE, "ops_team") == [ALICE, BOB]
    assert found("ops") == found('a"b', "a\\b", "a!b") == found() == []


def test_keys_of_many_and_their_ends_are_read_at_once(database: Database) -> None:
    one, two, foreign = _api_key("a"), _api_key("b"), _api_key("c", "globex")
    end = revoke_api_key(one, by=BOB, reason="lost", at=later(1))

    def add(unit: Unit) -> None:
        for record in (one, two, foreign):
            unit.identity.add_api_key(record)
        unit.identity.add_session(_session("d"))
        unit.identity.revoke_api_key(end)

    database.write(add)
    assert database.read(lambda unit: unit.identity.api_keys_of(ACME, [BOB, ALICE, ALICE])) == (one, two)
    assert database.read(lambda unit: unit.identity.api_keys_of(ACME, [])) == ()
    prefixes = [one.prefix, two.prefix]
    assert database.read(lambda unit: unit.identity.api_key_revocations_of(prefixes)) == (end,)


def test_api_keys_are_found_by_prefix_and_listed_in_order(kit: Kit) -> None:
    first, second, foreign = _api_key("a"), _api_key("b"), _api_key("c", "globex")
    database = kit.open()
    for record in (second, first, foreign):
        database.write(lambda unit, record=record: unit.identity.add_api_key(record))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: unit.identity.add_api_key(first))
    database.close()
    again = kit.open()
    assert again.read(lambda unit: unit.identity.find_api_key(first.prefix)) == first
    assert again.read(lambda unit: unit.identity.find_api_key(ApiKeyPrefix("ak_" + "z" * 12))) is None
    assert again.read(lambda unit: unit.identity.api_keys(ACME, ALICE)) == (second, first)
    again.close()


def test_a_revocation_is_a_later_fact_and_counts_once(database: Database) -> None:
    key = _api_key("a")
    leaked = revoke_api_key(key, at=later(1), by=BOB, reason="leaked")
    earlier = revoke_api_key(key, at=AT, by=BOB, reason="leaked before")
    database.write(lambda unit: unit.identity.add_api_key(key))
    for one in (leaked, earlier):
        database.write(lambda unit, one=one: unit.identity.revoke_api_key(one))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: unit.identity.revoke_api_key(leaked))
    assert database.read(lambda unit: unit.identity.api_key_revocations(key.prefix)) == (leaked, earlier)
    assert database.read(lambda unit: unit.identity.find_api_key(key.prefix)) == key


def test_the_latest_password_counts(database: Database) -> None:
    assert database.read(lambda unit: unit.identity.find_password(ACME, ALICE)) is None
    for record in (_password("a", 0), _password("b", 1)):
        database.write(lambda unit, record=record: unit.identity.add_password(record))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.identity.find_password(ACME, ALICE)) == _password("b", 1)
    assert database.read(lambda unit: unit.identity.find_password(GLOBEX, ALICE)) is None


def test_sessions_are_found_and_revoked(database: Database) -> None:
    session = _session("s")
    ended = revoke_session(session, at=later(1), by=ALICE, reason="logged out")
    database.write(lambda unit: unit.identity.add_session(session))
    with refused("store.conflict"):
        database.write(lambda unit: unit.identity.add_session(session))
    database.write(lambda unit: unit.identity.revoke_session(ended))
    assert database.read(lambda unit: unit.identity.find_session(session.id)) == session
    assert database.read(lambda unit: unit.identity.session_revocations(session.id)) == (ended,)
    assert database.read(lambda unit: unit.identity.find_session(SessionId("st_" + "z" * 16))) is None
