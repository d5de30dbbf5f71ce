"""Where the indexes of the ledger are kept: sealed stretches, and their sorted leaves in pages."""

from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId


class IndexSegment(Struct, frozen=True, kw_only=True):
    """A sealed stretch by the number of the entry that logs it, with what that entry says."""

    sequence_number: int
    first: int
    last: int
    leaves: int
    root: Digest
    previous: int | None


class IndexPage(Struct, frozen=True, kw_only=True):
    """Some leaves of a segment, in order, with their root; `first_key` is that of the first of them."""

    sequence_number: int
    position: int
    first_key: bytes
    root: bytes
    content: bytes


class IndexStore(Protocol):
    """Append-only; what is here was worked out from entries, and an audit works it out again."""

    def add_pages(self, tenant_id: TenantId, pages: tuple[IndexPage, ...]) -> None: ...

    def segments(self, tenant_id: TenantId, *, ending_after: int = 0) -> tuple[IndexSegment, ...]:
        """In order; only those that cover an entry after this one."""
        ...

    def find_latest(self, tenant_id: TenantId) -> IndexSegment | None: ...

    def find_page(self, tenant_id: TenantId, sequence_number: int, key: bytes) -> IndexPage | None:
        """The page on which the key is, if it is in the segment at all; None where it would be before the first."""
        ...

    def get_page(self, tenant_id: TenantId, sequence_number: int, position: int) -> IndexPage: ...

    def page_roots(self, tenant_id: TenantId, sequence_number: int) -> tuple[bytes, ...]:
        """The roots of all pages of a segment, in order."""
        ...

    def pages(self, tenant_id: TenantId, sequence_number: int) -> tuple[IndexPage, ...]:
        """All pages of a segment, in order."""
        ...
