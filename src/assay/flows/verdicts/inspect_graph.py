"""Look at the knowledge graphs of a tenant: every version, who reviewed it, and which one is in use."""

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import get_activation, stored_document
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview, ReviewChoice
from assay.verdicts.graph.describe import describe_diff
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.parse import parse_graph


class ListedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version; `activations` are the entries from which on it was in use."""

    head: GraphHead
    reviews: tuple[RecordedReview, ...]
    activations: tuple[int, ...]
    is_in_use: bool


class KeptGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version byte for byte, with what people said of its content; `activation` is the latest of this document."""

    document: bytes
    head: GraphHead
    reviews: tuple[RecordedReview, ...]
    activation: GraphActivation | None
    is_in_use: bool


class GraphEventKind(StrEnum):
    ADDED = "added"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    ACTIVATED = "activated"


class GraphEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that happened to a graph, and who did it.

    `reviewers` are those whose last word on the content was to accept it when it came into use; `changes` are sentences
    about what it changed against the graph that was in use before.
    """

    kind: GraphEventKind
    at: Instant
    by: PrincipalId
    sequence_number: int
    content_hash: Digest
    name: str | None = None
    note: str | None = None
    reviewers: tuple[PrincipalId, ...] = ()
    changes: tuple[str, ...] = ()


def list_graph_history(tools: Tools, tenant_id: TenantId) -> tuple[GraphEvent, ...]:
    """Everything that happened to a tenant's graphs, in the ledger's order: handed in, reviewed, put into use."""
    return tools.database.read(lambda unit: tuple(_history(unit, tenant_id)))


def _history(unit: Unit, tenant_id: TenantId) -> list[GraphEvent]:
    heads = unit.graphs.heads(tenant_id)
    graphs = {head.document_hash: _read_graph(unit, tenant_id, head.document_hash) for head in heads}
    names = {head.content_hash: _name(graphs[head.document_hash]) for head in heads}
    reviews = [one for content in names for one in unit.graphs.reviews(tenant_id, content)]
    found = [
        GraphEvent(
            kind=GraphEventKind.ADDED,
            at=head.added_at,
            by=head.by,
            sequence_number=head.sequence_number,
            content_hash=head.content_hash,
            name=names[head.content_hash],
        )
        for head in heads
    ]
    found += [
        GraphEvent(
            kind=GraphEventKind.ACCEPTED if one.choice is ReviewChoice.ACCEPT else GraphEventKind.REJECTED,
            at=one.reviewed_at,
            by=one.by,
            sequence_number=one.sequence_number,
            content_hash=one.content_hash,
            name=names[one.content_hash],
            note=one.note or None,
        )
        for one in reviews
    ]
    before: KnowledgeGraph | None = None
    for one in sorted(unit.graphs.activations(tenant_id), key=lambda each: each.sequence_number):
        graph = graphs.get(one.document_hash)
        found.append(_activated(one, graph, before, reviews))
        before = graph or before
    return sorted(found, key=lambda event: event.sequence_number)


def _activated(
    one: GraphActivation, graph: KnowledgeGraph | None, before: KnowledgeGraph | None, reviews: Sequence[RecordedReview]
) -> GraphEvent:
    earlier = [each for each in reviews if each.sequence_number < one.sequence_number]
    last = {each.by: each.choice for each in earlier if each.content_hash == one.content_hash}
    return GraphEvent(
        kind=GraphEventKind.ACTIVATED,
        at=one.activated_at,
        by=one.by,
        sequence_number=one.sequence_number,
        content_hash=one.content_hash,
        name=_name(graph),
        note=one.downgrade_reason,
        reviewers=tuple(sorted(who for who, choice in last.items() if choice is ReviewChoice.ACCEPT)),
        changes=() if graph is None or before is None else describe_diff(before, graph),
    )


def _read_graph(unit: Unit, tenant_id: TenantId, document_hash: Digest) -> KnowledgeGraph | None:
    """None for bytes that are not those of their hash any more: what happened to them is told all the same."""
    version = unit.graphs.find_version(tenant_id, document_hash)
    try:
        return None if version is None else parse_graph(stored_document(version))
    except Error:
        return None


def _name(graph: KnowledgeGraph | None) -> str | None:
    name = None if graph is None else graph.metadata.get("name")
    return name if isinstance(name, str) else None


def list_graphs(tools: Tools, tenant_id: TenantId) -> tuple[ListedGraph, ...]:
    """In the order in which they were handed in."""

    def look(unit: Unit) -> tuple[ListedGraph, ...]:
        active = unit.graphs.find_active(tenant_id)
        used: defaultdict[str, list[int]] = defaultdict(list)
        for one in unit.graphs.activations(tenant_id):
            used[one.document_hash].append(one.sequence_number)
        return tuple(
            ListedGraph(
                head=head,
                reviews=unit.graphs.reviews(tenant_id, head.content_hash),
                activations=tuple(used[head.document_hash]),
                is_in_use=active is not None and active.document_hash == head.document_hash,
            )
            for head in unit.graphs.heads(tenant_id)
        )

    return tools.database.read(look)


def show_graph(tools: Tools, tenant_id: TenantId, named: Digest | None = None) -> KeptGraph:
    """A graph, found by the hash of its document or of its content; without one, the graph in use."""

    def look(unit: Unit) -> KeptGraph:
        version = _find(unit, tools, tenant_id, named)
        active = unit.graphs.find_active(tenant_id)
        used = [one for one in unit.graphs.activations(tenant_id) if one.document_hash == version.document_hash]
        return KeptGraph(
            document=stored_document(version),
            head=GraphHead(**{name: getattr(version, name) for name in GraphHead.__struct_fields__}),
            reviews=unit.graphs.reviews(tenant_id, version.content_hash),
            activation=used[-1] if used else None,
            is_in_use=active is not None and active.document_hash == version.document_hash,
        )

    return tools.database.read(look)


def list_graph_reviews(tools: Tools, tenant_id: TenantId, content_hash: Digest) -> tuple[RecordedReview, ...]:
    """What people said of one content, the first first."""
    return tools.database.read(lambda unit: unit.graphs.reviews(tenant_id, content_hash))


def _find(unit: Unit, tools: Tools, tenant_id: TenantId, named: Digest | None) -> GraphVersion:
    wanted = get_activation(unit, tools, tenant_id).document_hash if named is None else named
    found = unit.graphs.find_version(tenant_id, wanted) or unit.graphs.find_content(tenant_id, wanted)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no graph with the document or content `{wanted[:80]}`")
    return found
