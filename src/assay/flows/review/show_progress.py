"""How reviewers get on: each sees their own figures, and those who look after the desk everybody's."""

from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.lease import live_leases
from assay.review.progress import Progress, measure_progress
from assay.review.sight import STEWARDS

__all__ = ["show_progress"]

_READERS = (*STEWARDS, BuiltInRole.AUDITOR)


def show_progress(tools: Tools, tenant_id: TenantId, *, viewer: Principal | None, at: Instant) -> tuple[Progress, ...]:
    """By name; None is the operator of the folder. Whoever has answered nothing yet is among their own."""

    def look(unit: Unit) -> tuple[Progress, ...]:
        names = unit.review.reviewers(tenant_id) if viewer is None or has_role(viewer, _READERS) else (viewer.id,)
        return tuple(_progress(unit, tenant_id, name, at) for name in names)

    return tools.database.read(look)


def _progress(unit: Unit, tenant_id: TenantId, by: PrincipalId, at: Instant) -> Progress:
    return measure_progress(
        by,
        unit.review.answers_by(tenant_id, by),
        open_leases=len(live_leases(unit.desk.leases_of(tenant_id, by), at)),
        held=len(unit.desk.held_of(tenant_id, by)),
    )
