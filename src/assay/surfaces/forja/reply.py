"""Answers of the protocol's endpoints: JSON, or problem details (RFC 9457) with the code and every wrong field."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from assay.kernel.errors import Blame, Error, JsonError
from assay.kernel.json_text import Limits, parse_json
from assay.operations.fields import find_problems
from assay.registry.errors import DeniedError
from assay.surfaces.forja.errors import BadRequestError, ForjaError, NoMethodError, UnansweredError
from assay.surfaces.forja.threads import in_time
from assay.surfaces.http.errors import HttpError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

T = TypeVar("T", bound=Struct)
_LARGEST_BODY = 256 * 1024
_BODY_SECONDS = 60.0
_DEEPEST_BODY = 64
_STATUS = {
    "identity.not_signed_in": HTTPStatus.UNAUTHORIZED,
    "identity.session_required": HTTPStatus.FORBIDDEN,
    "identity.role": HTTPStatus.FORBIDDEN,
    "review.machine": HTTPStatus.FORBIDDEN,
    "review.not_eligible": HTTPStatus.FORBIDDEN,
    "registry.announce_refused": HTTPStatus.FORBIDDEN,
    "registry.not_believed": HTTPStatus.FORBIDDEN,
    "registry.unknown_service": HTTPStatus.NOT_FOUND,
    "flow.not_found": HTTPStatus.NOT_FOUND,
    "http.body_time": HTTPStatus.REQUEST_TIMEOUT,
    "forja.method": HTTPStatus.METHOD_NOT_ALLOWED,
    "forja.no_endpoint": HTTPStatus.NOT_FOUND,
    "forja.not_yours": HTTPStatus.FORBIDDEN,
    "forja.too_many_watchers": HTTPStatus.SERVICE_UNAVAILABLE,
    "forja.unanswered": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "store.writer_held": HTTPStatus.SERVICE_UNAVAILABLE,
}
_BY_BLAME = {
    Blame.ANSWER: HTTPStatus.CONFLICT,
    Blame.USAGE: HTTPStatus.BAD_REQUEST,
    Blame.INPUT: HTTPStatus.UNPROCESSABLE_ENTITY,
    Blame.OURS: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class Reply(Struct, frozen=True, kw_only=True):
    status: int = 200
    content: bytes = b""
    media_type: str = "application/json"
    # With a tag, whoever holds the answer may ask whether it is still the same.
    etag: str | None = None
    # The methods of the endpoint, where it was asked with another.
    allow: str | None = None


def problem(error: Error) -> Reply:
    """Of our own faults only the code is told, since a message may name files and hosts."""
    status = _status_of(error)
    is_ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    code = getattr(error, "refusal", None) or error.code
    document = {
        "type": "about:blank",
        "title": status.phrase,
        "status": int(status),
        "detail": "the service could not do this; its log says why" if is_ours else str(error),
        "code": str(code),
        "errors": error.problems if isinstance(error, BadRequestError) else (),
    }
    allow = _allow_of(error.methods) if isinstance(error, NoMethodError) else None
    content = msgspec.json.encode(document)
    return Reply(status=status, content=content, media_type="application/problem+json", allow=allow)


async def answer_in_time(receive: Receive, work: Callable[[bytes | None], Reply]) -> Reply:
    """What an endpoint answers to the whole body, or that one or the other did not come in time."""
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            body = await read_body(receive)
        return await in_time(lambda: work(body))
    except TimeoutError:
        return problem(HttpError.body_time(f"expected the whole body within {_BODY_SECONDS:g} s"))
    except UnansweredError as error:
        return problem(error)


def answer_other(scope: Scope, methods: Iterable[str]) -> Reply:
    """To a method that an endpoint does not have itself: what it has, or that there is no such endpoint."""
    has, method, path = frozenset(methods), str(scope["method"])[:16], str(scope["path"])[:200]
    if not has:
        raise ForjaError.no_endpoint(f"there is no endpoint {method} `{path}`")
    if method == "OPTIONS":
        return Reply(status=HTTPStatus.NO_CONTENT, allow=_allow_of(has))
    raise NoMethodError(f"`{path}` has no method {method}", sorted(has))


def _allow_of(methods: Iterable[str]) -> str:
    """HEAD goes wherever GET does, and OPTIONS everywhere (RFC 9110, 9.3)."""
    has = {*methods, "OPTIONS"}
    return ", ".join(sorted(has | ({"HEAD"} if "GET" in has else set())))


def _status_of(error: Error) -> HTTPStatus:
    if isinstance(error, DeniedError):
        return HTTPStatus.FORBIDDEN
    return _STATUS.get(error.code, _BY_BLAME[error.blame])


def parse_body(body: bytes, shape: type[T]) -> T:
    """A document that was sent, strictly: everything that is wrong with it is told at once, however deep."""
    try:
        document = parse_json(body, limits=Limits(max_depth=_DEEPEST_BODY))
    except JsonError as error:
        raise BadRequestError(f"expected a JSON object: {error}") from error
    wrong = find_problems(shape, document)
    if wrong:
        raise BadRequestError.of(wrong)
    return msgspec.convert(document, shape)


async def read_body(receive: Receive) -> bytes | None:
    """The whole body; None for one that is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        part = message.get("body", b"")
        size += len(part)
        if size > _LARGEST_BODY:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def send_reply(send: Send, reply: Reply, *, with_content: bool = True) -> None:
    """Without its content for HEAD, whose headers are those of GET (RFC 9110, 8.6)."""
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"cache-control", b"no-store" if reply.etag is None else b"no-cache"),
    ]
    if reply.status not in {HTTPStatus.NOT_MODIFIED, HTTPStatus.NO_CONTENT}:
        headers.append((b"content-length", str(len(reply.content)).encode()))
    if reply.etag is not None:
        headers.append((b"etag", reply.etag.encode()))
    if reply.status == HTTPStatus.REQUEST_TIMEOUT:
        # What still comes is the rest of a body that nobody reads.
        headers.append((b"connection", b"close"))
    if reply.allow is not None:
        headers.append((b"allow", reply.allow.encode()))
    if reply.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b'Bearer realm="forja"'))
    await send({"type": "http.response.start", "status": int(reply.status), "headers": headers})
    await send({"type": "http.response.body", "body": reply.content if with_content else b""})
