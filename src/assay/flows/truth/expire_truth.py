"""Time passes: states whose validity ended become EXPIRED, and keys whose window is over get their final state.

states that are due, and no others -> each key compiled at this time, one commit each
"""

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import compile_truth
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError


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
    for truthkey in tools.database.read(lambda unit: [silver.truthkey for silver in unit.truth.due(tenant_id, at)]):
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
