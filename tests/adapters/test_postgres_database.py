"""What only PostgreSQL does: roles, settings of the server, a connection that can be lost."""

import os
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from msgspec import Raw

from assay.adapters.postgres.__main__ import main
from assay.adapters.postgres.connection import open_connection
from assay.adapters.postgres.database import PostgresDatabase
from assay.adapters.postgres.provision import provision
from assay.adapters.postgres.server import pin_durability
from assay.adapters.postgres.session import PostgresSession
from assay.adapters.sql.errors import CannotOpenError
from assay.adapters.sql.migrate import load_migrations
from assay.facts.table import PROJECTOR
from assay.kernel.commitment import Disclosure
from assay.kernel.ledger import prepare
from tests.contract._kit import AT, PostgresKit, refused
from tests.contract._records import ACME, note, verdict
from tests.contract.test_append import entries_of, verify_chain
from tests.postgres_cluster import PostgresCluster

_SRC = Path(__file__).parent.parent.parent / "src"
_SPECIFIED_TYPES = {
    "sequence_number": "bigint",
    "tenant_id": "text",
    "previous_hash": "text",
    "entry_hash": "text",
    "timestamp": "timestamp with time zone",
    "telemetry_id": "text",
    "telemetry_hash": "text",
    "verdict": "text",
    "rule_id": "text",
    "kg_version_hash": "text",
    "model_weight_hash": "text",
    "llm_transcript": "jsonb",
    "verifier_result": "jsonb",
    "schema_version": "text",
}


@pytest.fixture
def kit(postgres_cluster: PostgresCluster) -> PostgresKit:
    return PostgresKit(postgres_cluster)


@pytest.fixture
def database(kit: PostgresKit) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(kit.dsn, PROJECTOR)
    yield opened
    opened.close()


def _kill_sessions(kit: PostgresKit, name: str) -> None:
    kit.force(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'")


@pytest.mark.clause("ski", "7.1")
def test_the_columns_of_the_ledger_have_the_specified_types(kit: PostgresKit) -> None:
    found = kit.force(
        "SELECT column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = 'assay' AND table_name = 'ledger'"
    )
    assert _SPECIFIED_TYPES.items() <= dict(found).items()  # type: ignore[arg-type]  # pairs of text


@pytest.mark.clause("ski", "7.4")
def test_the_transcript_is_referenced_from_the_column_of_the_ledger(
    kit: PostgresKit, database: PostgresDatabase
) -> None:
    database.append(verdict(transcript_document={"transcript_ref": "sha256:abc"}))
    assert kit.force("SELECT llm_transcript->>'transcript_ref' FROM ledger") == [("sha256:abc",)]


def test_provisioning_again_changes_nothing(kit: PostgresKit, database: PostgresDatabase) -> None:
    database.append(note())
    assert provision(kit.cluster.dsn(kit.name), at=AT) == ()
    assert database.append(note()).sequence_number == 2


def test_provisioning_takes_back_what_was_granted_by_hand(kit: PostgresKit) -> None:
    kit.force("GRANT UPDATE, DELETE ON ledger TO assay_app")
    with refused("store.strong_role"):
        kit.open()
    provision(kit.cluster.dsn(kit.name), at=AT)
    kit.open().close()


def test_a_reader_has_a_role_of_its_own_and_may_not_write(kit: PostgresKit, database: PostgresDatabase) -> None:
    database.append(note())
    provision(kit.cluster.dsn(kit.name), at=AT, reader_role="assay_reader")
    reader = PostgresDatabase(kit.cluster.dsn(kit.name, "assay_reader"), PROJECTOR, writable=False)
    assert len(entries_of(reader)) == 1
    reader.close()
    insert = "INSERT INTO assay.settlement VALUES ('a', 'b', 'c')"
    denied = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with psycopg.connect(kit.cluster.dsn(kit.name, "assay_reader")) as connection, denied:
        connection.execute(insert)


def test_the_application_may_not_be_the_owner(kit: PostgresKit) -> None:
    with refused("store.cannot_open"):
        provision(kit.cluster.dsn(kit.name), at=AT, app_role="assay_owner")


def test_a_schema_of_somebody_else_is_not_taken_over(postgres_cluster: PostgresCluster) -> None:
    name = postgres_cluster.create_database()
    postgres_cluster.execute(name, "CREATE SCHEMA assay")
    with refused("store.not_permitted"):
        provision(postgres_cluster.dsn(name), at=AT)


def test_provisioning_without_the_rights_is_refused_in_our_words(kit: PostgresKit) -> None:
    with refused("store.not_permitted"):
        provision(kit.dsn, at=AT)


@pytest.mark.parametrize("writable", [True, False])
def test_a_database_that_was_not_provisioned_is_not_ours(postgres_cluster: PostgresCluster, *, writable: bool) -> None:
    name = postgres_cluster.create_database()
    with refused("store.cannot_open"):
        PostgresDatabase(postgres_cluster.dsn(name), PROJECTOR, writable=writable)


@pytest.mark.parametrize(
    ("dsn", "code"),
    [
        ("postgresql://127.0.0.1:1/none", "store.unavailable"),
        ("this is no address", "store.cannot_open"),
        ("postgresql://h:99999/x", "store.unavailable"),
    ],
)
def test_a_server_that_is_not_there_is_refused_in_our_words(dsn: str, code: str) -> None:
    with refused(code):
        PostgresDatabase(dsn, PROJECTOR)


def test_a_host_that_vanished_is_noticed_within_half_a_minute(kit: PostgresKit) -> None:
    """The kernel would wait for 15 minutes; an address that says otherwise is obeyed."""

    def options(dsn: str) -> list[int]:
        wanted = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
        with (
            open_connection(dsn, application_name="test") as opened,
            socket.socket(fileno=os.dup(opened.fileno())) as link,
        ):
            return [link.getsockopt(socket.IPPROTO_TCP, one) for one in wanted]

    assert options(kit.dsn) == [10, 5, 3, 30_000]
    assert options(f"{kit.dsn}?tcp_user_timeout=5000&keepalives_count=9") == [10, 5, 9, 5000]


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://assay_app:hunter2%zz-SECRET@127.0.0.1:1/db",
        "postgresql://assay_app:hunter2@SECRET@127.0.0.1:1/db",
        "postgresql://assay_app:SECRET/hunter2@127.0.0.1:1/db",
        "postgresql://assay_app:12/SECRET@127.0.0.1:1/db",
        "postgresql://assay_app:12?SECRET@127.0.0.1:1/db",
        "postgresql://assay_app:SECRET@127.0.0.1:1/db",
        "host=127.0.0.1 port=1 password='SECRET",
        "host=127.0.0.1 port=SECRET",
    ],
)
def test_a_password_is_never_in_a_refusal(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in our words nor in the library's, which a traceback would show as their cause."""
    with pytest.raises(CannotOpenError) as caught:
        PostgresDatabase(dsn, PROJECTOR)
    assert "SECRET" not in "".join(traceback.format_exception_only(caught.value))
    assert "SECRET" not in str(caught.value.__cause__)
    assert main([dsn]) in {2, 4}
    assert "SECRET" not in "".join(capsys.readouterr())


def test_the_place_of_a_database_is_shown_without_what_opens_it(kit: PostgresKit) -> None:
    database = PostgresDatabase(f"{kit.dsn}{'&' if '?' in kit.dsn else '?'}password=SECRET", PROJECTOR)
    assert "SECRET" not in repr(database.facts())
    database.close()


def test_a_superuser_is_too_strong_to_write_unless_told_so_by_name(kit: PostgresKit) -> None:
    dsn = kit.cluster.dsn(kit.name)
    with refused("store.strong_role"):
        PostgresDatabase(dsn, PROJECTOR)
    database = PostgresDatabase(dsn, PROJECTOR, unsafe_strong_role=True)
    assert database.append(note()).sequence_number == 1
    database.close()


def test_a_role_that_may_become_the_owner_is_too_strong(kit: PostgresKit) -> None:
    kit.force("DO $$BEGIN CREATE ROLE climber LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$")
    provision(kit.cluster.dsn(kit.name), at=AT, app_role="climber")
    kit.force("GRANT assay_owner TO climber")
    try:
        with refused("store.strong_role"):
            PostgresDatabase(kit.cluster.dsn(kit.name, "climber"), PROJECTOR)
    finally:
        kit.force("REVOKE assay_owner FROM climber")


def test_a_server_that_does_not_flush_is_refused_unless_told_so_by_name(kit: PostgresKit) -> None:
    kit.cluster.execute(kit.name, f'ALTER DATABASE "{kit.name}" SET synchronous_commit = off')
    with refused("store.unsafe_server"):
        PostgresDatabase(kit.dsn, PROJECTOR)
    PostgresDatabase(kit.dsn, PROJECTOR, unsafe_durability_off=True).close()
    kit.cluster.execute(kit.name, f'ALTER DATABASE "{kit.name}" RESET synchronous_commit')
    PostgresDatabase(kit.dsn, PROJECTOR).close()


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_a_crash_may_damage_is_refused(setting: str) -> None:
    """On a cluster of its own, since the setting is the whole server's."""
    cluster = PostgresCluster()
    try:
        cluster.start()
        kit = PostgresKit(cluster)
        cluster.execute("postgres", f"ALTER SYSTEM SET {setting} = off")
        cluster.restart()
        with refused("store.unsafe_server"):
            PostgresDatabase(kit.dsn, PROJECTOR)
        PostgresDatabase(kit.dsn, PROJECTOR, writable=False).close()
    finally:
        cluster.close()


def test_a_writer_that_has_just_closed_is_in_nobodys_way(kit: PostgresKit) -> None:
    """The server may take a moment longer to notice; a writer that stays is still respected."""
    for number in range(1, 11):
        database = PostgresDatabase(kit.dsn, PROJECTOR)
        assert database.append(note()).sequence_number == number
        database.close()
    database = PostgresDatabase(kit.dsn, PROJECTOR)
    with refused("store.writer_held"):
        PostgresDatabase(kit.dsn, PROJECTOR)
    database.close()


def test_the_setting_is_pinned_for_the_session(kit: PostgresKit) -> None:
    """A later change of the server's default does not reach a writer that is already open."""
    connection = open_connection(kit.dsn, application_name="test")
    session = PostgresSession(connection)
    pin_durability(session, unsafe_durability_off=False)
    source = session.query("SELECT setting, source FROM pg_settings WHERE name = 'synchronous_commit'")
    connection.close()
    assert source == [("on", "session")]


def test_a_lost_connection_stops_the_writer_and_frees_the_chain(kit: PostgresKit, database: PostgresDatabase) -> None:
    database.append(note(1))
    _kill_sessions(kit, "assay writer")
    with refused("store.commit_failed", "store.connection_lost"):
        database.append(note(2))
    with refused("store.writer_stopped"):
        database.append(note(3))
    assert len(entries_of(database)) == 1
    successor = PostgresDatabase(kit.dsn, PROJECTOR)
    assert successor.append(note(4)).sequence_number == 2
    verify_chain(entries_of(successor))
    successor.close()


def test_a_row_too_long_for_the_servers_index_costs_its_caller_and_nobody_else(database: PostgresDatabase) -> None:
    """The server itself refuses it, in the middle of a batch; past our own check, which is stricter."""
    entered, gate = threading.Event(), threading.Event()

    def block(_unit: object) -> None:
        entered.set()
        gate.wait(20)

    writer = database._writer()
    writer.submit(block)
    assert entered.wait(20)
    # Hashes do not compress, so the server cannot make it fit.
    pointer = "/" + "".join(sha256(bytes([number])).hexdigest() for number in range(150))
    secret = Disclosure(pointer=pointer, salt="ab" * 16, value=Raw(b"1"))
    kept = [database.submit(note(number)) for number in range(5)]
    guilty = writer.submit(prepare(note(9, disclosures=(secret,))))
    kept += [database.submit(note(number)) for number in range(5)]
    gate.set()
    with refused("store.row_refused"):
        guilty.result(20)
    assert [one.result(20).sequence_number for one in kept] == list(range(1, 11))
    verify_chain(entries_of(database))


def test_a_connection_lost_inside_a_unit_acknowledges_nothing(kit: PostgresKit, database: PostgresDatabase) -> None:
    def work(unit: object) -> None:
        _kill_sessions(kit, "assay writer")
        unit.record(note(1))  # type: ignore[attr-defined]  # a unit of work

    with refused("store.commit_failed", "store.connection_lost", "store.transaction_lost"):
        database.write(work)
    with refused("store.writer_stopped"):
        database.append(note(2))
    assert entries_of(database) == []


def test_everybody_of_a_batch_is_told_that_the_chain_was_taken_over(
    kit: PostgresKit, database: PostgresDatabase
) -> None:
    database.append(note(1))
    entered, gate = threading.Event(), threading.Event()

    def block(_unit: object) -> None:
        entered.set()
        gate.wait(20)

    writer = database._writer()
    blocker = writer.submit(block)
    assert entered.wait(20)
    waiting = [database.submit(note(number)) for number in range(5)]
    kit.force("UPDATE chain SET epoch = epoch + 1")
    gate.set()
    blocker.result(20)
    for one in waiting:
        with refused("ledger.fenced", "store.writer_stopped"):
            one.result(20)
    assert len(entries_of(database)) == 1


def test_readers_outlive_a_lost_connection(kit: PostgresKit, database: PostgresDatabase) -> None:
    database.append(note(1))
    assert len(entries_of(database)) == 1
    _kill_sessions(kit, "assay reader")
    assert len(entries_of(database)) == 1


def test_a_reader_that_loses_its_connection_is_told(kit: PostgresKit, database: PostgresDatabase) -> None:
    def work(unit: object) -> object:
        _kill_sessions(kit, "assay reader")
        return unit.ledger.tenants()  # type: ignore[attr-defined]  # a unit of work

    with refused("store.connection_lost"):
        database.read(work)
    assert database.read(lambda unit: unit.ledger.tenants()) == ()


def test_reads_inside_reads_and_many_at_once_share_a_small_pool(database: PostgresDatabase) -> None:
    database.append(note())

    def nested(_unit: object) -> int:
        return database.read(lambda inner: inner.ledger.head(ACME).sequence_number)

    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(database.read(nested))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [1] * 8
    assert len(database._readers._idle) <= 16


def test_a_stream_that_outlives_its_read_says_so(database: PostgresDatabase) -> None:
    for one in [database.submit(note(number)) for number in range(600)]:
        one.result(20)
    stream = database.read(lambda unit: unit.ledger.entries(ACME))
    with refused("store.statement"):
        list(stream)


def test_the_location_shows_no_password(kit: PostgresKit) -> None:
    dsn = kit.dsn.replace("assay_app@", "assay_app:geheim@")
    database = PostgresDatabase(dsn, PROJECTOR, writable=False)
    facts = database.facts()
    database.close()
    assert "geheim" not in repr(facts)
    assert facts.location == f"postgresql://127.0.0.1:{kit.cluster.port}/{kit.name}"


def test_errors_come_in_our_words(kit: PostgresKit) -> None:
    connection = open_connection(kit.cluster.dsn(kit.name), application_name="test")
    session = PostgresSession(connection)
    row = ("a", "b", "c")
    columns = ("tenant_id", "ticket_id", "record")
    session.insert("settlement", columns, [row])
    for code, statement in (
        ("store.conflict", "INSERT INTO settlement VALUES ('a', 'b', 'c')"),
        ("store.append_only", "UPDATE settlement SET record = 'x'"),
        ("store.append_only", "TRUNCATE settlement"),
        ("store.statement", "SELECT nothing FROM nowhere"),
    ):
        with refused(code):
            session.run(statement)
    with refused("store.conflict"):
        session.insert("settlement", columns, [("x", str(number % 5), "c") for number in range(9)])
    with refused("store.conflict"):
        session.insert("settlement", columns, [row])
    with refused("store.statement"):
        session.query("SELECT nothing FROM nowhere")
    with refused("store.statement"):
        list(session.stream("SELECT nothing FROM nowhere"))
    connection.close()


def test_a_document_that_is_not_ours_is_shown_as_it_is(kit: PostgresKit) -> None:
    """So that the auditor finds the difference: a number with more digits than we could have written."""
    connection = open_connection(kit.dsn, application_name="test")
    session = PostgresSession(connection)
    for text, shown in (
        ('{"a": 9007199254740993}', '{"a": 9007199254740993}'),
        ('{"a": 0.1000000000000000055}', '{"a": 0.1000000000000000055}'),
        ('{"b": 1.50, "a": 1e2}', '{"a":100,"b":1.5}'),
    ):
        assert session.query(f"SELECT '{text}'::jsonb") == [(shown,)]
    assert session.query("SELECT 'infinity'::timestamptz") == [("infinity",)]
    connection.close()


def test_keys_are_compared_and_sorted_as_bytes_on_every_server(kit: PostgresKit) -> None:
    """The order of names must not depend on the language the server was set up for."""
    rows = kit.force(
        "SELECT i.indrelid::regclass::text, a.attname FROM pg_index AS i"
        " JOIN pg_attribute AS a ON a.attrelid = i.indexrelid"
        " JOIN pg_class AS c ON c.oid = i.indrelid AND c.relnamespace = 'assay'::regnamespace"
        " WHERE a.attcollation <> 0 AND a.attcollation <> 'pg_catalog.\"C\"'::regcollation"
    )
    assert rows == []


def test_without_the_driver_the_error_says_what_to_install() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(_SRC)!r}); sys.modules['psycopg'] = None\n"
        "from assay.kernel.errors import Error\n"
        "try:\n    import assay.adapters.postgres.database\n"
        "except Error as error:\n    print(error.code, '|', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("store.missing_driver | expected the extra `postgres`")


def test_a_database_of_an_older_version_asks_for_provisioning(kit: PostgresKit) -> None:
    kit.force("DELETE FROM schema_migration")
    with refused("store.outdated_database"):
        kit.open()
    names = [one.name for one in load_migrations("assay.adapters.postgres")]
    assert names == [one.name for one in load_migrations("assay.adapters.sqlite")]


def test_the_server_was_told_to_remove_erased_rows_soon(kit: PostgresKit, database: PostgresDatabase) -> None:
    assert not database.scrub()
    assert kit.force("SELECT reloptions::text FROM pg_class WHERE oid = 'assay.disclosure'::regclass") == [
        ("{autovacuum_vacuum_threshold=0,autovacuum_vacuum_scale_factor=0}",)
    ]


def test_the_administrators_command_says_what_it_did(
    postgres_cluster: PostgresCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn = postgres_cluster.dsn(postgres_cluster.create_database())
    assert main([dsn]) == 0
    applied = [f"applied {step.name}" for step in load_migrations("assay.adapters.postgres")]
    assert applied[0] == "applied 0001_foundation"
    assert capsys.readouterr().out.splitlines() == [*applied, "up to date"]
    assert main([dsn, "--reader-role", "assay_reader"]) == 0
    assert capsys.readouterr().out == "up to date\n"
    assert main(["postgresql://127.0.0.1:1/none"]) == 4
    assert capsys.readouterr().err.startswith("store.unavailable: ")
