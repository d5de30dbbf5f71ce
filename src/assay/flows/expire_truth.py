"""Time passes: states whose validity ended become EXPIRED, and keys whose window is over get their final state.

Gold + open validation tickets -> keys that are due -> each compiled at this time, one commit each
"""

from msgspec import Struct

from assay.flows.compile_truth import compile_truth
from assay.flows.released import get_contract, read_contract
from assay.flows.show_truth import is_past_validity
from assay.flows.tools import Tools
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.truth.contract import Contract
from assay.truth.status import TruthStatus

__all__ = ["Aged", "StuckKey", "expire_truth"]


class StuckKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that could not be compiled, and why; the next sweep tries again."""

    truthkey: str
    code: str
    problem: str


class Aged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one sweep compiled, and what it could not."""

    compiled: tuple[str, ...]
    stuck: tuple[StuckKey, ...]


def expire_truth(tools: Tools, tenant_id: TenantId, *, at: Instant) -> Aged:
    """Compile what is due; one key that cannot be compiled holds up no other."""
    compiled: list[str] = []
    stuck: list[StuckKey] = []
    for truthkey in tools.database.read(lambda unit: _find_due(unit, tools, tenant_id, at)):
        try:
            done = compile_truth(tools, tenant_id, truthkey, at=at)
        except Error as error:
            # A database that cannot write will not write the next one either; that is for the caller to hear.
            if error.blame is Blame.OURS and not isinstance(error, DamagedRecordError):
                raise
            stuck.append(StuckKey(truthkey=truthkey, code=error.code, problem=str(error)))
            continue
        if done.is_new:
            compiled.append(truthkey)
    return Aged(compiled=tuple(compiled), stuck=tuple(stuck))


def _find_due(unit: Unit, tools: Tools, tenant_id: TenantId, at: Instant) -> list[str]:
    due = {
        ticket.about
        for ticket in unit.review.tickets(tenant_id, unsettled_only=True)
        if ticket.kind is TicketKind.VALIDATION and ticket.due_at is not None and at >= ticket.due_at
    }
    contracts: dict[str, Contract] = {}
    for silver in unit.truth.gold(tenant_id):
        if silver.status in (TruthStatus.EXPIRED, TruthStatus.UNVERIFIED):
            continue
        if silver.claim_type not in contracts:
            released = get_contract(unit, tenant_id, silver.claim_type)
            contracts[silver.claim_type] = read_contract(released.document, released.schema_text, tools.domain_systems)
        if is_past_validity(contracts[silver.claim_type], silver.truthkey, at):
            due.add(silver.truthkey)
    return sorted(key for key in due if key is not None)
