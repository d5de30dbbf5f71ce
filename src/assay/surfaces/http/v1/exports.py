"""What the node said, for use elsewhere: a state, the verdicts of a record.

/claims   a ClaimBundle that any gate reads
/proof    a proof bundle with what the entry was made of; that of a verdict is `/api/v1/proofs/{sequence}`
"""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.claims.bundle import ClaimBundle
from assay.flows.claims.export_claims import export_state_claims, export_verdict_claims
from assay.flows.identity.authenticate import Authenticated
from assay.flows.truth.prove_truth import prove_truth
from assay.identity.principal import BuiltInRole
from assay.kernel.bundle import render_bundle
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.common import PREFIX, found, one_operation
from assay.surfaces.http.v1.one import answer_one

_STATE = f"{PREFIX}/states/{{key}}/claims"
_VERDICTS = f"{PREFIX}/telemetry/{{telemetry_id}}/claims"
_PROOF = "a proof bundle"


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
    f"{PREFIX}/states/{{key:str}}/proof",
    opt=allow(scope="log:read", roles=[BuiltInRole.AUDITOR, BuiltInRole.OPERATOR]),
    operation_class=one_operation(),
    responses=found(f"GET {PREFIX}/states/{{key}}/proof", dict[str, Any], 409, words=_PROOF),
)
async def show_state_proof(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], key: FromPath[str]
) -> Response[bytes]:
    """The latest state of a key with every entry it was compiled from; 409 while no checkpoint covers it."""
    name, tenant_id = path_text(key), caller.principal.tenant_id
    bundle = await desk.run(lambda: render_bundle(prove_truth(desk.tools, tenant_id, truthkey=name)))
    return answer_one(request, bundle)
