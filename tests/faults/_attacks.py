"""What somebody with every right can do to a ledger of 600 entries, and what an audit must say of each.

A finding is (code, first bad entry, last good checkpoint).
"""

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from assay.kernel.digest import Digest, digest_of
from assay.ports.ledger_store import StoredEntry
from tests.faults._nodes import Place, PostgresPlace

__all__ = ["ATTACKS", "Attack", "Finding", "Target", "keep", "only", "rewrite_from", "update"]

_ANY = Digest("sha256:" + "5a" * 32)


class Target(NamedTuple):
    """A node to attack copies of, an older copy of it (400 entries), and its rows as they are."""

    place: Place
    node: Path
    older: Path
    rows: dict[int, StoredEntry]

    def copy(self) -> Path:
        return self.place.copy(self.node)

    def is_postgres(self) -> bool:
        return isinstance(self.place, PostgresPlace)

    def blob(self, value: bytes) -> str:
        return f"'\\x{value.hex()}'::bytea" if self.is_postgres() else f"x'{value.hex()}'"


def _forge(row: StoredEntry, *, previous_hash: str | None = None, number: int | None = None) -> dict[str, object]:
    """The entry with another body, every hash of it made anew: what a careful forger would write."""
    document = json.loads(row.text)
    document["body"] = {"forged": row.sequence_number}
    document["sequence_number"] = number or row.sequence_number
    document["previous_hash"] = previous_hash or row.previous_hash
    text = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    return {
        "previous_hash": document["previous_hash"],
        "text": text,
        "entry_hash": digest_of(text),
        "leaf_hash": sha256(b"\x00" + text).digest(),
    }


def update(target: Target, number: int, **columns: object) -> str:
    changes = ", ".join(
        f"{name} = {target.blob(value) if isinstance(value, bytes) else repr(str(value))}"
        for name, value in columns.items()
    )
    return f"UPDATE ledger SET {changes} WHERE sequence_number = {number}"


def rewrite_from(target: Target, first: int) -> Iterator[str]:
    """Every entry from `first` on, forged so that each follows the one before, and the head with them."""
    previous = target.rows[first - 1].entry_hash
    for number in range(first, 601):
        forged = _forge(target.rows[number], previous_hash=previous)
        previous = str(forged["entry_hash"])
        yield update(target, number, **forged)
    yield f"UPDATE chain SET entry_hash = '{previous}'"


def keep(target: Target, size: int) -> list[str]:
    """A cut that a careful hand would make: entries, tree, checkpoints and head."""
    return [
        f"DELETE FROM ledger WHERE sequence_number > {size}",
        f"DELETE FROM tile WHERE (position + 1) * 256 > {size}",
        f"DELETE FROM subtree WHERE (position + 1) * 256 > {size}",
        f"DELETE FROM checkpoint WHERE size > {size}",
        f"UPDATE chain SET sequence_number = {size}, entry_hash = '{target.rows[size].entry_hash}'",
    ]


def only(target: Target, name: str, number: int) -> list[str]:
    return [update(target, number, **{name: _forge(target.rows[number])[name]})]


def _replay(old: int, new: int) -> list[str]:
    columns = [name for name in StoredEntry.__struct_fields__ if name != "sequence_number"]
    names = ", ".join(columns)
    return [
        f"INSERT INTO ledger (sequence_number, {names}) SELECT {new}, {names} FROM ledger WHERE sequence_number = {old}"
    ]


def _insert(target: Target, previous_hash: str) -> list[str]:
    """One more entry at the end, well formed in itself."""
    forged = _forge(target.rows[600], previous_hash=previous_hash, number=601)
    return [*_replay(600, 601), update(target, 601, **forged)]


def _swap(one: int, other: int) -> list[str]:
    move = "UPDATE ledger SET sequence_number = {} WHERE sequence_number = {}"
    return [move.format(9999, one), move.format(one, other), move.format(other, 9999)]


Attack = Callable[[Target], list[str]]
Finding = tuple[str, int | None, int | None]
_ENTRY_ATTACKS: dict[str, tuple[Attack, Finding]] = {
    "text": (lambda t: only(t, "text", 300), ("ledger.entry_hash", 300, 200)),
    "entry_hash": (lambda t: only(t, "entry_hash", 300), ("ledger.entry_hash", 300, 200)),
    "leaf_hash": (lambda t: only(t, "leaf_hash", 300), ("ledger.leaf_hash", 300, 200)),
    "timestamp": (
        lambda t: [update(t, 300, timestamp="2020-01-01T00:00:00Z")],
        ("ledger.column_altered", 300, 200),
    ),
    "kind": (lambda t: [update(t, 300, kind="erasure")], ("ledger.column_altered", 300, 200)),
    "previous_hash": (lambda t: [update(t, 300, previous_hash=_ANY)], ("ledger.column_altered", 300, 200)),
    "schema_version": (lambda t: [update(t, 300, schema_version="2")], ("ledger.column_altered", 300, 200)),
    "a column that was empty": (lambda t: [update(t, 300, rule_id="r")], ("ledger.column_altered", 300, 200)),
    "verdict": (lambda t: [update(t, 561, verdict="CLEAR")], ("ledger.column_altered", 561, 560)),
    "rule_id": (lambda t: [update(t, 561, rule_id="r-2")], ("ledger.column_altered", 561, 560)),
    "telemetry_hash": (lambda t: [update(t, 561, telemetry_hash="sha256:0")], ("ledger.column_altered", 561, 560)),
    "llm_transcript": (lambda t: [update(t, 561, llm_transcript="{}")], ("ledger.column_altered", 561, 560)),
    "verifier_result": (
        lambda t: [update(t, 561, verifier_result='{"agreed":false}')],
        ("ledger.column_altered", 561, 560),
    ),
    "an entry forged with all its hashes: the next does not follow it": (
        lambda t: [update(t, 300, **_forge(t.rows[300]))],
        ("ledger.broken_link", 301, 200),
    ),
    "every entry from 300 on forged: the next checkpoint names another tree": (
        lambda t: list(rewrite_from(t, 300)),
        ("ledger.forked", 400, 200),
    ),
    "an entry deleted": (
        lambda _: ["DELETE FROM ledger WHERE sequence_number = 300"],
        ("ledger.entry_missing", 300, 200),
    ),
    "the first entry deleted": (
        lambda _: ["DELETE FROM ledger WHERE sequence_number = 1"],
        ("ledger.entry_missing", 1, None),
    ),
    "two entries swapped": (lambda _: _swap(300, 301), ("ledger.column_altered", 300, 200)),
    "an entry inserted that follows nothing": (lambda t: _insert(t, _ANY), ("ledger.broken_link", 601, 560)),
    "an entry inserted that follows the last": (
        lambda t: _insert(t, t.rows[600].entry_hash),
        ("ledger.damaged_head", 601, 560),
    ),
    "an old entry replayed at the end": (lambda _: _replay(300, 601), ("ledger.column_altered", 601, 560)),
    "an entry of another tenant put in its place": (
        lambda _: ["UPDATE ledger SET tenant_id = 'other' WHERE sequence_number = 300"],
        ("ledger.entry_missing", 300, 200),
    ),
    "the tail cut, its head kept": (
        lambda _: ["DELETE FROM ledger WHERE sequence_number > 590"],
        ("ledger.damaged_head", 591, 560),
    ),
    "the head alone": (lambda _: [f"UPDATE chain SET entry_hash = '{_ANY}'"], ("ledger.damaged_head", None, 560)),
    "the head set back": (lambda _: ["UPDATE chain SET sequence_number = 590"], ("ledger.damaged_head", 591, 560)),
    "the tail cut below a kept checkpoint": (
        lambda _: ["DELETE FROM ledger WHERE sequence_number > 550"],
        ("ledger.rolled_back", 551, 400),
    ),
    "the tail cut with everything that tells of it": (lambda t: keep(t, 450), ("ledger.rolled_back", 451, 400)),
}
_TREE_ATTACKS: dict[str, tuple[Attack, Finding]] = {
    "a full tile": (
        lambda t: [f"UPDATE tile SET hashes = {t.blob(bytes(8192))} WHERE level = 0 AND position = 1"],
        ("ledger.tile_altered", 257, 400),
    ),
    "a full tile deleted": (
        lambda _: ["DELETE FROM tile WHERE level = 0 AND position = 0"],
        ("ledger.tile_missing", 1, 200),
    ),
    "a finished subtree": (
        lambda t: [f"UPDATE subtree SET hash = {t.blob(bytes(32))} WHERE position = 1"],
        ("ledger.tile_altered", None, 560),
    ),
    "a finished subtree deleted": (
        lambda _: ["DELETE FROM subtree WHERE position = 0"],
        ("ledger.tile_missing", None, 560),
    ),
}
_CHECKPOINT_ATTACKS: dict[str, tuple[Attack, Finding]] = {
    "root_hash": (
        lambda _: [f"UPDATE checkpoint SET root_hash = '{_ANY}' WHERE number = 2"],
        ("ledger.column_altered", None, 200),
    ),
    "signed_at": (
        lambda _: ["UPDATE checkpoint SET signed_at = '2020-01-01T00:00:00Z' WHERE number = 2"],
        ("ledger.column_altered", None, 200),
    ),
    "size": (lambda _: ["UPDATE checkpoint SET size = 401 WHERE number = 2"], ("ledger.column_altered", None, 200)),
    "the size its note names": (
        lambda _: ["UPDATE checkpoint SET note = replace(note, '\n400\n', '\n399\n')"],
        ("checkpoint.signature", None, 200),
    ),
    "its signature": (
        lambda _: [
            "UPDATE checkpoint SET note = replace(note, substr(note, length(note) - 9, 5), 'AAAAA') WHERE number = 2",
        ],
        ("checkpoint.signature", None, 200),
    ),
    "its note replaced by an older one": (
        lambda _: ["UPDATE checkpoint SET note = (SELECT note FROM checkpoint WHERE number = 1) WHERE number = 2"],
        ("ledger.column_altered", None, 200),
    ),
    "a note that is none": (
        lambda _: ["UPDATE checkpoint SET note = 'x' WHERE number = 1"],
        ("checkpoint.note_form", None, None),
    ),
}
ATTACKS: dict[str, tuple[Attack, Finding]] = {
    **_ENTRY_ATTACKS,
    **_TREE_ATTACKS,
    **{f"checkpoint: {k}": v for k, v in _CHECKPOINT_ATTACKS.items()},
}
