"""An entry with its personal values sealed: the one way in which a body from outside becomes a draft."""

from collections.abc import Mapping, Sequence

from assay.flows.tools import Tools
from assay.kernel.commitment import seal_fields
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry

_SALT_SIZE = 32


def seal_draft(
    tools: Tools,
    tenant_id: TenantId,
    kind: EntryKind,
    body: Mapping[str, object],
    personal: Sequence[str],
    *,
    at: Instant,
) -> Draft:
    """Each value at a pointer is replaced by a salted commitment; value and salt are kept where they can be deleted."""
    salts = [tools.entropy.token(_SALT_SIZE) for _ in personal]
    # Sealing also refuses a body that looks sealed already, so it is done for no pointers too.
    sealed, disclosures = seal_fields(body, personal, salts)
    return draft_entry(tenant_id, kind, sealed, at=at, disclosures=disclosures)
