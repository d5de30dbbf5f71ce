"""Who looks at a page: a session in a cookie that no script reads, and a token in every form.

cookie -> authenticate -> a person's session -> role -> Visit;   form -> its token -> what it asks for
The cookie and its token are those of the API (`surfaces.http.cookies`): whoever signs in there is signed in here.
"""

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import SkipValidation
from msgspec import Struct
from msgspec.structs import replace

from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.authenticate import Authenticated, authenticate, require_session
from assay.identity.browser import csrf_token
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.trace import TRACE_BYTES, new_trace
from assay.operations.table import BY_NAME
from assay.surfaces.console.errors import ConsoleError
from assay.surfaces.http.body import BODY_SECONDS
from assay.surfaces.http.cookies import find_session_cookie
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.errors import HttpError

PREFIX = "/console"
LOGIN_COOKIE = "assay_login"
TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a field
# A route's `opt`: pages without a session, pages that greet a visitor with or without one, pages for every signed-in
# person. Every other page names the operation that it shows, and has its permissions: `needs`.
ANYBODY = {"open": True}
PERHAPS = {"perhaps": True}
SIGNED_IN: dict[str, Any] = {"operation": None}
# Requirements that a refused visitor did not meet, for the page that says so.
UNMET = "assay.unmet"
_LOGIN_LABEL = b"assay/console/login/v1"


def needs(operation: str) -> dict[str, Any]:
    """A route's `opt`: the page has the permissions of this operation."""
    return {"operation": BY_NAME[operation].name}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request of a person who is signed in."""

    desk: Desk
    caller: Authenticated
    token: str
    at: Instant

    def perform(self, operation: str, request: Struct) -> Any:  # noqa: ANN401 - the operation's result
        """Perform an operation for this person, with the permissions that every door asks for."""
        return self.desk.dispatch.perform(BY_NAME[operation], self.permitted(operation), request).value

    def permitted(self, operation: str) -> Caller:
        """The person as the caller of an operation; raise where they may not perform it."""
        return self.desk.dispatch.permit(BY_NAME[operation], self.caller)

    @property
    def person(self) -> Principal:
        return self.caller.principal

    @property
    def tenant_id(self) -> TenantId:
        return self.caller.principal.tenant_id

    def may(self, operation: str) -> bool:
        """Whether this person may perform an operation now: pages show only links that work."""
        return self.desk.dispatch.may(BY_NAME[operation], self.caller)

    @property
    def sees_all(self) -> bool:
        return self.may("activity.list")

    @property
    def reads_ledger(self) -> bool:
        return self.may("entries.list")


GivenVisit: TypeAlias = NamedDependency[SkipValidation[Visit]]


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form whose token was right."""

    fields: Mapping[str, str]

    def get(self, name: str) -> str:
        found = self.fields.get(name, "").strip()
        if not found:
            raise ConsoleError.form_field(f"expected the field `{name}`, got none")
        return found

    def find(self, name: str) -> str:
        return self.fields.get(name, "").strip()


async def admit_visit(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The console's guard; runs before a body is read."""
    if handler.opt.get("open") or connection.scope.get("method") == "OPTIONS":
        return
    visit = await find_visit(connection)
    if visit is None:
        if handler.opt.get("perhaps"):
            return
        raise NotSignedInError("expected a session, got none")
    # Before the permissions are checked: a page that refuses keeps the navigation.
    connection.scope["user"] = visit
    operation = None if handler.opt.get("perhaps") else handler.opt["operation"]
    if operation is None:
        return
    unmet = tuple(one for one in visit.desk.dispatch.requirements(BY_NAME[operation], visit.caller) if not one.met)
    if unmet:
        connection.scope[UNMET] = unmet  # type: ignore[literal-required]  # a key of our own
        visit.permitted(operation)


async def find_visit(connection: ASGIConnection[Any, Any, Any, Any]) -> Visit | None:
    """The person behind the cookie; None where there is no session that holds."""
    desk: Desk = connection.app.state.desk
    token = find_session_cookie(connection)
    if token is None:
        return None
    at = desk.tools.clock.now()
    try:
        caller = await desk.run(lambda: authenticate(desk.tools, token, at=at))
    except NotSignedInError:
        return None
    # An API key in the cookie is nobody's session, and only a session shows that a person is there.
    require_session(caller)
    traced = replace(caller, trace=new_trace(desk.tools.entropy.token(TRACE_BYTES)))
    return Visit(desk=desk, caller=traced, token=token, at=at)


async def provide_visit(request: Request[Any, Any, Any]) -> Visit:
    visit = request.scope["user"]
    assert isinstance(visit, Visit)  # noqa: S101 - a route that asks for a visit is never open
    return visit


def form_token(visit: Visit) -> str:
    """What a form of this session must bring back."""
    return csrf_token(visit.token)


def login_token(secret: str) -> str:
    """What the form to sign in must bring back, when there is no session yet: it follows from a cookie of its own."""
    return hmac.new(secret.encode(), _LOGIN_LABEL, sha256).hexdigest()


async def read_form(request: Request[Any, Any, Any], visit: Visit) -> Form:
    """The fields of a form of this session. Every write of the console comes this way."""
    return await _read(request, form_token(visit))


async def read_login(request: Request[Any, Any, Any]) -> Form:
    """The fields of the form to sign in, if this browser was given it."""
    secret = request.cookies.get(LOGIN_COOKIE)
    if not secret:
        raise HttpError.csrf("expected the cookie that comes with the form to sign in: load the page again")
    return await _read(request, login_token(secret))


async def _read(request: Request[Any, Any, Any], expected: str) -> Form:
    """Refused where the browser says that another site sent it, and where the token is another."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HttpError.csrf("expected a form of this console, got one of another site")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            sent = await request.form()
    except TimeoutError as error:
        raise HttpError.body_time(f"expected the whole form within {BODY_SECONDS:g} s") from error
    fields = {name: value for name, value in sent.items() if isinstance(value, str)}
    if not hmac.compare_digest(fields.get(TOKEN_FIELD, "").encode(), expected.encode()):
        raise HttpError.csrf("expected the token of this session in the form, got another: load the page again")
    return Form(fields)
