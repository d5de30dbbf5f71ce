"""Knowledge graphs, their reviews and activations in SQL."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec import MsgspecError, Struct

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.rows import Rows
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.ledger import EntryKind, Link
from assay.ports.damage import DamagedRecordError
from assay.ports.graph_store import (
    GRAPH_QUESTION,
    GraphActivation,
    GraphHead,
    GraphVersion,
    RecordedReview,
    ReviewChoice,
)
from assay.ports.ledger_store import ProvenEntry
from assay.review.answer import Answer

T = TypeVar("T")
_OPENED = frozenset({EntryKind.TICKET_OPENED})
_ANSWERED = frozenset({EntryKind.TICKET_ANSWERED})
# The entries of these kinds that the open transaction has appended and not stored yet.
FindPending = Callable[[TenantId, frozenset[EntryKind]], list[Link]]


class _Opened(Struct, frozen=True):
    """The members of a `ticket.opened` body that say which content is asked about."""

    ticket_id: TicketId
    about: str | None = None


class SqlGraphStore:
    """Implements `ports.graph_store.GraphStore`."""

    def __init__(self, rows: Rows, find_pending: FindPending | None) -> None:
        self._rows = rows
        self._session = rows.session
        self._find_pending = find_pending

    def find_version(self, tenant_id: TenantId, document_hash: str) -> GraphVersion | None:
        return self._rows.one(GraphVersion, "WHERE document_hash = ? AND tenant_id = ?", (document_hash, tenant_id))

    def find_head(self, tenant_id: TenantId, document_hash: str) -> GraphHead | None:
        heads = self._heads("WHERE document_hash = ? AND tenant_id = ?", (document_hash, tenant_id), tenant_id)
        return heads[0] if heads else None

    def find_content(self, tenant_id: TenantId, content_hash: str) -> GraphVersion | None:
        # The heads first: a document may be large, and only one is wanted.
        heads = self._heads("WHERE content_hash = ? AND tenant_id = ?", (content_hash, tenant_id), tenant_id)
        best = min(heads, key=lambda head: (head.signed_by is None, head.sequence_number), default=None)
        return None if best is None else self.find_version(tenant_id, best.document_hash)

    def heads(self, tenant_id: TenantId) -> tuple[GraphHead, ...]:
        return self._heads("WHERE tenant_id = ?", (tenant_id,), tenant_id)

    def reviews(self, tenant_id: TenantId, content_hash: str) -> tuple[RecordedReview, ...]:
        asked = self._asked(tenant_id, content_hash)
        answered = sorted(self._logged("ticket_answer_logged", "ticket_id", asked, tenant_id, _ANSWERED))
        answers = ((one.entry.sequence_number, _read(one, Answer)) for one in self._rows.entries(tenant_id, answered))
        return tuple(
            RecordedReview(
                content_hash=Digest(content_hash),
                ticket_id=answer.ticket_id,
                by=answer.by,
                choice=ReviewChoice(answer.choice),
                note=answer.reason,
                reviewed_at=answer.answered_at,
                sequence_number=number,
            )
            for number, answer in answers
            if answer.ticket_id in asked
        )

    def find_active(self, tenant_id: TenantId) -> GraphActivation | None:
        rest = "WHERE tenant_id = ? ORDER BY sequence_number DESC LIMIT 1"
        return self._rows.one(GraphActivation, rest, (tenant_id,))

    def activations(self, tenant_id: TenantId) -> tuple[GraphActivation, ...]:
        return self._rows.all(GraphActivation, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))

    def _heads(self, rest: str, parameters: Sequence[object], tenant_id: TenantId) -> tuple[GraphHead, ...]:
        """What the entries say of the documents, without reading these; the columns that are shown must say it too."""
        found = self._session.query(
            f"SELECT sequence_number, document_hash, content_hash FROM graph_version {rest} ORDER BY sequence_number",  # noqa: S608 - our constants
            parameters,
        )
        views = self._rows.views(tenant_id, [row[0] for row in found])
        heads = tuple(view for view in views if isinstance(view, GraphHead))
        if [(head.sequence_number, head.document_hash, head.content_hash) for head in heads] != [*map(tuple, found)]:
            raise DamagedRecordError("`graph_version`: a row is not what its entry records")
        return heads

    def _asked(self, tenant_id: TenantId, content_hash: str) -> frozenset[TicketId]:
        """The tickets that ask about a content, from the entries that opened them."""
        about = f"{GRAPH_QUESTION}{content_hash}"
        numbers = list(self._logged("graph_question_logged", "content_hash", (content_hash,), tenant_id, _OPENED))
        opened = (_read(one, _Opened) for one in self._rows.entries(tenant_id, numbers))
        return frozenset(one.ticket_id for one in opened if one.about == about)

    def _logged(
        self, view: str, name: str, values: Iterable[str], tenant_id: TenantId, kinds: frozenset[EntryKind]
    ) -> Iterable[int]:
        """The entries that the ledger's own index has, and those that are not stored yet, which may be others."""
        for part in in_parts(sorted(values)):
            rows = self._session.query(
                f"SELECT sequence_number FROM {view} WHERE {name} IN ({marks(part)}) AND tenant_id = ?"  # noqa: S608 - ours
                " ORDER BY sequence_number",
                (*part, tenant_id),
            )
            yield from (int(number) for (number,) in rows)
        if self._find_pending is not None:
            yield from (link.sequence_number for link in self._find_pending(tenant_id, kinds))


def _read(proven: ProvenEntry, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(proven.entry.body, type=kind)
    except MsgspecError as error:
        number = proven.entry.sequence_number
        raise DamagedRecordError(f"entry {number} cannot be read: {error}", entry=number) from error
