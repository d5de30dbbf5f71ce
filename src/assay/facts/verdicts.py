"""Graphs, telemetry and verdicts: their entries, and the rows that follow from them."""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from assay.facts.kinds import Fact, Projected, Table
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant, parse_foreign_instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.damage import DamagedRecordError
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion
from assay.ports.telemetry_store import KnownTelemetry, TelemetryDrop
from assay.ports.verdict_store import V2_PATH, EgressNote, VerdictRow


class GraphAdded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `graph.added` entry."""

    document_hash: Digest
    content_hash: Digest
    form: str
    signed_by: KeyId | None
    added_by: PrincipalId


class GraphActivated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `graph.activated` entry: which graph, under which mode, and who had accepted it."""

    document_hash: Digest
    content_hash: Digest
    kg_version_hash: Digest
    mode: str
    signed_by: KeyId | None
    reviewed_by: tuple[PrincipalId, ...]
    downgrade_reason: str | None
    activated_by: PrincipalId


class TelemetryDropped(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `telemetry.dropped` entry: so many records of a subject are too old for windows."""

    subject: str
    records: int
    dropped_until: Instant


class EgressAttempted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an `egress.attempted` entry: how many, and where the latest of them wanted to go."""

    attempts: int
    places: tuple[str, ...]


class EgressCleared(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an `egress.cleared` entry: who looked into it, and what was found."""

    cleared_by: PrincipalId
    reason: str


def graph_added(tenant_id: TenantId, version: GraphVersion) -> Draft:
    """The entry of a graph, which commits to its bytes."""
    body = GraphAdded(
        document_hash=version.document_hash,
        content_hash=version.content_hash,
        form=version.form,
        signed_by=version.signed_by,
        added_by=version.by,
    )
    return _graph_entry(tenant_id, EntryKind.GRAPH_ADDED, body, version.added_at)


def graph_activated(tenant_id: TenantId, body: GraphActivated, *, at: Instant) -> Draft:
    return _graph_entry(tenant_id, EntryKind.GRAPH_ACTIVATED, body, at)


def telemetry_dropped(tenant_id: TenantId, body: TelemetryDropped, *, at: Instant) -> Draft:
    content = canonicalize(body)
    event = Event(type=EntryKind.TELEMETRY_DROPPED.value, subject=body.subject, body=Raw(content))
    return draft_entry(tenant_id, EntryKind.TELEMETRY_DROPPED, body, at=at, events=(event,))


def egress_noted(tenant_id: TenantId, body: EgressAttempted | EgressCleared, *, at: Instant) -> Draft:
    """Attempts to leave the perimeter, or a person's finding about those before it."""
    is_attempt = isinstance(body, EgressAttempted)
    kind = EntryKind.EGRESS_ATTEMPTED if is_attempt else EntryKind.EGRESS_CLEARED
    news = {"attempts": body.attempts if isinstance(body, EgressAttempted) else 0}
    event = Event(type=kind.value, subject="node", body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))


def _graph_entry(tenant_id: TenantId, kind: EntryKind, body: GraphAdded | GraphActivated, at: Instant) -> Draft:
    news = {"content_hash": body.content_hash, "document_hash": body.document_hash}
    event = Event(type=kind.value, subject=body.content_hash, body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))


def _version_rows(entry: Entry, body: GraphAdded) -> Iterator[GraphVersion | GraphHead]:
    head = GraphHead(
        document_hash=body.document_hash,
        content_hash=body.content_hash,
        form=body.form,
        signed_by=body.signed_by,
        added_at=entry.timestamp,
        by=body.added_by,
        sequence_number=entry.sequence_number,
    )
    yield head
    yield GraphVersion(document=body.document_hash, **{name: getattr(head, name) for name in head.__struct_fields__})


def _sealed_version(row: GraphVersion) -> GraphVersion:
    found = digest_of(row.document.encode("utf-8", "surrogatepass"))
    if found != row.document_hash:
        raise DamagedRecordError(f"expected a graph with the hash `{row.document_hash}`, got `{found}`")
    return replace(row, document=found)


def _activation_rows(entry: Entry, body: GraphActivated) -> Iterator[GraphActivation]:
    yield GraphActivation(
        sequence_number=entry.sequence_number,
        document_hash=body.document_hash,
        content_hash=body.content_hash,
        kg_version_hash=body.kg_version_hash,
        mode=body.mode,
        reviewers=len(body.reviewed_by),
        downgrade_reason=body.downgrade_reason,
        by=body.activated_by,
        activated_at=entry.timestamp,
    )


def _drop_rows(entry: Entry, body: TelemetryDropped) -> Iterator[TelemetryDrop]:
    yield TelemetryDrop(
        subject=body.subject,
        dropped_until=body.dropped_until,
        records=body.records,
        dropped_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _attempt_rows(entry: Entry, body: EgressAttempted) -> Iterator[EgressNote]:
    yield EgressNote(sequence_number=entry.sequence_number, attempts=body.attempts, noted_at=entry.timestamp)


def _cleared_rows(entry: Entry, _body: EgressCleared) -> Iterator[EgressNote]:
    yield EgressNote(sequence_number=entry.sequence_number, attempts=0, noted_at=entry.timestamp)


class _Measured(Struct, frozen=True, gc=False):
    timestamp: str


class _Ruled(Struct, frozen=True, gc=False):
    standing: str
    verdict: str
    tier: str


class _Judged(Struct, frozen=True, kw_only=True, gc=False):
    """The members of a verdict's body that its row follows from; without `telemetry` it was not judged here.

    `ticket_id` and `settles` are in bodies since version 0.2.0.
    """

    telemetry: _Measured | UnsetType = UNSET
    subject: str = ""
    ruling: _Ruled | None = None
    held_entry: str | None = None
    settles: int | UnsetType = UNSET
    ticket_id: str | UnsetType = UNSET


class _JudgedV2(Struct, frozen=True, kw_only=True, gc=False):
    """The same of runtime 2, whose entries have no envelope; `tier` is in bodies since version 0.2.0."""

    telemetry: _Measured | UnsetType = UNSET
    telemetry_id: str = ""
    telemetry_hash: Digest = Digest("")
    subject: str = ""
    rule_id: str = ""
    verdict: str = ""
    kg_version_hash: Digest = Digest("")
    tier: str | UnsetType = UNSET


class _Status(Struct, frozen=True, gc=False):
    status: str


class _Provenance(Struct, frozen=True, gc=False):
    kg_version_hash: Digest


class _Token(Struct, frozen=True, gc=False):
    signature_hex: str


class _Envelope(Struct, frozen=True, kw_only=True, gc=False):
    verifier_result: _Status
    model_provenance: _Provenance
    human_attestation: _Token | None = None
    verdict_path: str | None = None


_ENVELOPE = msgspec.json.Decoder(_Envelope)
# In the rows of entries of 0.1.0: what the entry does not say.
_UNSAID_ENTRY, _UNSAID_TIER = 0, ""


def _verdict_rows(entry: Entry, body: _Judged) -> Iterator[VerdictRow | KnownTelemetry]:
    if body.telemetry is UNSET:
        return
    if body.ruling is None:
        raise DamagedRecordError(f"entry {entry.sequence_number} has a record and no ruling")
    envelope, ruling, token = _ENVELOPE.decode(entry.llm_transcript), body.ruling, None
    if envelope.human_attestation is not None:
        token = envelope.human_attestation.signature_hex
    settles = None if body.held_entry is None else _UNSAID_ENTRY if body.settles is UNSET else body.settles
    is_bound = body.settles is not UNSET or body.ticket_id is not UNSET
    as_of = parse_foreign_instant(body.telemetry.timestamp)
    telemetry_id = entry.telemetry_id or ""
    yield VerdictRow(
        sequence_number=entry.sequence_number,
        telemetry_id=telemetry_id,
        rule_id=entry.rule_id or "",
        subject=body.subject,
        as_of=as_of,
        standing=ruling.standing,
        verdict=ruling.verdict,
        status=envelope.verifier_result.status,
        tier=ruling.tier,
        path=envelope.verdict_path,
        kg_version_hash=envelope.model_provenance.kg_version_hash,
        recorded_at=entry.timestamp,
        ticket_id=None if body.ticket_id is UNSET else body.ticket_id,
        held_entry=settles,
        attestation=token,
        bound=1 if is_bound else None,
    )
    yield KnownTelemetry(
        telemetry_id=telemetry_id,
        telemetry_hash=entry.telemetry_hash or Digest(""),
        subject=body.subject,
        as_of=as_of,
        sequence_number=entry.sequence_number,
    )


def _v2_rows(entry: Entry, body: _JudgedV2) -> Iterator[VerdictRow | KnownTelemetry]:
    if body.telemetry is UNSET:
        return
    as_of = parse_foreign_instant(body.telemetry.timestamp)
    yield VerdictRow(
        sequence_number=entry.sequence_number,
        telemetry_id=body.telemetry_id,
        rule_id=body.rule_id,
        subject=body.subject,
        as_of=as_of,
        standing="final",
        verdict=body.verdict,
        status="UNVERIFIABLE",
        tier=_UNSAID_TIER if body.tier is UNSET else body.tier,
        path=V2_PATH,
        kg_version_hash=body.kg_version_hash,
        recorded_at=entry.timestamp,
        bound=None if body.tier is UNSET else 1,
    )
    yield KnownTelemetry(
        telemetry_id=body.telemetry_id,
        telemetry_hash=body.telemetry_hash,
        subject=body.subject,
        as_of=as_of,
        sequence_number=entry.sequence_number,
    )


def _sealed_verdict(row: VerdictRow) -> VerdictRow:
    """Without what entries of 0.1.0 do not say: the ticket of a held verdict, the entry that a final one settles."""
    if row.bound:
        return row
    if row.held_entry is not None:
        return replace(row, held_entry=_UNSAID_ENTRY)
    if row.standing == "held":
        return replace(row, ticket_id=None)
    return replace(row, tier=_UNSAID_TIER) if row.path == V2_PATH else row


_OF_VERDICTS = (VerdictRow, KnownTelemetry)
FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.GRAPH_ADDED, GraphAdded, _version_rows, into=(GraphHead, GraphVersion)),
    Fact(EntryKind.GRAPH_ACTIVATED, GraphActivated, _activation_rows, into=(GraphActivation,)),
    Fact(EntryKind.VERDICT, _Judged, _verdict_rows, into=_OF_VERDICTS),
    Fact(EntryKind.VERDICT_HELD, _Judged, _verdict_rows, into=_OF_VERDICTS),
    Fact(EntryKind.VERDICT_FINAL, _Judged, _verdict_rows, into=_OF_VERDICTS),
    Fact(EntryKind.VERDICT_V2, _JudgedV2, _v2_rows, into=_OF_VERDICTS),
    Fact(EntryKind.TELEMETRY_DROPPED, TelemetryDropped, _drop_rows, into=(TelemetryDrop,)),
    Fact(EntryKind.EGRESS_ATTEMPTED, EgressAttempted, _attempt_rows, into=(EgressNote,)),
    Fact(EntryKind.EGRESS_CLEARED, EgressCleared, _cleared_rows, into=(EgressNote,)),
)
VIEWS: tuple[type[Struct], ...] = (GraphHead, KnownTelemetry)
TABLES = (
    Table(
        "graph_version",
        Projected(GraphVersion, seal=_sealed_version),
        keys=("document_hash", "content_hash"),
        taken="the graph `{document_hash}`",
    ),
    Table("graph_activation", Projected(GraphActivation), taken="the activation of entry {sequence_number}"),
    Table("telemetry_drop", Projected(TelemetryDrop), keys=("subject",), taken="the drop of entry {sequence_number}"),
    Table(
        "verdict_index",
        Projected(VerdictRow, seal=_sealed_verdict),
        keys=("telemetry_id", "rule_id", "subject", "ticket_id", "attestation"),
        taken="the verdict of entry {sequence_number}, its ticket, its token or what it settles",
    ),
    Table("egress_note", Projected(EgressNote), taken="the note of entry {sequence_number}"),
)
