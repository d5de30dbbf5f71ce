"""People decide: the open question of a key, votes on it, the window in which they count, and disputes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.identity.authenticate import Authenticated, confirm, require_session
from assay.flows.request import FieldProblem, FieldsError, Moment, Option, Request, parse_moment
from assay.flows.review.answer_desk import PreparedAnswer, answer_desk
from assay.flows.review.answer_review import Hex, draft_unsigned, read_signature
from assay.flows.tools import Tools
from assay.flows.trust.take_snapshot import take_snapshot
from assay.flows.truth.compile_truth import recount_key
from assay.flows.truth.contracts import get_contract
from assay.flows.truth.key_sealing import KeyRecords, SealedState, Sealing, find_sealing
from assay.flows.truth.load_truth import choose_contract, read_released
from assay.flows.truth.state_entry import state_value
from assay.flows.truth.states import KeyName
from assay.flows.truth.truth_entry import key_records
from assay.flows.truth.truth_key import introduce_truth_key, window_entry
from assay.flows.truth.validation_ticket import find_validation_ticket
from assay.identity.authorise import has_role, require_role
from assay.identity.caller import Caller, Via
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import parse_digest
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, SilverState, TruthRecord
from assay.review.answer import answer_message
from assay.review.draft import Reply
from assay.review.ticket import Ticket
from assay.trust.signal import DisputeRaised, TrustSignal, signal_hash
from assay.truth.admit import bucket_bounds
from assay.truth.consensus import find_window, may_dispute
from assay.truth.contract import Contract, FlowMode, VoteType
from assay.truth.key import parse_truth_key, render_truth_key
from assay.truth.opening import open_dispute
from assay.truth.route import is_expired
from assay.truth.status import FINAL_STATUSES, TruthStatus
from assay.truth.window import Window, WindowEvent, WindowEventKind, parse_window_event


class ShowQuestion(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: KeyName


class PrepareVote(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    truthkey: Annotated[KeyName, Option(form="argument", metavar="KEY")]
    vote_type: Annotated[VoteType, Meta(description="The vote."), Option(form="argument", metavar="VOTE")]
    seen: Annotated[
        str,
        Meta(description="The `shown_hash` of the question, which the vote binds (`assay truth question`)."),
        Option(metavar="HASH"),
    ]
    reason: Annotated[str, Meta(description="Why; a rejection must have a reason.")] = ""
    override_status: Annotated[
        TruthStatus | None, Meta(description="The status that an override sets."), Option(flag="--status")
    ] = None


class VoteRequest(PrepareVote, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's vote; with a key of one's own also the signature over the prepared message, and its time."""

    signature: Annotated[
        Hex | None, Meta(description="Over the prepared message, by the caller's own key."), Option(hidden=True)
    ] = None
    answered_at: Annotated[
        Moment | None, Meta(description="The `answered_at` of the prepared message."), Option(hidden=True)
    ] = None


class OpenQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The open validation ticket of a key; a vote names `shown_hash` as what it saw."""

    ticket_id: str
    truthkey: str
    shown: str
    shown_hash: str
    choices: tuple[str, ...]
    opened_at: Instant
    due_at: Instant | None


class VoteReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorded vote; `state` is the key's state with it.

    Without a state the key is not compiled yet, and `code` and `problem` say why: the next compilation counts the vote.
    """

    ticket_id: str
    voter_id: str
    vote_type: VoteType
    sequence_number: int
    version: int | None
    state: dict[str, Any] | None
    code: str | None = None
    problem: str | None = None


def question(tools: Tools, caller: Caller, request: ShowQuestion) -> OpenQuestion:
    """Show what people are asked about a key now, exactly as a vote must have seen it."""
    ticket = tools.database.read(lambda unit: find_validation_ticket(unit, caller.tenant_id, request.key))
    if ticket is None:
        raise NotFoundError(f"nobody is asked about `{request.key[:200]}` now")
    return OpenQuestion(
        ticket_id=ticket.id,
        truthkey=request.key,
        shown=ticket.shown,
        shown_hash=ticket.shown_hash,
        choices=tuple(choice.upper() for choice in ticket.choices),
        opened_at=ticket.opened_at,
        due_at=ticket.due_at,
    )


def vote(tools: Tools, caller: Caller, request: VoteRequest) -> VoteReceipt:
    """Vote on a key, as a person in their own session: an answer to its open validation ticket, counted at once.

    Where this raises, no vote was recorded. A crash before the key is compiled never loses the vote: the next
    compilation counts it.
    """
    signing = read_signature(request.signature, request.answered_at)
    done = answer_desk(tools, caller, _ticket_of(tools, caller, request).id, _reply(request), signing=signing)
    answer, recount = done.answered.answer, done.recount
    compiled = None if recount is None else recount.compiled
    return VoteReceipt(
        ticket_id=answer.ticket_id,
        voter_id=answer.by,
        vote_type=VoteType[answer.choice.upper()],
        sequence_number=done.answered.receipt.sequence_number,
        version=None if compiled is None else compiled.version,
        state=None if compiled is None else state_value(compiled.state),
        code=None if recount is None else recount.code,
        problem=None if recount is None else recount.problem,
    )


def prepare_vote(tools: Tools, caller: Caller, request: PrepareVote) -> PreparedAnswer:
    """Return the message that a person with a key of their own signs to vote; nothing is recorded."""
    unsigned = draft_unsigned(tools, caller, _ticket_of(tools, caller, request).id, _reply(request))
    return PreparedAnswer(
        message=answer_message(unsigned).hex(), answered_at=render_instant(caller.at), answer=asdict(unsigned)
    )


def _ticket_of(tools: Tools, caller: Caller, request: PrepareVote) -> Ticket:
    found = tools.database.read(lambda unit: find_validation_ticket(unit, caller.tenant_id, request.truthkey))
    if found is None:
        raise TruthFlowError.no_open_ticket(f"nobody is asked about `{request.truthkey[:200]}` now")
    return found


def _reply(request: PrepareVote) -> Reply:
    body = {} if request.override_status is None else {"override_status": request.override_status.value}
    return Reply(
        choice=request.vote_type.value.lower(),
        seen=parse_digest(request.seen),
        reason=request.reason,
        body=canonical_json(body),
    )


_EITHER = (BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
# Where the contract leaves a decision to experts or authorities, reviewers at large do not set its frame.
WINDOW_ROLES: Mapping[FlowMode, tuple[BuiltInRole, ...]] = MappingProxyType(
    {
        FlowMode.AUTO: _EITHER,
        FlowMode.HUMAN_PEER: _EITHER,
        FlowMode.HUMAN_EXPERT: (BuiltInRole.OPERATOR,),
        FlowMode.AUTHORITY_GATE: (BuiltInRole.OPERATOR,),
    }
)
_ENDS = (WindowEventKind.CLOSED, WindowEventKind.ABORTED)
_ENTROPY = 16
_EVENTS = {
    "open": WindowEventKind.OPENED,
    "extend": WindowEventKind.EXTENDED,
    "close": WindowEventKind.CLOSED,
    "abort": WindowEventKind.ABORTED,
}


class ChangeWindow(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    truthkey: Annotated[KeyName, Option(form="argument", metavar="KEY")]
    event: Annotated[
        Literal["open", "extend", "close", "abort"],
        Meta(description="What happens to the window."),
        Option(form="argument", metavar="EVENT"),
    ]
    closes_at: Annotated[
        Moment | None,
        Meta(description="When an opened or extended window closes."),
        Option(flag="--until", metavar="TIME"),
    ] = None
    closes_in: Annotated[
        Annotated[int, Meta(ge=1, le=366 * 86400)] | None,
        Meta(description="The same in seconds from now."),
        Option(flag="--for", form="span", metavar="SPAN"),
    ] = None
    reason: Annotated[str, Meta(description="Why; recorded with the event.")] = ""


class WindowReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signed event's entry, and the key's state with it.

    Without a state the key is not compiled yet, and `code` and `problem` say why; the event is recorded all the same.
    """

    event_id: str
    truthkey: str
    kind: WindowEventKind
    by: str
    occurred_at: Instant
    closes_at: Instant | None
    sequence_number: int
    version: int | None = None
    state: dict[str, Any] | None = None
    code: str | None = None
    problem: str | None = None


def change_window(tools: Tools, caller: Caller, request: ChangeWindow) -> WindowReceipt:
    """Open, extend, close or abort the window in which votes on a key count, and compile the key.

    For an operator, or a reviewer where the contract leaves the decision to peers. After the end of a window another
    opening starts the next round, by a person in a session: an operator, or a reviewer who gives a reason. Closing
    needs a session too; only an operator aborts, with a reason, and not once the round has a final state.
    """
    if request.closes_at is not None and request.closes_in is not None:
        raise FieldsError([FieldProblem(field="closes_in", message="expected one of closes_at and closes_in")])
    key, kind, at = render_truth_key(parse_truth_key(request.truthkey)), _EVENTS[request.event], caller.at
    closes_at = parse_moment(request.closes_at)
    if request.closes_in is not None:
        closes_at = Instant(at + timedelta(seconds=request.closes_in))
    asked = _Asked(truthkey=key, kind=kind, reason=request.reason.strip(), at=at)
    tools.database.read(lambda unit: _require_may(unit, tools, caller, asked))
    tenant_id, by = caller.tenant_id, caller.principal.id
    event = parse_window_event(
        {
            "event_id": f"window.{tools.entropy.token(_ENTROPY).hex()}",
            "truthkey": key,
            "kind": kind.value,
            "by": by,
            "occurred_at": render_instant(at),
            "closes_at": None if closes_at is None else render_instant(closes_at),
            "reason": request.reason,
        }
    )
    introduce_truth_key(tools, tenant_id, at=at)
    entry = window_entry(tools, tenant_id, event, submitted_by=by, at=at)

    def work(unit: Unit) -> int:
        _require_may(unit, tools, confirm(unit, caller), asked)
        return unit.record(entry).sequence_number

    number = tools.database.write(work)
    done = recount_key(tools, tenant_id, key, at=at)
    compiled = done.compiled
    return WindowReceipt(
        event_id=event.event_id,
        truthkey=key,
        kind=kind,
        by=by,
        occurred_at=at,
        closes_at=closes_at,
        sequence_number=number,
        version=None if compiled is None else compiled.version,
        state=None if compiled is None else state_value(compiled.state),
        code=done.code,
        problem=done.problem,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    truthkey: str
    kind: WindowEventKind
    reason: str
    at: Instant


def _require_may(unit: Unit, tools: Tools, caller: Caller, asked: _Asked) -> None:
    """Raise unless the caller may under the contract of the key, and the event follows from the window as it is."""
    principal, tenant_id = caller.principal, caller.tenant_id
    records = key_records(unit, tenant_id, asked.truthkey)
    released = choose_contract(unit, tools, tenant_id, asked.truthkey, records, at=asked.at)
    contract = read_released(tools, released)
    require_role(principal, WINDOW_ROLES[contract.validation_flow.mode])
    window = _window(contract, asked.truthkey, records, asked.at)
    _require_follows(window, contract, asked)
    if asked.kind in _ENDS or (asked.kind is WindowEventKind.OPENED and window is not None):
        # A script's key does not show that a person wants this now.
        require_session(caller)
    if asked.kind is WindowEventKind.OPENED and window is not None and not has_role(principal, [BuiltInRole.OPERATOR]):
        _require_reason(asked)
    if asked.kind is WindowEventKind.ABORTED:
        require_role(principal, [BuiltInRole.OPERATOR])
        _require_reason(asked)
        last = unit.truth.find_state(tenant_id, asked.truthkey)
        known = None if last is None else SealedState.read(last.text)
        sealing = find_sealing(contract, asked.truthkey, known, KeyRecords.of(records), asked.at)
        _require_undecided(window, last, sealing)


def _window(contract: Contract, truthkey: str, records: Iterable[TruthRecord], at: Instant) -> Window | None:
    events = [parse_window_event(one.text) for one in records if one.kind is RecordKind.WINDOW_EVENT]
    return find_window(contract, truthkey, events, at)[0]


def _require_reason(asked: _Asked) -> None:
    if not asked.reason:
        raise TruthFlowError.window_refused(f"expected a reason for {asked.kind}, got none")


def _require_undecided(window: Window | None, last: SilverState | None, sealing: Sealing) -> None:
    """What people or machines decided in a round is not undone by calling the round off."""
    is_final = last is not None and last.status in FINAL_STATUSES
    is_of_round = last is not None and window is not None and last.compile_time >= window.opened_at
    if sealing.sealed_at is not None or (is_final and is_of_round):
        raise TruthFlowError.window_refused(
            "expected a round without a final state, got one that was decided: open the next one"
        )


def _require_follows(window: Window | None, contract: Contract, asked: _Asked) -> None:
    is_open = window is not None and window.is_open(asked.at)
    if asked.kind is WindowEventKind.OPENED:
        if is_open:
            raise TruthFlowError.window_refused(
                "expected a key without an open window, got one that people are asked in now"
            )
        return
    if window is None or not is_open:
        raise TruthFlowError.window_refused(
            f"expected an open window for {asked.kind}, got none at {render_instant(asked.at)}"
        )
    most = contract.validation_flow.max_extensions
    if asked.kind is WindowEventKind.EXTENDED and window.extensions >= most:
        raise TruthFlowError.window_refused(f"expected at most {most} extensions, got one more")


class DisputeRefusal(StrEnum):
    """Why a dispute that was recorded does not count; the first reason that applies."""

    NOT_IN_PERSON = "not_in_person"
    NO_REASON = "no_reason"
    NOT_IN_FORCE = "not_in_force"
    NOT_FINAL = "not_final"
    EXPIRED = "expired"
    NOT_AUTHORISED = "not_authorised"
    WINDOW_OPEN = "window_open"
    DISPUTED_BEFORE = "disputed_before"


def judge_dispute(
    unit: Unit, tools: Tools, proved: Authenticated, signal: TrustSignal, dispute: DisputeRaised, *, at: Instant
) -> WindowEvent | DisputeRefusal:
    """The opening of the round that a dispute of the state in force begins, or why it begins none.

    Once for each agent and key: whoever was not convinced by the answer asks an operator, who may open the next round.
    """
    refusal = _find_unfit(proved, dispute)
    if refusal is not None:
        return refusal
    tenant_id = proved.principal.tenant_id
    last = unit.truth.find_state(tenant_id, dispute.truthkey)
    if last is None or last.state_hash != dispute.state_hash:
        return DisputeRefusal.NOT_IN_FORCE
    contract = read_released(tools, get_contract(unit, tenant_id, last.claim_type))
    refusal = _find_settled(contract, last, at)
    if refusal is not None:
        return refusal
    snapshot, _ = take_snapshot(unit, tools, tenant_id, [signal.agent_id], contract.id, at=at)
    if not may_dispute(contract, signal.agent_id, snapshot):
        return DisputeRefusal.NOT_AUTHORISED
    records = unit.truth.records(tenant_id, dispute.truthkey)
    events = [parse_window_event(one.text) for one in records if one.kind is RecordKind.WINDOW_EVENT]
    refusal = _find_obstacle(contract, dispute.truthkey, events, signal.agent_id, at)
    if refusal is not None:
        return refusal
    return open_dispute(contract, dispute.truthkey, by=signal.agent_id, dispute_hash=signal_hash(signal), at=at)


def _find_unfit(proved: Authenticated, dispute: DisputeRaised) -> DisputeRefusal | None:
    if proved.via is not Via.SESSION:
        # A script's key does not show that a person wants this now.
        return DisputeRefusal.NOT_IN_PERSON
    return None if dispute.reason.strip() else DisputeRefusal.NO_REASON


def _find_settled(contract: Contract, last: SilverState, at: Instant) -> DisputeRefusal | None:
    """Only what is final, and can still be known, can be disputed."""
    if last.status not in FINAL_STATUSES:
        return DisputeRefusal.NOT_FINAL
    _, end = bucket_bounds(contract, parse_truth_key(last.truthkey))
    return DisputeRefusal.EXPIRED if is_expired(contract, end, at) else None


def _find_obstacle(
    contract: Contract, truthkey: str, events: Sequence[WindowEvent], agent_id: str, at: Instant
) -> DisputeRefusal | None:
    window, _ = find_window(contract, truthkey, events, at)
    if window is not None and window.is_open(at):
        # People are being asked, and a vote CHALLENGE says the same there.
        return DisputeRefusal.WINDOW_OPEN
    is_again = any(event.dispute_hash is not None and event.by == agent_id for event in events)
    return DisputeRefusal.DISPUTED_BEFORE if is_again else None
