"""Replace a key of the node: the old one vouches for the new one, and both are valid for a while; or end it early."""

from datetime import timedelta

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.own_keys import own_key_ring, own_signers
from assay.flows.tools import Tools
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import (
    Endorsement,
    KeyPurpose,
    Retirement,
    RetirementDraft,
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


def end_key(tools: Tools, tenant_id: TenantId, key_id: KeyId, *, reason: str, at: Instant) -> Retirement:
    """End a key of the node now, before its overlap is over; the ledger key in use signs its end.

    What it signed before stays valid. A key in use is refused (`key.in_use`): it is replaced first.
    """
    if any(signer.key_id == key_id for _, signer in own_signers(tools)):
        raise LedgerFlowError.key_in_use(f"`{key_id}` is in use: replace it first with `assay key rotate`, then end it")
    own_key_ring(tools).get(key_id, at)
    draft = RetirementDraft(key_id=key_id, valid_until=at, reason=reason)
    signer = tools.ledger_signer
    retirement = seal_retirement(draft, endorsed_by=signer.key_id, signature=signer.sign(retirement_message(draft)))

    def work(unit: Unit) -> None:
        unit.keys.add(retirement, unit.record(draft_entry(tenant_id, EntryKind.KEY_RETIRED, retirement, at=at)))

    tools.database.write(work)
    return retirement
