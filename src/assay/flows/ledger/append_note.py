"""Record what a principal says: the note, who said it, and its personal values as commitments."""

from collections.abc import Mapping, Sequence

from assay.flows.ledger.seal_draft import seal_draft
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Receipt
from assay.ports.database import Pending

__all__ = ["append_note"]


def append_note(
    tools: Tools, principal: Principal, note: Mapping[str, object], *, personal: Sequence[str] = (), at: Instant
) -> Pending[Receipt]:
    """The write on its way, in the principal's own tenant; `personal` are pointers into the note that may be erased."""
    body = {"note": note, "recorded_by": principal.id}
    pointers = [f"/note{pointer}" for pointer in personal]
    return tools.database.submit(seal_draft(tools, principal.tenant_id, EntryKind.NOTE, body, pointers, at=at))
