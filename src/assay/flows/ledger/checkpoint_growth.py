"""Sign a checkpoint of every ledger that has grown since its last one."""

from contextlib import suppress
from dataclasses import dataclass

from assay.flows.ledger.cosign_checkpoint import cosign_checkpoint
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAttempt:
    """What became of one ledger: the size signed, or why none was."""

    tenant_id: TenantId
    size: int | None = None
    error: Error | None = None


def checkpoint_growth(tools: Tools, *, at: Instant) -> tuple[CheckpointAttempt, ...]:
    """One attempt per grown ledger; a witness that refuses one does not keep the others from theirs."""
    return tuple(_attempt(tools, tenant_id, at) for tenant_id in tools.database.read(_grown))


def _grown(unit: Unit) -> list[TenantId]:
    def is_grown(tenant_id: TenantId) -> bool:
        kept = unit.ledger.find_checkpoint(tenant_id)
        return unit.ledger.head(tenant_id).sequence_number > (kept.size if kept else 0)

    return [tenant_id for tenant_id in unit.ledger.tenants() if is_grown(tenant_id)]


def _attempt(tools: Tools, tenant_id: TenantId, at: Instant) -> CheckpointAttempt:
    try:
        return CheckpointAttempt(tenant_id=tenant_id, size=sign_checkpoint(tools, tenant_id, at=at).checkpoint.size)
    except Error as error:
        return CheckpointAttempt(tenant_id=tenant_id, error=error)


def ask_witnesses(tools: Tools) -> None:
    """Show the newest checkpoint of every ledger to the witnesses again, as a server does when it starts.

    A folder that was rolled back as a whole continues everything that it remembers; the witnesses remember more.
    """
    for tenant_id in tools.database.read(lambda unit: unit.ledger.tenants()) if tools.witnesses else ():
        kept = tools.checkpoints.load(tenant_id)
        if kept is not None:
            # What was found is in `tools.standing`; a witness that gives no answer says nothing.
            with suppress(Error):
                cosign_checkpoint(tools, tenant_id, parse_checkpoint(kept))
