"""The ledger: one chain per tenant; each entry names the hash of the one before it (SKI 7.1).

draft -> prepare (the bytes that do not depend on the chain) -> extend (the chain's own two fields) -> link

`entry_hash` is SHA-256 of the canonical entry without `entry_hash`; the Merkle leaf is SHA-256(0x00 || the same bytes).
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, NamedTuple

from msgspec import Meta, MsgspecError, Raw, Struct, json
from msgspec.structs import replace

from assay.kernel.canonical import Profile, canonical_json, canonicalize
from assay.kernel.commitment import Disclosure
from assay.kernel.digest import ZERO_DIGEST, Digest
from assay.kernel.errors import Blame, LedgerError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.trace import TraceId

SCHEMA_VERSION = "3.0.0"
# What the runtime of SKI 2 writes (SKI 11.4), and nothing else.
V2_SCHEMA_VERSION = "2.1.0"
# Twice this, which is what quoting can make of it, with room to spare below what `json_text` reads.
MAX_ENTRY_BYTES = 1024 * 1024
# A state names every observation of its key, and its snapshot everyone who reported: more than 20,000 of them fit,
# and `json_text` still reads the entry; a bundle, which quotes it, has more room.
MAX_STATE_BYTES = 12 * 1024 * 1024
_BODY = b'{"body":'
_NUMBER = '"sequence_number":'


class EntryKind(StrEnum):
    """What an entry records. Closed and growing: a retired kind is never used again for something else."""

    NOTE = "note"
    KEY_ADDED = "key.added"
    KEY_RETIRED = "key.retired"
    PRINCIPAL_ADDED = "principal.added"
    PRINCIPAL_CHANGED = "principal.changed"
    CREDENTIAL_ISSUED = "credential.issued"
    CREDENTIAL_REVOKED = "credential.revoked"
    TICKET_OPENED = "ticket.opened"
    TICKET_ANSWERED = "ticket.answered"
    TICKET_SETTLED = "ticket.settled"
    TICKET_CLAIMED = "ticket.claimed"
    TICKET_RELEASED = "ticket.released"
    TICKET_ASSIGNED = "ticket.assigned"
    TICKET_PRIORITISED = "ticket.prioritised"
    TICKET_COMMENTED = "ticket.commented"
    TICKET_ESCALATED = "ticket.escalated"
    TICKET_ANSWER_HELD = "ticket.answer_held"
    TICKET_ANSWER_UNDONE = "ticket.answer_undone"
    TICKET_ANSWER_LAPSED = "ticket.answer_lapsed"
    ERASURE = "erasure"
    CONTRACT_RELEASED = "contract.released"
    OBSERVATION_RECORDED = "observation.recorded"
    VOTE_CAST = "vote.cast"
    AI_SCORE_RECORDED = "ai_score.recorded"
    FINGERPRINT_RECORDED = "fingerprint.recorded"
    WINDOW_CHANGED = "window.changed"
    SNAPSHOT_FROZEN = "snapshot.frozen"
    TRUTH_STATE = "truth.state"
    TRUST_SIGNAL = "trust.signal"
    TRUST_POLICY = "trust.policy"
    GRAPH_ADDED = "graph.added"
    GRAPH_ACTIVATED = "graph.activated"
    TELEMETRY_DROPPED = "telemetry.dropped"
    VERDICT = "verdict"
    VERDICT_HELD = "verdict.held"
    VERDICT_FINAL = "verdict.final"
    VERDICT_V2 = "verdict.v2"
    WEIGHTS_MEASURED = "weights.measured"
    EGRESS_ATTEMPTED = "egress.attempted"
    EGRESS_CLEARED = "egress.cleared"
    SERVICE_KEY_ADDED = "service.key_added"
    SERVICE_KEY_REVOKED = "service.key_revoked"
    SERVICE_ANNOUNCED = "service.announced"
    SERVICE_LISTED = "service.listed"
    SERVICE_UNLISTED = "service.unlisted"
    SWITCH_FIRED = "switch.fired"
    SWITCH_RESTORED = "switch.restored"
    SWITCH_TESTED = "switch.tested"
    ESCALATION_ATTEMPTED = "escalation.attempted"
    TIER_CHANGED = "tier.changed"
    CLAIMS_RECEIVED = "claims.received"
    CLAIMS_DECIDED = "claims.decided"
    CLAIMS_REFUSED = "claims.refused"
    CLAIMS_EVIDENCE = "claims.evidence"
    CLAIMS_POLICY = "claims.policy"
    CLAIMS_SAMPLE_PLAN = "claims.sample_plan"
    CLAIMS_SAMPLED = "claims.sampled"
    CLAIMS_LABELLED = "claims.labelled"
    CLAIMS_CERTIFIED = "claims.certified"
    CLAIMS_SHIFTED = "claims.shifted"
    RULE_RECORDED = "rule.recorded"
    RULE_CERTIFIED = "rule.certified"
    RULE_PROPOSED = "rule.proposed"
    RULES_PROJECTED = "rules.projected"
    RULES_COUNTED = "rules.counted"
    QUERY_TYPE_RECORDED = "query_type.recorded"
    REPORTER_GRANTED = "reporter.granted"
    ANSWER_DELIVERED = "answer.delivered"
    ANSWER_REMARKED = "answer.remarked"
    QUERY_FAILED = "query.failed"
    OUTCOME_REPORTED = "outcome.reported"
    ROOT_CAUSE_OPENED = "root_cause.opened"
    ROOT_CAUSE_ASKED = "root_cause.asked"
    ROOT_CAUSE_CLOSED = "root_cause.closed"
    TRAINING_PAIR = "training.pair"
    TRAINING_TRIGGERED = "training.triggered"
    TRAINING_FINISHED = "training.finished"
    SENSE_EMITTED = "sense.emitted"
    PEER_AGREED = "peer.agreed"
    PEER_UNTRANSLATED = "peer.untranslated"
    WEBHOOK_ADDED = "webhook.added"
    WEBHOOK_REMOVED = "webhook.removed"
    WEBHOOK_FAILED = "webhook.failed"
    WEBHOOK_REPLAYED = "webhook.replayed"
    WEBHOOK_RESENT = "webhook.resent"
    PROOF_MEASURED = "proof.measured"
    MODEL_ADDED = "model.added"
    MODEL_EVALUATED = "model.evaluated"
    MODEL_ACTIVATED = "model.activated"
    INDEX_SEALED = "index.sealed"
    PERMIT_ISSUED = "permit.issued"
    PERMIT_CLAIMED = "permit.claimed"
    PERMIT_REPORTED = "permit.reported"
    PERMIT_ENDED = "permit.ended"
    MANDATE_SIGNED = "mandate.signed"
    MANDATE_USED = "mandate.used"
    MANDATE_ENDED = "mandate.ended"
    GATEWAY_RELEASED = "gateway.released"
    GATEWAY_APPROVED = "gateway.approved"
    GATEWAY_CALLED = "gateway.called"


# What the node itself writes about many: nobody's request is that long.
_OF_MANY = frozenset({EntryKind.TRUTH_STATE, EntryKind.SNAPSHOT_FROZEN})


class EmptyBodyError(LedgerError):
    """An entry must say something: its body is a JSON object."""

    code = "ledger.body"
    blame = Blame.INPUT


class NulCharacterError(LedgerError):
    """U+0000 cannot be stored in every database's JSON column, so it is refused on all of them."""

    code = "ledger.nul_character"
    blame = Blame.INPUT


class TranscriptRefError(LedgerError):
    """A verdict must say which transcript it rests on (SKI 7.4)."""

    code = "ledger.transcript_ref"
    blame = Blame.INPUT


class EntrySizeError(LedgerError):
    """An entry, with what it commits to and announces, must stay small enough to be read back everywhere."""

    code = "ledger.entry_size"
    blame = Blame.INPUT


class VerdictColumns(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The columns of SKI 7.1 that only a verdict has.

    `llm_transcript` names a transcript of the transcript store as its `transcript_ref`; it must be there when the
    verdict is committed, and an audit looks for it.
    INVARIANT: the two documents are canonical JSON without U+0000, which not every database stores (`has_nul`).
    """

    telemetry_id: str
    telemetry_hash: Digest
    verdict: str
    rule_id: str
    kg_version_hash: Digest
    model_weight_hash: Digest
    llm_transcript: Raw
    verifier_result: Raw


class Event(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something subscribers are told; it is committed with the entry that caused it, or not at all."""

    type: str
    subject: str
    body: Raw

    @property
    def hash(self) -> Digest:
        """What the entry records of the event: SHA-256 of the canonical `[type, subject]`, followed by the body."""
        named = f"[{_quoted(self.type)},{_quoted(self.subject)}]".encode()
        return Digest("sha256:" + sha256(named + bytes(self.body)).hexdigest())


class Draft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry before it has a place in the chain.

    `trace_id` is the trace of the request that the entry was written for; it is omitted from the entry when absent.
    """

    tenant_id: TenantId
    kind: EntryKind
    timestamp: Instant
    body: bytes
    verdict: VerdictColumns | None = None
    disclosures: tuple[Disclosure, ...] = ()
    events: tuple[Event, ...] = ()
    trace_id: TraceId | None = None


class Head(NamedTuple):
    """Where a tenant's chain ends; sequence 0 and the zero hash before the first entry."""

    tenant_id: TenantId
    sequence_number: int
    entry_hash: Digest


class Prepared(NamedTuple):
    """A draft as canonical bytes with its gaps: `before` previous_hash `middle` sequence_number `after`.

    An entry with events has a third one, between `opening` and `before`: how many events the chain had before.
    """

    draft: Draft
    timestamp: str
    opening: bytes
    before: bytes
    middle: bytes
    after: bytes


class Link(NamedTuple):
    """An entry in its place: `text` is what is hashed, stored and proven."""

    draft: Draft
    timestamp: str
    sequence_number: int
    previous_hash: Digest
    entry_hash: Digest
    leaf_hash: bytes
    text: bytes


class Receipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The durable acknowledgement: whoever holds it can ask for this entry forever."""

    tenant_id: TenantId
    sequence_number: int
    entry_hash: Digest
    timestamp: Instant


def draft_entry(
    tenant_id: TenantId,
    kind: EntryKind,
    body: Mapping[str, object] | Struct,
    *,
    at: Instant,
    verdict: VerdictColumns | None = None,
    disclosures: Iterable[Disclosure] = (),
    events: Iterable[Event] = (),
) -> Draft:
    """Fix the body's canonical bytes now, on the caller's thread, so that the writer only links and stores."""
    # Inside its entry, so that the depth limit holds for the whole text and it can be read back.
    content = canonicalize({"body": body})[len(_BODY) : -1]
    return draft_of(tenant_id, kind, content, at=at, verdict=verdict, disclosures=disclosures, events=events)


def draft_of(
    tenant_id: TenantId,
    kind: EntryKind,
    content: bytes,
    *,
    at: Instant,
    verdict: VerdictColumns | None = None,
    disclosures: Iterable[Disclosure] = (),
    events: Iterable[Event] = (),
) -> Draft:
    """An entry whose body is written already; that `content` is canonical is the caller's word."""
    if not content.startswith(b"{"):
        raise EmptyBodyError(f"expected a JSON object as the body of a `{kind}` entry, got `{content[:40]!r}`")
    draft = Draft(
        tenant_id=tenant_id,
        kind=kind,
        timestamp=at,
        body=content,
        verdict=verdict,
        disclosures=tuple(disclosures),
        events=tuple(events),
    )
    size, most = size_of(draft), MAX_STATE_BYTES if kind in _OF_MANY else MAX_ENTRY_BYTES
    if size > most:
        raise EntrySizeError(f"expected at most {most} bytes in a `{kind}` entry, got {size}")
    return draft


def traced(draft: Draft, trace: TraceId | None) -> Draft:
    """Return the draft with this trace id, unless it has one already."""
    return draft if trace is None or draft.trace_id is not None else replace(draft, trace_id=trace)


def size_of(draft: Draft) -> int:
    """How many bytes the caller wants kept: body, verdict, the values behind commitments, and events."""
    size = len(draft.body)
    if draft.verdict is not None:
        verdict = draft.verdict
        size += len(verdict.telemetry_id) + len(verdict.verdict) + len(verdict.rule_id)
        size += len(memoryview(verdict.llm_transcript)) + len(memoryview(verdict.verifier_result))
    for disclosure in draft.disclosures:
        size += len(disclosure.pointer) + len(disclosure.salt) + len(bytes(disclosure.value))
    for event in draft.events:
        size += len(event.type) + len(event.subject) + len(bytes(event.body))
    return size


def transcript_ref_of(llm_transcript: bytes) -> str:
    """The id of the transcript that the column names; a document that names none is refused."""
    try:
        return json.decode(llm_transcript, type=_Referring).transcript_ref
    except MsgspecError as error:
        raise TranscriptRefError(f"expected `llm_transcript` with a `transcript_ref`, got none: {error}") from error


def schema_of(kind: EntryKind) -> str:
    """The `schema_version` of an entry of this kind (SKI 7.1)."""
    return V2_SCHEMA_VERSION if kind is EntryKind.VERDICT_V2 else SCHEMA_VERSION


def genesis(tenant_id: TenantId) -> Head:
    return Head(tenant_id, 0, ZERO_DIGEST)


def prepare(draft: Draft) -> Prepared:
    """Everything of the entry's canonical bytes but the fields that only the chain knows.

    INVARIANT: the spliced text equals `canonicalize` of the whole entry; a property test holds it to that.
    """
    verdict, timestamp = draft.verdict, render_instant(draft.timestamp)
    traced = "" if draft.trace_id is None else f',"trace_id":"{draft.trace_id}"'
    opening, content = _BODY + draft.body, b""
    if draft.events:
        hashes = ",".join(f'"{event.hash}"' for event in draft.events)
        opening, content = opening + b',"events":{"after":', f',"hashes":[{hashes}]}}'.encode()
    if verdict is None:
        return Prepared(
            draft,
            timestamp,
            opening,
            b'%b,"kind":"%b","previous_hash":"' % (content, draft.kind.encode()),
            _PLAIN_MIDDLES[schema_of(draft.kind)],
            f',"tenant_id":"{draft.tenant_id}","timestamp":"{timestamp}"{traced}}}'.encode(),
        )
    kind, telemetry_id = draft.kind, _quoted(verdict.telemetry_id)
    judged = f',"kg_version_hash":"{verdict.kg_version_hash}","kind":"{kind.value}","llm_transcript":'
    weighed = f',"model_weight_hash":"{verdict.model_weight_hash}","previous_hash":"'
    middle = f'","profile":"{_SKI}","rule_id":{_quoted(verdict.rule_id)},"schema_version":"{schema_of(kind)}",{_NUMBER}'
    told = f',"telemetry_hash":"{verdict.telemetry_hash}","telemetry_id":{telemetry_id},"tenant_id":"{draft.tenant_id}"'
    found = f',"timestamp":"{timestamp}"{traced},"verdict":{_quoted(verdict.verdict)},"verifier_result":'
    return Prepared(
        draft,
        timestamp,
        opening,
        b"".join((content, judged.encode(), verdict.llm_transcript, weighed.encode())),
        middle.encode(),
        b"".join((told.encode(), found.encode(), verdict.verifier_result, b"}")),
    )


def extend(head: Head, prepared: Iterable[Prepared], *, told: int = 0) -> tuple[list[Link], Head]:
    """Give each draft the next place; the chain's mutable facts are its head, which is returned, and its events."""
    links: list[Link] = []
    tenant_id, sequence, previous = head
    for one in prepared:
        sequence += 1
        links.append(link_to(previous, sequence, one, told))
        previous, told = links[-1].entry_hash, told + len(one.draft.events)
    return links, Head(tenant_id, sequence, previous)


def link_to(previous: Digest, sequence: int, prepared: Prepared, told: int) -> Link:
    """The draft in that place, after the entry with that hash and `told` events; the caller keeps count."""
    draft, timestamp, opening, before, middle, after = prepared
    count = b"%d" % told if draft.events else b""
    text = b"".join((opening, count, before, previous.encode(), middle, b"%d" % sequence, after))
    entry_hash = Digest("sha256:" + sha256(text).hexdigest())
    return Link(draft, timestamp, sequence, previous, entry_hash, sha256(b"\x00" + text).digest(), text)


def has_nul(content: bytes) -> bool:
    """Whether a string of this JSON text has U+0000; its escape, with the backslash itself escaped, is plain text."""
    # Most texts have no escape at all, and a single byte is looked for faster than six.
    return b"\\" in content and b"\\u0000" in content and _NUL.search(content) is not None


class _Referring(Struct, frozen=True):
    """Whatever else an `llm_transcript` says."""

    transcript_ref: Annotated[str, Meta(min_length=1)]


# An escape, and not the text of one: a backslash that no other escapes.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_SKI = Profile.SKI.value
_PROFILE = _SKI.encode()
_PLAIN_MIDDLES = {
    version: b'","profile":"%b","schema_version":"%b","sequence_number":' % (_PROFILE, version.encode())
    for version in (SCHEMA_VERSION, V2_SCHEMA_VERSION)
}


def _quoted(text: str) -> str:
    """The canonical JSON of a text: most need no more than quotation marks."""
    is_plain = text.isascii() and text.isprintable() and '"' not in text and "\\" not in text
    return f'"{text}"' if is_plain else canonical_json(text)
