"""Which weights a node judges by, from what people decided and the ledger has, and never from the file itself.

activation, as its entry has it -> what the node was founded with -> the newest verdict; none: nothing was judged
"""

from assay.flows.model.known_activation import find_activation
from assay.flows.tools import Tools
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import TenantId
from assay.ports.database import Unit


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
