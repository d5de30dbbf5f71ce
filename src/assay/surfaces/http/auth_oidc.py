"""`/auth/oidc`: a person logs in by way of the identity provider; the browser carries everything in between.

login -> cookie + the provider's page;   callback -> session cookie + this node's page
"""

from typing import Any

from litestar import Request, get
from litestar.response import Response
from litestar.response.redirect import Redirect

from assay.flows.identity.log_in_oidc import begin_oidc, finish_oidc, get_oidc
from assay.identity.oidc import LOGIN_SECONDS
from assay.surfaces.http.cookies import is_secure, session_cookie, short_cookie
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import OPEN

_BINDING_COOKIE = "assay_oidc"
_NO_STORE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}


@get(
    "/auth/oidc/login",
    status_code=303,
    opt=OPEN,
    security=[{}],
    responses={303: described("to the identity provider", kind=None), **problems(404, 503)},
)
async def start_login(request: Request[Any, Any, Any], desk: GivenDesk) -> Response[Any]:
    """Send the browser to the identity provider; a cookie binds the login to this browser."""
    url, secrets = await desk.admit_by_provider(lambda: begin_oidc(desk.tools, at=desk.tools.clock.now()))
    answer = Redirect(url, status_code=303, headers=_NO_STORE)
    answer.set_cookie(short_cookie(request, _binding_name(request), secrets.binding, seconds=LOGIN_SECONDS, path="/"))
    return answer


@get(
    "/auth/oidc/callback",
    status_code=303,
    opt=OPEN,
    security=[{}],
    responses={303: described("to this node's page", kind=None), **problems(401, 404, 503)},
)
async def finish_login(request: Request[Any, Any, Any], desk: GivenDesk) -> Response[Any]:
    """The provider's answer: a session for the person it names, if that login began in this browser."""
    oidc, query = get_oidc(desk.tools), request.query_params
    token, record = await desk.admit_by_provider(
        lambda: finish_oidc(
            desk.tools,
            binding=request.cookies.get(_binding_name(request)),
            state=query.get("state"),
            code=query.get("code"),
            issuer=query.get("iss"),
            at=desk.tools.clock.now(),
        )
    )
    answer = Redirect(oidc.landing, status_code=303, headers=_NO_STORE)
    answer.set_cookie(session_cookie(request, token, record))
    answer.set_cookie(short_cookie(request, _binding_name(request), "", seconds=0, path="/"))
    return answer


def _binding_name(request: Request[Any, Any, Any]) -> str:
    """Over https no other host of the same domain can set it, so nobody is led into another's login."""
    return f"__Host-{_BINDING_COOKIE}" if is_secure(request) else _BINDING_COOKIE
