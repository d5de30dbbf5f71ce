"""`/auth`: a person logs in with a password, sees their session, and logs out.

A browser gets a cookie, and a token to send beside it; a program asks for the session token itself.
"""

from datetime import timedelta
from typing import Annotated, Any, Literal

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Meta, Struct

from assay.flows.identity.authenticate import Authenticated
from assay.flows.identity.sessions import UNKNOWN, LogOut, Who, WhoAmI, attempt_log_in, log_out
from assay.identity.browser import csrf_token
from assay.identity.session import LONGEST_SESSION_LIFETIME, SessionRecord
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id, parse_tenant_id
from assay.kernel.instant import render_instant
from assay.operations.identity import CALLER_SHOW
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.cookies import end_cookie, session_cookie
from assay.surfaces.http.describe import described, problems, takes
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import IN_SESSION, OPEN
from assay.surfaces.http.sender import sender_address
from assay.surfaces.http.v1.derive import opt_of

_NO_STORE = {"cache-control": "no-store"}
_LONGEST_SECONDS = int(LONGEST_SESSION_LIFETIME.total_seconds())


class LoginRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who, and the password. `to` a `cookie` for a browser, or a `token` for a program."""

    principal_id: str
    password: str
    tenant_id: str | None = None
    to: Literal["cookie", "token"] = "cookie"
    lifetime_seconds: Annotated[int, Meta(ge=1, le=_LONGEST_SECONDS)] = 900


class LoggedIn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new session. `csrf_token` goes with every change that the cookie proves; a token needs none."""

    session_id: str
    principal_id: str
    tenant_id: str
    expires_at: str
    csrf_token: str | None
    session_token: str | None


class SessionView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The session that asks; its pages read their `csrf_token` here."""

    session_id: str
    principal_id: str
    tenant_id: str
    csrf_token: str


class LoggedOut(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session_id: str
    ended_at: str


@post(
    "/auth/login",
    status_code=200,
    opt=OPEN,
    security=[{}],
    operation_class=takes(LoginRequest),
    responses={200: described("the session", kind=LoggedIn), **problems(400, 401, 413, 415, 422, 429, 503)},
)
async def start_session(request: Request[Any, Any, Any], desk: GivenDesk) -> Response[LoggedIn]:
    """A session for whoever knows the password; each failure makes the next attempt wait longer."""
    asked = parse_body(LoginRequest, await read_body(request))
    tenant_id, principal_id = _who(asked, desk.config.node.tenant)
    address = sender_address(request)
    lifetime = timedelta(seconds=asked.lifetime_seconds)
    token, record = await desk.admit(
        lambda: attempt_log_in(
            desk.tools,
            tenant_id,
            principal_id,
            asked.password,
            address=address,
            lifetime=lifetime,
            at=desk.tools.clock.now(),
        )
    )
    if asked.to == "token":
        return Response(_logged_in(record, session_token=token, csrf=None), headers=_NO_STORE)
    answer = Response(_logged_in(record, session_token=None, csrf=csrf_token(token)), headers=_NO_STORE)
    answer.set_cookie(session_cookie(request, token, record))
    return answer


@get(
    "/auth/session",
    opt=IN_SESSION,
    responses={200: described("the session", kind=SessionView), **problems(401, 403)},
)
async def show_session(
    caller: NamedDependency[Authenticated], credential: NamedDependency[str]
) -> Response[SessionView]:
    """The session behind this request. Other sites can make a browser ask, and cannot read the answer."""
    view = SessionView(
        session_id=caller.credential_id,
        principal_id=caller.principal.id,
        tenant_id=caller.principal.tenant_id,
        csrf_token=csrf_token(credential),
    )
    return Response(view, headers=_NO_STORE)


@post(
    "/auth/logout",
    status_code=200,
    opt=IN_SESSION,
    responses={200: described("the end of the session", kind=LoggedOut), **problems(400, 401, 403)},
)
async def end_session(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[LoggedOut]:
    """The session is void from now on, whoever else may have its token."""
    ended = await desk.act(lambda: log_out(desk.tools, caller, LogOut()))
    told = LoggedOut(session_id=ended.session_id, ended_at=render_instant(ended.revoked_at))
    answer = Response(told, headers=_NO_STORE)
    answer.set_cookie(end_cookie(request))
    return answer


def _who(asked: LoginRequest, usual: str) -> tuple[TenantId, PrincipalId]:
    """Names without their form are nobody's: one answer for all that is wrong about who asks."""
    try:
        return parse_tenant_id(asked.tenant_id or usual), parse_principal_id(asked.principal_id)
    except TypeFormError:
        return parse_tenant_id(usual), UNKNOWN


def _logged_in(record: SessionRecord, *, session_token: str | None, csrf: str | None) -> LoggedIn:
    return LoggedIn(
        session_id=record.id,
        principal_id=record.principal_id,
        tenant_id=record.tenant_id,
        expires_at=render_instant(record.expires_at),
        csrf_token=csrf,
        session_token=session_token,
    )


@get("/whoami", opt=opt_of(CALLER_SHOW), responses={200: described("the caller", kind=Who), **problems(401)})
async def show_who(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[Who]:
    """Show the principal behind the credential, with what the credential itself is good for."""
    return Response((await desk.perform(CALLER_SHOW, caller, WhoAmI())).value, headers=_NO_STORE)
