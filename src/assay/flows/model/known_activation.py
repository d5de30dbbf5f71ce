"""The activation of a model, believed only as far as the ledger says the same.

row of the weight registry -> the entry that it names -> the same weights, ticket, person and time | store.damaged
"""

import msgspec

from assay.flows.ledger.in_force import require_newest
from assay.flows.model.model_entry import ModelActivated
from assay.kernel.digest import digest_of
from assay.kernel.entry import parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.model_store import ModelActivation


def find_activation(unit: Unit, tenant_id: TenantId) -> ModelActivation | None:
    """The latest; None where no other model than the shipped one ever came into use.

    A row that was changed, or put there by nobody's answer, puts no weights into use: it is refused. Each activation
    must also follow on the one before it, so that none between them is missing, and the last be the ledger's newest.
    """
    rows = unit.models.activations(tenant_id)
    require_newest(unit, tenant_id, EntryKind.MODEL_ACTIVATED, rows[-1].sequence_number if rows else None)
    for before, row in zip((None, *rows), rows, strict=False):
        if before is not None and before.weight_hash != row.before_hash:
            raise DamagedRecordError(
                f"expected activation {row.sequence_number} in place of {before.weight_hash}, got {row.before_hash}"
            )
        _require_recorded(unit, tenant_id, row)
    return rows[-1] if rows else None


def _require_recorded(unit: Unit, tenant_id: TenantId, row: ModelActivation) -> None:
    stored = unit.ledger.find_entry(tenant_id, row.sequence_number)
    if stored is None or digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {row.sequence_number} beside an activation, got none that holds")
    entry = parse_entry(stored.text)
    said = ModelActivated(
        weight_hash=row.weight_hash, before_hash=row.before_hash, ticket_id=row.ticket_id, activated_by=row.by
    )
    is_same = entry.kind is EntryKind.MODEL_ACTIVATED and parse_instant(stored.timestamp) == row.activated_at
    if not is_same or _read(bytes(entry.body)) != said:
        raise DamagedRecordError(f"expected an activation to say what entry {row.sequence_number} says, got another")


def _read(body: bytes) -> ModelActivated | None:
    try:
        return msgspec.json.decode(body, type=ModelActivated)
    except msgspec.MsgspecError:
        return None
