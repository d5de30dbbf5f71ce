"""Proofs made from a database: ours from SQLite, beside pymerkle's tree on SQLite.

Ours reads the entry, the newest checkpoint and the keys as well, and gives the whole bundle that a stranger verifies;
the peer gives the path alone. Both keep what they computed, and both have made each of these proofs once before.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from assay.flows.ledger.prove_record import prove_record
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.ids import parse_tenant_id
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import init_node, open_node
from bench._frame import Figure, load, print_table
from tests.scale import scale

__all__ = ["figures"]

_SIZE = scale(65_000, 1_000_000)
_BATCH = 1000
_ROUNDS = 3
_CALLS = 1000
_TARGET = 3.0
_TENANT = parse_tenant_id("default")
# Spread over the whole tree: 7,919 is a prime that divides no size used here.
_PLACES = [(step * 7919 * 131) % _SIZE for step in range(_CALLS)]


def figures() -> list[Figure]:
    with TemporaryDirectory() as folder:
        home = Path(folder) / "node"
        init_node(home)
        peer = _peer(Path(folder) / "peer.db")
        with open_node(home) as (tools, _):
            _append(tools)
            return [_figure(tools, peer)]


def _figure(tools: Tools, peer: Any) -> Figure:  # noqa: ANN401 - the peer has no types
    def prove(place: int) -> object:
        return prove_record(tools, _TENANT, place + 1)

    def peer_prove(place: int) -> object:
        return peer.prove_inclusion(place + 1, _SIZE)

    for warm_up in (prove, peer_prove):
        _rate(warm_up)
    cpu = time.process_time()
    pairs = [(_rate(prove), _rate(peer_prove)) for _ in range(_ROUNDS)]
    return Figure(
        name="proof bundle from SQLite",
        ours=median(mine for mine, _ in pairs),
        peer=median(theirs for _, theirs in pairs),
        peer_name="pymerkle on SQLite, path alone",
        unit="proofs/s",
        ratio=median(mine / theirs for mine, theirs in pairs),
        target=_TARGET,
        cpu_seconds=time.process_time() - cpu,
        load=load(),
        note=f"{_SIZE:,} leaves, warm",
    )


def _rate(prove: Callable[[int], object]) -> float:
    start = time.perf_counter()
    for place in _PLACES:
        prove(place)
    return _CALLS / (time.perf_counter() - start)


def _append(tools: Tools) -> None:
    at = tools.clock.now()
    for first in range(0, _SIZE, _BATCH):
        drafts = [draft_entry(_TENANT, EntryKind.NOTE, {"n": n}, at=at) for n in range(first, first + _BATCH)]
        for pending in [tools.database.submit(draft) for draft in drafts]:
            pending.result()
    sign_checkpoint(tools, _TENANT, at=at)


def _peer(path: Path) -> Any:  # noqa: ANN401 - the peer has no types
    from pymerkle import SqliteTree  # noqa: PLC0415 - only `make bench` installs the peer

    tree = SqliteTree(str(path), algorithm="sha256")
    tree.append_entries([b"entry %d" % number for number in range(_SIZE)], chunksize=_BATCH)
    return tree


if __name__ == "__main__":
    print_table(figures())
