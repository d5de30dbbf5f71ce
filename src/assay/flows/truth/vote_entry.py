"""A vote on its way into the ledger: the answer that a person signed, read as a vote, with what that person read.

signed answer + shown text -> vote of the key and the claim in that text -> entry that proves itself
"""

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct, ValidationError, convert

from assay.flows.truth.claim_text import claim_hash_in, truthkey_in
from assay.flows.truth.truth_entry import VoteAnswer, add_bronze, draft_bronze
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind
from assay.review.answer import Answer
from assay.review.errors import BodyError
from assay.review.ticket import Ticket
from assay.trust.signal import SignalKind, TrustSignal, ValidationVote
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus
from assay.truth.vote import Vote, parse_vote, render_vote, vote_hash


class _VoteBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an answer may say besides its choice: the status that an override sets."""

    override_status: TruthStatus | None = None


def vote_of(answer: Answer, shown: str) -> Vote:
    """Everything in a vote comes from what was signed and from what was read; whoever has both makes it again."""
    override = _body_of(answer).override_status
    return parse_vote(
        {
            "vote_id": _vote_id(answer),
            "truthkey": truthkey_in(shown),
            "voter_id": answer.by,
            "vote_type": answer.choice.upper(),
            "cast_at": render_instant(answer.answered_at),
            "seen_hash": claim_hash_in(shown),
            "override_status": None if override is None else override.value,
            "reason": answer.reason,
        }
    )


def record_vote(unit: Unit, ticket: Ticket, answer: Answer, at: Instant) -> None:
    """The follow-up of each answer to a validation ticket: the vote, in the commit that records the answer."""
    vote = vote_of(answer, ticket.shown)
    hash_ = vote_hash(vote)
    # Whoever could answer has a record, and the last one is in force.
    voter_entry = unit.identity.recorded_in(answer.tenant_id, answer.by)[-1]
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
        answer=VoteAnswer(answer=answer, shown=ticket.shown, voter_entry=voter_entry),
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
        object=ValidationVote(vote_hash=hash_, truthkey=vote.truthkey, vote_type=VoteType(vote.vote_type)),
    )
