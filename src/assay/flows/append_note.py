"""Record what a principal says: the note, who said it, and its personal values as commitments."""

from collections.abc import Mapping, Sequence

from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.commitment import MIN_SALT_SIZE, seal_fields
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.ports.database import Pending

__all__ = ["append_note"]


def append_note(
    tools: Tools, principal: Principal, note: Mapping[str, object], *, personal: Sequence[str] = (), at: Instant
) -> Pending[Receipt]:
    """The write on its way, in the principal's own tenant; `personal` are pointers into the note that may be erased."""
    body = {"note": note, "recorded_by": principal.id}
    salts = [tools.entropy.token(MIN_SALT_SIZE) for _ in personal]
    sealed, disclosures = seal_fields(body, [f"/note{pointer}" for pointer in personal], salts)
    draft = draft_entry(principal.tenant_id, EntryKind.NOTE, sealed, at=at, disclosures=disclosures)
    return tools.database.submit(draft)
