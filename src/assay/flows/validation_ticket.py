"""A claim is put to people: the ticket about a key, what it shows, and the vote that an answer is.

state + observations + trust -> shown text, with the claim's hash -> ticket;   answer -> vote, bound to that hash
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from msgspec import Struct, ValidationError, convert

from assay.flows.open_review import draft_ticket, open_review_in
from assay.flows.settle_review import record_settlement
from assay.flows.tools import Tools
from assay.flows.truth_entry import add_bronze, draft_bronze
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind
from assay.review.answer import Answer
from assay.review.errors import BodyError
from assay.review.kind import OnExpiry, TicketKind
from assay.review.settle import conclude, withdraw
from assay.review.ticket import Ticket, TicketDraft
from assay.trust.signal import SignalKind, TrustSignal, ValidationVote
from assay.truth.contract import VoteType
from assay.truth.observation import Observation
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, shown_hash
from assay.truth.status import FINAL_STATUSES, TruthStatus
from assay.truth.vote import Vote, parse_vote, render_vote, vote_hash
from assay.truth.window import Window

__all__ = [
    "TRUTH_SERVICE",
    "claim_hash_shown",
    "draft_validation",
    "find_validation_ticket",
    "open_validations",
    "record_vote",
    "render_claim",
    "tend_ticket",
]

# Who asks where no person opened the window.
TRUTH_SERVICE = PrincipalId("service:truth")
_MOST_OBSERVATIONS = 200
_LONGEST_TITLE = 300
_HASH_LINE = "claim hash: "
_CHOICES = {TruthStatus.VERIFIED_TRUE: "ratify", TruthStatus.VERIFIED_FALSE: "reject"}


class _VoteBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an answer may say besides its choice: the status that an override sets."""

    override_status: TruthStatus | None = None


def render_claim(state: TruthState, observations: Iterable[Observation], snapshot: TrustSnapshot) -> str:
    """What a voter reads, the same for the same state; the last line is the hash that the vote is bound to."""
    heard = frozenset(state.observation_ids)
    said = sorted((one for one in observations if one.observation_id in heard), key=_order)
    lines = [
        f"truth key: {state.truthkey}",
        f"claim type: {state.claim_type}",
        "claim:",
        *(f"  {name}: {canonical_json(value, Profile.KAORI)}" for name, value in sorted(state.claim.items())),
        f"status: {state.status}",
        f"confidence: {state.confidence} (machines: {state.ai_confidence})",
        f"flags: {', '.join(state.transparency_flags) or 'none'}",
        f"observations: {len(said)}",
        *(_said(one, snapshot) for one in said[:_MOST_OBSERVATIONS]),
        *([f"  and {len(said) - _MOST_OBSERVATIONS} more"] if len(said) > _MOST_OBSERVATIONS else []),
        f"compiled at: {render_instant(state.compile_inputs.compile_time)}",
        f"{_HASH_LINE}{shown_hash(state)}",
    ]
    return "\n".join(lines)


def _order(observation: Observation) -> tuple[Instant, str]:
    return observation.reported_at, observation.observation_id


def _said(observation: Observation, snapshot: TrustSnapshot) -> str:
    trust = snapshot.find(observation.reporter_id)
    standing = "unknown" if trust is None else f"{trust.standing}, trust {trust.trust_score}"
    evidence = ", ".join(sorted({ref.sha256 for ref in observation.evidence_refs})) or "none"
    payload = canonical_json(observation.payload, Profile.KAORI)
    when = render_instant(observation.reported_at)
    return f"  {when} {observation.reporter_id} ({standing}): {payload} evidence: {evidence}"


def claim_hash_shown(ticket: Ticket) -> str:
    """The hash in the last line of what the ticket shows; its own hash covers that line."""
    return ticket.shown.rpartition(_HASH_LINE)[2]


def draft_validation(
    tools: Tools, tenant_id: TenantId, state: TruthState, shown: str, window: Window, *, opened_by: str, at: Instant
) -> Ticket:
    """Open as long as the room says: votes after the window are recorded and do not count."""
    is_person = opened_by.startswith("user:")
    asker = PrincipalId(opened_by) if is_person else TRUTH_SERVICE
    draft = TicketDraft(
        kind=TicketKind.VALIDATION,
        title=f"validate {state.truthkey}"[:_LONGEST_TITLE],
        shown=shown,
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=asker,
        requested_by=asker if is_person else None,
        about=state.truthkey,
        due_at=window.end,
        on_expiry=OnExpiry.STAY_OPEN,
    )
    return draft_ticket(tools, tenant_id, draft, at=at)


def find_validation_ticket(unit: Unit, tenant_id: TenantId, truthkey: str) -> Ticket | None:
    """The open one about this key; there is at most one."""
    found = unit.review.open_tickets_about(tenant_id, TicketKind.VALIDATION, truthkey)
    return found[-1] if found else None


def open_validations(unit: Unit, tenant_id: TenantId) -> dict[str, Ticket]:
    """Every claim that people are asked about now, by key."""
    tickets = unit.review.tickets(tenant_id, unsettled_only=True)
    return {one.about: one for one in tickets if one.kind is TicketKind.VALIDATION and one.about is not None}


def tend_ticket(
    unit: Unit,
    state: TruthState,
    *,
    asked: Ticket | None,
    wanted: Ticket | None,
    round_opened_at: Instant | None,
    at: Instant,
) -> None:
    """After a state: conclude the question whose window is over, withdraw one about another claim, ask the new one.

    A question stays open as long as its window, whatever the first answers decide: others may still contradict them.
    """
    is_of_round = asked is not None and round_opened_at is not None and asked.opened_at >= round_opened_at
    if asked is not None and wanted is not None and is_of_round and _is_same(asked, wanted):
        return
    if asked is not None:
        _end(unit, asked, state, at, is_asked_anew=wanted is not None)
    if wanted is not None:
        open_review_in(unit, wanted)


def _is_same(asked: Ticket, wanted: Ticket) -> bool:
    return claim_hash_shown(asked) == claim_hash_shown(wanted)


def _end(unit: Unit, ticket: Ticket, state: TruthState, at: Instant, *, is_asked_anew: bool) -> None:
    answers = unit.review.answers(ticket.tenant_id, ticket.id)
    if state.status in FINAL_STATUSES and not is_asked_anew:
        reason = f"{state.status} by {state.verification_basis}"
        done = conclude(ticket, answers, choice=_CHOICES.get(state.status), reason=reason, at=at)
    else:
        changed = claim_hash_shown(ticket) != shown_hash(state)
        reason = (
            "the claim changed"
            if changed
            else "the next round has begun"
            if is_asked_anew
            else "the window is not open any more"
        )
        done = withdraw(ticket, answers, reason=reason, at=at)
    record_settlement(unit, ticket, done, at=at)


def record_vote(unit: Unit, ticket: Ticket, answer: Answer, at: Instant) -> None:
    """The follow-up of each answer to a validation ticket: the vote, in the commit that records the answer."""
    override = _body_of(answer).override_status
    vote = parse_vote(
        {
            "vote_id": _vote_id(answer),
            "truthkey": ticket.about or "",
            "voter_id": answer.by,
            "vote_type": VoteType[answer.choice.upper()].value,
            "cast_at": render_instant(answer.answered_at),
            "seen_hash": claim_hash_shown(ticket),
            "override_status": None if override is None else override.value,
            "reason": answer.reason,
        }
    )
    hash_ = vote_hash(vote)
    bronze = draft_bronze(
        ticket.tenant_id,
        RecordKind.VOTE,
        render_vote(vote),
        truthkeys=[vote.truthkey],
        record_id=vote.vote_id,
        record_hash=hash_,
        by=vote.voter_id,
        occurred_at=vote.cast_at,
        submitted_by=answer.by,
        signal=_signal(vote, hash_, at),
        ticket_id=ticket.id,
        at=at,
    )
    add_bronze(unit, bronze)


def _body_of(answer: Answer) -> _VoteBody:
    try:
        return convert(_mapping(answer.body), _VoteBody)
    except ValidationError as error:
        raise BodyError(f"expected `override_status` or nothing in the body of a vote: {error}") from error


def _mapping(body: str) -> Mapping[str, object]:
    value = parse_json(body)
    return value if isinstance(value, dict) else {"body": value}


def _vote_id(answer: Answer) -> str:
    """A person answers a ticket once, so the two name the vote."""
    return f"vote.{sha256(f'{answer.ticket_id} {answer.by}'.encode()).hexdigest()}"


def _signal(vote: Vote, hash_: str, at: Instant) -> TrustSignal:
    return TrustSignal(
        signal_id=f"vote.{hash_}",
        kind=SignalKind.VALIDATION_VOTE,
        agent_id=vote.voter_id,
        occurred_at=at,
        object=ValidationVote(vote_hash=hash_, truthkey=vote.truthkey, vote_type=vote.vote_type),
    )
