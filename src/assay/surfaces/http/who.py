"""`/whoami`: what the node believes about whoever asks."""

from litestar import get
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Struct

from assay.flows.identity.authenticate import Authenticated
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.guard import SIGNED_IN

__all__ = ["Who", "show_who"]


class Who(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The caller: what they are, what they may reach for, and how they proved it."""

    id: str
    tenant_id: str
    kind: str
    name: str | None
    roles: tuple[str, ...]
    trust_mask: int
    action_tier: int
    risk_ceiling: str
    authenticity_level_floor: int
    via: str
    scopes: tuple[str, ...]


@get("/whoami", opt=SIGNED_IN, responses={200: described("the caller", kind=Who), **problems(401)})
async def show_who(caller: NamedDependency[Authenticated]) -> Response[Who]:
    """The principal behind the credential, with what the credential itself is good for."""
    principal = caller.principal
    who = Who(
        id=principal.id,
        tenant_id=principal.tenant_id,
        kind=principal.kind,
        name=principal.name,
        roles=principal.roles,
        trust_mask=principal.trust_mask,
        action_tier=principal.action_tier,
        risk_ceiling=principal.risk_ceiling.name,
        authenticity_level_floor=principal.authenticity_level_floor,
        via=caller.via,
        scopes=caller.scopes,
    )
    return Response(who, headers={"cache-control": "no-store"})
