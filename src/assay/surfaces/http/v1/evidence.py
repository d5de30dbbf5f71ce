"""`/api/v1/evidence`: content under its SHA-256, which pointers of claims name; `/claims/evidence` keeps it alike."""

from typing import Any

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.response import Response

from assay.flows.answer_once import Reply
from assay.flows.claims.attach_evidence import LARGEST_EVIDENCE, AttachedEvidence, attach_evidence
from assay.flows.errors.claims import EvidenceSizeError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.errors import MediaTypeError
from assay.surfaces.http.guard import allow
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import PREFIX, changes, made

_EVIDENCE = f"{PREFIX}/evidence"
_BYTES = "application/octet-stream"


@post(
    _EVIDENCE,
    opt=allow(scope="claims:write"),
    operation_class=changes(),
    responses=made(f"POST {_EVIDENCE}", AttachedEvidence, old="the same content was there"),
)
async def attach_content(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Keep the body, any bytes as `application/octet-stream`, under its SHA-256: the `evidence_hash` of a pointer."""
    return await keep_evidence(request, desk, caller, credential)


async def keep_evidence(
    request: Request[Any, Any, Any], desk: Desk, caller: Authenticated, credential: str
) -> Response[bytes]:
    """The body of a request, on disk when it is answered; 200 where the same content was there."""
    media_type, _ = request.content_type
    if media_type != _BYTES:
        raise MediaTypeError(f"expected `{_BYTES}`, got `{media_type[:80] or 'no media type'}`")
    content = await request.body()
    if len(content) > LARGEST_EVIDENCE:
        raise EvidenceSizeError(f"expected at most {LARGEST_EVIDENCE} bytes, got {len(content)}")

    def attach(tools: Tools) -> Reply:
        done = attach_evidence(tools, content, credential=credential, at=tools.clock.now())
        return reply_json(done, status=201 if done.is_new else 200)

    return await change(request, desk, caller, content, attach, is_repeatable=True)
