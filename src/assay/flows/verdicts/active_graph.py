"""The knowledge graph in use: the latest activation, its document verified again, opened once per process.

row of an activation -> the entry that it names, and that no later one is there -> its document -> opened
"""

import msgspec

from assay.flows.errors.verdicts import NoGraphError
from assay.flows.ledger.in_force import require_newest
from assay.flows.tools import Tools
from assay.flows.verdicts.graph_entry import GraphActivated
from assay.flows.verdicts.graph_shelf import ReadyGraph
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation, GraphVersion
from assay.verdicts.graph.open import OpenGraph, open_graph


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
