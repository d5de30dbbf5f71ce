"""The proof of a state: a proof bundle with what its entry was made of."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.identity.authenticate import Authenticated
from assay.flows.truth.prove_truth import prove_truth
from assay.identity.principal import BuiltInRole
from assay.kernel.bundle import render_bundle
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.common import PREFIX, found, one_operation
from assay.surfaces.http.v1.one import answer_one

_PROOF = "a proof bundle"


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
