"""A trust signal: one thing that an authenticated agent did, as the immutable log of signals keeps it.

JSON -> TrustSignal with the body of its kind -> canonical bytes (`kaori-2.1`) -> hash
Who an agent is was settled before: the signal carries who was authenticated, and checks nothing of that itself.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, defstruct

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.kernel.instant import Instant, instant_of
from assay.trust._signal_body import (
    BODIES,
    AgentRegistered,
    DisputeRaised,
    Endorsement,
    MissionCreated,
    ObservationSubmitted,
    ObserverAssigned,
    Outcome,
    OutcomeRole,
    PenaltyApplied,
    PolicyRegistered,
    ProbeCreated,
    RoleGranted,
    SignalBody,
    SignalKind,
    TruthstateEmitted,
    ValidationVote,
    WindowEnded,
    WindowUntil,
)
from assay.trust.errors import SignalError, TrustError
from assay.truth._read import read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.errors import RecordError
from assay.truth.forms import AgentId, RecordId

__all__ = [
    "AgentRegistered",
    "DisputeRaised",
    "Endorsement",
    "MissionCreated",
    "ObservationSubmitted",
    "ObserverAssigned",
    "Outcome",
    "OutcomeRole",
    "PenaltyApplied",
    "PolicyRegistered",
    "ProbeCreated",
    "RoleGranted",
    "SignalBody",
    "SignalKind",
    "TrustSignal",
    "TruthstateEmitted",
    "ValidationVote",
    "WindowEnded",
    "WindowUntil",
    "parse_signal",
    "read_stored_signal",
    "render_signal",
    "signal_hash",
]


class TrustSignal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agent_id` is who it is by; `submitted_by` is who handed it in, where that was somebody else."""

    signal_id: RecordId
    kind: SignalKind
    agent_id: AgentId
    occurred_at: Instant
    object: SignalBody
    submitted_by: AgentId | None = None

    def __post_init__(self) -> None:
        if type(self.object) is not BODIES[self.kind]:
            expected, got = BODIES[self.kind].__name__, type(self.object).__name__
            raise TrustError.signal_kind(f"expected {expected} in a signal {self.kind}, got {got}")
        instant_of(self.occurred_at)


def signal_hash(signal: TrustSignal) -> str:
    return canonical_hash(_plain(signal), Profile.KAORI)


def parse_signal(value: bytes | str | dict[str, object]) -> TrustSignal:
    """From JSON text or its value, in canonical form; refused with every problem."""
    document: Any = canonical_value(value)
    kind = document.get("kind") if isinstance(document, dict) else None
    # A kind that is none has no body to read; everything around it is judged all the same.
    received = _RECEIVED.get(kind, _AnyReceived) if isinstance(kind, str) else _AnyReceived
    try:
        record: Any = read_record(document, received)
    except RecordError as error:
        raise SignalError(error.problems) from error
    return TrustSignal(**{name: getattr(record, name) for name in record.__struct_fields__})


def read_stored_signal(kind: str, text: str | bytes) -> TrustSignal:
    """What `render_signal` wrote, read back without judging every form again; only for texts from our own log."""
    try:
        record: Any = _STORED[kind].decode(text)
    except (KeyError, msgspec.MsgspecError) as error:
        raise TrustError.signal_kind(f"expected the text of a stored signal {kind[:80]}: {error}") from error
    return TrustSignal(**{name: getattr(record, name) for name in record.__struct_fields__})


def render_signal(signal: TrustSignal) -> bytes:
    return canonicalize(_plain(signal), Profile.KAORI)


def _plain(signal: TrustSignal) -> Any:  # noqa: ANN401 - any JSON
    """As JSON has it; members that 0.1.0 did not know are left out where they say nothing, so that old bytes stay."""
    plain: Any = plain_record(signal)
    if isinstance(signal.object, TruthstateEmitted):
        if signal.object.by_people is None:
            del plain["object"]["by_people"]
        for outcome in plain["object"]["outcomes"]:
            if not outcome["lessons"]:
                del outcome["lessons"]
    return plain


def _received(body: object) -> type[Struct]:
    """A signal whose body has this one type, which is how the reader of records knows what to expect."""
    return defstruct(
        "TrustSignal",
        [
            ("signal_id", RecordId),
            ("kind", SignalKind),
            ("agent_id", AgentId),
            ("occurred_at", Instant),
            ("object", body),
            ("submitted_by", AgentId | None, None),
        ],
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )


_RECEIVED: Mapping[str, type[Struct]] = {kind.value: _received(body) for kind, body in BODIES.items()}
_AnyReceived = _received(dict[str, object])
_STORED = {kind: msgspec.json.Decoder(received) for kind, received in _RECEIVED.items()}
