"""Erase the personal values behind an entry: the proof stays, the values and their salts go."""

from msgspec import Struct

from assay.flows.errors import NothingToEraseError
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.ports.database import Unit

__all__ = ["Erasure", "erase_record"]


class Erasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was erased, by whom and why; this is the body of the entry that records it."""

    sequence_number: int
    pointers: tuple[str, ...]
    erased_by: PrincipalId
    reason: str


def erase_record(
    tools: Tools,
    tenant_id: TenantId,
    sequence_number: int,
    *,
    pointers: tuple[str, ...] | None = None,
    by: PrincipalId,
    reason: str,
    at: Instant,
) -> tuple[Erasure, Receipt]:
    """Delete and record in one commit, then see to it that the deleted bytes leave the files."""

    def work(unit: Unit) -> tuple[Erasure, Receipt]:
        erased = unit.ledger.erase(tenant_id, sequence_number, pointers)
        missing = sorted(set(pointers or ()) - set(erased))
        if not erased or missing:
            what = ", ".join(missing) or "any"
            raise NothingToEraseError(f"entry {sequence_number} of `{tenant_id}` has no erasable value at `{what}`")
        erasure = Erasure(sequence_number=sequence_number, pointers=erased, erased_by=by, reason=reason)
        return erasure, unit.ledger.append(draft_entry(tenant_id, EntryKind.ERASURE, erasure, at=at))

    done = tools.database.write(work)
    tools.database.scrub()
    return done
