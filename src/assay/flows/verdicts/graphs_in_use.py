"""Knowledge graphs of a tenant: their entries, the one in use, and the one that a recorded verdict was reached by.

row of an activation -> the entry that it names, and that no later one is there -> its document -> opened
"""

import msgspec
from msgspec import Raw, Struct

from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.ledger.in_force import require_newest
from assay.flows.tools import Tools
from assay.flows.verdicts.shelves import GraphShelf, ReadyGraph
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import EMPTY_DIGEST, Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview, ReviewChoice
from assay.verdicts.envelope import Envelope
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph
from assay.verdicts.graph.review import GraphReview, has_review

# Begins the note of an envelope that names the content of an unsigned graph.
UNSIGNED_NOTE = "graph.unsigned: content "


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


def add_graph(unit: Unit, tenant_id: TenantId, opened: OpenGraph, *, by: PrincipalId, at: Instant) -> GraphHead:
    """Keep a graph byte for byte; one that is kept already stays as it is."""
    document_hash = digest_of(opened.document)
    known = unit.graphs.find_head(tenant_id, document_hash)
    if known is not None:
        return known
    body = GraphAdded(
        document_hash=document_hash,
        content_hash=opened.content_hash,
        form=opened.graph.form.value,
        signed_by=opened.signed_by,
        added_by=by,
    )
    entry = _entry(tenant_id, EntryKind.GRAPH_ADDED, body, at)
    head = GraphHead(
        document_hash=document_hash,
        content_hash=opened.content_hash,
        form=body.form,
        signed_by=opened.signed_by,
        added_at=at,
        by=by,
        sequence_number=unit.record(entry).sequence_number,
    )
    fields = {name: getattr(head, name) for name in head.__struct_fields__}
    unit.graphs.add_version(tenant_id, GraphVersion(document=opened.document.decode(), **fields))
    return head


def activation_entry(
    unit: Unit,
    tenant_id: TenantId,
    opened: OpenGraph,
    *,
    mode: str,
    reviewed_by: tuple[PrincipalId, ...],
    downgrade_reason: str | None,
    by: PrincipalId,
    at: Instant,
) -> GraphActivation:
    """From this entry on the graph is in use."""
    document_hash = digest_of(opened.document)
    body = GraphActivated(
        document_hash=document_hash,
        content_hash=opened.content_hash,
        kg_version_hash=opened.kg_version_hash,
        mode=mode,
        signed_by=opened.signed_by,
        reviewed_by=reviewed_by,
        downgrade_reason=downgrade_reason,
        activated_by=by,
    )
    activation = GraphActivation(
        sequence_number=unit.record(_entry(tenant_id, EntryKind.GRAPH_ACTIVATED, body, at)).sequence_number,
        document_hash=document_hash,
        content_hash=opened.content_hash,
        kg_version_hash=opened.kg_version_hash,
        mode=mode,
        reviewers=len(reviewed_by),
        downgrade_reason=downgrade_reason,
        by=by,
        activated_at=at,
    )
    unit.graphs.activate(tenant_id, activation)
    return activation


def accepted_by(reviews: tuple[RecordedReview, ...]) -> tuple[PrincipalId, ...]:
    return tuple(sorted({one.by for one in reviews if one.choice is ReviewChoice.ACCEPT}))


def is_accepted(reviews: tuple[RecordedReview, ...], content_hash: Digest) -> bool:
    """Somebody accepted this content, and nobody's last word on it is a rejection."""
    told = tuple(
        GraphReview(
            content_hash=one.content_hash,
            reviewed_by=one.by,
            reviewed_at=one.reviewed_at,
            approved=one.choice is ReviewChoice.ACCEPT,
            note=one.note or None,
        )
        for one in reviews
    )
    return has_review(told, content_hash)


def _entry(tenant_id: TenantId, kind: EntryKind, body: GraphAdded | GraphActivated, at: Instant) -> Draft:
    news = {"content_hash": body.content_hash, "document_hash": body.document_hash}
    event = Event(type=kind.value, subject=body.content_hash, body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))


def find_graph_in_use(unit: Unit, tools: Tools, tenant_id: TenantId) -> GraphActivation | None:
    """The latest activation, believed as far as the ledger says the same; None before the first.

    A row that was changed, or is gone, would bring back an older graph, whose signature is still valid: it is refused.
    A row is held against its entry when it is first seen; while it stays the same, there is nothing to ask.
    """
    active = unit.graphs.find_active(tenant_id)
    if active is not None and active == tools.graphs.find_activation(tenant_id):
        return active
    require_newest(unit, tenant_id, EntryKind.GRAPH_ACTIVATED, None if active is None else active.sequence_number)
    if active is not None:
        _require_recorded(unit, tenant_id, active)
        tools.graphs.note_activation(tenant_id, active)
    return active


def get_activation(unit: Unit, tools: Tools, tenant_id: TenantId) -> GraphActivation:
    active = find_graph_in_use(unit, tools, tenant_id)
    if active is None:
        raise VerdictFlowError.no_graph(f"tenant `{tenant_id}` has no knowledge graph in use: load one first")
    return active


def ready_graph(tools: Tools, tenant_id: TenantId, document_hash: Digest) -> ReadyGraph:
    """Opened against the anchors and in the mode of now: what is not trusted any more is not used any more."""

    def load() -> OpenGraph:
        version = tools.database.read(lambda unit: unit.graphs.find_version(tenant_id, document_hash))
        if version is None:
            raise VerdictFlowError.no_graph(f"tenant `{tenant_id}` has no graph `{document_hash}`")
        return open_document(tools, stored_document(version))

    return tools.graphs.get(tenant_id, document_hash, load)


def open_document(tools: Tools, document: bytes) -> OpenGraph:
    return open_graph(document, tools.anchors, mode=tools.ski.mode)


def stored_document(version: GraphVersion) -> bytes:
    """The bytes, if they still have the hash by which they were found."""
    document = version.document.encode()
    found = digest_of(document)
    if found != version.document_hash:
        raise DamagedRecordError(f"expected a graph with the hash `{version.document_hash}`, got `{found}`")
    return document


def _require_recorded(unit: Unit, tenant_id: TenantId, row: GraphActivation) -> None:
    stored = unit.ledger.find_entry(tenant_id, row.sequence_number)
    if stored is None or digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {row.sequence_number} beside an activation, got none that holds")
    if not is_activation(row, parse_entry(stored.text)):
        raise DamagedRecordError(f"expected an activation to say what entry {row.sequence_number} says, got another")


def is_activation(row: GraphActivation, entry: Entry) -> bool:
    """Whether a row says what its entry says, in every column."""
    body = _read(bytes(entry.body)) if entry.kind is EntryKind.GRAPH_ACTIVATED else None
    if body is None or row.activated_at != entry.timestamp:
        return False
    hashes = (body.document_hash, body.content_hash, body.kg_version_hash)
    said = (*hashes, body.mode, len(body.reviewed_by), body.downgrade_reason, body.activated_by)
    kept = (row.document_hash, row.content_hash, row.kg_version_hash, row.mode, row.reviewers)
    return said == (*kept, row.downgrade_reason, row.by)


def _read(body: bytes) -> GraphActivated | None:
    try:
        return msgspec.json.decode(body, type=GraphActivated)
    except msgspec.MsgspecError:
        return None


def has_graph_in_use(tools: Tools) -> bool:
    def look(unit: Unit) -> bool:
        return any(unit.graphs.find_active(tenant_id) is not None for tenant_id in unit.ledger.tenants())

    return tools.database.read(look)


def judged_content(envelope: Envelope) -> Digest | None:
    """The hash of the content; an unsigned graph is recorded as the empty hash, and named in a note (SKI 3.5)."""
    named = envelope.model_provenance.kg_version_hash
    if named != EMPTY_DIGEST:
        return named
    notes = (note.removeprefix(UNSIGNED_NOTE) for note in envelope.notes if note.startswith(UNSIGNED_NOTE))
    return next(map(Digest, notes), None)


class JudgedGraphs:
    """Graphs of a tenant by their content, opened to read old verdicts by: whether one may still be used is not asked.

    INVARIANT: they are kept apart from those in use, so that one which is not trusted any more is never judged by.
    `in_use` are graphs to take instead of opening another copy; whoever replays has none, and reads from storage.
    """

    def __init__(self, tools: Tools, tenant_id: TenantId, *, in_use: GraphShelf | None = None) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._in_use = in_use
        self._opened = GraphShelf()

    def find(self, content_hash: Digest | None) -> ReadyGraph | None:
        """None where it is not kept, or is not what its hash says."""
        return self.examine(content_hash)[0]

    def examine(self, content_hash: Digest | None) -> tuple[ReadyGraph | None, str | None]:
        """The graph; or None, and what is wrong with the one that is kept: nothing where none is."""
        if content_hash is None:
            return None, None
        ready = None if self._in_use is None else self._in_use.find_content(self._tenant_id, content_hash)
        if ready is not None:
            return ready, None
        try:
            return self._opened.get(self._tenant_id, content_hash, lambda: self._open(content_hash)), None
        except NotFoundError:
            return None, None
        except Error as error:
            return None, f"{error.code}: {error}"

    def _open(self, content_hash: Digest) -> OpenGraph:
        version = self._tools.database.read(lambda unit: unit.graphs.find_content(self._tenant_id, content_hash))
        if version is None:
            raise NotFoundError(f"tenant `{self._tenant_id}` has no graph with the content `{content_hash}`")
        return open_graph(stored_document(version), self._tools.anchors, mode=SovereigntyMode.ADVISORY)
