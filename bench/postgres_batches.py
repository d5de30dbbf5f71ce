"""Appends in batches of 1000 on PostgreSQL, beside a bare COPY of the same rows into a table with the same key.

Both are durable (`fsync` on, one transaction per batch). Ours also makes the entries' bytes and hashes, grows the tree
and has the server check the chain; the peer sends rows that were made before and has no trigger.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import psycopg
from msgspec import Raw

from assay.adapters.postgres.database import PostgresDatabase
from assay.adapters.postgres.provision import provision
from assay.facts.table import PROJECTOR
from assay.kernel.digest import digest_of
from assay.kernel.ids import parse_tenant_id
from assay.kernel.instant import parse_instant
from assay.kernel.ledger import Draft, EntryKind, VerdictColumns, draft_entry
from assay.ports.ledger_store import StoredEntry
from bench._frame import Figure, compare, print_table
from tests.postgres_cluster import PostgresCluster

__all__ = ["figures"]

_BATCH = 1000
_AT = parse_instant("2026-01-07T12:00:00.25Z")
_TENANT = parse_tenant_id("bench")
_COLUMNS = StoredEntry.__struct_fields__
_HASH = digest_of(b"bench")
_VERDICT = VerdictColumns(
    telemetry_id="tel-2026-000417",
    telemetry_hash=_HASH,
    verdict="FLAG",
    rule_id="rule.cold_chain.7",
    kg_version_hash=_HASH,
    model_weight_hash=_HASH,
    llm_transcript=Raw(b'{"transcript_ref":"%b","verdict":"FLAG"}' % _HASH.encode()),
    verifier_result=Raw(b'{"divergences":[],"state":"AGREED"}'),
)


def figures() -> list[Figure]:
    with _cluster() as cluster:
        return [
            _figure(cluster, "notes", _note),
            _figure(cluster, "verdicts with every column", _verdict),
        ]


def _note(number: int) -> Draft:
    return draft_entry(_TENANT, EntryKind.NOTE, {"n": number, "words": "a note of ordinary length" * 4}, at=_AT)


def _verdict(number: int) -> Draft:
    return draft_entry(_TENANT, EntryKind.VERDICT, {"n": number}, at=_AT, verdict=_VERDICT)


def _figure(cluster: PostgresCluster, what: str, draft: Callable[[int], Draft]) -> Figure:
    name = cluster.create_database()
    provision(cluster.dsn(name), at=_AT)
    database = PostgresDatabase(cluster.dsn(name, "assay_app"), PROJECTOR)
    drafts = [draft(number) for number in range(_BATCH)]
    try:
        # One batch tells the peer which rows it has to send.
        _append(database, drafts)
        rows = database.read(lambda unit: list(unit.ledger.entries(_TENANT)))
        with psycopg.connect(cluster.dsn(name), autocommit=True) as connection:
            copy = _bare_copy(connection, rows)
            figure = compare(
                f"PostgreSQL, batches of {_BATCH} {what}",
                lambda: _append(database, drafts),
                copy,
                peer_name="bare COPY",
                target=0.5,
                unit="batches/s",
                seconds=1.0,
                note="chain checked by the server",
            )
    finally:
        database.close()
    return figure


def _append(database: PostgresDatabase, drafts: list[Draft]) -> None:
    def work(unit: object) -> None:
        for draft in drafts:
            unit.record(draft)  # type: ignore[attr-defined]  # a unit of work

    database.write(work)


def _bare_copy(connection: psycopg.Connection, rows: list[StoredEntry]) -> Callable[[], None]:
    connection.execute("CREATE TABLE public.peer (LIKE assay.ledger INCLUDING ALL)")
    statement = f"COPY public.peer ({', '.join(_COLUMNS)}) FROM STDIN".encode()
    numbers = count(0)
    values = [tuple(getattr(row, column) for column in _COLUMNS) for row in rows]

    def copy() -> None:
        first = next(numbers) * _BATCH
        with connection.transaction(), connection.cursor() as cursor, cursor.copy(statement) as stream:
            for tenant_id, sequence, *rest in values:
                stream.write_row((tenant_id, first + sequence, *rest))

    return copy


@contextmanager
def _cluster() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


if __name__ == "__main__":
    print_table(figures())
