"""Read the knowledge graphs of a tenant: versions, reviews, history, differences, and the one in use."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.request import Content, Option, Page, Paged, Request, cut, map_page, read_number
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import find_graph_in_use, head_of, stored_document
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview, ReviewChoice
from assay.verdicts.graph.describe import describe_diff
from assay.verdicts.graph.diff import GraphDiff, diff_graphs
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.parse import parse_graph


class GraphState(StrEnum):
    """How far a content has come."""

    IN_USE = "in use"
    WAS_IN_USE = "was in use"
    REJECTED = "rejected"
    ACCEPTED = "accepted"
    UNREVIEWED = "unreviewed"


GraphName = Annotated[
    str,
    Meta(
        pattern="^sha256:[0-9a-f]{8,64}$",
        description="The hash of a document or its content, or the beginning of it: at least 8 hex digits.",
    ),
    Option(metavar="HASH"),
]


class ListGraphs(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the graphs."""


class ShowActiveGraph(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing has to be said."""


class ShowGraph(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    graph: GraphName


class DiffGraphs(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    before: GraphName
    after: GraphName


class ListGraphHistory(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the history."""


class ListGraphReviews(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content_hash: Annotated[str, Meta(description="The content that people were asked about."), Option(metavar="HASH")]


class GraphItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One content, whether signed or not: `documents` are its versions as they were handed in.

    `activations` are the entries from which on it was in use; `signed_by` is the anchor that signed one of them.
    """

    name: str | None
    content_hash: Digest
    state: GraphState
    form: str
    signed_by: KeyId | None
    accepted_by: tuple[PrincipalId, ...]
    rejected_by: tuple[PrincipalId, ...]
    activations: tuple[int, ...]
    documents: tuple[GraphHead, ...]
    added_at: Instant
    by: PrincipalId
    sequence_number: int


class KeptGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version, with what people said of its content; `activation` is the latest of this document."""

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


def graphs(tools: Tools, caller: Caller, request: ListGraphs) -> Page[GraphItem]:
    """List knowledge graphs in the order they were handed in, each content once."""
    tenant_id, after = caller.tenant_id, read_number("graphs", request.cursor)

    def work(unit: Unit) -> Page[GraphItem]:
        versions: dict[Digest, list[GraphHead]] = {}
        for head in sorted(unit.graphs.heads(tenant_id), key=lambda one: one.sequence_number):
            versions.setdefault(head.content_hash, []).append(head)
        rest = [heads for heads in versions.values() if heads[0].sequence_number > after]
        active, used = unit.graphs.find_active(tenant_id), unit.graphs.activations(tenant_id)
        page = cut("graphs", rest[: request.limit + 1], request.limit, lambda heads: heads[0].sequence_number)
        return map_page(page, lambda heads: _item(unit, tenant_id, heads, active, used))

    return tools.database.read(work)


def _item(
    unit: Unit,
    tenant_id: TenantId,
    heads: Sequence[GraphHead],
    active: GraphActivation | None,
    used: Sequence[GraphActivation],
) -> GraphItem:
    first = heads[0]
    reviews = unit.graphs.reviews(tenant_id, first.content_hash)
    last = {one.by: one.choice for one in reviews}
    accepted, rejected = (
        tuple(sorted(by for by, choice in last.items() if choice is wanted))
        for wanted in (ReviewChoice.ACCEPT, ReviewChoice.REJECT)
    )
    activations = tuple(one.sequence_number for one in used if one.content_hash == first.content_hash)
    if active is not None and active.content_hash == first.content_hash:
        state = GraphState.IN_USE
    elif activations:
        state = GraphState.WAS_IN_USE
    elif rejected:
        state = GraphState.REJECTED
    else:
        state = GraphState.ACCEPTED if accepted else GraphState.UNREVIEWED
    return GraphItem(
        name=_name(_read_graph(unit, tenant_id, first.document_hash)),
        content_hash=first.content_hash,
        state=state,
        form=first.form,
        signed_by=next((one.signed_by for one in heads if one.signed_by is not None), None),
        accepted_by=accepted,
        rejected_by=rejected,
        activations=activations,
        documents=tuple(heads),
        added_at=first.added_at,
        by=first.by,
        sequence_number=first.sequence_number,
    )


def active_graph(tools: Tools, caller: Caller, request: ShowActiveGraph) -> GraphActivation:  # noqa: ARG001 - nothing is asked
    """Show the graph by which records are judged now; its document is found by its `document_hash`."""
    tenant_id = caller.tenant_id
    active = tools.database.read(lambda unit: find_graph_in_use(unit, tools, tenant_id))
    if active is None:
        raise VerdictFlowError.no_graph(f"`{tenant_id}` has no graph in use")
    return active


def graph(tools: Tools, caller: Caller, request: ShowGraph) -> KeptGraph:
    """Show who handed in a version of a graph, who signed and reviewed it, and since when it is in use."""
    tenant_id = caller.tenant_id

    def work(unit: Unit) -> KeptGraph:
        version, active = _find(unit, tenant_id, request.graph), unit.graphs.find_active(tenant_id)
        used = [one for one in unit.graphs.activations(tenant_id) if one.document_hash == version.document_hash]
        return KeptGraph(
            head=head_of(version),
            reviews=unit.graphs.reviews(tenant_id, version.content_hash),
            activation=used[-1] if used else None,
            is_in_use=active is not None and active.document_hash == version.document_hash,
        )

    return tools.database.read(work)


def graph_document(tools: Tools, caller: Caller, request: ShowGraph) -> Content:
    """Return a graph byte for byte as it was handed in: the SHA-256 of the bytes is its `document_hash`."""
    version = tools.database.read(lambda unit: _find(unit, caller.tenant_id, request.graph))
    return Content(body=stored_document(version), etag=version.document_hash, is_immutable=True)


def graph_diff(tools: Tools, caller: Caller, request: DiffGraphs) -> GraphDiff:
    """Compare two graphs that the node keeps, in words and field by field."""

    def work(unit: Unit) -> tuple[GraphVersion, GraphVersion]:
        return _find(unit, caller.tenant_id, request.before), _find(unit, caller.tenant_id, request.after)

    return compare_graphs(*[parse_graph(stored_document(one)) for one in tools.database.read(work)])


def compare_graphs(before: KnowledgeGraph, after: KnowledgeGraph) -> GraphDiff:
    """What changed from one graph to another, in words too."""
    return replace(diff_graphs(before, after), words=describe_diff(before, after))


def graph_reviews(tools: Tools, caller: Caller, request: ListGraphReviews) -> Page[RecordedReview]:
    """List what people said of one content, the first first."""
    after = read_number("graph_reviews", request.cursor)
    rows = tools.database.read(lambda unit: unit.graphs.reviews(caller.tenant_id, request.content_hash))
    rest = sorted((one for one in rows if one.sequence_number > after), key=lambda one: one.sequence_number)
    return cut("graph_reviews", rest[: request.limit + 1], request.limit, lambda one: one.sequence_number)


def graph_history(tools: Tools, caller: Caller, request: ListGraphHistory) -> Page[GraphEvent]:
    """List what happened to graphs in the ledger's order: handed in, reviewed, put into use, and what changed."""
    after = read_number("graph_history", request.cursor)
    found = tools.database.read(lambda unit: _history(unit, caller.tenant_id))
    rest = [one for one in found if one.sequence_number > after]
    return cut("graph_history", rest[: request.limit + 1], request.limit, lambda one: one.sequence_number)


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
    """None for a document that cannot be read any more: what happened to it is told all the same."""
    version = unit.graphs.find_version(tenant_id, document_hash)
    try:
        return None if version is None else parse_graph(stored_document(version))
    except Error:
        return None


def _name(graph: KnowledgeGraph | None) -> str | None:
    name = None if graph is None else graph.metadata.get("name")
    return name if isinstance(name, str) else None


def _find(unit: Unit, tenant_id: TenantId, named: str) -> GraphVersion:
    found = unit.graphs.find_version(tenant_id, named) or unit.graphs.find_content(tenant_id, named)
    if found is not None:
        return found
    heads = unit.graphs.heads(tenant_id)
    documents = {one.document_hash for one in heads if one.document_hash.startswith(named)}
    contents = {one.content_hash for one in heads if one.content_hash.startswith(named)}
    if len(documents) + len(contents) != 1:
        many = "none" if not documents and not contents else f"{len(documents) + len(contents)} of them"
        raise NotFoundError(f"expected one document or content of `{tenant_id}` with `{named[:80]}`, got {many}")
    (chosen,) = documents | contents
    version = unit.graphs.find_version(tenant_id, chosen) or unit.graphs.find_content(tenant_id, chosen)
    assert version is not None  # noqa: S101 - a head without a version is no row of ours
    return version
