"""A trust signal is handed in: by whom it names, of a kind that this principal may log.

credential -> principal; signal -> its kind is open to that principal -> entry and row, once
A dispute that counts opens a round of validation in the same commit, and its key is compiled.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.flows.errors.truth import RecordConflictError, SignalRefusedError
from assay.flows.identity.authenticate import Authenticated, authenticate_in
from assay.flows.ledger.verify_clock import verify_clock
from assay.flows.tools import Tools
from assay.flows.trust.signal_entry import append_signal, signal_entry
from assay.flows.truth.judge_dispute import DisputeRefusal, judge_dispute
from assay.flows.truth.recount import Recount, recount_key
from assay.flows.truth.truth_entry import Bronze, add_bronze
from assay.flows.truth.truth_key import introduce_truth_key
from assay.flows.truth.window_entry import window_bronze
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.trust.signal import DisputeRaised, SignalKind, TrustSignal, parse_signal, render_signal
from assay.truth.window import WindowEvent

# Who may log what; None means whoever is signed in. What is not here is logged by the flows that do it, by nobody else:
# an observation, a vote, a window, a state, a policy, and a penalty that people decided on.
SIGNAL_ROLES: Mapping[SignalKind, tuple[BuiltInRole, ...] | None] = MappingProxyType(
    {
        SignalKind.AGENT_REGISTERED: (BuiltInRole.ADMIN,),
        SignalKind.ROLE_GRANTED: (BuiltInRole.ADMIN,),
        SignalKind.MISSION_CREATED: (BuiltInRole.OPERATOR,),
        SignalKind.PROBE_CREATED: (BuiltInRole.OPERATOR,),
        SignalKind.OBSERVER_ASSIGNED: (BuiltInRole.OPERATOR,),
        SignalKind.ENDORSEMENT: None,
        SignalKind.DISPUTE_RAISED: None,
    }
)


class DisputeAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a dispute: `window_number` is the entry of the round that it opened, `refusal` why it opened none.

    `recount` is the disputed key with the round open.
    """

    counts: bool
    refusal: DisputeRefusal | None = None
    window_number: int | None = None
    recount: Recount | None = None


class Signalled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a signal is kept; `is_new` is false for one that was logged before, byte for byte the same.

    `dispute` is there for a new DISPUTE_RAISED, and for nothing else.
    """

    signal_id: str
    sequence_number: int
    is_new: bool
    dispute: DisputeAnswer | None = None


def record_signal(
    tools: Tools, given: bytes | str | dict[str, Any] | TrustSignal, *, credential: str, at: Instant
) -> Signalled:
    """Its agent is whoever is signed in, its time is not in the future, its id is used once.

    Every form is judged, also of a signal that was made in Python: a share that is none would be folded for ever.
    """
    signal = parse_signal(render_signal(given) if isinstance(given, TrustSignal) else given)

    def look(unit: Unit) -> tuple[TenantId, WindowEvent | DisputeRefusal | None]:
        proved = _admitted(unit, signal, credential, at)
        verify_clock(unit, tools, proved.principal.tenant_id, at)
        return proved.principal.tenant_id, _judged(unit, tools, proved, signal, at)

    tenant_id, judged = tools.database.read(look)
    entry = signal_entry(tenant_id, signal, submitted_by=signal.agent_id, at=at)
    # Signed outside the writer's turn, since a token or a service may take its time.
    opening = _opening(tools, tenant_id, judged, signal, at)

    def work(unit: Unit) -> Signalled:
        proved = _admitted(unit, signal, credential, at)
        known = unit.trust.find_signal(tenant_id, signal.signal_id)
        if known is None:
            # Judged again: somebody may have opened a window, or compiled the key, since.
            now = judged if opening is None else _judged(unit, tools, proved, signal, at)
            number = append_signal(unit, tenant_id, signal, entry).sequence_number
            dispute = None if now is None else _dispute(unit, now, opening)
            return Signalled(signal_id=signal.signal_id, sequence_number=number, is_new=True, dispute=dispute)
        if known.text != render_signal(signal).decode():
            raise RecordConflictError(f"another signal was logged as `{signal.signal_id}`")
        return Signalled(signal_id=signal.signal_id, sequence_number=known.sequence_number, is_new=False)

    return _recounted(tools, tenant_id, signal, tools.database.write(work), at)


def _judged(
    unit: Unit, tools: Tools, proved: Authenticated, signal: TrustSignal, at: Instant
) -> WindowEvent | DisputeRefusal | None:
    """What a dispute is judged to be; None for a signal that is no dispute."""
    if not isinstance(signal.object, DisputeRaised):
        return None
    return judge_dispute(unit, tools, proved, signal, signal.object, at=at)


def _opening(
    tools: Tools, tenant_id: TenantId, judged: WindowEvent | DisputeRefusal | None, signal: TrustSignal, at: Instant
) -> Bronze | None:
    if not isinstance(judged, WindowEvent):
        return None
    introduce_truth_key(tools, tenant_id, at=at)
    return window_bronze(tools, tenant_id, judged, submitted_by=signal.agent_id, at=at)


def _dispute(unit: Unit, judged: WindowEvent | DisputeRefusal, opening: Bronze | None) -> DisputeAnswer:
    """The round opens in the commit of the signal, or not at all."""
    if not isinstance(judged, WindowEvent) or opening is None:
        return DisputeAnswer(counts=False, refusal=None if isinstance(judged, WindowEvent) else judged)
    return DisputeAnswer(counts=True, window_number=add_bronze(unit, opening).sequence_number)


def _recounted(tools: Tools, tenant_id: TenantId, signal: TrustSignal, done: Signalled, at: Instant) -> Signalled:
    """The answer, after the disputed key was compiled: people are asked at once."""
    if done.dispute is None or not done.dispute.counts or not isinstance(signal.object, DisputeRaised):
        return done
    recount = recount_key(tools, tenant_id, signal.object.truthkey, at=at)
    return replace(done, dispute=replace(done.dispute, recount=recount))


def _admitted(unit: Unit, signal: TrustSignal, credential: str, at: Instant) -> Authenticated:
    proved = authenticate_in(unit, credential, at=at)
    principal = proved.principal
    if signal.kind not in SIGNAL_ROLES:
        raise SignalRefusedError(f"expected one of {', '.join(SIGNAL_ROLES)}, got {signal.kind}")
    roles = SIGNAL_ROLES[signal.kind]
    if roles is not None:
        require_role(principal, roles)
    if signal.agent_id != principal.id or signal.submitted_by is not None:
        raise SignalRefusedError(f"expected a signal by `{principal.id}`, got one by `{signal.agent_id}`")
    if signal.occurred_at > at:
        raise SignalRefusedError(
            f"expected a time up to {render_instant(at)}, got {render_instant(signal.occurred_at)}"
        )
    return proved
