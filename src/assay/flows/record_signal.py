"""A trust signal is handed in: by whom it names, of a kind that this principal may log.

credential -> principal; signal -> its kind is open to that principal -> entry and row, once
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from assay.flows.admit_principal import admit_principal
from assay.flows.errors import RecordConflictError, SignalRefusedError
from assay.flows.signal_entry import append_signal, signal_entry
from assay.flows.tools import Tools
from assay.flows.verify_clock import verify_clock
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.trust.signal import SignalKind, TrustSignal, parse_signal, render_signal

__all__ = ["SIGNAL_ROLES", "Signalled", "record_signal"]

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


class Signalled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a signal is kept; `is_new` is false for one that was logged before, byte for byte the same."""

    signal_id: str
    sequence_number: int
    is_new: bool


def record_signal(
    tools: Tools, given: bytes | str | dict[str, Any] | TrustSignal, *, credential: str, at: Instant
) -> Signalled:
    """Its agent is whoever is signed in, its time is not in the future, its id is used once."""
    signal = given if isinstance(given, TrustSignal) else parse_signal(given)

    def look(unit: Unit) -> Principal:
        found = _admitted(unit, signal, credential, at)
        verify_clock(unit, tools, found.tenant_id, at)
        return found

    principal = tools.database.read(look)
    tenant_id = principal.tenant_id
    entry = signal_entry(tenant_id, signal, submitted_by=principal.id, at=at)

    def work(unit: Unit) -> Signalled:
        _admitted(unit, signal, credential, at)
        known = unit.trust.find_signal(tenant_id, signal.signal_id)
        if known is None:
            number = append_signal(unit, tenant_id, signal, entry).sequence_number
            return Signalled(signal_id=signal.signal_id, sequence_number=number, is_new=True)
        if known.text != render_signal(signal).decode():
            raise RecordConflictError(f"another signal was logged as `{signal.signal_id}`")
        return Signalled(signal_id=signal.signal_id, sequence_number=known.sequence_number, is_new=False)

    return tools.database.write(work)


def _admitted(unit: Unit, signal: TrustSignal, credential: str, at: Instant) -> Principal:
    principal = admit_principal(unit, credential, at=at)
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
    return principal
