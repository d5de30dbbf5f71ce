"""Problem details (RFC 9457): every refusal in one form, with the stable code of the error behind it.

exception -> our Error -> status by code, else by blame -> application/problem+json
"""

import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, InternalServerException

from assay.flows.errors import RequestInHandError
from assay.flows.errors.identity import ThrottledError
from assay.kernel.errors import Error
from assay.operations.problem import PROBLEM_TYPE, problem_of
from assay.operations.rate import TooFastError
from assay.surfaces.http.errors import (
    BodySizeError,
    ContentEncodingError,
    HttpError,
    InternalError,
    MediaTypeError,
    MethodError,
    NoRouteError,
)
from assay.surfaces.http.methods import allow_of

# Where a request's own state has the code of its refusal, for whoever counts.
REFUSED_WITH = "assay.refused_with"

_HEADERS: Mapping[HTTPStatus, dict[str, str]] = {
    # What still comes is the rest of a body that nobody reads.
    HTTPStatus.REQUEST_TIMEOUT: {"connection": "close"},
    HTTPStatus.UNAUTHORIZED: {"www-authenticate": 'Bearer realm="assay"'},
    HTTPStatus.SERVICE_UNAVAILABLE: {"retry-after": "1"},
}
_BY_HTTP_STATUS: Mapping[int, type[HttpError]] = {
    HTTPStatus.NOT_FOUND: NoRouteError,
    HTTPStatus.METHOD_NOT_ALLOWED: MethodError,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: BodySizeError,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: MediaTypeError,
}

_GONE = "client disconnected prematurely"

_log = structlog.get_logger("assay.http")


def answer_problem(request: Request[Any, Any, Any], exception: Exception) -> Response[bytes]:
    """Litestar's one exception handler."""
    error = _our_error(request, exception)
    problem = problem_of(error)
    request.state[REFUSED_WITH] = error.code
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # As text made here: a renderer that shows local variables would write callers' secrets into the log.
        trace = "".join(traceback.format_exception(exception))
        _log.error("fault", code=error.code, message=str(error), path=request.url.path, traceback=trace)
    request.app.state.desk.metrics.problems.labels(code=error.code).inc()
    # Damage does not pass by itself: nobody is asked to come again.
    fixed = _HEADERS.get(HTTPStatus(problem.status), {}) if problem.damage is msgspec.UNSET else {}
    headers = {**fixed, **_advice(error), **_allowed(exception)}
    return Response(
        content=msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=PROBLEM_TYPE,
        headers={**headers, "cache-control": "no-store"},
    )


def _advice(error: Error) -> dict[str, str]:
    """When to come again, where that is known, and how."""
    if isinstance(error, ContentEncodingError):
        return {"accept-encoding": "identity"}
    if isinstance(error, TooFastError | ThrottledError):
        return {"retry-after": str(error.seconds)}
    return {"retry-after": "1"} if isinstance(error, RequestInHandError) else {}


def _our_error(request: Request[Any, Any, Any], exception: Exception) -> Error:
    if isinstance(exception, Error):
        return exception
    if isinstance(exception, InternalServerException) and exception.detail == _GONE:
        # Litestar's own words for it. Strangers can do this as often as they like, so it is no fault of ours.
        return HttpError.sender_gone("expected the whole body, got the end of the connection")
    if not isinstance(exception, HTTPException) or exception.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return InternalError(f"{type(exception).__name__}: {exception}")
    kind = _BY_HTTP_STATUS.get(exception.status_code, HttpError)
    return kind(_words(kind, request, exception))


def _words(kind: type[HttpError], request: Request[Any, Any, Any], exception: HTTPException) -> str:
    path = request.url.path[:200]
    if kind is NoRouteError:
        return f"there is no route `{path}`"
    if kind is MethodError:
        return f"`{path}` has no method {request.method}"
    if kind is BodySizeError:
        return f"expected at most {request.app.state.desk.config.http.max_body_bytes} bytes"
    return exception.detail or "the request cannot be read"


def _allowed(exception: Exception) -> dict[str, str]:
    """The `Allow` header that a 405 must have."""
    given = exception.headers if isinstance(exception, HTTPException) else None
    allowed = [value for name, value in (given or {}).items() if name.lower() == "allow"]
    return {"allow": allow_of({one.strip() for one in allowed[0].split(",")})} if allowed else {}
