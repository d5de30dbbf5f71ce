"""Replace a key of the node: the old one vouches for the new one, and both are valid for a while."""

from datetime import timedelta

from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import (
    Endorsement,
    KeyPurpose,
    Retirement,
    endorsement_message,
    retirement_message,
    rotate,
    seal_endorsement,
    seal_retirement,
)
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Unit
from assay.ports.signer import Signer


def rotate_key(
    tools: Tools,
    tenant_id: TenantId,
    *,
    old: Signer,
    new: Signer,
    purpose: KeyPurpose,
    overlap: timedelta,
    at: Instant,
) -> tuple[Endorsement, Retirement]:
    """Sign the succession with the old key, and record both facts in the ledger in one commit."""
    record = own_key_ring(tools).get(old.key_id, at, purpose=purpose)
    rotation = rotate(record, new, at=at, overlap=overlap)
    endorsement = seal_endorsement(
        rotation.record, endorsed_by=old.key_id, signature=old.sign(endorsement_message(rotation.record))
    )
    retirement = seal_retirement(
        rotation.retirement, endorsed_by=old.key_id, signature=old.sign(retirement_message(rotation.retirement))
    )

    def work(unit: Unit) -> None:
        added = unit.record(draft_entry(tenant_id, EntryKind.KEY_ADDED, endorsement, at=at))
        unit.keys.add(endorsement, added)
        retired = unit.record(draft_entry(tenant_id, EntryKind.KEY_RETIRED, retirement, at=at))
        unit.keys.add(retirement, retired)

    tools.database.write(work)
    return endorsement, retirement
