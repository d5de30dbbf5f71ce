"""What a person sees first: what waits for people, what was decided lately, and how far the ledger vouches for it."""

from collections import Counter

from msgspec import Struct

from assay.flows.review.show_queue import page_queue, turn_of
from assay.flows.tools import Tools
from assay.flows.verdicts.coverage import check_agreement
from assay.flows.verdicts.read_verdicts import list_verdicts
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint
from assay.ports.verdict_store import VerdictRow
from assay.review.kind import TicketKind
from assay.review.queue import QueuedTicket, QueueFilter
from assay.verdicts.agreement import Canary
from assay.verdicts.govern import Standing

# A held verdict is counted as what it is: no verdict yet.
HELD = "HELD"
_LATEST = 200
_SHOWN = 10


class LedgerStanding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many entries there are, and the newest checkpoint, which vouches for so many of them."""

    entries: int
    checkpoint: KeptCheckpoint | None

    @property
    def covered(self) -> int:
        return 0 if self.checkpoint is None else self.checkpoint.size

    @property
    def uncovered(self) -> int:
        return self.entries - self.covered


class Overview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`by_verdict` counts the latest verdicts that stand, each once; `latest` are the newest of them.

    `waiting` is every ticket that is not settled, the most urgent first; `own` are those that wait for the viewer.
    """

    waiting: tuple[QueuedTicket, ...]
    own: tuple[QueuedTicket, ...]
    by_verdict: dict[str, int]
    counted: int
    latest: tuple[VerdictRow, ...]
    agreement: Canary
    ledger: LedgerStanding

    @property
    def overdue(self) -> int:
        return sum(one.settlement.overdue for one in self.waiting)

    @property
    def fired(self) -> tuple[QueuedTicket, ...]:
        """The kill switches that fired and that nobody restored: each is a question to people."""
        return tuple(one for one in self.waiting if one.ticket.kind is TicketKind.RESTORE)


def show_overview(tools: Tools, caller: Caller) -> Overview:
    """The node at a glance, as the caller may see it."""
    tenant_id = caller.tenant_id
    rows = list_verdicts(tools, tenant_id, limit=_LATEST)
    waiting = page_queue(tools, caller, QueueFilter(), limit=None).tickets
    counts = Counter(HELD if row.standing == Standing.HELD else row.verdict for row in rows)
    return Overview(
        waiting=waiting,
        own=tuple(filter(turn_of(tools, caller), waiting)),
        by_verdict=dict(counts.most_common()),
        counted=len(rows),
        latest=rows[:_SHOWN],
        agreement=check_agreement(tools, tenant_id),
        ledger=show_ledger_standing(tools, tenant_id),
    )


def show_ledger_standing(tools: Tools, tenant_id: TenantId) -> LedgerStanding:
    def look(unit: Unit) -> LedgerStanding:
        return LedgerStanding(
            entries=unit.ledger.head(tenant_id).sequence_number,
            checkpoint=unit.ledger.find_checkpoint(tenant_id),
        )

    return tools.database.read(look)
