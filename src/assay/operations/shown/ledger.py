"""Entries, checkpoints and indexes as text."""

import msgspec

from assay.flows.ledger.entries import EntryItem, ErasedEntry
from assay.flows.ledger.proofs import CheckpointItem, NewIndexes
from assay.operations.shown.identity import aligned

_LATER = "; the deleted bytes are still in the database's files and leave them later (see docs/storage.md)"


def entry_text(entry: EntryItem) -> str:
    """An entry with the whole of its body, as indented JSON."""
    facts = [
        ("entry", str(entry.sequence_number)),
        ("kind", entry.kind),
        ("recorded at", entry.timestamp),
        ("entry hash", entry.entry_hash),
        ("previous hash", entry.previous_hash),
    ]
    if entry.trace_id is not None:
        facts.append(("trace", entry.trace_id))
    if entry.disclosed:
        facts.append(("disclosed", ", ".join(entry.disclosed)))
    body = msgspec.json.format(msgspec.json.encode(entry.body), indent=2).decode()
    return f"{aligned(facts)}\n{body}"


def erased_text(erased: ErasedEntry) -> str:
    erasure, later = erased.erasure, "" if erased.scrubbed else _LATER
    what = f"erased {', '.join(erasure.pointers)} of entry {erasure.sequence_number}"
    return f"{what}; recorded in entry {erased.receipt.sequence_number}{later}"


def checkpoint_note(checkpoint: CheckpointItem) -> str:
    """The signed note itself, for tools that read C2SP checkpoints."""
    return checkpoint.note.removesuffix("\n")


def indexes_text(new: NewIndexes) -> str:
    if not new.indexes:
        return "nothing was left to index"
    return f"indexed entries {new.indexes[0].first} to {new.indexes[-1].last}"
