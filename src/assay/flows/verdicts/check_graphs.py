"""Whether the tables of knowledge graphs are what the ledger holds: versions, who accepted them, which came into use.

entries in order | rows in the order of their entries -> one beside the other
entries about tickets -> those that ask about a graph, and their answers -> the reviews that must be there
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from assay.flows.ledger.compare_rows import IndexedTable, RowProblem, compare_rows, row_problem
from assay.flows.verdicts.active_graph import is_activation
from assay.flows.verdicts.graph_entry import GraphAdded
from assay.flows.verdicts.review_graph import review_of, reviewed_content
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.graph_store import GraphHead, RecordedReview
from assay.review.answer import Answer


def check_graphs(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """In the order of entries. The bytes of a graph are held against its hash whenever it is opened."""
    tables = (
        IndexedTable("graph_version", EntryKind.GRAPH_ADDED, unit.graphs.heads(tenant_id), _is_version),
        IndexedTable("graph_activation", EntryKind.GRAPH_ACTIVATED, unit.graphs.activations(tenant_id), is_activation),
    )
    yield from compare_rows(unit, tenant_id, "graph", tables)
    yield from _review_problems(unit, tenant_id)


def _is_version(row: GraphHead, entry: Entry) -> bool:
    said = GraphAdded(
        document_hash=row.document_hash,
        content_hash=row.content_hash,
        form=row.form,
        signed_by=row.signed_by,
        added_by=row.by,
    )
    try:
        return msgspec.json.decode(entry.body, type=GraphAdded) == said and row.added_at == entry.timestamp
    except msgspec.MsgspecError:
        return False


class _Opened(Struct, frozen=True):
    """The members of a question by which its answers are told."""

    ticket_id: str
    about: str | None = None


def _review_problems(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """Somebody's no that was taken away, or a yes that nobody gave, would let a graph be loaded."""
    expected = dict(_answered(unit, tenant_id))
    contents = {review.content_hash for review in expected.values()}
    contents |= {head.content_hash for head in unit.graphs.heads(tenant_id)}
    rows = (row for content in sorted(contents) for row in unit.graphs.reviews(tenant_id, content))
    found = {row.sequence_number: row for row in rows}
    for number in sorted(expected.keys() | found.keys()):
        if number not in found:
            yield row_problem("graph", "row_missing", "graph_review", number)
        elif number not in expected:
            yield row_problem("graph", "row_unrecorded", "graph_review", number)
        elif found[number] != expected[number]:
            yield row_problem("graph", "row_differs", "graph_review", number)


def _answered(unit: Unit, tenant_id: TenantId) -> Iterator[tuple[int, RecordedReview]]:
    asked: dict[str, Digest] = {}
    for stored in unit.ledger.entries(tenant_id):
        if stored.kind == EntryKind.TICKET_OPENED:
            opened = msgspec.json.decode(parse_entry(stored.text).body, type=_Opened)
            content = reviewed_content(opened.about)
            if content is not None:
                asked[opened.ticket_id] = content
        elif stored.kind == EntryKind.TICKET_ANSWERED and asked:
            answer = msgspec.json.decode(parse_entry(stored.text).body, type=Answer)
            if answer.ticket_id in asked:
                number = stored.sequence_number
                yield number, review_of(asked[answer.ticket_id], answer, sequence_number=number)
