"""The knowledge graph in use: the latest activation, its document verified again, opened once per process."""

from assay.flows.errors import NoGraphError
from assay.flows.graph_shelf import ReadyGraph
from assay.flows.tools import Tools
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import TenantId
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphVersion
from assay.verdicts.graph.open import OpenGraph, open_graph

__all__ = ["get_activation", "open_document", "ready_graph", "stored_document"]


def get_activation(unit: Unit, tenant_id: TenantId) -> GraphActivation:
    active = unit.graphs.find_active(tenant_id)
    if active is None:
        raise NoGraphError(f"tenant `{tenant_id}` has no knowledge graph in use: load one first")
    return active


def ready_graph(tools: Tools, tenant_id: TenantId, document_hash: Digest) -> ReadyGraph:
    """Opened against the anchors and in the mode of now: what is not trusted any more is not used any more."""

    def load() -> OpenGraph:
        version = tools.database.read(lambda unit: unit.graphs.find_version(tenant_id, document_hash))
        if version is None:
            raise NoGraphError(f"tenant `{tenant_id}` has no graph `{document_hash}`")
        return open_document(tools, stored_document(version))

    return tools.graphs.get(tenant_id, document_hash, load)


def open_document(tools: Tools, document: bytes) -> OpenGraph:
    return open_graph(document, tools.anchors, mode=tools.ski.mode)


def stored_document(version: GraphVersion) -> bytes:
    """The bytes, if they still have the hash by which they were found."""
    document = version.document.encode()
    if digest_of(document) != version.document_hash:
        raise DamagedRecordError(f"expected a graph with the hash `{version.document_hash}`, got another")
    return document
