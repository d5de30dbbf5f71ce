"""PRAMANA between organisations over HTTP (section 13): what was agreed, and outcomes that come home."""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.delivery.federate import Agreement
from assay.flows.answer_once import Reply
from assay.flows.delivery.forward_outcome import Forwarded, forward_outcome
from assay.flows.delivery.peer_agreement import show_agreement
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.surfaces.http.body import read_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.pramana import PREFIX, PhalaSignal
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.change import change, find_key, reply_json
from assay.surfaces.http.v1.common import changes

__all__ = ["forward_foreign_phala", "show_peer"]


@get(
    f"{PREFIX}/peers/{{peer:str}}",
    opt=allow(scope="pramana:read", roles=SEE_ALL),
    responses={200: described("the agreement in force", kind=Agreement), **problems(401, 403, 404)},
)
async def show_peer(desk: GivenDesk, caller: NamedDependency[Authenticated], peer: FromPath[str]) -> Response[bytes]:
    """What was agreed with another organisation."""
    name = path_text(peer)
    found = await desk.run(lambda: show_agreement(desk.tools, caller.principal.tenant_id, name))
    headers = {"cache-control": "no-store"}
    return Response(msgspec.json.encode(found), media_type="application/json", headers=headers)


@post(
    f"{PREFIX}/phala/foreign",
    opt=allow(scope="pramana:report"),
    operation_class=changes(PhalaSignal),
    responses={
        201: described("what was counted here, and what waits for a person", kind=Forwarded),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def forward_foreign_phala(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """A peer forwards an outcome under its own rule ids; they are translated as agreed."""
    received, key = await read_body(request), find_key(request)

    def forward(tools: Tools) -> Reply:
        now = tools.clock.now()
        return reply_json(
            forward_outcome(tools, received, credential=credential, idempotency_key=key, at=now), status=201
        )

    return await change(request, desk, caller, received, forward, is_repeatable=True)
