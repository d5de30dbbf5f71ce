"""Searches over the ledger: by the logged indexes, beside SQLite's own full-text index and its plain scan.

Ours answers with whole entries whose texts were looked at again; the peers answer with numbers. What indexing costs is
told for each entry, beside the full-text index of the same texts.
"""

import sqlite3
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.flows.ledger.prove_search import prove_search
from assay.flows.ledger.seal_index import seal_index
from assay.flows.ledger.search_entries import search_entries
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.ids import parse_tenant_id
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import init_node, open_node
from bench._frame import Aim, Figure, compare, load, print_table
from tests.scale import scale

__all__ = ["figures"]

_SIZE = scale(40_000, 1_000_000)
_BATCH = 1000
_TENANT = parse_tenant_id("default")


def figures() -> list[Figure]:
    with TemporaryDirectory() as folder:
        home = Path(folder) / "node"
        init_node(home)
        with open_node(home) as (tools, _):
            _append(tools)
            peer = sqlite3.connect(Path(folder) / "peer.db")
            indexing = _indexing(tools, peer)
            sign_checkpoint(tools, _TENANT, at=tools.clock.now())
            return [indexing, *_searches(tools, peer), _proof(tools)]


def _append(tools: Tools) -> None:
    at = tools.clock.now()
    for first in range(0, _SIZE, _BATCH):
        drafts = [draft_entry(_TENANT, EntryKind.NOTE, _body(number), at=at) for number in range(first, first + _BATCH)]
        for pending in [tools.database.submit(draft) for draft in drafts]:
            pending.result()


def _body(number: int) -> dict[str, object]:
    return {"answer_id": f"ans-{number}", "rule_id": f"R-{number % 500}", "level": number % 5, "text": "word " * 30}


def _indexing(tools: Tools, peer: sqlite3.Connection) -> Figure:
    rows = tools.database.read(lambda unit: list(unit.ledger.entries(_TENANT)))
    start = time.process_time()
    peer.execute("CREATE VIRTUAL TABLE found USING fts5(text)")
    texts = ((row.sequence_number, row.text.decode()) for row in rows)
    peer.executemany("INSERT INTO found (rowid, text) VALUES (?, ?)", texts)
    peer.commit()
    theirs = time.process_time() - start
    start = time.process_time()
    seal_index(tools, _TENANT, at=tools.clock.now())
    ours = time.process_time() - start
    return Figure(
        name="index an entry, root logged",
        ours=ours / _SIZE * 1e6,
        peer=theirs / _SIZE * 1e6,
        peer_name="SQLite FTS5, no proof",
        unit="us of CPU",
        ratio=ours / theirs,
        target=4.0,
        aim=Aim.AT_MOST,
        cpu_seconds=ours + theirs,
        load=load(),
        note=f"{_SIZE:,} entries",
    )


def _searches(tools: Tools, peer: sqlite3.Connection) -> list[Figure]:
    wanted = f"ans-{_SIZE // 2}"

    def ours() -> object:
        return search_entries(tools, _TENANT, [f"answer_id={wanted}"])

    def scan() -> object:
        pattern = f'%"answer_id":"{wanted}"%'
        return peer.execute("SELECT rowid FROM found WHERE text LIKE ?", (pattern,)).fetchall()

    # A figure for searches that find something else would be worth nothing.
    assert scan() == [(search_entries(tools, _TENANT, [f"answer_id={wanted}"]).entries[0].sequence_number,)]  # noqa: S101 - as above
    return [compare("find one entry by a term", ours, scan, peer_name="LIKE over every text", target=10.0, rounds=3)]


def _proof(tools: Tools) -> Figure:
    start = time.process_time()
    prove_search(tools, _TENANT, ["rule_id=R-7"])
    seconds = time.process_time() - start
    return Figure(
        name="prove that a search is complete",
        ours=seconds,
        peer=None,
        peer_name="target",
        unit="s of CPU",
        ratio=seconds,
        target=scale(1, 20),
        aim=Aim.AT_MOST,
        cpu_seconds=seconds,
        load=load(),
        note=f"{_SIZE:,} entries",
    )


if __name__ == "__main__":
    print_table(figures())
