"""Before a window decides: whether the records it looks back at are what the ledger's entries hold.

rows of the buffer -> those not compared before -> the entry of each record's first verdict -> its values, one by one
A row is a short cut to an entry. Whoever can write to the database can write a row; the entry is in a signed chain.
"""

from collections.abc import Sequence

from assay.flows.tools import Tools
from assay.flows.verdicts.ledger_memory import KeptRecord
from assay.flows.verdicts.verdict_row import ForgedRowError, find_judged, find_known_record
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.telemetry_store import BufferedText
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.window_fact import buffer_record


def vouch_buffer(unit: Unit, tools: Tools, tenant_id: TenantId, rows: Sequence[BufferedText]) -> None:
    """Raise `verdict.row_differs` for the first record that no entry holds so; each is compared once in a process.

    A row that was taken away is not missed here: an audit and every replay walk the entries themselves.
    """
    unseen = [row for row in tools.vouched.unseen(tenant_id, rows) if isinstance(row, BufferedText)]
    for row in unseen:
        if not _is_recorded(unit, tenant_id, row):
            named = ascii(row.telemetry_id)[1:-1][:80]
            raise ForgedRowError(f"expected `{named}` in `telemetry_buffer` as its entry has it, got another")
    if unseen:
        tools.vouched.add(tenant_id, unseen)


def _is_recorded(unit: Unit, tenant_id: TenantId, row: BufferedText) -> bool:
    known = find_known_record(unit, tenant_id, row.telemetry_id)
    stored = None if known is None else unit.ledger.find_entry(tenant_id, known.sequence_number)
    try:
        judged = None if stored is None else find_judged(stored)
        if judged is None or judged.row.subject != row.subject:
            return False
        kept = KeptRecord(judged.row.sequence_number, buffer_record(parse_telemetry(judged.telemetry)))
    except Error:
        return False
    return kept.is_held_by(row)
