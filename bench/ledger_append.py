"""Durable appends with 64 callers waiting, as threads and as coroutines, beside plain SQLite that commits row by row.

The peer writes the same rows with the same settings (WAL, synchronous=FULL), and makes no bytes, no hash, no link and
no tree. All runs take turns. "One sync" is the median of the peer's durable commit of one row, since that is what a
lone caller would wait for without us; the bare `fdatasync` of 4 KiB at the end of a file stands in the note.

64 callers who all wait are served at the rate 64 / wait, so a wait of 1.5 syncs asks for a rate that grows as the disk
gets faster, until one interpreter cannot make so many entries. The note says which rate that is on this disk; the
rows of the slower disk show the same on one like that of the target.
"""

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from assay.adapters.sqlite import database as sqlite_database
from assay.adapters.sqlite.database import SqliteDatabase
from assay.facts.table import PROJECTOR
from assay.kernel.ids import parse_tenant_id
from assay.kernel.instant import parse_instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.ledger_store import StoredEntry
from bench._frame import Aim, Figure, load, print_table

__all__ = ["figures"]

_CALLERS = 64
_EACH = 40
_ROWS = 250
_ROUNDS = 5
_TARGET_ROWS = 40.0
_TARGET_OFF = 0.3
_TARGET_SYNCS = 1.5
# The disk that the target was set on took 2.45 ms for a flush; what it is slower than this one is slept, on both sides.
_SLEPT_SECONDS = 0.0021
_AT = parse_instant("2026-01-07T12:00:00.25Z")
_TENANT = parse_tenant_id("bench")
_COLUMNS = StoredEntry.__struct_fields__


class _Run(NamedTuple):
    rate: float
    p50: float
    cpu_seconds: float
    writes: int


def figures() -> list[Figure]:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        rows = _rows(home)
        rounds = [_round(home, number, rows) for number in range(_ROUNDS)]
        runs = {name: [one[name] for one in rounds] for name in rounds[0]}
        fast = f"bare fdatasync {_sync_seconds(home) * 1e3:.2f} ms"
        slow = f"each commit slept {_SLEPT_SECONDS * 1e3:g} ms more"
        return [
            *_table(f"{_CALLERS} threads", runs, "threads", "row", note=fast),
            *_table(f"{_CALLERS} coroutines", runs, "coroutines", "row", note=fast),
            *_table(f"{_CALLERS} threads, slower disk", runs, "threads", "slow row", of="slow ", note=slow),
            *_table(f"{_CALLERS} coroutines, slower disk", runs, "coroutines", "slow row", of="slow ", note=slow),
        ]


def _round(home: Path, number: int, rows: list[tuple[object, ...]]) -> dict[str, _Run]:
    """Each way once, on files of its own."""

    def file(name: str) -> Path:
        return home / f"{name}-{number}.db"

    runs = {
        "row": _row_by_row(file("row"), rows),
        "slow row": _row_by_row(file("slow-row"), rows, slept=_SLEPT_SECONDS),
    }
    for name, callers in (("threads", _threads), ("coroutines", _coroutines)):
        runs[name] = _ours(file(name), callers)
        runs[f"off {name}"] = _ours(file(f"off-{name}"), callers, unsafe_synchronous_off=True)
        with _slower_disk():
            runs[f"slow {name}"] = _ours(file(f"slow-{name}"), callers)
    return runs


def _table(what: str, runs: dict[str, list[_Run]], callers: str, peer: str, *, note: str, of: str = "") -> list[Figure]:
    ours, theirs = runs[f"{of}{callers}"], runs[peer]
    without_sync, row = (median(run.rate for run in runs[name]) for name in (f"off {callers}", peer))
    goal = min(_TARGET_ROWS, _TARGET_OFF * without_sync / row)
    why = f"{_TARGET_ROWS:g}x rows" if goal == _TARGET_ROWS else f"{_TARGET_OFF:g}x of {without_sync:,.0f}/s unsynced"
    asked = _CALLERS / (_TARGET_SYNCS * median(run.p50 for run in theirs))
    return [
        _rate(f"{what}, durable", ours, theirs, target=goal, note=f"target: {why}"),
        _wait(f"{what}, median wait", ours, theirs, note=f"{note}; the target asks for {asked:,.0f}/s"),
        _cpu(f"{what}, CPU of one append", ours, theirs),
    ]


def _rate(name: str, ours: list[_Run], peer: list[_Run], *, target: float, note: str) -> Figure:
    return _figure(name, ours, peer, lambda run: run.rate, unit="appends/s", target=target, note=note)


def _wait(name: str, ours: list[_Run], peer: list[_Run], *, note: str) -> Figure:
    return _figure(
        name, ours, peer, lambda run: run.p50 * 1e3, unit="ms", target=_TARGET_SYNCS, aim=Aim.AT_MOST, note=note
    )


def _cpu(name: str, ours: list[_Run], peer: list[_Run]) -> Figure:
    # No target names this one; a shared commit should not cost more than a commit of one's own.
    return _figure(
        name, ours, peer, lambda run: run.cpu_seconds / run.writes * 1e6, unit="us", target=1, aim=Aim.AT_MOST
    )


def _figure(
    name: str,
    ours: list[_Run],
    peer: list[_Run],
    value: Callable[[_Run], float],
    *,
    unit: str,
    target: float,
    aim: Aim = Aim.AT_LEAST,
    note: str = "",
) -> Figure:
    return Figure(
        name=name,
        ours=median(map(value, ours)),
        peer=median(map(value, peer)),
        peer_name="SQLite FULL, row by row",
        unit=unit,
        ratio=median(value(mine) / value(theirs) for mine, theirs in zip(ours, peer, strict=True)),
        target=target,
        cpu_seconds=sum(run.cpu_seconds for run in (*ours, *peer)),
        load=load(),
        aim=aim,
        note=note,
    )


def _draft(number: int) -> Draft:
    return draft_entry(_TENANT, EntryKind.NOTE, {"n": number, "text": "a note of ordinary length"}, at=_AT)


_Callers = Callable[[SqliteDatabase, list[float]], None]


def _ours(path: Path, callers: _Callers, *, unsafe_synchronous_off: bool = False) -> _Run:
    database = SqliteDatabase(path, PROJECTOR, at=_AT, unsafe_synchronous_off=unsafe_synchronous_off)
    try:
        return _timed(partial(callers, database))
    finally:
        database.close()


def _threads(database: SqliteDatabase, waits: list[float]) -> None:
    def call() -> None:
        for number in range(_EACH):
            start = time.perf_counter()
            database.append(_draft(number))
            waits.append(time.perf_counter() - start)

    callers = [threading.Thread(target=call) for _ in range(_CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


def _coroutines(database: SqliteDatabase, waits: list[float]) -> None:
    async def call() -> None:
        for number in range(_EACH):
            start = time.perf_counter()
            await database.submit(_draft(number))
            waits.append(time.perf_counter() - start)

    async def work() -> None:
        await asyncio.gather(*(call() for _ in range(_CALLERS)))

    asyncio.run(work())


def _row_by_row(path: Path, rows: list[tuple[object, ...]], *, slept: float = 0.0) -> _Run:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        f"CREATE TABLE peer ({', '.join(_COLUMNS)}, PRIMARY KEY (tenant_id, sequence_number)) WITHOUT ROWID"
    )
    insert = f"INSERT INTO peer VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - nothing from outside

    def work(waits: list[float]) -> None:
        for row in rows:
            start = time.perf_counter()
            connection.execute(insert, row)
            if slept:
                time.sleep(slept)
            waits.append(time.perf_counter() - start)

    try:
        return _timed(work)
    finally:
        connection.close()


def _timed(work: Callable[[list[float]], object]) -> _Run:
    waits: list[float] = []
    cpu, start = time.process_time(), time.perf_counter()
    work(waits)
    seconds = time.perf_counter() - start
    return _Run(len(waits) / seconds, median(waits), time.process_time() - cpu, len(waits))


def _rows(home: Path) -> list[tuple[object, ...]]:
    """What the peer has to write: rows that we made before."""
    database = SqliteDatabase(home / "rows.db", PROJECTOR, at=_AT)
    try:
        for pending in [database.submit(_draft(number)) for number in range(_ROWS)]:
            pending.result()
        stored = database.read(lambda unit: list(unit.ledger.entries(_TENANT)))
    finally:
        database.close()
    return [tuple(getattr(row, column) for column in _COLUMNS) for row in stored]


@contextmanager
def _slower_disk() -> Iterator[None]:
    class Slower(sqlite_database._SqliteTransactions):  # noqa: SLF001 - the one place where a commit reaches the disk
        def commit(self) -> None:
            super().commit()
            time.sleep(_SLEPT_SECONDS)

    with patch.object(sqlite_database, "_SqliteTransactions", Slower):
        yield


def _sync_seconds(home: Path) -> float:
    """The median of `fdatasync` after 4 KiB at the end of a file."""
    waits = []
    descriptor = os.open(home / "bare", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for number in range(_ROWS):
            os.pwrite(descriptor, bytes(4096), number * 4096)
            start = time.perf_counter()
            os.fdatasync(descriptor)
            waits.append(time.perf_counter() - start)
    finally:
        os.close(descriptor)
    return median(waits)


if __name__ == "__main__":
    print_table(figures())
