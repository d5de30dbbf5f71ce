"""What came into force last, by a row: believed only while the ledger has no later entry of its kind.

row -> its number | the newest entry of the kind -> the same, or `store.damaged_record`
Whoever deletes the newest row would bring back what was in force before it; the entry is in a signed chain and stays.
"""

from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit


def require_newest(unit: Unit, tenant_id: TenantId, kind: EntryKind, sequence_number: int | None) -> None:
    """Raise where a later entry of the kind has no row; None is the number of no row at all."""
    newest = unit.ledger.find_latest(tenant_id, kind)
    if newest is not None and (sequence_number is None or sequence_number < newest):
        got = "none" if sequence_number is None else f"that of entry {sequence_number}"
        raise DamagedRecordError(f"expected the row of entry {newest}, the newest `{kind}`, got {got}")
