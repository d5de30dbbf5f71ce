"""Whether a vote in the ledger is its voter's own: signed, and bound to what that person was shown.

entry of the vote -> signed answer + shown text -> the same vote? -> entry of the voter -> the key that had to sign
"""

from msgspec import Struct, ValidationError, convert

from assay.flows.errors.truth import UnboundVoteError, UnsignedVoteError
from assay.flows.truth.replay_entry import EntryMissingError, GetEntry
from assay.flows.truth.truth_entry import BronzeBody, VoteAnswer
from assay.flows.truth.vote_entry import vote_of
from assay.identity.principal import BuiltInRole, PrincipalKind
from assay.kernel.bundle import parse_entry_head
from assay.kernel.digest import digest_of
from assay.kernel.key import KeyPurpose, KeyRing, key_id_of
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import parse_signature_hex, verify_ed25519
from assay.review.answer import Answer, SignedWith, answer_message
from assay.review.errors import ReviewerKeyError
from assay.truth.vote import parse_vote, vote_hash

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
        raise UnsignedVoteError("expected the signed answer in the entry of a vote, got none")
    _verify_binding(body, given)
    if in_force is not None and in_force != given.voter_entry:
        raise UnboundVoteError(f"expected the voter as entry {in_force} has them, got entry {given.voter_entry}")
    voter = _read_voter(get_entry, given)
    key = _key_of(given.answer, voter, ring)
    verify_ed25519(key, answer_message(given.answer), parse_signature_hex(given.answer.signature))


def _verify_binding(body: BronzeBody, given: VoteAnswer) -> None:
    answer = given.answer
    if digest_of(given.shown.encode()) != answer.seen_hash:
        raise UnboundVoteError(f"expected the text that hashes to {answer.seen_hash}, got another")
    vote = vote_of(answer, given.shown)
    if vote != parse_vote(body.record) or vote_hash(vote) != body.record_hash:
        raise UnboundVoteError(f"expected the vote that `{answer.by}` signed, got another")
    if (answer.ticket_id, answer.by, (vote.truthkey,)) != (body.ticket_id, body.submitted_by, body.truthkeys):
        raise UnboundVoteError(f"expected the vote under its own ticket, voter and key, got `{body.submitted_by}`")


def _read_voter(get_entry: GetEntry, given: VoteAnswer) -> _Voter:
    number, answer = given.voter_entry, given.answer
    text = get_entry(number)
    if text is None:
        raise EntryMissingError(f"expected entry {number}, which says who voted, got none")
    head = parse_entry_head(text)
    if head.kind not in PRINCIPAL_KINDS or head.sequence_number != number:
        raise EntryMissingError(f"expected a principal in entry {number}, got `{head.kind[:80]}`")
    try:
        voter = convert(head.body, _Voter)
    except ValidationError as error:
        raise EntryMissingError(f"expected a principal in entry {number}: {error}") from error
    if (voter.id, voter.tenant_id) != (answer.by, answer.tenant_id):
        raise UnboundVoteError(f"expected `{answer.by}` in entry {number}, got `{voter.id[:80]}`")
    if voter.kind is not PrincipalKind.PERSON or BuiltInRole.REVIEWER not in voter.roles:
        raise UnboundVoteError(f"expected a person who may review, got {voter.kind} `{voter.id[:80]}`")
    return voter


def _key_of(answer: Answer, voter: _Voter, ring: KeyRing) -> bytes:
    """The key that must have signed: the voter's own where one was registered, else the node's review key."""
    if (answer.signed_with is SignedWith.REVIEWER_KEY) != (voter.public_key is not None):
        raise ReviewerKeyError(f"expected the key that `{voter.id}` had to sign with, got {answer.signed_with}")
    if voter.public_key is None:
        record = ring.get(answer.signing_key_id, answer.answered_at, purpose=KeyPurpose.REVIEW)
        return record.raw_public_key or b""
    key = bytes.fromhex(voter.public_key)
    if key_id_of(key) != answer.signing_key_id:
        raise ReviewerKeyError(f"expected the registered key {key_id_of(key)}, got {answer.signing_key_id}")
    return key
