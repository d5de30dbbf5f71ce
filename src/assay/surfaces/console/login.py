"""Signing in and out: a password for a session, which lives in a cookie until it ends or is ended."""

from typing import Any

from litestar import Request, get, post
from litestar.response import Response

from assay.flows.errors import NotSignedInError
from assay.flows.log_in import log_in
from assay.flows.log_out import log_out
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import parse_principal_id, parse_tenant_id
from assay.surfaces.console.page import render_page, see_other
from assay.surfaces.console.session import (
    ANYBODY,
    LOGIN_COOKIE,
    SESSION_COOKIE,
    SIGNED_IN,
    Form,
    GivenVisit,
    form_token,
    page_cookie,
    read_form,
)
from assay.surfaces.http.desk import Desk

__all__ = ["end_session", "show_login", "start_session"]

_ENTROPY_BYTES = 32
_REFUSAL = "No such person of this tenant, or another password."


@get("/login", opt=ANYBODY)
async def show_login(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The form; its token follows from a cookie that is good for nothing else."""
    return _form(request, place=_place(request.query_params.get("next", "")))


@post("/login", opt=ANYBODY, status_code=303)
async def start_session(request: Request[Any, Any, Any]) -> Response[Any]:
    """A session for whoever knows the password; one answer for everybody else."""
    desk: Desk = request.app.state.desk
    form = await read_form(request, request.cookies.get(LOGIN_COOKIE, ""))
    try:
        token, record = await desk.act(lambda: _log_in(desk, form))
    except (NotSignedInError, TypeFormError):
        return _form(request, place=_place(form.find("next")), refusal=_REFUSAL, who=form.find("principal"))
    done = see_other(_place(form.find("next")))
    seconds = int((record.expires_at - record.issued_at).total_seconds())
    done.set_cookie(page_cookie(request, SESSION_COOKIE, token, seconds=seconds))
    done.set_cookie(page_cookie(request, LOGIN_COOKIE, "", seconds=0))
    return done


@post("/logout", opt=SIGNED_IN, status_code=303)
async def end_session(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[Any]:
    """The session is void from now on, whoever else may have its token."""
    await read_form(request, visit.token)
    await visit.desk.act(lambda: log_out(visit.desk.tools, visit.token, at=visit.desk.tools.clock.now()))
    done = see_other("/login")
    done.set_cookie(page_cookie(request, SESSION_COOKIE, "", seconds=0))
    return done


def _log_in(desk: Desk, form: Form) -> Any:  # noqa: ANN401  as the flow has it
    return log_in(
        desk.tools,
        parse_tenant_id(form.find("tenant") or desk.config.node.tenant),
        parse_principal_id(form.get("principal")),
        form.fields.get("password", ""),
        at=desk.tools.clock.now(),
    )


def _form(request: Request[Any, Any, Any], *, place: str, refusal: str | None = None, who: str = "") -> Response[bytes]:
    desk: Desk = request.app.state.desk
    secret = request.cookies.get(LOGIN_COOKIE) or desk.tools.entropy.token(_ENTROPY_BYTES).hex()
    page = render_page(
        "login.html",
        None,
        status=200 if refusal is None else 401,
        tenant=desk.config.node.tenant,
        login_token=form_token(secret),
        place=place,
        refusal=refusal,
        who=who,
    )
    page.set_cookie(page_cookie(request, LOGIN_COOKIE, secret))
    return page


def _place(asked: str) -> str:
    """A page of ours to come back to; an address elsewhere is no such page."""
    is_ours = asked.startswith("/") and not asked.startswith(("//", "/\\", "/login", "/logout")) and asked.isprintable()
    return asked if is_ours else "/"
