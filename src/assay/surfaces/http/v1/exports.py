"""What the node said, as a ClaimBundle that any gate reads: a state, the verdicts of a record, an answer."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.claims.bundle import ClaimBundle
from assay.flows.claims.export_claims import export_answer_claims, export_state_claims, export_verdict_claims
from assay.flows.identity.authenticate import Authenticated
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.common import PREFIX, found, one_operation
from assay.surfaces.http.v1.one import answer_one

__all__ = ["export_answer", "export_state", "export_verdicts"]

_STATE = f"{PREFIX}/states/{{key}}/claims"
_VERDICTS = f"{PREFIX}/telemetry/{{telemetry_id}}/claims"
_ANSWER = f"{PREFIX}/answers/{{answer_id}}/claims"


@get(
    f"{PREFIX}/states/{{key:str}}/claims",
    opt=allow(scope="truth:read"),
    operation_class=one_operation(),
    responses=found(f"GET {_STATE}", ClaimBundle),
)
async def export_state(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], key: FromPath[str]
) -> Response[bytes]:
    """The latest state of a key as a FACT with its evidence, as sure as it is now; made anew by each request."""
    name, tenant_id, now = path_text(key), caller.principal.tenant_id, desk.tools.clock.now()
    return answer_one(request, await desk.run(lambda: export_state_claims(desk.tools, tenant_id, name, at=now)))


@get(
    f"{PREFIX}/telemetry/{{telemetry_id:str}}/claims",
    opt=allow(scope="verdicts:read", roles=SEE_ALL),
    operation_class=one_operation(),
    responses=found(f"GET {_VERDICTS}", ClaimBundle),
)
async def export_verdicts(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    telemetry_id: FromPath[str],
) -> Response[bytes]:
    """The verdicts of a record as INFERENCE that cites the clauses; made anew by each request."""
    name, tenant_id, now = path_text(telemetry_id), caller.principal.tenant_id, desk.tools.clock.now()
    return answer_one(request, await desk.run(lambda: export_verdict_claims(desk.tools, tenant_id, name, at=now)))


@get(
    f"{PREFIX}/answers/{{answer_id:str}}/claims",
    opt=allow(scope="pramana:read"),
    operation_class=one_operation(),
    responses=found(f"GET {_ANSWER}", ClaimBundle),
)
async def export_answer(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    answer_id: FromPath[str],
) -> Response[bytes]:
    """The claims that an answer was gated by, for its asker, unless it is withheld; made anew by each request."""
    name, person, now = path_text(answer_id), caller.principal, desk.tools.clock.now()
    bundle = await desk.run(lambda: export_answer_claims(desk.tools, person.tenant_id, name, viewer=person, at=now))
    return answer_one(request, bundle)
