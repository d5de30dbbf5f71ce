"""The first act of a new node: its keys become facts in its own ledger; the truth key when it is first needed."""

from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import Endorsement, KeyPurpose, endorsement_message, record_for, seal_endorsement
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Unit
from assay.ports.signer import Signer


def found_node(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[Endorsement, ...]:
    """The ledger key vouches for itself and for the others; whoever trusts it can follow from there."""
    endorsements = (
        endorse(tools, tools.ledger_signer, KeyPurpose.LEDGER, at),
        endorse(tools, tools.review_signer, KeyPurpose.REVIEW, at),
        endorse(tools, tools.transcript_signer, KeyPurpose.TRANSCRIPT, at),
    )

    def work(unit: Unit) -> None:
        for endorsement in endorsements:
            record_key(unit, tenant_id, endorsement, at=at)

    tools.database.write(work)
    return endorsements


def record_key(unit: Unit, tenant_id: TenantId, endorsement: Endorsement, *, at: Instant) -> None:
    receipt = unit.record(draft_entry(tenant_id, EntryKind.KEY_ADDED, endorsement, at=at))
    unit.keys.add(endorsement, receipt)


def endorse(tools: Tools, holder: Signer, purpose: KeyPurpose, at: Instant) -> Endorsement:
    """The ledger key's word for another key of this node."""
    record = record_for(holder, purpose=purpose, valid_from=at)
    endorser = tools.ledger_signer
    return seal_endorsement(record, endorsed_by=endorser.key_id, signature=endorser.sign(endorsement_message(record)))
