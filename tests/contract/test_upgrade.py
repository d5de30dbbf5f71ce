"""A database made before truth and trust had tables: brought up to date, it has lost nothing and gained those."""

from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.adapters.postgres import database as postgres_database
from assay.adapters.postgres import provision as postgres_provision
from assay.adapters.sql import chains
from assay.adapters.sql.migrate import Migration, load_migrations
from assay.adapters.sql.outbox_store import SqlOutboxStore
from assay.adapters.sql.record import write_record
from assay.adapters.sqlite import database as sqlite_database
from assay.facts.truth import record_entry
from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.entry import parse_entry
from assay.kernel.instant import parse_instant, render_instant
from assay.kernel.ledger import Draft, traced
from assay.kernel.merkle import verify_consistency, verify_inclusion
from assay.kernel.tile import consistency_path, inclusion_path, root_hash
from assay.kernel.trace import TraceId
from assay.ports.database import Database, Unit
from assay.ports.truth_store import RecordKind
from assay.review.act import Prioritise, Priority
from assay.review.settle import settle
from tests.contract._desk import record_act
from tests.contract._kit import AT, Kit, PostgresKit, SqliteKit, refused
from tests.contract._people import add_person
from tests.contract._records import ACME, ALICE, answer_of, later, note, person, ticket
from tests.contract._truth import KEY_A, KEY_B, hash_of, record
from tests.contract._unchecked import UNCHECKED, put
from tests.contract.test_append import entries_of, verify_chain
from tests.postgres_cluster import PostgresCluster

_COUNT = 300
_PACKAGE = "assay.adapters.postgres"
_LATEST = len(load_migrations(_PACKAGE))
_BEFORE_FACTS = next(one.version for one in load_migrations(_PACKAGE) if one.name.endswith("truth_facts")) - 1


@pytest.fixture(params=["sqlite", "postgresql"])
def older(request: pytest.FixtureRequest, tmp_path: Path, postgres_cluster: PostgresCluster) -> Kit:
    """Schema version 1 with 300 entries, a person and a ticket in it, and nobody has it open."""

    def first_only(package: str) -> tuple[Migration, ...]:
        return load_migrations(package)[:1]

    made = load_migrations(_PACKAGE)[0].sql + "CREATE TABLE assay.schema_migration ("
    rights = [
        (table, right.replace(", mac)", ")"))
        for table, right in postgres_provision._RIGHTS
        if f"CREATE TABLE assay.{table} (" in made
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_provision, "_RIGHTS", rights)
        for module in (postgres_database, postgres_provision, sqlite_database):
            patch.setattr(module, "load_migrations", first_only)
        # Neither was an event called by the number of its entry, nor was the last one compared with it.
        columns = tuple("ledger_sequence" if one == "sequence_number" else one for one in chains._OUTBOX_COLUMNS)
        patch.setattr(chains, "_OUTBOX_COLUMNS", columns)
        patch.setattr(SqlOutboxStore, "newest", lambda _store, _tenant_id: 0)
        # The ledger had no traces then.
        patch.setattr(chains, "ENTRY_COLUMNS", chains.ENTRY_COLUMNS[:-1])
        entry_row = chains._entry_row
        patch.setattr(chains, "_entry_row", lambda link: entry_row(link)[:-1])
        kit: Kit = SqliteKit(tmp_path / "a.db") if request.param == "sqlite" else PostgresKit(postgres_cluster)
        database = kit.open()
        database.write(_fill_older)
        assert database.facts().schema_version == 1
        database.close()
    return kit


def _fill_older(unit: Unit) -> None:
    add_person(unit, person())
    for number in range(1, _COUNT):
        unit.record(note(number, events=1))
    asked = ticket()
    unit._session.run(  # type: ignore[attr-defined]  # its connection: the adapter of today writes more columns
        "INSERT INTO ticket (tenant_id, ticket_id, position, kind, opened_at, record) VALUES (?, ?, 1, ?, ?, ?)",
        (ACME, asked.id, asked.kind.value, render_instant(asked.opened_at), write_record(asked)),
    )


def _upgrade(kit: Kit, *, from_version: int = 1) -> Database:
    if isinstance(kit, PostgresKit):
        applied = postgres_provision.provision(kit.cluster.dsn(kit.name), at=AT)
        assert [one.version for one in applied] == [*range(from_version + 1, _LATEST + 1)]
    return kit.open()


def _prove(unit: Unit, size: int) -> tuple[bytes, list[tuple[bytes, ...]]]:
    read = partial(unit.ledger.tile, ACME)
    return root_hash(size, read), [inclusion_path(index, size, read) for index in range(0, size, 37)]


def test_an_older_database_is_read_by_nobody_until_it_is_brought_up_to_date(older: Kit) -> None:
    with refused("store.outdated_database"):
        older.open(writable=False)
    _upgrade(older).close()
    reader = older.open(writable=False)
    assert reader.facts().schema_version == _LATEST
    reader.close()


def test_what_was_recorded_before_is_the_same_and_its_proofs_hold(older: Kit) -> None:
    """The root that a checkpoint may have named is still the root of those entries, and of a tree that grew since."""
    before = older.force("SELECT entry_hash, leaf_hash FROM ledger ORDER BY sequence_number")
    database = _upgrade(older)
    entries = entries_of(database)
    verify_chain(entries)
    assert [(one.entry_hash, one.leaf_hash) for one in entries] == [(hash_, bytes(leaf)) for hash_, leaf in before]  # type: ignore[call-overload]  # two columns of hashes
    root, paths = database.read(lambda unit: _prove(unit, _COUNT))
    for index, path in zip(range(0, _COUNT, 37), paths, strict=True):
        verify_inclusion(entries[index].leaf_hash, index, _COUNT, path, root)
    assert database.append(note(_COUNT)).sequence_number == _COUNT + 1
    grown, _ = database.read(lambda unit: _prove(unit, _COUNT + 1))
    link = database.read(lambda unit: consistency_path(_COUNT, _COUNT + 1, partial(unit.ledger.tile, ACME)))
    verify_consistency(_COUNT, root, _COUNT + 1, grown, link)
    assert database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) == person()
    assert database.read(lambda unit: unit.review.tickets(ACME)) == (ticket(),)
    database.close()


_QUEUE_VERSION = 14
# Indexes that a later migration drops.
_SINGLE_KINDS = ("ledger_policies", "ledger_graphs", "ledger_models", "ledger_indexes")
_DUE = ("2026-02-01T00:00:00Z", "2026-02-01T00:00:00.5Z", "2026-02-01T00:00:00.123456Z", None)


def test_tickets_of_an_older_database_have_the_places_that_new_ones_get(
    tmp_path: Path, postgres_cluster: PostgresCluster, engine: str
) -> None:
    """By their ends, ages and latest priorities, open or settled, whatever instants and words they hold."""
    asked = [
        replace(
            ticket(number),
            due_at=None if due is None else parse_instant(due),
            about=None if number % 2 else 'say "due_at":"2020" and \\"priority\\":\\"low\\"',
            title='"due_at":"2020-01-01T00:00:00Z"',
        )
        for number, due in enumerate(_DUE, 1)
    ]
    kit: Kit = SqliteKit(tmp_path / "a.db") if engine == "sqlite" else PostgresKit(postgres_cluster)
    database = kit.open()

    def fill(unit: Unit) -> None:
        for one in asked:
            unit.review.add_ticket(one)
        for number, priority in ((1, Priority.LOW), (1, Priority.URGENT), (2, Priority.HIGH)):
            record_act(unit, number=number, body=Prioritise(priority=priority))
            unit.review.prioritise(asked[number - 1], priority)
        unit.review.add_settlement(ACME, settle(asked[2], [answer_of(asked[2])], at=later(2)))

    database.write(fill)
    database.close()
    kept = _places(kit)
    assert len(kept) == len(asked)
    package = f"assay.adapters.{'sqlite' if engine == 'sqlite' else 'postgres'}"
    made = load_migrations(package)[_QUEUE_VERSION - 1]
    schema = "" if engine == "sqlite" else "assay."
    for statement in (
        f"DROP TABLE {schema}ticket_place",
        f"DROP INDEX {schema}ledger_traces",
        f"DROP INDEX {schema}ledger_kinds",
        f"ALTER TABLE {schema}ledger DROP COLUMN trace_id",
        *(f"CREATE INDEX {name} ON {schema}ledger (tenant_id, kind)" for name in _SINGLE_KINDS),
    ):
        kit.force(statement)
    kit.force(f"DELETE FROM schema_migration WHERE version >= {_QUEUE_VERSION}")
    assert made.name == "0014_queue"
    with pytest.MonkeyPatch.context() as patch:
        # Later ones were applied to these tables already.
        for module in (postgres_database, postgres_provision, sqlite_database):
            patch.setattr(module, "load_migrations", lambda package: load_migrations(package)[: _QUEUE_VERSION + 1])
        if isinstance(kit, PostgresKit):
            postgres_provision.provision(kit.cluster.dsn(kit.name), at=AT)
        kit.open().close()
    assert _places(kit) == kept


def test_entries_of_an_older_database_have_no_trace_and_new_ones_are_found_by_theirs(older: Kit) -> None:
    database = _upgrade(older)
    assert {one.trace_id for one in entries_of(database)} == {None}
    trace = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
    database.append(traced(note(_COUNT), trace))
    found = entries_of(database)[-1]
    assert (found.trace_id, parse_entry(found.text).trace_id) == (trace, trace)
    verify_chain(entries_of(database))
    database.close()


def _places(kit: Kit) -> list[tuple[object, ...]]:
    columns = "ticket_id, position, kind, about, is_open, place, due_at"
    return [tuple(row) for row in kit.force(f"SELECT {columns} FROM ticket_place ORDER BY ticket_id")]


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _said(name: str, keys: list[str], kind: RecordKind = RecordKind.OBSERVATION, **record: str) -> Draft:
    """An entry of a record that says no more than rows are made of."""
    said = record or {"observation_id": name, "reporter_id": f"user:{name}", "reported_at": render_instant(AT)}
    text = canonicalize(said, Profile.KAORI)
    hashed = hash_of(name)
    return record_entry(
        ACME, kind, text, truthkeys=keys, record_id=name, record_hash=hashed, submitted_by="user:ann", at=AT
    )


def test_fingerprints_keep_the_rows_that_their_entries_name(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What 0.1.0 put under further keys is found by its evidence; ids of resemblances follow from their entries."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (postgres_database, postgres_provision, sqlite_database):
            patch.setattr(module, "load_migrations", lambda package: load_migrations(package)[:_BEFORE_FACTS])
        cluster = request.getfixturevalue("postgres_cluster") if engine != "sqlite" else None
        kit: Kit = SqliteKit(tmp_path / "a.db") if cluster is None else PostgresKit(cluster)
        database = kit.open(projector=UNCHECKED)

        def fill(unit: Unit) -> None:
            for name, method in (("one", "phash"), ("two", "embedding")):
                entry = _said(name, [KEY_A], RecordKind.FINGERPRINT, sha256="aa", method=method)
                number = unit.record(entry).sequence_number
                row = record(number, KEY_A, RecordKind.FINGERPRINT, record_id=f"{method}.aa")
                old = replace(
                    row,
                    record_id="embedding_0.aa" if method == "embedding" else row.record_id,
                    record_hash=hash_of(name),
                    by="user:ann",
                    occurred_at=AT,
                    received_at=AT,
                    text=f'{{"method":"{method}","sha256":"aa"}}',
                )
                put(unit, ACME, old, replace(old, truthkey=KEY_B))

        database.write(fill)
        database.close()
    opened = _upgrade(kit, from_version=_BEFORE_FACTS)
    assert opened.read(lambda unit: list(unit.truth.records(ACME, KEY_B))) == []
    found = opened.read(lambda unit: unit.truth.fingerprints(ACME, ["phash.aa"], ["embedding.aa."]))
    assert [one.record_id for one in found] == ["phash.aa", f"embedding.aa.{hash_of('two')}"]
    with refused("store.append_only", "store.not_permitted"):
        opened.write(lambda unit: unit._session.run("DELETE FROM truth_record"))  # type: ignore[attr-defined]  # its connection
    opened.close()


def test_an_older_database_takes_truth_once_it_is_up_to_date(older: Kit) -> None:
    database = _upgrade(older)

    database.write(lambda unit: unit.record(_said("ann", [KEY_A])))
    found = database.read(lambda unit: list(unit.truth.records(ACME, KEY_A)))
    assert [one.sequence_number for one in found] == [_COUNT + 1]
    database.close()
    again = older.open()
    assert again.facts().schema_version == _LATEST
    again.close()
