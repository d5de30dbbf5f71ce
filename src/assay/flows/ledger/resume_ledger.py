"""Before a node writes again: the database must continue every checkpoint this node ever signed."""

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.tools import Tools
from assay.kernel.checkpoint import Checkpoint, parse_checkpoint, verify_checkpoint
from assay.kernel.ids import TenantId
from assay.kernel.key import KeyPurpose
from assay.kernel.tile import root_hash
from assay.ports.database import Unit


def resume_ledger(tools: Tools) -> None:
    """Compare the database with the checkpoints remembered outside it; refuse to go on if it lost or changed any."""
    for tenant_id in tools.checkpoints.tenants():
        note = tools.checkpoints.load(tenant_id)
        if note is not None:
            remembered = parse_checkpoint(note)
            verify_checkpoint(remembered, tools.origin_of(tenant_id), _ledger_keys(tools))
            _compare(tools, tenant_id, remembered.checkpoint)


def _compare(tools: Tools, tenant_id: TenantId, remembered: Checkpoint) -> None:
    def look(unit: Unit) -> tuple[int, bytes | None]:
        size = unit.ledger.head(tenant_id).sequence_number
        if size < remembered.size:
            return size, None
        return size, root_hash(remembered.size, lambda *place: unit.ledger.tile(tenant_id, *place))

    size, root = tools.database.read(look)
    if root is None:
        raise LedgerFlowError.rolled_back(
            f"`{tenant_id}` ends at entry {size}, but a checkpoint over {remembered.size} entries was signed"
        )
    if root != remembered.root:
        raise LedgerFlowError.forked(
            f"the first {remembered.size} entries of `{tenant_id}` are not those the checkpoint was signed for"
        )


def _ledger_keys(tools: Tools) -> list[bytes]:
    """This node's own ledger keys, past and present."""
    records = [record for known in own_key_ring(tools).records.values() for record in known]
    found = [record.raw_public_key for record in records if record.purpose is KeyPurpose.LEDGER]
    return [key for key in dict.fromkeys(found) if key is not None]
