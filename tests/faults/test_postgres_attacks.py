"""Attacks on the ledger with the application's own credentials: each is refused, and the ledger is as it was.

What an administrator of the server can still do is written in docs/storage.md, and is not claimed here.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from assay.adapters.postgres.database import PostgresDatabase
from assay.facts.table import PROJECTOR
from assay.ports.ledger_store import StoredEntry
from tests.contract._kit import PostgresKit
from tests.contract._records import ACME, note, verdict
from tests.contract._truth import state
from tests.contract._unchecked import put
from tests.contract.test_append import entries_of, verify_chain
from tests.postgres_cluster import PostgresCluster

_ZERO = "sha256:" + "0" * 64
_NEXT = (
    "INSERT INTO assay.ledger (tenant_id, sequence_number, previous_hash, entry_hash, leaf_hash, timestamp, kind,"
    " schema_version, text) SELECT {tenant}, {number}, {previous}, 'sha256:forged', leaf_hash, timestamp, kind,"
    " schema_version, text FROM assay.ledger WHERE sequence_number = 7"
)
_BROKEN = "ZA002"
_DENIED = "42501"
_APPEND_ONLY = "ZA001"


@pytest.fixture(scope="module")
def victim(postgres_cluster: PostgresCluster) -> PostgresKit:
    """Seven entries that every attack of this module aims at; each attack is rolled back if it should succeed."""
    kit = PostgresKit(postgres_cluster)
    database = kit.open()
    for number in range(6):
        database.append(note(number, events=1))
    database.append(verdict())
    for version in (1, 2):
        database.write(lambda unit, n=version: put(unit, ACME, state(n, through=n)))  # type: ignore[misc]  # bound at once
    database.close()
    return kit


@contextmanager
def _attacker(kit: PostgresKit) -> Iterator[psycopg.Connection]:
    """A session with the application's credentials and none of our code."""
    connection = psycopg.connect(kit.dsn)
    try:
        yield connection
    finally:
        connection.rollback()
        connection.close()


def _entries(kit: PostgresKit) -> list[StoredEntry]:
    database = PostgresDatabase(kit.dsn, PROJECTOR, writable=False)
    try:
        return entries_of(database)
    finally:
        database.close()


def _state_of_refusal(kit: PostgresKit, *statements: str) -> str | None:
    """Run an attack; the SQLSTATE that ended it, or None when all of it went through and was committed."""
    with _attacker(kit) as connection:
        try:
            for statement in statements:
                connection.execute(statement.encode())
            connection.commit()
        except psycopg.Error as error:
            return error.sqlstate
    return None


_RIGHTS = {
    "update": "UPDATE assay.ledger SET kind = 'x'",
    "delete": "DELETE FROM assay.ledger",
    "truncate": "TRUNCATE assay.ledger",
    "truncate through another table": "TRUNCATE assay.chain CASCADE",
    "update hidden in a query": "WITH gone AS (UPDATE assay.ledger SET kind = 'x' RETURNING 1) SELECT * FROM gone",
    "delete hidden in a query": "WITH gone AS (DELETE FROM assay.ledger RETURNING 1) SELECT * FROM gone",
    "merge": (
        "MERGE INTO assay.ledger AS l USING (SELECT 1 AS n) AS s ON l.sequence_number = s.n"
        " WHEN MATCHED THEN UPDATE SET kind = 'x'"
    ),
    "upsert": (
        "INSERT INTO assay.ledger SELECT * FROM assay.ledger"
        " ON CONFLICT (tenant_id, sequence_number) DO UPDATE SET kind = 'x'"
    ),
    "lock and keep": "LOCK TABLE assay.ledger IN ACCESS EXCLUSIVE MODE",
    "pretend to replicate": "SET session_replication_role = replica",
    "disable the triggers": "ALTER TABLE assay.ledger DISABLE TRIGGER ALL",
    "disable one trigger": "ALTER TABLE assay.ledger DISABLE TRIGGER ledger_no_change",
    "drop a trigger": "DROP TRIGGER ledger_links ON assay.ledger",
    "add a trigger": (
        "CREATE TRIGGER mine BEFORE INSERT ON assay.ledger FOR EACH ROW EXECUTE FUNCTION assay.refuse_change()"
    ),
    "add a rule": "CREATE RULE mine AS ON INSERT TO assay.ledger DO INSTEAD NOTHING",
    "drop the table": "DROP TABLE assay.ledger CASCADE",
    "rename the table": "ALTER TABLE assay.ledger RENAME TO old",
    "drop the key": "ALTER TABLE assay.ledger DROP CONSTRAINT ledger_pkey",
    "replace a function": (
        "CREATE OR REPLACE FUNCTION assay.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN OLD; END$$"
    ),
    "change a function": "ALTER FUNCTION assay.verify_links() RENAME TO elsewhere",
    "redirect a function": "ALTER FUNCTION assay.verify_links() SET search_path = public",
    "call a function": "SELECT assay.verify_links()",
    "create beside the tables": "CREATE TABLE assay.mine (n int)",
    "create in public": "CREATE TABLE public.ledger (n int)",
    "create a schema": "CREATE SCHEMA mine",
    "become the owner": "SET ROLE assay_owner",
    "take the table": "ALTER TABLE assay.ledger OWNER TO assay_app",
    "give oneself rights": "GRANT UPDATE ON assay.ledger TO assay_app; UPDATE assay.ledger SET kind = 'x'",
    "a child table": "CREATE TABLE public.child () INHERITS (assay.ledger)",
    "move the head": "UPDATE assay.chain SET tenant_id = 'other'",
    "delete the head": "DELETE FROM assay.chain",
    "edit the migrations": "UPDATE assay.schema_migration SET checksum = 'x'",
    "rewrite an event": "UPDATE assay.outbox SET subject = 'x'",
    "rewrite a disclosure": "UPDATE assay.disclosure SET value = '1'",
    "rewrite a state": "UPDATE assay.truth_state SET status = 'VERIFIED_TRUE'",
    "delete a state": "DELETE FROM assay.truth_state",
    "truncate the states": "TRUNCATE assay.truth_state",
    "rewrite a contract": "UPDATE assay.truth_contract SET document = '{}'",
    "delete an observation": "DELETE FROM assay.truth_record",
    "rewrite a snapshot": "UPDATE assay.trust_snapshot SET text = '{}'",
    "delete a signal": "DELETE FROM assay.trust_signal",
    "rewrite a policy": "UPDATE assay.trust_policy SET document = '{}'",
    "delete a mark": "DELETE FROM assay.trust_mark",
    "give a mark to another policy": "UPDATE assay.trust_mark SET policy_hash = 'x'",
    "disable the check of versions": "ALTER TABLE assay.truth_state DISABLE TRIGGER truth_state_follows",
    "call the check of versions": "SELECT assay.verify_versions()",
    "a temporary table": "CREATE TEMP TABLE ledger (LIKE assay.ledger)",
    "a temporary view": "CREATE TEMP VIEW ledger AS SELECT * FROM assay.ledger",
}


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize("attack", _RIGHTS)
def test_the_application_lacks_the_right(victim: PostgresKit, attack: str) -> None:
    before = _entries(victim)
    # 42704 and 3F000 would be typing errors of this test; only "permission denied" and "must be owner" count.
    assert _state_of_refusal(victim, _RIGHTS[attack]) == _DENIED
    assert _entries(victim) == before


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize(
    ("tenant", "number", "previous"),
    [
        ("'acme'", "9", "entry_hash"),
        ("'acme'", "8", "previous_hash"),
        ("'acme'", "8", f"'{_ZERO}'"),
        ("'acme'", "1000000", f"'{_ZERO}'"),
        ("'fresh'", "1", "entry_hash"),
        ("'fresh'", "2", f"'{_ZERO}'"),
    ],
    ids=["a gap", "an older link", "the zero hash", "far away", "a wrong start", "no start"],
)
def test_a_row_that_does_not_follow_is_refused_by_the_statement(
    victim: PostgresKit, tenant: str, number: str, previous: str
) -> None:
    before = _entries(victim)
    statement = _NEXT.format(tenant=tenant, number=number, previous=previous)
    assert _state_of_refusal(victim, statement) == _BROKEN
    assert _entries(victim) == before


@pytest.mark.clause("kaori", "17")
@pytest.mark.parametrize(
    ("version", "compile_time", "through"),
    [(4, "+", 9), (3, "0", 9), (3, "+", 1)],
    ids=["a gap", "an earlier time", "fewer records"],
)
def test_a_state_that_does_not_follow_is_refused_by_the_statement(
    victim: PostgresKit, version: int, compile_time: str, through: int
) -> None:
    """Whatever tables of its own the session puts in the way."""
    statement = (
        "INSERT INTO assay.truth_state SELECT tenant_id, truthkey, {}, claim_type, status, semantic_hash, state_hash,"
        " snapshot_hash, {}, due_at, {}, text, sequence_number FROM assay.truth_state WHERE version = 2"
    )
    time = "compile_time" if compile_time == "+" else "'2020-01-01T00:00:00.000000Z'"
    for path in ("assay", "pg_temp, public, assay"):
        refused = _state_of_refusal(victim, f"SET search_path = {path}", statement.format(version, time, through))
        assert refused == _APPEND_ONLY
    assert victim.force("SELECT max(version) FROM truth_state") == [(2,)]


def test_a_taken_place_is_refused_before_the_chain_is_looked_at(victim: PostgresKit) -> None:
    assert _state_of_refusal(victim, _NEXT.format(tenant="'acme'", number="7", previous="previous_hash")) == "23505"


def test_a_gap_inside_one_statement_is_refused(victim: PostgresKit) -> None:
    """8 follows 7, but 10 does not follow 8, whatever hash it names."""
    statement = _NEXT.format(tenant="'acme'", number="8 + 2 * n", previous="h").replace(
        "FROM assay.ledger WHERE",
        "FROM assay.ledger, LATERAL (VALUES (0, entry_hash), (1, 'sha256:forged')) AS more (n, h) WHERE",
    )
    before = _entries(victim)
    assert _state_of_refusal(victim, statement) == _BROKEN
    assert _entries(victim) == before


def test_two_statements_cannot_do_together_what_one_may_not(victim: PostgresKit) -> None:
    """The check is not put off to the end of the transaction: there is no moment with a gap."""
    gap = _NEXT.format(tenant="'acme'", number="9", previous="entry_hash")
    filler = _NEXT.format(tenant="'acme'", number="8", previous="entry_hash")
    assert _state_of_refusal(victim, "SET CONSTRAINTS ALL DEFERRED", gap, filler) == _BROKEN


def _copy_entries(kit: PostgresKit, numbers: tuple[int, ...], previous: str) -> None:
    """Each row names the hash of the row before, whatever its number."""
    with _attacker(kit) as connection:
        with connection.cursor().copy(
            "COPY assay.ledger (tenant_id, sequence_number, previous_hash, entry_hash, leaf_hash, timestamp, kind,"
            " schema_version, text) FROM STDIN"
        ) as copy:
            for number in numbers:
                link = (previous, f"sha256:forged-{number}")
                copy.write_row(("acme", number, *link, bytes(32), "2026-01-07T12:00:00Z", "note", "3.0.0", b"{}"))
                previous = link[1]
        connection.commit()


@pytest.mark.parametrize("numbers", [(9,), (8, 10), (8, 9, 11)], ids=str)
def test_copy_with_gaps_is_refused(victim: PostgresKit, numbers: tuple[int, ...]) -> None:
    before = _entries(victim)
    previous = before[-1].entry_hash
    with pytest.raises(psycopg.Error) as caught:
        _copy_entries(victim, numbers, previous)
    assert caught.value.sqlstate == _BROKEN
    assert _entries(victim) == before


@pytest.mark.parametrize("path", ["pg_temp, public, assay", "public", "pg_temp"])
def test_a_search_path_of_ones_own_does_not_mislead_the_check(victim: PostgresKit, path: str) -> None:
    statement = _NEXT.format(tenant="'acme'", number="9", previous="entry_hash")
    assert _state_of_refusal(victim, f"SET search_path = {path}", statement) == _BROKEN


def test_shadow_tables_do_not_mislead_the_check_even_where_they_can_be_made(postgres_cluster: PostgresCluster) -> None:
    """An administrator gave back the right to temporary tables: a false `ledger` or `added` is still not looked at."""
    kit = PostgresKit(postgres_cluster)
    database = kit.open()
    for number in range(7):
        database.append(note(number))
    database.close()
    postgres_cluster.execute(kit.name, f'GRANT TEMPORARY ON DATABASE "{kit.name}" TO assay_app')
    before = _entries(kit)
    shadows = (
        "CREATE TEMP TABLE ledger (LIKE assay.ledger INCLUDING ALL)",
        "INSERT INTO pg_temp.ledger SELECT * FROM assay.ledger WHERE sequence_number = 7",
        "UPDATE pg_temp.ledger SET sequence_number = 8, entry_hash = 'sha256:x'",
        "CREATE TEMP TABLE added (LIKE assay.ledger)",
        "CREATE TEMP TABLE chain (LIKE assay.chain)",
        "CREATE FUNCTION pg_temp.lag(text) RETURNS text LANGUAGE sql AS $$SELECT 'sha256:x'::text$$",
        "SET search_path = pg_temp, assay",
    )
    forged = _NEXT.format(tenant="'acme'", number="9", previous="'sha256:x'")
    assert _state_of_refusal(kit, *shadows, forged) == _BROKEN
    assert _state_of_refusal(kit, *shadows, "UPDATE assay.ledger SET kind = 'x'") == _DENIED
    assert _entries(kit) == before


def test_rows_added_behind_our_back_in_the_right_way_are_still_found_out(postgres_cluster: PostgresCluster) -> None:
    """The application may append; a row that bypasses the writer leaves the remembered head behind, and is damage."""
    kit = PostgresKit(postgres_cluster)
    database = kit.open()
    for number in range(7):
        database.append(note(number))
    assert _state_of_refusal(kit, _NEXT.format(tenant="'acme'", number="8", previous="entry_hash")) is None
    with pytest.raises(Exception, match="duplicate key") as caught:
        database.append(note(8))
    assert getattr(caught.value, "code", "") == "store.conflict"
    database.close()
    again = kit.open()
    with pytest.raises(Exception, match="head") as damaged:
        again.append(note(8))
    assert getattr(damaged.value, "code", "") == "ledger.damaged_head"
    again.close()


@pytest.mark.clause("ski", "7.2")
def test_not_even_the_owner_gets_past_the_triggers_without_disabling_them(victim: PostgresKit) -> None:
    """Also in a session that claims to replicate, which only an administrator may."""
    before = _entries(victim)
    for preparation in ("SELECT 1", "SET session_replication_role = replica"):
        for statement in ("UPDATE ledger SET kind = 'x'", "DELETE FROM ledger", "TRUNCATE ledger CASCADE"):
            with pytest.raises(psycopg.Error) as caught:
                victim.force(preparation, statement)
            assert caught.value.sqlstate == _APPEND_ONLY
        with pytest.raises(psycopg.Error) as caught:
            victim.force(preparation, _NEXT.format(tenant="'acme'", number="9", previous="entry_hash"))
        assert caught.value.sqlstate == _BROKEN
    assert _entries(victim) == before


def test_a_foreign_key_cannot_be_made_to_cascade_into_the_ledger(victim: PostgresKit) -> None:
    assert (
        _state_of_refusal(
            victim,
            "ALTER TABLE assay.ledger ADD FOREIGN KEY (tenant_id) REFERENCES assay.chain (tenant_id) ON DELETE CASCADE",
        )
        == _DENIED
    )


def test_the_application_owns_nothing_and_every_trigger_fires_always(victim: PostgresKit) -> None:
    owned = victim.force("SELECT relname FROM pg_class WHERE pg_get_userbyid(relowner) = 'assay_app'")
    assert owned == []
    owners = victim.force(
        "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'assay'::regnamespace"
    )
    assert owners == [("assay_owner",)]
    states = victim.force(
        "SELECT DISTINCT tgenabled::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
        " WHERE relnamespace = 'assay'::regnamespace AND NOT tgisinternal"
    )
    assert states == [("A",)]


def test_every_function_runs_as_its_owner_with_a_fixed_path(victim: PostgresKit) -> None:
    functions = victim.force(
        "SELECT prosecdef, proconfig::text, has_function_privilege('assay_app', oid, 'EXECUTE')"
        " FROM pg_proc WHERE pronamespace = 'assay'::regnamespace"
    )
    assert len(functions) == 4
    assert set(functions) == {(True, '{"search_path=pg_catalog, pg_temp"}', False)}


def test_the_chain_is_whole_after_all_of_this(victim: PostgresKit) -> None:
    verify_chain(_entries(victim))
    database = victim.open()
    assert database.append(note(7)).sequence_number == 8
    database.close()
