"""Records of tests: each is made by the room it belongs to."""

from datetime import timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Raw

from assay.identity.principal import Principal, PrincipalKind, add_principal
from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import Disclosure
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id, parse_tenant_id
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.kernel.ledger import Draft, EntryKind, Event, VerdictColumns, draft_entry
from assay.kernel.transcript import Transcript, draft_to_sign, seal_transcript
from assay.ports.ledger_store import KeptCheckpoint
from assay.review.answer import Answer, SignedWith, UnsignedAnswer, answer_message, seal_answer
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft, open_ticket, ticket_id_from
from tests.contract._kit import AT

__all__ = [
    "ACME",
    "ALICE",
    "BOB",
    "GLOBEX",
    "KEY",
    "KEY_ID",
    "answer_of",
    "checkpoint",
    "event",
    "later",
    "note",
    "person",
    "ticket",
    "transcript",
    "verdict",
]

ACME: TenantId = parse_tenant_id("acme")
GLOBEX: TenantId = parse_tenant_id("globex")
ALICE: PrincipalId = parse_principal_id("user:alice")
BOB: PrincipalId = parse_principal_id("user:bob")
KEY = Ed25519PrivateKey.from_private_bytes(b"K" * 32)
KEY_ID = key_id_of(KEY.public_key().public_bytes_raw())
_HASH: Digest = digest_of(b"something")


def later(minutes: int) -> Instant:
    return Instant(AT + timedelta(minutes=minutes))


def event(subject: str = "thing") -> Event:
    return Event(type="assay.test", subject=subject, body=Raw(canonicalize({"about": subject})))


def note(
    number: int = 0,
    tenant_id: TenantId = ACME,
    *,
    at: Instant = AT,
    events: int = 0,
    disclosures: tuple[Disclosure, ...] = (),
) -> Draft:
    return draft_entry(
        tenant_id,
        EntryKind.NOTE,
        {"number": number},
        at=at,
        events=[event(f"{number}/{one}") for one in range(events)],
        disclosures=disclosures,
    )


def verdict(
    telemetry_id: str = "tel-1", rule_id: str = "rule.1", transcript_document: object = None, *, at: Instant = AT
) -> Draft:
    columns = VerdictColumns(
        telemetry_id=telemetry_id,
        telemetry_hash=_HASH,
        verdict="FLAG",
        rule_id=rule_id,
        kg_version_hash=_HASH,
        model_weight_hash=_HASH,
        llm_transcript=Raw(
            canonicalize({"transcript_ref": _HASH} if transcript_document is None else transcript_document)
        ),
        verifier_result=Raw(b'{"state":"AGREED"}'),
    )
    return draft_entry(ACME, EntryKind.VERDICT, {"why": "because"}, at=at, verdict=columns)


def transcript(question: str = "may I?") -> Transcript:
    draft, message = draft_to_sign(
        {"question": question},
        {"answer": "no \u0000 \U0001f512"},
        signing_key_id=KEY_ID,
        backend_name="scripted",
        backend_metadata={"temperature": 0.25},
        started_at=AT,
        completed_at=later(1),
    )
    return seal_transcript(draft, KEY.sign(message))


def checkpoint(size: int, note_text: str, tenant_id: TenantId = ACME) -> KeptCheckpoint:
    return KeptCheckpoint(tenant_id=tenant_id, size=size, root_hash=_HASH, signed_at=later(size), note=note_text)


def person(principal_id: PrincipalId = ALICE, tenant_id: TenantId = ACME) -> Principal:
    return add_principal(
        id=principal_id, tenant_id=tenant_id, kind=PrincipalKind.PERSON, name="Somebody", at=AT, by=BOB
    )


def ticket(number: int = 1, tenant_id: TenantId = ACME) -> Ticket:
    asked = TicketDraft(
        kind=TicketKind.APPROVAL,
        title=f"question {number}",
        shown="what is shown\n\u0000 \u202e",
        eligible_roles=("reviewer",),
        opened_by=BOB,
    )
    return open_ticket(asked, id=ticket_id_from(bytes([number]) * 16), tenant_id=tenant_id, at=AT)


def answer_of(asked: Ticket, by: PrincipalId = ALICE) -> Answer:
    unsigned = UnsignedAnswer(
        ticket_id=asked.id,
        tenant_id=asked.tenant_id,
        choice=asked.choices[0],
        body="{}",
        seen_hash=asked.shown_hash,
        by=by,
        answered_at=later(1),
        reason="seen",
        signed_with=SignedWith.NODE_REVIEW_KEY,
        signing_key_id=KEY_ID,
    )
    return seal_answer(unsigned, KEY.sign(answer_message(unsigned)))
