"""Knowledge graphs of a tenant: their entries, the one in use, and the one that a recorded verdict was reached by.

row of an activation, and that no later entry is there -> its document -> opened
"""

from msgspec.structs import replace

from assay.facts.verdicts import graph_added
from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.ledger.in_force import require_newest
from assay.flows.tools import Tools
from assay.flows.verdicts.shelves import GraphShelf, ReadyGraph
from assay.kernel.digest import EMPTY_DIGEST, Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview, ReviewChoice
from assay.verdicts.envelope import Envelope
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph
from assay.verdicts.graph.review import GraphReview, has_review

# Begins the note of an envelope that names the content of an unsigned graph.
UNSIGNED_NOTE = "graph.unsigned: content "


def add_graph(unit: Unit, tenant_id: TenantId, opened: OpenGraph, *, by: PrincipalId, at: Instant) -> GraphHead:
    """Keep a graph byte for byte; one that is kept already stays as it is."""
    document_hash = digest_of(opened.document)
    known = unit.graphs.find_head(tenant_id, document_hash)
    if known is not None:
        return known
    version = GraphVersion(
        document_hash=document_hash,
        content_hash=opened.content_hash,
        form=opened.graph.form.value,
        signed_by=opened.signed_by,
        document=opened.document.decode(),
        added_at=at,
        by=by,
        sequence_number=0,
    )
    number = unit.record(graph_added(tenant_id, version), version).sequence_number
    return head_of(replace(version, sequence_number=number))


def head_of(version: GraphVersion) -> GraphHead:
    """What is known of a version, without its bytes."""
    return GraphHead(**{name: getattr(version, name) for name in GraphHead.__struct_fields__})


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


def find_graph_in_use(unit: Unit, tools: Tools, tenant_id: TenantId) -> GraphActivation | None:
    """The latest activation; None before the first.

    Where its row is gone, the one before it would bring back an older graph, whose signature is still valid: it is
    refused. The ledger is asked for the newest when a row is first seen; later ones have later rows.
    """
    active = unit.graphs.find_active(tenant_id)
    if active is not None and active == tools.graphs.find_activation(tenant_id):
        return active
    require_newest(unit, tenant_id, EntryKind.GRAPH_ACTIVATED, None if active is None else active.sequence_number)
    if active is not None:
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
    """The bytes, whose hash was compared when the row was read."""
    return version.document.encode()


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
