"""Which weights a node judges by, from what people decided and the ledger has, and never from the file itself.

newest activation -> what the node was founded with -> the newest verdict; none: nothing was judged
"""

from itertools import pairwise

from assay.flows.ledger.in_force import require_newest
from assay.flows.tools import Tools
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.model_store import ModelActivation


def find_activation(unit: Unit, tenant_id: TenantId) -> ModelActivation | None:
    """Return the activation in force; None where no other model than the shipped one ever came into use.

    Each must follow on the one before it, so that none between them is missing, and the last be the ledger's newest.
    """
    rows = unit.models.activations(tenant_id)
    require_newest(unit, tenant_id, EntryKind.MODEL_ACTIVATED, rows[-1].sequence_number if rows else None)
    for before, row in pairwise(rows):
        if before.weight_hash != row.before_hash:
            raise DamagedRecordError(
                f"expected activation {row.sequence_number} in place of {before.weight_hash}, got {row.before_hash}"
            )
    return rows[-1] if rows else None


def find_known_weights(tools: Tools, tenant_id: TenantId, *, pinned: Digest | None) -> Digest | None:
    """The weights to judge by: those that people activated, else those `pinned` in a file, else the last ones."""

    def look(unit: Unit) -> Digest | None:
        active = find_activation(unit, tenant_id)
        if active is not None:
            return parse_digest(active.weight_hash)
        return pinned or judged_by(unit, tenant_id)

    return tools.database.read(look)


def judged_by(unit: Unit, tenant_id: TenantId) -> Digest | None:
    """Return the weights of the newest verdict."""
    for row in unit.verdicts.page(tenant_id, limit=1):
        entry = unit.ledger.find_entry(tenant_id, row.sequence_number)
        if entry is not None and entry.model_weight_hash is not None:
            return parse_digest(entry.model_weight_hash)
    return None
