"""Look at the knowledge graphs of a tenant: every version, who reviewed it, and which one is in use."""

from collections import defaultdict

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.flows.verdicts.active_graph import get_activation, stored_document
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview

__all__ = ["KeptGraph", "ListedGraph", "list_graph_reviews", "list_graphs", "show_graph"]


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
