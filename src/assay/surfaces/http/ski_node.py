"""How the node is as a judge: `/api/health`, `/api/canary` and `/api/sovereignty`."""

from typing import Any, Literal

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Struct

from assay import __version__
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.verdicts.coverage import check_agreement
from assay.flows.verdicts.sovereignty import attest_sovereignty, is_egress_open, sovereignty_value
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.errors import NotReadyError
from assay.surfaces.http.guard import OPEN, SIGNED_IN, allow
from assay.surfaces.http.health import Readiness
from assay.verdicts.agreement import Canary

_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}


class JudgeHealth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`degraded`: the node works, and evaluates nothing; `problems` says why. It cannot work at all: 503."""

    status: Literal["ok", "degraded"]
    version: str
    specification: Literal["SKI 3.0"] = "SKI 3.0"
    runtime: Literal["v3", "v2"] = "v3"
    sovereignty: str
    problems: tuple[str, ...] = ()


@get(
    "/api/health",
    opt=OPEN,
    security=[{}],
    responses={200: described("the node works; whether it evaluates", kind=JudgeHealth), **problems()},
)
async def show_judge_health(desk: GivenDesk, readiness: NamedDependency[Readiness]) -> Response[bytes]:
    """Whether the node works and can judge; for everybody, so it tells nothing of a tenant."""
    found = await readiness.problems(desk)
    if found:
        raise NotReadyError(found)
    told = await desk.run(lambda: _degradations(desk.tools))
    health = JudgeHealth(
        status="degraded" if told else "ok",
        version=__version__,
        runtime="v2" if desk.tools.ski.is_v2 else "v3",
        sovereignty=desk.tools.ski.mode,
        problems=told,
    )
    return Response(msgspec.json.encode(health), media_type=_JSON, headers=_NO_STORE)


@get(
    "/api/canary",
    opt=allow(scope="verdicts:read"),
    responses={200: described("the agreement rate", kind=Canary), **problems(401, 403)},
)
async def show_canary(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """How often the verifier agreed with the model over the latest verdicts (SKI 9.2); it survives a restart."""
    canary = await desk.run(lambda: check_agreement(desk.tools, caller.principal.tenant_id))
    return Response(msgspec.json.encode(canary), media_type=_JSON, headers=_NO_STORE)


@get(
    "/api/sovereignty",
    opt=SIGNED_IN,
    responses={200: described("the signed document", kind=dict[str, Any]), **problems(401, 403)},
)
async def show_sovereignty(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """What evaluates here and whether it stays on the operator's ground, signed by the node's ledger key (SKI 6.4)."""
    return await _attest(desk, caller.principal.tenant_id)


@get(
    "/api/sovereignty",
    opt=OPEN,
    security=[{}],
    responses={200: described("the signed document", kind=dict[str, Any]), **problems()},
)
async def open_sovereignty_route(desk: GivenDesk) -> Response[bytes]:
    """The same of the node's own tenant for everybody, when the operator has configured `http.open_sovereignty`."""
    return await _attest(desk, parse_tenant_id(desk.config.node.tenant))


async def _attest(desk: GivenDesk, tenant_id: TenantId) -> Response[bytes]:
    signed = await desk.run(lambda: attest_sovereignty(desk.tools, tenant_id, at=desk.tools.clock.now()))
    return Response(canonicalize(sovereignty_value(signed)), media_type=_JSON, headers=_NO_STORE)


def _degradations(tools: Tools) -> tuple[str, ...]:
    told = []
    if tools.reasoner is None and not tools.ski.is_v2:
        told.append("verdict.no_model")
    if is_egress_open(tools):
        told.append("sovereignty.egress")
    return tuple(told)
