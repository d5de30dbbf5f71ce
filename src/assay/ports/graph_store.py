"""Knowledge graphs and who vouched for them: every version for ever, reviews, and which one is in use.

Rows follow from entries of the ledger, which commit to a graph's bytes. Reviews have no table: they are read from the
entries of the answers on the review desk.
"""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant

# What a ticket about a graph is about begins with this, before the hash of the content.
GRAPH_QUESTION = "graph:"


class ReviewChoice(StrEnum):
    ACCEPT = "accept"
    REJECT = "reject"


class GraphHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a version without its bytes. `document_hash` is that of the bytes as they were handed in,
    `content_hash` that of what is signed; a signed and an unsigned document may have the same content.
    """

    document_hash: Digest
    content_hash: Digest
    form: str
    signed_by: KeyId | None
    added_at: Instant
    by: PrincipalId
    sequence_number: int


class GraphVersion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A knowledge graph byte for byte; `document` is its text in UTF-8. `signed_by` is an anchor, or None."""

    document_hash: Digest
    content_hash: Digest
    form: str
    signed_by: KeyId | None
    document: str
    added_at: Instant
    by: PrincipalId
    sequence_number: int


class RecordedReview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person's answer about one content, and the ticket that asked for it; from the entry of the answer."""

    content_hash: Digest
    ticket_id: str
    by: PrincipalId
    choice: ReviewChoice
    note: str
    reviewed_at: Instant
    sequence_number: int


class GraphActivation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From this entry on verdicts are reached by this graph; `reviewers` is how many people had accepted it here.

    `downgrade_reason` is a person's own word for going back to a lesser graph, None where it is none.
    """

    sequence_number: int
    document_hash: Digest
    content_hash: Digest
    kg_version_hash: Digest
    mode: str
    reviewers: int
    downgrade_reason: str | None
    by: PrincipalId
    activated_at: Instant


class GraphStore(Protocol):
    """Rows are recorded with their entries and never changed."""

    def find_version(self, tenant_id: TenantId, document_hash: str) -> GraphVersion | None: ...

    def find_head(self, tenant_id: TenantId, document_hash: str) -> GraphHead | None: ...

    def find_content(self, tenant_id: TenantId, content_hash: str) -> GraphVersion | None:
        """The first signed document with this content, else the first of all."""
        ...

    def heads(self, tenant_id: TenantId) -> tuple[GraphHead, ...]:
        """In the order in which they were handed in."""
        ...

    def reviews(self, tenant_id: TenantId, content_hash: str) -> tuple[RecordedReview, ...]:
        """In the order of the ledger."""
        ...

    def find_active(self, tenant_id: TenantId) -> GraphActivation | None: ...

    def activations(self, tenant_id: TenantId) -> tuple[GraphActivation, ...]:
        """Every activation, the oldest first."""
        ...
