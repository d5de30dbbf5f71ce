"""Signing in and out: a password for a session, which lives in a cookie until it ends or is ended."""

from typing import Any

from litestar import Request, get, post
from litestar.response import Response

from assay.flows.errors.identity import NotSignedInError, ThrottledError
from assay.flows.identity.sessions import UNKNOWN, LogOut, attempt_log_in, log_out
from assay.identity.session import SessionRecord
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id, parse_tenant_id
from assay.surfaces.console.page import render_page, see_other
from assay.surfaces.console.session import (
    ANYBODY,
    LOGIN_COOKIE,
    PREFIX,
    SIGNED_IN,
    Form,
    GivenVisit,
    login_token,
    read_form,
    read_login,
)
from assay.surfaces.http.cookies import end_cookie, session_cookie, short_cookie
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.sender import sender_address

_ENTROPY_BYTES = 32
_FORM_SECONDS = 3600
_REFUSAL = "Incorrect username or password."
# Nobody: a name without its form is judged, counted and refused as any other that is unknown.


@get("/login", opt=ANYBODY)
async def show_login(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The form; its token follows from a cookie that is good for nothing else."""
    return _form(request, place=_place(request.query_params.get("next", "")))


@post("/login", opt=ANYBODY, status_code=303)
async def start_session(request: Request[Any, Any, Any]) -> Response[Any]:
    """A session for whoever knows the password; one answer for everybody else, who then waits ever longer."""
    desk: Desk = request.app.state.desk
    form = await read_login(request)
    address = sender_address(request)
    place = _place(form.find("next"))
    try:
        token, record = await desk.admit(lambda: _log_in(desk, form, address))
    except NotSignedInError:
        return _form(request, place=place, refusal=_REFUSAL, status=401, who=form.find("principal"))
    except ThrottledError as error:
        words = f"Too many attempts: wait {error.seconds} seconds."
        return _form(request, place=place, refusal=words, status=429, who=form.find("principal"))
    done = see_other(place)
    done.set_cookie(session_cookie(request, token, record))
    done.set_cookie(short_cookie(request, LOGIN_COOKIE, "", seconds=0, path=PREFIX))
    return done


@post("/logout", opt=SIGNED_IN, status_code=303)
async def end_session(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[Any]:
    """The session is void from now on, whoever else may have its token."""
    await read_form(request, visit)
    await visit.desk.act(lambda: log_out(visit.desk.tools, visit.caller, LogOut()))
    done = see_other("/login")
    done.set_cookie(end_cookie(request))
    return done


def _log_in(desk: Desk, form: Form, address: str) -> tuple[str, SessionRecord]:
    tenant_id, principal_id = _who(form, desk.config.node.tenant)
    password = form.fields.get("password", "")
    return attempt_log_in(desk.tools, tenant_id, principal_id, password, address=address, at=desk.tools.clock.now())


def _who(form: Form, usual: str) -> tuple[TenantId, PrincipalId]:
    try:
        return parse_tenant_id(form.find("tenant") or usual), parse_principal_id(form.find("principal"))
    except TypeFormError:
        return parse_tenant_id(usual), UNKNOWN


def _form(
    request: Request[Any, Any, Any], *, place: str, refusal: str | None = None, status: int = 200, who: str = ""
) -> Response[bytes]:
    desk: Desk = request.app.state.desk
    secret = request.cookies.get(LOGIN_COOKIE) or desk.tools.entropy.token(_ENTROPY_BYTES).hex()
    page = render_page(
        "login.html",
        None,
        status=status,
        tenant=desk.config.node.tenant,
        login_token=login_token(secret),
        place=place,
        refusal=refusal,
        who=who,
        has_provider=desk.tools.oidc is not None,
    )
    page.set_cookie(short_cookie(request, LOGIN_COOKIE, secret, seconds=_FORM_SECONDS, path=PREFIX))
    return page


def _place(asked: str) -> str:
    """A page of ours to come back to; an address elsewhere is no such page."""
    is_ours = asked.startswith("/") and not asked.startswith(("//", "/\\", "/login", "/logout")) and asked.isprintable()
    return asked if is_ours else "/"
