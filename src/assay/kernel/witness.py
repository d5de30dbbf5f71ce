"""Witnesses (C2SP tlog-witness), the part that only thinks: read a request, and say what a witness answers.

bytes -> parse_request -> judge_request(known) -> Verdict; on 200 the server stores size and root, then signs

INVARIANT: the server compares `known` and stores the new one in one step, and only then gives its cosignature away;
otherwise two requests at once could roll the log back.
"""

from collections.abc import Collection, Mapping
from enum import IntEnum

from msgspec import Struct

from assay.kernel.checkpoint import Checkpoint, SignedCheckpoint, parse_checkpoint, parse_decimal
from assay.kernel.errors import CheckpointError, MerkleError
from assay.kernel.merkle import EMPTY_ROOT, verify_consistency
from assay.kernel.note import VerifierKey, render_base64, verify_note
from assay.kernel.proof import MalformedProofTextError, parse_hash_lines, split_head

SIZE_CONTENT_TYPE = "text/x.tlog.size"
_OLD = "old "


class MalformedRequestError(CheckpointError):
    """A body is not an `add-checkpoint` request."""

    code = "checkpoint.witness_request"


class WitnessStatus(IntEnum):
    """The answers of the protocol, as HTTP statuses."""

    COSIGN = 200
    MALFORMED = 400
    UNSIGNED = 403
    UNKNOWN_LOG = 404
    CONFLICT = 409
    INCONSISTENT = 422


class WitnessRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A log asks for a cosignature, and shows that its new checkpoint continues the one of `old_size`."""

    old_size: int
    path: tuple[bytes, ...]
    signed: SignedCheckpoint


class Known(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The latest checkpoint a witness cosigned for one log."""

    size: int
    root: bytes


class Verdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to answer. `accepted` is what to store before signing; `known_size` is the body of a 409."""

    status: WitnessStatus
    reason: str
    accepted: Known | None = None
    known_size: int | None = None


def render_request(request: WitnessRequest) -> bytes:
    """The body of `add-checkpoint`; the checkpoint follows as it was received."""
    lines = [f"{_OLD}{request.old_size}", *map(render_base64, request.path), ""]
    return "".join(f"{line}\n" for line in lines).encode() + request.signed.note.received


def parse_request(received: bytes) -> WitnessRequest:
    """Read the body strictly; any refusal, a `checkpoint.*` error, is the 400 of the protocol."""
    try:
        (old, *path), note = split_head(received)
        if not old.startswith(_OLD):
            raise MalformedRequestError(f"expected `{_OLD}N` on the first line, got `{old[:80]}`")
        return WitnessRequest(
            old_size=parse_decimal(old.removeprefix(_OLD), MalformedRequestError),
            path=parse_hash_lines(path),
            signed=parse_checkpoint(note),
        )
    except MalformedProofTextError as error:
        raise MalformedRequestError(str(error)) from error


def judge_request(
    request: WitnessRequest, known: Known | None, log_keys: Mapping[str, Collection[VerifierKey]]
) -> Verdict:
    """What a witness answers that knows `known` of this log and trusts these keys by origin.

    The statuses are checked in the order of the specification, so that nobody learns of a log without its signature.
    """
    head = request.signed.checkpoint
    keys = log_keys.get(head.origin)
    if not keys:
        return Verdict(status=WitnessStatus.UNKNOWN_LOG, reason=f"no key is known for `{head.origin[:80]}`")
    try:
        verify_note(request.signed.note, keys)
    except CheckpointError as error:
        return Verdict(status=WitnessStatus.UNSIGNED, reason=str(error))
    if request.old_size > head.size:
        reason = f"expected an old size of at most {head.size}, got {request.old_size}"
        return Verdict(status=WitnessStatus.MALFORMED, reason=reason)
    return _judge_growth(request, head, known or Known(size=0, root=EMPTY_ROOT))


def _judge_growth(request: WitnessRequest, head: Checkpoint, known: Known) -> Verdict:
    if request.old_size != known.size:
        return _conflict(known, f"expected old size {known.size}, got {request.old_size}")
    if head.size == known.size and head.root != known.root:
        return _conflict(known, f"another root of size {known.size} was cosigned before: the log has forked")
    try:
        verify_consistency(known.size, known.root, head.size, head.root, request.path)
    except MerkleError as error:
        return Verdict(status=WitnessStatus.INCONSISTENT, reason=str(error))
    accepted = Known(size=head.size, root=head.root)
    return Verdict(status=WitnessStatus.COSIGN, reason=f"size {head.size} continues {known.size}", accepted=accepted)


def _conflict(known: Known, reason: str) -> Verdict:
    return Verdict(status=WitnessStatus.CONFLICT, reason=reason, known_size=known.size)
