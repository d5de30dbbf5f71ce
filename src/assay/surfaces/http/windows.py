"""`/windows`: the frame in which votes on a key count is opened, extended, closed or aborted."""

from typing import Any

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import Moment
from assay.flows.tools import Tools
from assay.flows.truth.change_window import ChangedWindow, change_window
from assay.identity.principal import BuiltInRole
from assay.kernel.instant import parse_instant, render_instant
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.truth import state_value
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.truth.window import WindowEventKind


class WindowRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`closes_at` where a window is opened or extended, and at no other event."""

    truthkey: str
    kind: WindowEventKind
    closes_at: Moment | None = None
    reason: str = ""


class WindowReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signed event's entry, and the key's state with it.

    Without a state the key is not compiled yet, and `code` and `problem` say why; the event stands all the same.
    """

    event_id: str
    truthkey: str
    kind: WindowEventKind
    by: str
    occurred_at: str
    closes_at: str | None
    sequence_number: int
    version: int | None = None
    state: dict[str, Any] | None = None
    code: str | None = None
    problem: str | None = None


@post(
    "/windows",
    opt=allow(scope="truth:write", roles=[BuiltInRole.OPERATOR, BuiltInRole.REVIEWER]),
    operation_class=changes(WindowRequest),
    responses={
        201: described("on disk; the key's state with it", kind=WindowReceipt),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def change_key_window(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """An operator, or a reviewer where the contract leaves the decision to peers; the ticket follows the window."""
    received = await read_body(request)

    def move(tools: Tools) -> Reply:
        wanted = parse_body(WindowRequest, received)
        closes_at = None if wanted.closes_at is None else parse_instant(wanted.closes_at)
        done = change_window(
            tools,
            wanted.truthkey,
            wanted.kind,
            closes_at=closes_at,
            reason=wanted.reason,
            credential=credential,
            at=tools.clock.now(),
        )
        is_new = done.compiled is not None and done.compiled.is_new
        desk.metrics.states.labels(tenant=caller.principal.tenant_id, cause="request").inc(is_new)
        return reply_json(_receipt(done), status=201)

    return await change(request, desk, caller, received, move)


def _receipt(done: ChangedWindow) -> WindowReceipt:
    event, compiled = done.event, done.compiled
    return WindowReceipt(
        event_id=event.event_id,
        truthkey=event.truthkey,
        kind=event.kind,
        by=event.by,
        occurred_at=render_instant(event.occurred_at),
        closes_at=None if event.closes_at is None else render_instant(event.closes_at),
        sequence_number=done.sequence_number,
        version=None if compiled is None else compiled.version,
        state=None if compiled is None else state_value(compiled.state),
        code=done.code,
        problem=done.problem,
    )
