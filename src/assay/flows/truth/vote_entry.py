"""A vote on its way into the ledger: the answer that a person signed, read as a vote, with what that person read.

signed answer + shown text -> vote of the key and the claim in that text -> entry that proves itself
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from msgspec import Struct, ValidationError, convert

from assay.facts.truth import BronzeBody, VoteAnswer, record_entry
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.tools import Tools
from assay.flows.truth.state_entry import GetEntry, read_bronze
from assay.flows.truth.validation_ticket import claim_hash_in, truthkey_in
from assay.identity.principal import BuiltInRole, PrincipalKind
from assay.kernel.bundle import parse_entry_head
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.kernel.key import KeyPurpose, KeyRing, key_id_of
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import parse_signature_hex, verify_ed25519
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.review.answer import Answer, SignedWith, answer_message
from assay.review.errors import ReviewError
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
    entry = record_entry(
        ticket.tenant_id,
        RecordKind.VOTE,
        render_vote(vote),
        truthkeys=[vote.truthkey],
        record_id=vote.vote_id,
        record_hash=hash_,
        submitted_by=answer.by,
        signal=_signal(vote, hash_, at),
        ticket_id=ticket.id,
        answer=VoteAnswer(answer=answer, shown=ticket.shown, voter_entry=voter_entry),
        at=at,
    )
    unit.record(entry)


def _body_of(answer: Answer) -> _VoteBody:
    try:
        return convert(_mapping(answer.body), _VoteBody)
    except ValidationError as error:
        raise ReviewError.body(f"expected `override_status` or nothing in the body of a vote: {error}") from error


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


PRINCIPAL_KINDS = frozenset({EntryKind.PRINCIPAL_ADDED, EntryKind.PRINCIPAL_CHANGED})


class _Voter(Struct):
    """The members of a principal's entry that a vote rests on."""

    id: str
    tenant_id: str
    kind: PrincipalKind
    roles: tuple[str, ...]
    public_key: str | None


def voter_entry_of(body: BronzeBody) -> int | None:
    """The entry that says who the voter was and which key was theirs; None where nothing is signed."""
    return None if body.answer is None else body.answer.voter_entry


def verify_vote(body: BronzeBody, get_entry: GetEntry, ring: KeyRing, *, in_force: int | None = None) -> None:
    """Raise unless the vote follows from an answer that its voter signed, or the node's review key for that voter.

    `in_force` is the newest entry about the voter before the vote, for whoever has the whole ledger: another one would
    let a key sign that its owner had replaced.
    """
    given = body.answer
    if given is None:
        raise TruthFlowError.vote_unsigned("expected the signed answer in the entry of a vote, got none")
    _verify_binding(body, given)
    if in_force is not None and in_force != given.voter_entry:
        raise TruthFlowError.vote_unbound(
            f"expected the voter as entry {in_force} has them, got entry {given.voter_entry}"
        )
    voter = _read_voter(get_entry, given)
    key = _key_of(given.answer, voter, ring)
    verify_ed25519(key, answer_message(given.answer), parse_signature_hex(given.answer.signature))


def _verify_binding(body: BronzeBody, given: VoteAnswer) -> None:
    answer = given.answer
    if digest_of(given.shown.encode()) != answer.seen_hash:
        raise TruthFlowError.vote_unbound(f"expected the text that hashes to {answer.seen_hash}, got another")
    vote = vote_of(answer, given.shown)
    if vote != parse_vote(body.record) or vote_hash(vote) != body.record_hash:
        raise TruthFlowError.vote_unbound(f"expected the vote that `{answer.by}` signed, got another")
    if (answer.ticket_id, answer.by, (vote.truthkey,)) != (body.ticket_id, body.submitted_by, body.truthkeys):
        raise TruthFlowError.vote_unbound(
            f"expected the vote under its own ticket, voter and key, got `{body.submitted_by}`"
        )


def _read_voter(get_entry: GetEntry, given: VoteAnswer) -> _Voter:
    number, answer = given.voter_entry, given.answer
    text = get_entry(number)
    if text is None:
        raise TruthFlowError.replay_entry_missing(f"expected entry {number}, which says who voted, got none")
    head = parse_entry_head(text)
    if head.kind not in PRINCIPAL_KINDS or head.sequence_number != number:
        raise TruthFlowError.replay_entry_missing(f"expected a principal in entry {number}, got `{head.kind[:80]}`")
    try:
        voter = convert(head.body, _Voter)
    except ValidationError as error:
        raise TruthFlowError.replay_entry_missing(f"expected a principal in entry {number}: {error}") from error
    if (voter.id, voter.tenant_id) != (answer.by, answer.tenant_id):
        raise TruthFlowError.vote_unbound(f"expected `{answer.by}` in entry {number}, got `{voter.id[:80]}`")
    if voter.kind is not PrincipalKind.PERSON or BuiltInRole.REVIEWER not in voter.roles:
        raise TruthFlowError.vote_unbound(f"expected a person who may review, got {voter.kind} `{voter.id[:80]}`")
    return voter


def _key_of(answer: Answer, voter: _Voter, ring: KeyRing) -> bytes:
    """The key that must have signed: the voter's own where one was registered, else the node's review key."""
    if (answer.signed_with is SignedWith.REVIEWER_KEY) != (voter.public_key is not None):
        raise ReviewError.reviewer_key(f"expected the key that `{voter.id}` had to sign with, got {answer.signed_with}")
    if voter.public_key is None:
        record = ring.get(answer.signing_key_id, answer.answered_at, purpose=KeyPurpose.REVIEW)
        return record.raw_public_key or b""
    key = bytes.fromhex(voter.public_key)
    if key_id_of(key) != answer.signing_key_id:
        raise ReviewError.reviewer_key(f"expected the registered key {key_id_of(key)}, got {answer.signing_key_id}")
    return key


class UnsignedRecordError(DamagedRecordError):
    """A vote or a state is not as it was signed: nothing is shown or signed that was made from it."""

    code = "truth.not_as_signed"


def verify_votes(unit: Unit, tools: Tools, tenant_id: TenantId, records: Iterable[TruthRecord]) -> None:
    """Raise `truth.not_as_signed` for the first vote that its voter did not sign; each is verified once."""
    votes = [one for one in records if one.kind is RecordKind.VOTE]
    unseen = [one for one in tools.vouched.unseen(tenant_id, votes) if isinstance(one, TruthRecord)]
    if not unseen:
        return
    ring, get_entry = own_key_ring_in(unit, tools.founder), _entries(unit, tenant_id)
    for row in unseen:
        try:
            _, body = read_bronze(get_entry, row.sequence_number)
            verify_vote(body, get_entry, ring)
        except Error as error:
            raise UnsignedRecordError(f"the vote of entry {row.sequence_number}: {error} [{error.code}]") from error
    tools.vouched.add(tenant_id, unseen)


def _entries(unit: Unit, tenant_id: TenantId) -> GetEntry:
    return lambda number: unit.ledger.texts(tenant_id, [number]).get(number)
