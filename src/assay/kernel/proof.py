"""Proofs of inclusion as text (C2SP tlog-proof): an index, a path, and the checkpoint they lead to.

record bytes + TlogProof -> leaf hash -> path -> root -> signed checkpoint;   stored as `*.tlog-proof`
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.kernel.checkpoint import SignedCheckpoint, parse_checkpoint, parse_decimal, verify_checkpoint
from assay.kernel.errors import CheckpointError
from assay.kernel.ids import KeyId
from assay.kernel.merkle import HASH_SIZE, leaf_hash, verify_inclusion
from assay.kernel.note import MAX_NOTE_BYTES, parse_base64, render_base64

# A path of more hashes would belong to a tree of more than 2^63 leaves.
MAX_PATH = 63
_FORMAT = "c2sp.org/tlog-proof@v1"
_INDEX = "index "
_EXTRA = "extra "


class MalformedProofTextError(CheckpointError):
    """A text is not a proof in its textual form."""

    code = "checkpoint.proof_form"


class TlogProof(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An inclusion proof with its checkpoint; `extra` is signed by nobody and must not be believed by itself."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: SignedCheckpoint
    extra: bytes | None = None


def render_tlog_proof(proof: TlogProof) -> bytes:
    """The text; the checkpoint follows as it was received."""
    lines = [_FORMAT]
    if proof.extra is not None:
        lines.append(_EXTRA + render_base64(proof.extra))
    lines += [f"{_INDEX}{proof.index}", *map(render_base64, proof.path), ""]
    return "".join(f"{line}\n" for line in lines).encode() + proof.checkpoint.note.received


def parse_tlog_proof(received: bytes) -> TlogProof:
    """Read the text strictly; verifies nothing."""
    lines, checkpoint = split_head(received)
    if lines.pop(0) != _FORMAT:
        raise MalformedProofTextError(f"expected `{_FORMAT}` on the first line")
    extra = None
    if lines and lines[0].startswith(_EXTRA):
        extra = parse_base64(lines.pop(0).removeprefix(_EXTRA), MalformedProofTextError)
    if not lines or not lines[0].startswith(_INDEX):
        raise MalformedProofTextError(f"expected `{_INDEX}N`, got `{lines[0][:80] if lines else ''}`")
    return TlogProof(
        index=parse_decimal(lines[0].removeprefix(_INDEX), MalformedProofTextError),
        path=parse_hash_lines(lines[1:]),
        checkpoint=parse_checkpoint(checkpoint),
        extra=extra,
    )


def verify_tlog_proof(proof: TlogProof, record: bytes, origin: str, public_keys: Iterable[bytes]) -> KeyId:
    """Raise unless the log named `origin` has exactly these bytes at the proof's index; returns the signing key."""
    signer = verify_checkpoint(proof.checkpoint, origin, public_keys)
    verify_record_included(proof, record)
    return signer


def verify_record_included(proof: TlogProof, record: bytes) -> None:
    """Raise unless the path leads from exactly these bytes to the checkpoint's root; who signed it is not looked at."""
    head = proof.checkpoint.checkpoint
    verify_inclusion(leaf_hash(record), proof.index, head.size, proof.path, head.root)


def split_head(received: bytes) -> tuple[list[str], bytes]:
    """The lines before the first blank line, and the note after it; so begin proofs and witness requests."""
    if len(received) > MAX_NOTE_BYTES:
        raise MalformedProofTextError(f"expected at most {MAX_NOTE_BYTES} bytes, got {len(received)}")
    head, blank, note = received.partition(b"\n\n")
    if not blank or not head.isascii():
        raise MalformedProofTextError("expected ASCII lines, a blank line and a checkpoint")
    return head.decode().split("\n"), note


def parse_hash_lines(lines: Sequence[str]) -> tuple[bytes, ...]:
    """One base64 hash per line."""
    if len(lines) > MAX_PATH:
        raise MalformedProofTextError(f"expected a path of at most {MAX_PATH} hashes, got {len(lines)}")
    path = tuple(parse_base64(line, MalformedProofTextError) for line in lines)
    if any(len(value) != HASH_SIZE for value in path):
        raise MalformedProofTextError(f"expected hashes of {HASH_SIZE} bytes in the path")
    return path
