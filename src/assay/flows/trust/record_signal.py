"""Trust signals: log one of a kind that the caller may log, admit, grant, endorse, dispute; list the log.

caller -> signal of the caller's own, of a kind open to them -> entry and row, once
A dispute that counts opens a round of validation in the same commit, and its key is compiled.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.facts.trust import signal_entry
from assay.flows.errors.truth import TruthFlowError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.ledger.verify_clock import verify_clock
from assay.flows.request import (
    Document,
    Done,
    Moment,
    Option,
    Page,
    Paged,
    Request,
    cut,
    map_page,
    read_number,
    whose,
)
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import recount_key
from assay.flows.truth.state_entry import state_value
from assay.flows.truth.states import KeyName
from assay.flows.truth.truth_key import introduce_truth_key, window_entry
from assay.flows.truth.votes import DisputeRefusal, judge_dispute
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import Draft
from assay.ports.database import Unit
from assay.ports.trust_store import LoggedSignal
from assay.trust.signal import DisputeRaised, SignalKind, TrustSignal, parse_signal, render_signal
from assay.truth.window import WindowEvent

_ENTROPY = 16
AgentName = Annotated[
    str, Meta(min_length=1, max_length=200, description="An agent, such as `user:amira` or `sensor:042`.")
]


class SignalDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal by the caller; the form of `object` depends on `kind`."""

    signal_id: str
    kind: str
    agent_id: str
    occurred_at: str
    object: dict[str, Any]


# Roles by kind; None means any principal that is signed in. The other kinds are logged by the flows that do it, by
# nobody else: an observation, a vote, a window, a state, a policy, and a penalty that people decided on.
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


class RecordSignal(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signal: Annotated[bytes, Meta(description="The signal, as JSON."), Document(kind=SignalDocument, metavar="FILE|-")]


class AdmitAgents(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agents: Annotated[
        tuple[AgentName, ...],
        Meta(min_length=1, max_length=10_000, description="Agents, such as `user:amira` or `sensor:042`."),
        Option(form="argument", metavar="AGENT..."),
    ]


class GrantRole(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent_id: Annotated[AgentName, Option(metavar="AGENT")]
    role: Annotated[
        str, Meta(max_length=200, description="A role of the policy."), Option(form="argument", metavar="ROLE")
    ]
    until: Annotated[
        Moment | None, Meta(description="When the role ends; else it does not."), Option(metavar="TIME")
    ] = None


class EndorseAgent(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent_id: Annotated[AgentName, Option(metavar="AGENT")]
    weight: Annotated[float, Meta(ge=0, le=1, description="0 to 1; 0 takes it back.")] = 1.0


class DisputeState(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: KeyName
    state_hash: Annotated[
        str, Meta(max_length=200, description="The hash of the state that is disputed."), Option(flag="--state")
    ]
    reason: Annotated[str, Meta(min_length=1, max_length=2000, description="Why; recorded with the dispute.")]


class ListSignals(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent_id: Annotated[
        str | None, Meta(description="Only signals of this agent."), Option(flag="--agent", metavar="AGENT")
    ] = None


class DisputeReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a dispute: the entry of the round it opened and the key's state with it, or why it opened none.

    Without a state the key is not compiled yet, and `code` and `problem` say why; the dispute is recorded all the same.
    """

    counts: bool
    refusal: DisputeRefusal | None = None
    window_number: int | None = None
    version: int | None = None
    state: dict[str, Any] | None = None
    code: str | None = None
    problem: str | None = None


class Signalled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a signal is recorded; `is_new` is false for one that was logged before, byte for byte the same.

    `dispute` is there for a new DISPUTE_RAISED, and for nothing else.
    """

    signal_id: str
    kind: SignalKind
    sequence_number: int
    is_new: bool
    dispute: DisputeReceipt | None = None


class AdmittedAgents(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which agents are known now; `signals` are in the order of the request."""

    signals: tuple[Signalled, ...]


class LoggedItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal and the entry that logged it."""

    sequence_number: int
    signal: dict[str, Any]


def record_signal(tools: Tools, caller: Caller, request: RecordSignal) -> Done[Signalled]:
    """Log a signal by the caller, of a kind that the caller may log; what moves standings cannot be handed in.

    Its time is not in the future and its id is used once. A dispute of a final state asks people again, where it
    counts.
    """
    done = log_signal(tools, caller, parse_signal(request.signal))
    return Done(value=done, is_new=done.is_new)


def admit_agents(tools: Tools, caller: Caller, request: AdmitAgents) -> AdmittedAgents:
    """Make agents known, at the policy's initial standing: an agent that is not known weighs nothing.

    An agent need not be a principal of this node.
    """
    return AdmittedAgents(
        signals=tuple(_log(tools, caller, SignalKind.AGENT_REGISTERED, {"agent_id": one}) for one in request.agents)
    )


def grant_role(tools: Tools, caller: Caller, request: GrantRole) -> Signalled:
    """Grant an agent a role of the policy: at least the role's class of standing."""
    body = {"agent_id": request.agent_id, "role": request.role, "expires_at": request.until}
    return _log(tools, caller, SignalKind.ROLE_GRANTED, body)


def endorse_agent(tools: Tools, caller: Caller, request: EndorseAgent) -> Signalled:
    """Endorse an agent: it changes the agent's network weight, never a standing."""
    body = {"endorsed": request.agent_id, "weight": request.weight}
    return _log(tools, caller, SignalKind.ENDORSEMENT, body)


def dispute_state(tools: Tools, caller: Caller, request: DisputeState) -> Signalled:
    """Dispute the final state of a key: people are asked again, as its contract resolves disputes.

    It counts in person (a session), from a caller whose vote would count there, about the state in force, and once for
    each agent and key. One that does not count is recorded all the same, and the result says why.
    """
    body = {"truthkey": request.key, "state_hash": request.state_hash, "reason": request.reason}
    return _log(tools, caller, SignalKind.DISPUTE_RAISED, body)


def signals(tools: Tools, caller: Caller, request: ListSignals) -> Page[LoggedItem]:
    """List the log of signals in its order; without a role that may see all of it, one's own."""
    agent_id, tenant_id = whose(caller, request.agent_id), caller.tenant_id
    after, limit = read_number("signals", request.cursor), request.limit + 1

    def look(unit: Unit) -> Sequence[LoggedSignal]:
        if agent_id is not None:
            return unit.trust.signals_of(tenant_id, agent_id, after=after, limit=limit)
        return tuple(unit.trust.signals(tenant_id, after=after, limit=limit))

    page = cut("signals", tools.database.read(look), request.limit, lambda row: row.sequence_number)
    return map_page(page, lambda row: LoggedItem(sequence_number=row.sequence_number, signal=_value(row)))


def _value(row: LoggedSignal) -> dict[str, Any]:
    value: Any = parse_json(row.text)
    return dict(value)


def _log(tools: Tools, caller: Caller, kind: SignalKind, body: Mapping[str, object]) -> Signalled:
    """Log one signal by the caller, now, under a new id."""
    given: dict[str, object] = {
        "signal_id": f"{kind.value.lower()}.{tools.entropy.token(_ENTROPY).hex()}",
        "kind": kind.value,
        "agent_id": caller.principal.id,
        "occurred_at": render_instant(caller.at),
        "object": dict(body),
    }
    return log_signal(tools, caller, parse_signal(given))


def log_signal(tools: Tools, caller: Caller, signal: TrustSignal) -> Signalled:
    """Log a parsed signal of the caller's own, once."""
    tenant_id, at = caller.tenant_id, caller.at
    _require_may(caller, signal)

    def look(unit: Unit) -> WindowEvent | DisputeRefusal | None:
        verify_clock(unit, tools, tenant_id, at)
        return _judged(unit, tools, caller, signal, at)

    judged = tools.database.read(look)
    entry = signal_entry(tenant_id, signal, submitted_by=signal.agent_id, at=at)
    # Signed outside the writer's turn, since a token or a service may take its time.
    opening = _opening(tools, tenant_id, judged, signal, at)

    def work(unit: Unit) -> Signalled:
        current = confirm(unit, caller)
        _require_may(current, signal)
        known = unit.trust.find_signal(tenant_id, signal.signal_id)
        if known is None:
            # Judged again: somebody may have opened a window, or compiled the key, since.
            now = judged if opening is None else _judged(unit, tools, current, signal, at)
            number = unit.record(entry).sequence_number
            dispute = None if now is None else _dispute(unit, now, opening)
            return Signalled(
                signal_id=signal.signal_id, kind=signal.kind, sequence_number=number, is_new=True, dispute=dispute
            )
        if known.text != render_signal(signal).decode():
            raise TruthFlowError.record_conflict(f"another signal was logged as `{signal.signal_id}`")
        return Signalled(
            signal_id=signal.signal_id, kind=signal.kind, sequence_number=known.sequence_number, is_new=False
        )

    return _recounted(tools, tenant_id, signal, tools.database.write(work), at)


def _signalled(signal: TrustSignal, number: int, *, is_new: bool, dispute: DisputeReceipt | None = None) -> Signalled:
    return Signalled(
        signal_id=signal.signal_id, kind=signal.kind, sequence_number=number, is_new=is_new, dispute=dispute
    )


def _judged(
    unit: Unit, tools: Tools, caller: Caller, signal: TrustSignal, at: Instant
) -> WindowEvent | DisputeRefusal | None:
    """What a dispute is judged to be; None for a signal that is no dispute."""
    if not isinstance(signal.object, DisputeRaised):
        return None
    return judge_dispute(unit, tools, caller, signal, signal.object, at=at)


def _opening(
    tools: Tools, tenant_id: TenantId, judged: WindowEvent | DisputeRefusal | None, signal: TrustSignal, at: Instant
) -> Draft | None:
    if not isinstance(judged, WindowEvent):
        return None
    introduce_truth_key(tools, tenant_id, at=at)
    return window_entry(tools, tenant_id, judged, submitted_by=signal.agent_id, at=at)


def _dispute(unit: Unit, judged: WindowEvent | DisputeRefusal, opening: Draft | None) -> DisputeReceipt:
    """The round opens in the commit of the signal, or not at all."""
    if not isinstance(judged, WindowEvent) or opening is None:
        return DisputeReceipt(counts=False, refusal=None if isinstance(judged, WindowEvent) else judged)
    return DisputeReceipt(counts=True, window_number=unit.record(opening).sequence_number)


def _recounted(tools: Tools, tenant_id: TenantId, signal: TrustSignal, done: Signalled, at: Instant) -> Signalled:
    """The result, after the disputed key was compiled: people are asked at once."""
    if done.dispute is None or not done.dispute.counts or not isinstance(signal.object, DisputeRaised):
        return done
    recount = recount_key(tools, tenant_id, signal.object.truthkey, at=at)
    compiled = recount.compiled
    counted = replace(
        done.dispute,
        version=None if compiled is None else compiled.version,
        state=None if compiled is None else state_value(compiled.state),
        code=recount.code,
        problem=recount.problem,
    )
    return replace(done, dispute=counted)


def _require_may(caller: Caller, signal: TrustSignal) -> None:
    """Raise unless the caller may log this kind, as its agent, up to now."""
    principal = caller.principal
    if signal.kind not in SIGNAL_ROLES:
        raise TruthFlowError.trust_signal_refused(f"expected one of {', '.join(SIGNAL_ROLES)}, got {signal.kind}")
    roles = SIGNAL_ROLES[signal.kind]
    if roles is None:
        require_credential(caller)
    else:
        require_role(principal, roles)
    if signal.agent_id != principal.id or signal.submitted_by is not None:
        raise TruthFlowError.trust_signal_refused(
            f"expected a signal by `{principal.id}`, got one by `{signal.agent_id}`"
        )
    if signal.occurred_at > caller.at:
        raise TruthFlowError.trust_signal_refused(
            f"expected a time up to {render_instant(caller.at)}, got {render_instant(signal.occurred_at)}"
        )
