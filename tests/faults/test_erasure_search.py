"""A value that was erased is in no table, no file, no event and no backup, on either database."""

import subprocess
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.adapters.sql.table_store import TABLES as SHAPES
from assay.kernel.instant import Instant
from assay.surfaces import sample
from assay.surfaces.sample.stage import TENANT
from tests.flows._people import quick_passwords
from tests.operations.playing import Played, opened_play
from tests.postgres_cluster import PostgresCluster
from tests.recorded.record import answered

_NAME = "Zebulon Marker-7731"
_WORDS = "Marker-8842 asked for it by telephone"
_PAPER = b"Marker-9953: the paper that somebody wants back"
_MARKS = (b"Marker-7731", b"Marker-8842", b"Marker-9953")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_cluster: PostgresCluster
) -> Iterator[tuple[Played, Path, str | None]]:
    name = dsn = None
    if request.param == "postgresql":
        name = postgres_cluster.create_database()
        provision(postgres_cluster.dsn(name), at=SystemClock().now())
        dsn = postgres_cluster.dsn(name, user="assay_app")
    end = Instant(SystemClock().now() + timedelta(minutes=30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        # Every change goes over HTTP under an idempotency key, so that its answer is kept.
        with opened_play(tmp_path / "node", ("http",), database=dsn, again=True, end=end) as play:
            for chapter in sample.CHAPTERS:
                chapter(play)
            yield play, tmp_path, None if name is None else postgres_cluster.dsn(name)


def test_an_erased_value_is_found_nowhere(place: tuple[Played, Path, str | None]) -> None:
    play, folder, dsn = place
    named = play.do("user:ada", "principal.add", principal_id="service:zebulon", kind="service", name=_NAME)
    assert named.name == _NAME
    ticket = play.do("user:sam", "tickets.list").items[0].ticket.id
    play.do("user:sam", "ticket.comment", ticket_id=ticket, text=_WORDS)
    comment = play._head()
    kept = play.do("ai:planner", "evidence.attach", content=_PAPER)
    assert {mark for mark in _MARKS if _everywhere(play, folder, dsn, mark)} == set(_MARKS)

    play.do("user:ada", "principal.erase", principal_id="service:zebulon", reason="asked to")
    for number in (comment, kept.sequence_number):
        play.do("user:olga", "entry.erase", sequence=number, reason="asked to")

    found = {mark: _everywhere(play, folder, dsn, mark) for mark in _MARKS}
    assert not any(found.values()), found


def _everywhere(play: Played, folder: Path, dsn: str | None, mark: bytes) -> list[str]:
    """Where the bytes are: tables, files of the folder, events, and a backup that is made now."""
    found = [f"table {name}" for name in SHAPES if mark in _dump(play, name)]
    found += _in_files(folder / "node", mark)
    events = play.tools.database.read(lambda unit: unit.outbox.events(TENANT, after=0, limit=10_000))
    found += [f"event {one.position}" for one in events if mark in bytes(one.body) + one.subject.encode()]
    found += _in_server(dsn, mark)
    return found + _in_backup(folder, mark)


def _in_files(folder: Path, mark: bytes) -> list[str]:
    """In another process: one that closes a file of SQLite takes the locks of its own process away."""
    searched = subprocess.run(["grep", "-ralF", mark.decode(), str(folder)], capture_output=True, check=False)
    return searched.stdout.decode().split()


def _dump(play: Played, table: str) -> bytes:
    rows = play.tools.database.read(lambda unit: unit._session.query(f"SELECT * FROM {table}"))  # type: ignore[attr-defined]  # as stored
    return b"\n".join(one if isinstance(one, bytes) else str(one).encode() for row in rows for one in row)


def _in_server(dsn: str | None, mark: bytes) -> list[str]:
    """Rows that are dead and not yet vacuumed are not searched: the server's operator vacuums (docs/durability.md)."""
    if dsn is None:
        return []
    with psycopg.connect(dsn, options="-c search_path=assay") as connection:
        rows: list[Any] = connection.execute(
            "SELECT table_name FROM information_schema.views WHERE table_schema = 'assay'"
        ).fetchall()
        return [
            f"view {name}"
            for (name,) in rows
            if any(mark.decode() in str(row) for row in connection.execute(f"SELECT * FROM {name}").fetchall())
        ]


def _in_backup(folder: Path, mark: bytes) -> list[str]:
    path = folder / "backup.zip"
    path.unlink(missing_ok=True)
    answered("backup", path, home=folder / "node")
    # Bytes are in base64 there.
    spelled = {mark, b64encode(_PAPER)[:24]} if mark in _PAPER else {mark}
    with zipfile.ZipFile(path) as archive:
        found = [f"backup {name}" for name in archive.namelist() if any(one in archive.read(name) for one in spelled)]
    path.unlink()
    return found
