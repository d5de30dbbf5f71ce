"""Intake is refused while the clock is behind the ledger: a record far older than the newest entry has a wrong date."""

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.ports.database import Unit


def verify_clock(unit: Unit, tools: Tools, tenant_id: TenantId, at: Instant) -> None:
    """Raise where the newest entry is dated after `at` by more than the node allows for.

    A wrong date of receipt would be on record for ever. Compiling goes on: its time is an argument.
    """
    newest = unit.ledger.find_entry(tenant_id, unit.ledger.head(tenant_id).sequence_number)
    if newest is not None and parse_instant(newest.timestamp) - at > tools.clock_skew:
        raise LedgerFlowError.clock_behind(
            f"expected a time from {newest.timestamp} on, that of the newest entry, give or take {tools.clock_skew},"
            f" got {render_instant(at)}: set the machine's clock; if it was ahead before and is right now, say so with"
            " `assay ledger append`, and intake goes on after that entry"
        )
