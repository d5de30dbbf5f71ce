"""Verifying a whole ledger, beside re-hashing everything; again after a thousand more entries; and the memory it takes.

The peer does what the name says and no more: it reads every text, hashes it, compares hash and link, and builds the
tree's root. Ours also reads each text strictly, compares every column with it, and checks the stored tree.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from assay.adapters.process_pool import ProcessPool
from assay.facts.review import act_entry
from assay.flows.ledger.audit_ledger import Workers, audit_ledger
from assay.flows.ledger.seal_draft import seal_draft
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, parse_tenant_id
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Unit
from assay.review.act import Act, Assign, Release, kind_of, render_act_body
from assay.review.answer import SignedWith
from assay.review.kind import TicketKind
from assay.review.ticket import TicketDraft
from assay.wiring import FolderReader, init_node, open_node
from bench._frame import Aim, Figure, load, print_table
from tests.scale import scale

__all__ = ["figures"]

_SIZE = scale(100_000, 1_000_000)
_MIXED = scale(40_000, 400_000)
_MORE = 1000
_ROUNDS = 3
_MEMORY_LIMIT_MB = 300
_TENANT = parse_tenant_id("default")
# In a process of its own: the highest memory of this one was reached elsewhere.
_AUDIT_AND_TELL = """
import sys, time
from pathlib import Path
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.ids import parse_tenant_id
from assay.wiring import open_node

with open_node(Path(sys.argv[1]), writable=False) as (tools, _):
    report = audit_ledger(tools, parse_tenant_id(sys.argv[2]), full=True)
assert report.holds and report.entries_checked == int(sys.argv[3]), report
# Not `ru_maxrss`: it begins with the size of the process that started this one.
[highest] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(highest) / 1024, time.process_time())
"""


class _Time(NamedTuple):
    seconds: float
    cpu_seconds: float


def figures() -> list[Figure]:
    with TemporaryDirectory() as folder:
        home = Path(folder) / "node"
        init_node(home)
        with open_node(home) as (tools, _):
            _append(tools, _SIZE)
            full = [(_timed(lambda: _audit(tools, full=True)), _timed(lambda: _rehash(home))) for _ in range(_ROUNDS)]
            again = [_again(tools) for _ in range(_ROUNDS)]
            size = tools.database.read(lambda unit: unit.ledger.head(_TENANT).sequence_number)
            shared = [_shared_round(tools, home) for _ in range(_ROUNDS)]
        mixed = _mixed(Path(folder) / "mixed")
        return [
            _full(full),
            _ratio("full verification, one process for each core", size, shared, 0.5, "notes"),
            _ratio("the same of a mixed ledger", _MIXED, mixed, 0.2, "tickets, acts, and notes with erasable values"),
            _second([mine for mine, _ in full], again),
            _memory(home, size),
        ]


def _mixed(home: Path) -> list[tuple[_Time, _Time]]:
    init_node(home)
    with open_node(home) as (tools, _):
        _append_mixed(tools, _MIXED)
        return [_shared_round(tools, home) for _ in range(_ROUNDS)]


def _shared_round(tools: Tools, home: Path) -> tuple[_Time, _Time]:
    return _timed(lambda: _audit_shared(tools, home)), _timed(lambda: _rehash(home))


def _ratio(name: str, size: int, pairs: list[tuple[_Time, _Time]], target: float, note: str) -> Figure:
    return Figure(
        name=name,
        ours=size / median(mine.seconds for mine, _ in pairs),
        peer=size / median(theirs.seconds for _, theirs in pairs),
        peer_name="re-hash everything",
        unit="entries/s",
        ratio=median(theirs.seconds / mine.seconds for mine, theirs in pairs),
        target=target,
        cpu_seconds=sum(run.cpu_seconds for pair in pairs for run in pair),
        load=load(),
        note=f"{size:,} entries: {note}; ours compares every row too",
    )


def _audit_shared(tools: Tools, home: Path) -> None:
    with ProcessPool(os.cpu_count() or 1) as pool:
        report = audit_ledger(tools, _TENANT, full=True, leave_mark=False, workers=Workers(pool, FolderReader(home)))
    assert report.holds, report  # noqa: S101 - as above


def _append_mixed(tools: Tools, count: int) -> None:
    """Of each four entries: a ticket, two acts on it, and a note with an erasable value."""
    at = tools.clock.now()
    for first in range(0, count, _MORE):
        tools.database.write(lambda unit, first=first: _append_some(unit, tools, at, first))  # type: ignore[misc]  # bound at once


def _append_some(unit: Unit, tools: Tools, at: Instant, first: int) -> None:
    for _ in range(first, first + _MORE, 4):
        draft = TicketDraft(
            kind=TicketKind.APPROVAL,
            title="delete 40 records",
            shown='{"records":40}',
            eligible_roles=("reviewer",),
            opened_by=PrincipalId("agent:cleaner"),
        )
        ticket = draft_ticket(tools, _TENANT, draft, at=at)
        open_review_in(unit, ticket)
        for body in (Release(holder=PrincipalId("user:amira")), Assign(role="reviewer")):
            act = Act(
                ticket_id=ticket.id,
                tenant_id=_TENANT,
                kind=kind_of(body),
                body=render_act_body(body),
                seen_hash=ticket.shown_hash,
                by=PrincipalId("user:amira"),
                acted_at=at,
                signed_with=SignedWith.NODE_REVIEW_KEY,
                signing_key_id=tools.review_signer.key_id,
                signature="0" * 128,
            )
            unit.record(act_entry(ticket, act, at=at))
        unit.record(seal_draft(tools, _TENANT, EntryKind.NOTE, {"who": "somebody", "n": 1}, ("/who",), at=at))


def _full(pairs: list[tuple[_Time, _Time]]) -> Figure:
    return Figure(
        name="full verification",
        ours=_SIZE / median(mine.seconds for mine, _ in pairs),
        peer=_SIZE / median(theirs.seconds for _, theirs in pairs),
        peer_name="re-hash everything",
        unit="entries/s",
        ratio=median(theirs.seconds / mine.seconds for mine, theirs in pairs),
        target=0.25,
        cpu_seconds=sum(run.cpu_seconds for pair in pairs for run in pair),
        load=load(),
        note=f"{_SIZE:,} entries; ours checks every column too",
    )


def _second(first: list[_Time], again: list[_Time]) -> Figure:
    """A run that costs only the new entries takes their share of the time; reading the mark and the edge is allowed."""
    return Figure(
        name=f"second verification, {_MORE:,} entries later",
        ours=median(run.seconds for run in again) * 1e3,
        peer=median(run.seconds for run in first) * 1e3,
        peer_name="the first",
        unit="ms",
        ratio=median(run.seconds for run in again) / median(run.seconds for run in first),
        target=3 * _MORE / _SIZE,
        cpu_seconds=sum(run.cpu_seconds for run in (*first, *again)),
        load=load(),
        aim=Aim.AT_MOST,
        note=f"new entries: {_MORE / _SIZE:.1%}",
    )


def _memory(home: Path, size: int) -> Figure:
    command = [sys.executable, "-c", _AUDIT_AND_TELL, str(home), _TENANT, str(size)]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    megabytes, cpu_seconds = map(float, told.stdout.split())
    return Figure(
        name="highest memory of a full verification",
        ours=megabytes,
        peer=_MEMORY_LIMIT_MB,
        peer_name="MB allowed",
        unit="MB",
        ratio=megabytes / _MEMORY_LIMIT_MB,
        target=1,
        cpu_seconds=cpu_seconds,
        load=load(),
        aim=Aim.AT_MOST,
        note=f"{size:,} entries, whole process",
    )


def _append(tools: Tools, count: int) -> None:
    at = tools.clock.now()
    for first in range(0, count, _MORE):
        drafts = [
            draft_entry(_TENANT, EntryKind.NOTE, {"n": number, "text": "a note of ordinary length"}, at=at)
            for number in range(first, min(first + _MORE, count))
        ]
        for pending in [tools.database.submit(draft) for draft in drafts]:
            pending.result()


def _again(tools: Tools) -> _Time:
    _append(tools, _MORE)
    return _timed(lambda: _audit(tools, full=False, expected=_MORE))


def _audit(tools: Tools, *, full: bool, expected: int | None = None) -> None:
    report = audit_ledger(tools, _TENANT, full=full)
    # A figure for a ledger that does not hold, or for fewer entries, would be worth nothing.
    assert report.holds, report  # noqa: S101 - as above
    assert expected in (None, report.entries_checked), report  # noqa: S101 - as above


def _rehash(home: Path) -> bytes:
    """The peer: no parsing but that of JSON for the link, no columns, no stored tree."""
    connection = sqlite3.connect(home / "assay.db")
    try:
        previous, leaves = "sha256:" + "0" * 64, []
        for text, entry_hash in connection.execute("SELECT text, entry_hash FROM ledger ORDER BY sequence_number"):
            assert json.loads(text)["previous_hash"] == previous  # noqa: S101 - the peer's check
            previous = "sha256:" + sha256(text).hexdigest()
            assert previous == entry_hash  # noqa: S101 - the peer's check
            leaves.append(sha256(b"\x00" + text).digest())
    finally:
        connection.close()
    return _root(leaves)


def _root(row: list[bytes]) -> bytes:
    while len(row) > 1:
        pairs = [sha256(b"\x01" + row[at] + row[at + 1]).digest() for at in range(0, len(row) - 1, 2)]
        row = [*pairs, row[-1]] if len(row) % 2 else pairs
    return row[0]


def _timed(work: Callable[[], object]) -> _Time:
    cpu, start = time.process_time(), time.perf_counter()
    work()
    return _Time(time.perf_counter() - start, time.process_time() - cpu)


if __name__ == "__main__":
    print_table(figures())
