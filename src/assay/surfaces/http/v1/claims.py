"""`/api/v1/claims`: bundles through the gates, and every decision about them."""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.answer_once import Reply
from assay.flows.claims.gate_claims import gate_claims
from assay.flows.claims.resume_claims import require_party, resume_claims
from assay.flows.claims.show_claims import ListedClaims, list_claims, show_claims
from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import etag_of, read_number
from assay.flows.tools import Tools
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.guard import allow, whose
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.claim_shapes import (
    BUNDLE_EXAMPLE,
    ClaimPage,
    ClaimView,
    GateBundle,
    GatedBundle,
    ResumeBundle,
    bundle_in,
    gated_answer,
    submission_of,
)
from assay.surfaces.http.v1.common import (
    PREFIX,
    PageQuery,
    changes,
    found,
    lists,
    lists_operation,
    made,
    one_operation,
)
from assay.surfaces.http.v1.one import answer_one, answer_page, require_match
from assay.surfaces.http.v1.page import cut

_READ, _WRITE = allow(scope="claims:read"), allow(scope="claims:write")
_CLAIMS = f"{PREFIX}/claims"
_NEWEST = 2**53 - 1
_MATCH = {"If-Match": "the ETag of the bundle as it was read: 412 where it changed since"}


class ClaimsQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one agent, or of all for whoever may see them."""

    agent: str | None = None


@get(
    _CLAIMS,
    opt=_READ,
    operation_class=lists_operation(ClaimsQuery),
    responses=lists(f"GET {_CLAIMS}", ClaimPage),
)
async def list_bundles(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Bundles, the newest first, each with its decision; an agent sees its own."""
    wanted = parse_query(ClaimsQuery, request)
    of, tenant_id = whose(caller, wanted.agent), caller.principal.tenant_id
    by = None if of is None else PrincipalId(of)
    before = read_number("claims", wanted.cursor, start=_NEWEST)

    def look(unit: Unit) -> tuple[tuple[ListedClaims, ...], str | None]:
        rows = list_claims(
            unit, tenant_id, submitted_by=by, viewer=caller.principal, before=before, limit=wanted.limit + 1
        )
        page, following = cut("claims", rows, wanted.limit, lambda row: row.sequence_number)
        return tuple(page), following

    items, following = await desk.run(lambda: desk.tools.database.read(look))
    return answer_page(request, ClaimPage(items=items, next=following))


@get(
    f"{_CLAIMS}/{{bundle_hash:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_CLAIMS}/{{bundle_hash}}", ClaimView),
)
async def show_bundle(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    bundle_hash: FromPath[str],
) -> Response[bytes]:
    """A bundle as it stands, with every decision about it; its agent's, or of whoever may see those of others."""
    return answer_one(request, await desk.run(lambda: _view(desk, caller, parse_digest(bundle_hash))))


@post(
    _CLAIMS,
    opt=_WRITE,
    operation_class=changes(GateBundle, example=BUNDLE_EXAMPLE),
    responses=made(f"POST {_CLAIMS}", GatedBundle, old="the same was decided before"),
)
async def gate_bundle(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Gate a bundle of the caller's own. DEFER, ESCALATE and REFUSE are answers, and on record like a PUBLISH."""
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
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
        return reply_json(
            gated_answer(done), status=201 if done.is_new else 200, location=f"{_CLAIMS}/{done.bundle_hash}"
        )

    return await change(request, desk, caller, received, work, is_repeatable=True)


@post(
    f"{_CLAIMS}/{{bundle_hash:str}}/resume",
    opt=_WRITE,
    operation_class=changes(ResumeBundle, example={}, headers=_MATCH),
    responses=made(f"POST {_CLAIMS}/{{bundle_hash}}/resume", GatedBundle, 412, old="nothing has changed"),
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

    def work(tools: Tools) -> Reply:
        wanted, name = parse_body(ResumeBundle, received), parse_digest(bundle_hash)
        if "if-match" in request.headers:
            require_match(request, etag_of(_view(desk, caller, name)))
        done = resume_claims(
            tools,
            name,
            None if wanted.bundle is None else bundle_in(received),
            credential=credential,
            at=tools.clock.now(),
            reading=wanted.reading,
            submission=submission_of(wanted),
            estimator=desk.estimator,
        )
        return reply_json(gated_answer(done), status=201 if done.is_new else 200)

    return await change(request, desk, caller, received, work, is_repeatable=True)


def _view(desk: Desk, caller: Authenticated, name: Digest) -> bytes:
    tools, principal, now = desk.tools, caller.principal, desk.tools.clock.now()

    def look(unit: Unit) -> ClaimView:
        require_party(unit, principal.tenant_id, name, principal)
        view = show_claims(unit, tools, principal.tenant_id, name, viewer=principal, at=now)
        return ClaimView(
            gated=gated_answer(view.gated),
            decisions=view.decisions,
            submitted_by=view.submitted_by,
            received_at=view.received_at,
            resumes=view.resumes,
            successor=view.successor,
        )

    return msgspec.json.encode(tools.database.read(look))
