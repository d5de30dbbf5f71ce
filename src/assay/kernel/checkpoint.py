"""Checkpoints (C2SP tlog-checkpoint): the log's signed word about its size and root.

Checkpoint -> render_checkpoint_body -> (someone signs) -> seal_checkpoint -> SignedCheckpoint
bytes -> parse_checkpoint -> verify_checkpoint -> the key that signed;   previous + next + path -> verify_growth

Lines: origin, size, base64 of the root, then extension lines. Ours is `signed_at` and an instant; those of others are
kept and covered by the signature.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.kernel.errors import CheckpointError, MerkleError, TypeFormError
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.key import key_id_of
from assay.kernel.merkle import EMPTY_ROOT, HASH_SIZE, MAX_SIZE, verify_consistency
from assay.kernel.note import (
    Note,
    NoteSignature,
    VerifierKey,
    parse_base64,
    parse_note,
    render_base64,
    render_note,
    verify_note,
)

_SIGNED_AT = "signed_at "
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_FIXED_LINES = 3


class MalformedCheckpointError(CheckpointError):
    """A note's text is not origin, size, root and extension lines."""

    code = "checkpoint.form"


class OriginError(CheckpointError):
    """A checkpoint is about another log."""

    code = "checkpoint.origin"


class ShrunkLogError(CheckpointError):
    """A checkpoint is smaller than one that was signed before."""

    code = "checkpoint.shrinks"


class ForkedLogError(CheckpointError):
    """A checkpoint contradicts one that was signed before."""

    code = "checkpoint.forks"


class Checkpoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of a log: `root` is the raw root hash of its first `size` leaves."""

    origin: str
    size: int
    root: bytes
    signed_at: Instant | None = None
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.size <= MAX_SIZE:
            raise MalformedCheckpointError(f"expected a size from 0 to {MAX_SIZE}, got {self.size}")
        if len(self.root) != HASH_SIZE:
            raise MalformedCheckpointError(f"expected a root of {HASH_SIZE} bytes, got {len(self.root)}")
        for line in (self.origin, *self.extensions):
            if not line or "\n" in line:
                raise MalformedCheckpointError(f"expected non-empty single lines, got `{line[:80]}`")


class SignedCheckpoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A checkpoint beside the note it was read from; signatures are checked against the note, never re-rendered."""

    checkpoint: Checkpoint
    note: Note


def render_checkpoint_body(checkpoint: Checkpoint) -> bytes:
    """The text to sign; ends in a line feed."""
    lines = [checkpoint.origin, str(checkpoint.size), render_base64(checkpoint.root)]
    if checkpoint.signed_at is not None:
        lines.append(_SIGNED_AT + render_instant(checkpoint.signed_at))
    return "".join(f"{line}\n" for line in (*lines, *checkpoint.extensions)).encode()


def seal_checkpoint(checkpoint: Checkpoint, signatures: Sequence[NoteSignature]) -> SignedCheckpoint:
    """Put text and signatures together; the result reads back as the same checkpoint."""
    return parse_checkpoint(render_note(render_checkpoint_body(checkpoint), signatures))


def add_signatures(signed: SignedCheckpoint, signatures: Sequence[NoteSignature]) -> SignedCheckpoint:
    """The same note with more lines at its end, as when witnesses have answered; the text stays byte for byte."""
    lines = (*signed.note.signatures, *signatures)
    return parse_checkpoint(render_note(signed.note.body, lines))


def parse_checkpoint(received: bytes) -> SignedCheckpoint:
    """Read a signed checkpoint strictly; verifies no signature."""
    note = parse_note(received)
    lines = note.text[:-1].split("\n")
    if len(lines) < _FIXED_LINES or not all(lines):
        raise MalformedCheckpointError("expected at least origin, size and root, and no empty line")
    origin, size, root, *rest = lines
    checkpoint = Checkpoint(
        origin=origin,
        size=parse_decimal(size, MalformedCheckpointError),
        root=parse_base64(root, MalformedCheckpointError),
        signed_at=_parse_signed_at(rest),
        extensions=tuple(line for line in rest if not line.startswith(_SIGNED_AT)),
    )
    return SignedCheckpoint(checkpoint=checkpoint, note=note)


def log_key(origin: str, public_key: bytes) -> VerifierKey:
    """The key under which a log signs its own checkpoints: its name is the origin."""
    return VerifierKey(name=origin, public_key=public_key)


def verify_checkpoint(signed: SignedCheckpoint, origin: str, public_keys: Iterable[bytes]) -> KeyId:
    """Raise unless the log named `origin` signed this with one of its keys; returns the first of them that did.

    Whether that key was valid at `signed_at`, and whether the log has grown honestly, is for the caller to check.
    """
    if signed.checkpoint.origin != origin:
        raise OriginError(f"expected a checkpoint of `{origin}`, got one of `{signed.checkpoint.origin[:80]}`")
    signers = verify_note(signed.note, [log_key(origin, public_key) for public_key in public_keys])
    return key_id_of(signers[0].public_key)


def verify_growth(previous: Checkpoint | None, following: Checkpoint, path: Sequence[bytes]) -> None:
    """Raise unless `following` may be signed after `previous`: the same log, no smaller, the same beginning."""
    size, root = (0, EMPTY_ROOT) if previous is None else (previous.size, previous.root)
    if previous is not None and following.origin != previous.origin:
        raise OriginError(f"expected a checkpoint of `{previous.origin}`, got one of `{following.origin}`")
    if following.size < size:
        raise ShrunkLogError(f"expected a size of at least {size}, got {following.size}")
    try:
        verify_consistency(size, root, following.size, following.root, path)
    except MerkleError as error:
        raise ForkedLogError(f"size {following.size} does not continue size {size}: {error}") from error


def parse_decimal(text: str, error: type[CheckpointError]) -> int:
    """ASCII digits without leading zeros."""
    if _DECIMAL.fullmatch(text) is None or int(text) > MAX_SIZE:
        raise error(f"expected a decimal from 0 to {MAX_SIZE} without leading zeros, got `{text[:80]}`")
    return int(text)


def _parse_signed_at(lines: Sequence[str]) -> Instant | None:
    found = [line.removeprefix(_SIGNED_AT) for line in lines if line.startswith(_SIGNED_AT)]
    if not found:
        return None
    if len(found) > 1:
        raise MalformedCheckpointError(f"expected one `signed_at` line, got {len(found)}")
    try:
        signed_at = parse_instant(found[0])
    except TypeFormError as error:
        raise MalformedCheckpointError(f"expected `signed_at` and an instant: {error}") from error
    if render_instant(signed_at) != found[0]:
        raise MalformedCheckpointError(f"expected `signed_at {render_instant(signed_at)}`, got `{found[0]}`")
    return signed_at
