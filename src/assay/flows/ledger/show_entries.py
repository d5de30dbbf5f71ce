"""Read entries back as they are proven; erasable values only where they still exist and were asked for.

row -> hash, leaf and columns against its text -> ShownEntry | ledger.fault, with the last good checkpoint before it
"""

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from assay.flows.errors import NotFoundError
from assay.flows.ledger.check_entry import NEXT_STEPS, EntryFaultError, verify_stored_entry
from assay.flows.tools import Tools
from assay.kernel.canonical import canonicalize
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.commitment import open_fields
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.read_back import read_back
from assay.kernel.tile import root_hash
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry


class ShownEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry with its own hash; `text` is what is hashed and proven, `body` the same with disclosed values in place.

    The entry was hashed again; its place in the chain is for `ledger verify` and proofs.
    """

    tenant_id: str
    sequence_number: int
    entry_hash: Digest
    previous_hash: Digest
    timestamp: str
    kind: str
    body: Raw
    disclosed: tuple[str, ...]
    text: str
    trace_id: str | None = None


def show_entries(
    tools: Tools,
    tenant_id: TenantId,
    show: Callable[[ShownEntry], None],
    *,
    first: int | None = None,
    last: int | None = None,
    limit: int = 20,
    disclose: bool = False,
) -> int:
    """Show at most `limit` entries of a range in order (without `first`, the newest); the answer counts them."""

    def work(unit: Unit) -> int:
        head = unit.ledger.head(tenant_id).sequence_number
        end = head if last is None else min(last, head)
        start = max(1, end - limit + 1) if first is None else first
        end = min(end, start + limit - 1)
        count = 0
        for row in unit.ledger.entries(tenant_id, first=start, last=end):
            show(show_stored(unit, row, disclose=disclose))
            count += 1
        if not count and first is not None and first == last:
            raise NotFoundError(f"`{tenant_id}` has no entry {first}")
        return count

    return tools.database.read(work)


class _Body(Struct):
    body: Raw


def require_sound(unit: Unit, row: StoredEntry) -> None:
    """Raise `ledger.fault` unless the row is what its hash names; say which checkpoint before it still holds."""
    tenant_id = TenantId(row.tenant_id)
    try:
        verify_stored_entry(row, tenant_id, row.sequence_number, previous_hash=None)
    except EntryFaultError as error:
        good = last_good_checkpoint(unit, tenant_id, before=row.sequence_number)
        words = "no checkpoint before it holds" if good is None else f"the checkpoint over {good} entries still holds"
        message = f"{error} [{error.fault_code}]; {words}; next: {'; '.join(NEXT_STEPS)}"
        raise EntryFaultError(error.fault_code, message, error.entry, last_good_checkpoint=good) from error


def last_good_checkpoint(unit: Unit, tenant_id: TenantId, *, before: int) -> int | None:
    """Return the size of the newest checkpoint before an entry whose note names the stored tree.

    Signatures are for `ledger verify`.
    """
    kept = unit.ledger.find_checkpoint(tenant_id, at_most=before - 1)
    while kept is not None:
        try:
            signed = parse_checkpoint(kept.note.encode()).checkpoint
            root = root_hash(signed.size, lambda *place: unit.ledger.tile(tenant_id, *place))
            if signed.size == kept.size and signed.root == root:
                return kept.size
        except Error:
            pass  # this one does not hold; an earlier one may
        kept = unit.ledger.find_checkpoint(tenant_id, at_most=kept.size - 1)
    return None


def show_stored(unit: Unit, row: StoredEntry, *, disclose: bool = False) -> ShownEntry:
    require_sound(unit, row)
    body = msgspec.json.decode(row.text, type=_Body).body
    disclosures = unit.ledger.disclosures(TenantId(row.tenant_id), row.sequence_number) if disclose else ()
    if disclosures:
        body = Raw(canonicalize(open_fields(read_back(body, dict), disclosures)))
    return ShownEntry(
        tenant_id=row.tenant_id,
        sequence_number=row.sequence_number,
        entry_hash=Digest(row.entry_hash),
        previous_hash=Digest(row.previous_hash),
        timestamp=row.timestamp,
        kind=row.kind,
        body=body,
        disclosed=tuple(disclosure.pointer for disclosure in disclosures),
        text=row.text.decode(errors="replace"),
        trace_id=row.trace_id,
    )
