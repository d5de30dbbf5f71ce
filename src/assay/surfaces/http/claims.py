"""`/claims`: bundles through the gates, what is on record about them, and evidence.

bundle -> gates -> 201 with the decision on record, whichever it is: DEFER, ESCALATE and REFUSE are answers, not errors
"""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.claims.attach_evidence import AttachedEvidence
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.gate_claims import gate_claims
from assay.flows.claims.resume_claims import require_party, resume_claims
from assay.flows.claims.show_claims import (
    ClaimsView,
    ListedClaims,
    list_claims,
    show_claims,
)
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.kernel.digest import parse_digest
from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow, whose
from assay.surfaces.http.query import PageSize, parse_query
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.claim_shapes import (
    ClaimView,
    GateBundle,
    GatedBundle,
    ResumeBundle,
    bundle_in,
    gated_answer,
    submission_of,
)
from assay.surfaces.http.v1.common import changes
from assay.surfaces.http.v1.evidence import keep_evidence

_HEADERS = {"cache-control": "no-store"}


class BundlesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one agent, or of all for whoever may see them."""

    agent: str | None = None
    limit: PageSize = 50


class BundleList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The latest first."""

    bundles: tuple[ListedClaims, ...]


@post(
    "/claims/gate",
    opt=allow(scope="claims:write"),
    operation_class=changes(GateBundle),
    responses={
        200: described("the same was decided before", kind=GatedBundle),
        201: described("decided, and on disk", kind=GatedBundle),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def gate_bundle(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Gate a bundle of the caller's own: evidence, uncertainty, security, adversarial, human approval.

    DEFER, ESCALATE and REFUSE are answers too. What is no bundle is refused with every problem, and that is recorded.
    """
    received = await read_body(request)

    def gate(tools: Tools) -> Reply:
        wanted = parse_body(GateBundle, received)
        done = gate_claims(
            tools,
            bundle_in(received),
            credential=credential,
            at=tools.clock.now(),
            reading=wanted.reading,
            submission=submission_of(wanted),
            estimator=desk.estimator,
        )
        return _gated(done)

    return await change(request, desk, caller, received, gate, is_repeatable=True)


@post(
    "/claims/{bundle_hash:str}/resume",
    opt=allow(scope="claims:write"),
    operation_class=changes(ResumeBundle),
    responses={
        200: described("nothing has changed", kind=GatedBundle),
        201: described("decided anew, and on disk", kind=GatedBundle),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def resume_bundle(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    bundle_hash: FromPath[str],
) -> Response[bytes]:
    """Gate a bundle again with what people have answered since, or put another in its place."""
    received = await read_body(request)

    def resume(tools: Tools) -> Reply:
        wanted = parse_body(ResumeBundle, received)
        done = resume_claims(
            tools,
            parse_digest(bundle_hash),
            None if wanted.bundle is None else bundle_in(received),
            credential=credential,
            at=tools.clock.now(),
            reading=wanted.reading,
            submission=submission_of(wanted),
            estimator=desk.estimator,
        )
        return _gated(done)

    return await change(request, desk, caller, received, resume, is_repeatable=True)


@get(
    "/claims/{bundle_hash:str}",
    opt=allow(scope="claims:read"),
    responses={200: described("as it stands, and how it came to", kind=ClaimView), **problems(401, 403, 404, 422)},
)
async def show_bundle(
    desk: GivenDesk, caller: NamedDependency[Authenticated], bundle_hash: FromPath[str]
) -> Response[bytes]:
    """A bundle with its decision, and every decision about it; its agent's, or of whoever may see those of others."""
    tools, principal, now = desk.tools, caller.principal, desk.tools.clock.now()

    def look() -> ClaimsView:
        wanted = parse_digest(bundle_hash)

        def read(unit: Unit) -> ClaimsView:
            require_party(unit, principal.tenant_id, wanted, principal)
            return show_claims(unit, tools, principal.tenant_id, wanted, viewer=principal, at=now)

        return tools.database.read(read)

    view = await desk.run(look)
    return answer_json({**msgspec.structs.asdict(view), "gated": gated_answer(view.gated)})


@get(
    "/claims",
    opt=allow(scope="claims:read"),
    operation_class=asks(BundlesQuery),
    responses={200: described("the latest bundles", kind=BundleList), **problems(400, 401, 403, 422)},
)
async def list_bundles(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The latest bundles, each with its decision; an agent sees its own."""
    asked = parse_query(BundlesQuery, request)
    of, tenant_id = whose(caller, asked.agent), caller.principal.tenant_id
    by = None if of is None else PrincipalId(of)

    def look(unit: Unit) -> tuple[ListedClaims, ...]:
        return list_claims(unit, tenant_id, submitted_by=by, viewer=caller.principal, limit=asked.limit)

    found = await desk.run(lambda: desk.tools.database.read(look))
    return answer_json(BundleList(bundles=found))


@post(
    "/claims/evidence",
    opt=allow(scope="claims:write"),
    operation_class=changes(),
    responses={
        200: described("the same content was there", kind=AttachedEvidence),
        201: described("kept, and on disk", kind=AttachedEvidence),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def attach_claims_evidence(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Keep the body, any bytes as `application/octet-stream`, under its SHA-256: the `evidence_hash` of a pointer."""
    return await keep_evidence(request, desk, caller, credential)


def _gated(done: GatedClaims) -> Reply:
    return reply_json(gated_answer(done), status=201 if done.is_new else 200)


def answer_json(value: object) -> Response[bytes]:
    return Response(msgspec.json.encode(value), media_type="application/json", headers=_HEADERS)
