"""A person's answer ends the holding of a verdict (SKI 5.4): attested and agreed it stands, otherwise DISCRETIONARY.

held verdict -> signed token -> answer on the review desk -> settlement -> `verdict.final`, in one commit
"""

from datetime import timedelta
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct
from msgspec.structs import replace

from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.known import get_ticket
from assay.flows.request import Option, Request
from assay.flows.review.answer_review import Answered, answer_review
from assay.flows.review.settle_review import FollowUps
from assay.flows.tools import Tools
from assay.flows.verdicts.read_verdicts import RuleVerdict, show_ticket_verdict
from assay.flows.verdicts.verdict_entry import ReadBody, ReadEntry, get_verdict_entry
from assay.identity.caller import Caller
from assay.kernel.canonical import canonical_json, canonicalize
from assay.kernel.digest import ZERO_DIGEST, Digest, parse_digest
from assay.kernel.ids import KeyId, TenantId, TicketId, parse_key_id, parse_ticket_id
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, VerdictColumns, draft_entry
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.answer import Answer, SignedWith
from assay.review.draft import Reply
from assay.review.errors import ReviewError
from assay.review.settle import Settlement
from assay.review.ticket import Ticket
from assay.verdicts.envelope import Envelope, HumanAttestation, attested_hash, canonical_envelope, canonical_record
from assay.verdicts.errors import AttestationError
from assay.verdicts.govern import Ruling, attestation_message, settle_held, verify_attestation

ATTEST = "attest"


class AttestVerdict(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ticket_id: Annotated[str, Meta(description="The ticket of the held verdict.")]
    seen: Annotated[str, Meta(description="The hash of what the ticket showed."), Option(metavar="HASH")]
    choice: Annotated[
        Literal["attest", "decline"],
        Meta(description="What the person decides."),
        Option(form="argument", metavar="CHOICE"),
    ] = "attest"
    reason: Annotated[str, Meta(description="Why; declining needs a reason.")] = ""


class ShowTicketVerdict(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ticket_id: Annotated[str, Meta(description="The ticket of a held verdict.")]


class PrepareAttestation(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ticket_id: Annotated[str, Meta(description="The ticket of the held verdict.")]
    key_id: Annotated[str, Meta(description="The id of the caller's own registered key.")]


class AttestedVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorded answer, and what the verdict has become."""

    answered: Answered
    verdict: RuleVerdict


class PreparedToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sign the bytes of `message` (hex); the signature goes into the token's `signature_hex`."""

    message: str
    token: HumanAttestation


class UnsignedToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reviewer's key signs, and the rest of the token; `message` is the bytes."""

    attestation: HumanAttestation
    ticket: Ticket

    @property
    def message(self) -> bytes:
        one = self.attestation
        return attestation_message(
            envelope_hash=one.envelope_hash,
            reviewer=one.reviewer,
            attested_at=one.attested_at,
            expires_at=one.expires_at,
        )


def attest(tools: Tools, caller: Caller, request: AttestVerdict) -> AttestedVerdict:
    """Attest or decline the held verdict that a ticket asks about, as a person in their own session.

    The node's review key signs the token over exactly that envelope. The verdict becomes final: what the model said if
    the verifier agreed and the person attests it, otherwise DISCRETIONARY. The sender of the record may not attest it.
    """
    from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS  # noqa: PLC0415 - the table of follow-ups names this room

    ticket_id, seen = parse_ticket_id(request.ticket_id), parse_digest(request.seen)
    answered = attest_verdict(
        tools, caller, ticket_id, request.choice, follow_ups=ROOM_FOLLOW_UPS, reason=request.reason, seen=seen
    )
    return AttestedVerdict(answered=answered, verdict=show_ticket_verdict(tools, caller.tenant_id, ticket_id))


def ticket_verdict(tools: Tools, caller: Caller, request: ShowTicketVerdict) -> RuleVerdict:
    """Show what the held verdict that a ticket asks about has become."""
    return show_ticket_verdict(tools, caller.tenant_id, parse_ticket_id(request.ticket_id))


def prepare_attestation(tools: Tools, caller: Caller, request: PrepareAttestation) -> PreparedToken:
    """Return the token that a person signs with a key of their own to attest a held verdict.

    Nothing is recorded. The token with its signature is the `body` of the answer; the same key signs both.
    """
    unsigned = prepare_token(tools, caller, parse_ticket_id(request.ticket_id), key_id=parse_key_id(request.key_id))
    return PreparedToken(message=unsigned.message.hex(), token=unsigned.attestation)


def attest_verdict(
    tools: Tools,
    caller: Caller,
    ticket_id: TicketId,
    choice: str,
    *,
    follow_ups: FollowUps,
    reason: str = "",
    signing: Signer | None = None,
    seen: Digest | None = None,
) -> Answered:
    """Attest or decline. The reviewer's registered key signs the token, or the node's review key for a person without
    one; the answer on the desk is signed by the same.

    `seen` is the hash of what the person was shown; without it the caller has just shown what the ticket holds.
    """
    signer = signing or tools.review_signer
    token = prepare_token(tools, caller, ticket_id, key_id=signer.key_id)
    body = "{}"
    if choice == ATTEST:
        signed = replace(token.attestation, signature_hex=signer.sign(token.message).hex())
        body = canonical_json(signed)
    reply = Reply(choice=choice, seen=seen or token.ticket.shown_hash, reason=reason, body=body)
    return answer_review(tools, caller, ticket_id, reply, signing=signing, follow_ups=follow_ups)


def prepare_token(tools: Tools, caller: Caller, ticket_id: TicketId, *, key_id: KeyId) -> UnsignedToken:
    """The token before its signature; nothing is recorded."""
    tenant_id = caller.tenant_id

    def work(unit: Unit) -> tuple[Ticket, ReadEntry]:
        ticket = get_ticket(unit, tenant_id, ticket_id)
        row = unit.verdicts.find_by_ticket(tenant_id, ticket_id)
        if row is None:
            raise VerdictFlowError.not_held(f"expected the ticket of a held verdict, got `{ticket_id}`")
        return ticket, get_verdict_entry(unit, tenant_id, row.sequence_number)

    ticket, held = tools.database.read(work)
    attestation = HumanAttestation(
        envelope_hash=attested_hash(held.envelope),
        reviewer=caller.principal.id,
        attested_at=caller.at,
        expires_at=Instant(caller.at + timedelta(seconds=tools.ski.token_seconds)),
        key_id=key_id,
        signature_hex="",
    )
    return UnsignedToken(attestation=attestation, ticket=ticket)


def require_token(_unit: Unit, _ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer to an attestation ticket: who attests hands in a token, and nobody else does."""
    if answer.choice == ATTEST:
        _token_of(answer)
    elif answer.body != "{}":
        raise ReviewError.body(f"expected no body with `{answer.choice}`, got one")


def settle_held_verdict(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up of a decision: the final entry, in the commit that records it."""
    tenant_id = ticket.tenant_id
    row = unit.verdicts.find_by_ticket(tenant_id, ticket.id)
    if row is None or settlement.choice is None:
        raise VerdictFlowError.not_held(f"expected the ticket of a held verdict, got `{ticket.id}`")
    held = get_verdict_entry(unit, tenant_id, row.sequence_number)
    token = _verified_token(unit, held, settlement, answers, at)
    status = held.envelope.verifier_result.status
    ruling = settle_held(held.body.ruling, status, is_attested=token is not None)
    if token is not None and unit.verdicts.has_attestation(tenant_id, token.signature_hex):
        raise AttestationError.reused("expected an attestation that was not used, got one that was")
    unit.record(_final_entry(tenant_id, held, ruling, token, at))


def _verified_token(
    unit: Unit, held: ReadEntry, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> HumanAttestation | None:
    """The token of the answer that decided; None where it was declined."""
    if settlement.denied or settlement.choice != ATTEST:
        return None
    answer = next(one for one in answers if one.choice == ATTEST)
    token = _token_of(answer)
    if (token.reviewer, token.key_id) != (answer.by, answer.signing_key_id):
        raise AttestationError(f"expected a token by `{answer.by}` and the key that signed the answer, got another")
    verify_attestation(token, held.envelope, _public_key(unit, answer), at=at)
    return token


def _token_of(answer: Answer) -> HumanAttestation:
    try:
        return msgspec.json.decode(answer.body, type=HumanAttestation)
    except msgspec.MsgspecError as error:
        raise ReviewError.body(f"expected an attestation token in the body: {error}") from error


def _public_key(unit: Unit, answer: Answer) -> bytes:
    """The key that signed the answer, which the desk has verified: a key id fixes the key."""
    if answer.signed_with is SignedWith.REVIEWER_KEY:
        person = unit.identity.find_principal(answer.tenant_id, answer.by)
        return bytes.fromhex(person.public_key or "") if person is not None else b""
    records = (one.record for one in unit.keys.endorsements() if one.record.key_id == answer.signing_key_id)
    return next((record.raw_public_key or b"" for record in records), b"")


def _final_entry(
    tenant_id: TenantId, held: ReadEntry, ruling: Ruling, token: HumanAttestation | None, at: Instant
) -> Draft:
    """The held envelope with the person's word: unchanged otherwise where it is honoured, so that the token can be
    checked against what is served.
    """
    envelope = _final_envelope(held.envelope, ruling, token)
    entry, body = held.entry, _final_body(held, ruling)
    columns = VerdictColumns(
        # A verdict entry has all of these; the defaults are for the type alone.
        telemetry_id=entry.telemetry_id or "",
        telemetry_hash=entry.telemetry_hash or ZERO_DIGEST,
        verdict=ruling.verdict.value,
        rule_id=entry.rule_id or "",
        kg_version_hash=entry.kg_version_hash or ZERO_DIGEST,
        model_weight_hash=entry.model_weight_hash or ZERO_DIGEST,
        llm_transcript=Raw(canonical_envelope(envelope)),
        verifier_result=Raw(canonical_record(envelope.verifier_result, is_simple=True)),
    )
    news = {
        "telemetry_id": columns.telemetry_id,
        "rule_id": columns.rule_id,
        "subject": body.subject,
        "verdict": columns.verdict,
    }
    event = Event(type=EntryKind.VERDICT_FINAL.value, subject=columns.telemetry_id, body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, EntryKind.VERDICT_FINAL, body, at=at, verdict=columns, events=(event,))


def _final_body(held: ReadEntry, ruling: Ruling) -> ReadBody:
    number = held.entry.sequence_number
    return replace(held.body, ruling=ruling, held_entry=held.entry_hash, settles=number, ticket_id=UNSET)


def _final_envelope(envelope: Envelope, ruling: Ruling, token: HumanAttestation | None) -> Envelope:
    settled = replace(envelope, human_attestation=token)
    if ruling.is_honoured:
        return settled
    note = f"verdict.governed: the model said {ruling.model_verdict}; {ruling.reason}"
    return replace(settled, verdict=ruling.verdict, notes=(*envelope.notes, note))
