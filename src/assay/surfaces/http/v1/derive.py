"""`/api/v1` from the table of operations: each route parses, dispatches and renders, and contains no rule.

path, query, headers, body -> the operation's request -> dispatch on a thread -> JSON or CSV, ETag, problem details
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
import structlog
from litestar import Request, delete, get, patch, post, put
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Operation as OpenApiOperation
from litestar.response import Response
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Send
from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.request import BulkLine, Content, Document, FieldProblem, FieldsError, encode_result
from assay.identity.caller import Caller
from assay.kernel.errors import Error
from assay.operations.dispatch import Outcome
from assay.operations.kinds import Bulk, Listing, Operation, Place, Stream, declared_field
from assay.operations.problem import problem_of
from assay.surfaces.http.body import find_key, parse_body, read_body, read_long_body
from assay.surfaces.http.describe import described, operation, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.errors import MediaTypeError
from assay.surfaces.http.guard import traced
from assay.surfaces.http.proof import anonymous
from assay.surfaces.http.query import parse_query_of
from assay.surfaces.http.v1.common import PREFIX, FormQuery, changes, found, lists, made
from assay.surfaces.http.v1.one import JSON, answer_content, answer_one, answer_page, answer_value

LINES = "application/x-ndjson"
_DECORATORS = {"GET": get, "POST": post, "PUT": put, "PATCH": patch, "DELETE": delete}
_HELD = {"If-None-Match": "the ETag of what is held already: 304 where it is still the same"}
_CREATED, _OK = 201, 200
# Of a document that may be long; `http.max_stream_bytes` is the limit that counts.
_LARGEST = 512 * 1024 * 1024
_BULK = {
    200: described("the result of each line, in order, while the body is still read", kind=str, media_type=LINES),
    **problems(400, 401, 403, 404, 409, 415, 422, 429),
}


_BATCH = 256


_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


_log = structlog.get_logger("assay.http")


class Line(NamedTuple):
    """A line with its number from 1; None where it is longer than a record may be."""

    number: int
    text: bytes | None


Take = Callable[[list[bytes]], Awaitable[Sequence[BulkLine]]]


class LineStream(ASGIStreamingResponse):
    """A response that is written while the request is still read; so nobody else may wait for its messages."""

    __slots__ = ()

    async def send_body(self, send: Send, receive: Receive) -> None:  # noqa: ARG002 - the body's reader has it
        await self._stream(send)


async def answer_lines(request: Request[Any, Any, Any], take: Take, *, longest: int) -> LineStream:
    """One answer for each line. What would refuse every line refuses the request, if it is found with the first ones;
    later it is the last line of the answer, and nothing after it was taken.
    """
    media_type, _ = request.content_type
    if media_type != LINES:
        raise MediaTypeError(f"expected `{LINES}`, got `{media_type[:80] or 'no media type'}`")
    answers = _answers(read_lines(request.stream(), longest), take)
    first = await anext(answers, b"")
    return LineStream(iterator=_joined(first, answers), media_type=LINES, headers=dict(_HEADERS), status_code=200)


async def _joined(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    yield first
    try:
        async for part in rest:
            yield part
    except Error as error:
        problem = problem_of(error)
        _log.error("lines", code=error.code, message=str(error))
        told = {"line": None, "status": "refused", "code": problem.code, "problem": problem.detail}
        yield msgspec.json.encode(told) + b"\n"
    except HTTPException:
        # Whoever sent them is gone; what was taken is on record.
        return


async def _answers(batches: AsyncIterator[list[Line]], take: Take) -> AsyncGenerator[bytes, None]:
    async for batch in batches:
        texts = [line.text for line in batch if line.text is not None]
        taken = iter(await take(texts) if texts else ())
        part = bytearray()
        for line in batch:
            answer = _too_long(line) if line.text is None else msgspec.structs.replace(next(taken), line=line.number)
            part += msgspec.json.encode(answer) + b"\n"
        yield bytes(part)


def _too_long(line: Line) -> BulkLine:
    return BulkLine(
        line=line.number, status="refused", code="http.body_size", problem="expected a shorter line; it was passed over"
    )


async def read_lines(parts: AsyncIterator[bytes], longest: int) -> AsyncIterator[list[Line]]:
    """Batches of the lines that have come, without blank ones; of one too long no more is held than is allowed."""
    number, held, is_long = 0, bytearray(), False
    async for part in parts:
        batch: list[Line] = []
        *ended, rest = part.split(b"\n")
        for piece in ended:
            number += 1
            is_long = is_long or len(held) + len(piece) > longest
            text = b"" if is_long else bytes(held + piece)
            if is_long or text.strip():
                batch.append(Line(number, None if is_long else text))
            held, is_long = bytearray(), False
        is_long = is_long or len(held) + len(rest) > longest
        # In place: of a line that comes byte by byte, nothing is copied twice.
        held += b"" if is_long else rest
        if is_long:
            held.clear()
        for start in range(0, len(batch), _BATCH):
            yield batch[start : start + _BATCH]
    if is_long or held.strip():
        yield [Line(number + 1, None if is_long else bytes(held))]


def derive_routes(operations: Iterable[Operation]) -> list[HTTPRouteHandler]:
    """One route for each operation that has one; those of streams are in `events`."""
    return [_route(one) for one in operations if one.route is not None and not isinstance(one, Stream)]


def opt_of(one: Operation) -> dict[str, Any]:
    """A route's `opt`: the guard permits the caller of this operation, and refuses others."""
    return {
        "operation": one,
        "scope": one.needs.scope,
        "roles": one.needs.roles,
        "session": one.needs.session,
        "tier": one.needs.tier,
        "open": one.is_open,
    }


def _route(one: Operation) -> HTTPRouteHandler:
    if isinstance(one, Bulk):
        return _bulk_route(one)

    async def handle(request: Request[Any, Any, Any], desk: GivenDesk) -> Response[Any]:
        return await _answer(one, request, desk)

    handle.__name__ = one.name.replace(".", "_").replace(":", "_")
    handle.__doc__ = one.description
    made_by = _DECORATORS[one.http_method]
    is_long = one.document is not None and one.document.is_long
    more: dict[str, Any] = {"request_max_body_size": _LARGEST} if is_long else {}
    handler: HTTPRouteHandler = made_by(
        PREFIX + _litestar_path(one),
        opt=opt_of(one),
        security=[{}] if one.is_open else None,
        operation_id=one.name,
        operation_class=_described(one),
        responses=_responses(one),
        status_code=_success(one),
        **more,
    )(handle)
    return handler


def _bulk_route(one: Operation) -> HTTPRouteHandler:
    """Lines in, lines out, answered while the body is still read."""

    async def handle(request: Request[Any, Any, Any], desk: GivenDesk) -> LineStream:
        caller: Caller = request.scope["user"]
        name = next(field.info.name for field in one.fields if field.place is Place.DOCUMENT)
        asked = _values(parse_query_of(query, request)) if (query := one.part(Place.QUERY)) is not None else {}

        async def take(lines: list[bytes]) -> Sequence[BulkLine]:
            # Of a body that is read for long, each part is taken at its own time.
            now = caller.as_of(desk.tools.clock.now())
            done = await desk.perform(one, now, one.takes(**asked, **{name: b"\n".join(lines)}))
            found: Sequence[BulkLine] = done.value
            return found

        return await answer_lines(request, take, longest=desk.config.http.max_body_bytes)

    handle.__name__ = one.name.replace(".", "_")
    handle.__doc__ = one.description
    kind = one.document.kind if one.document is not None and isinstance(one.document.kind, type) else None
    handler: HTTPRouteHandler = post(
        PREFIX + _litestar_path(one),
        opt=opt_of(one),
        operation_id=one.name,
        operation_class=operation(
            body=kind, lines=LINES, example=one.example, only_lines=True, query=one.part(Place.QUERY)
        ),
        request_max_body_size=None,
        status_code=_OK,
        responses=_BULK,
    )(handle)
    return handler


def _litestar_path(one: Operation) -> str:
    """Names of a path are read as text; the request's own type says what they must be."""
    path = one.path
    for field in one.fields:
        if field.place is Place.PATH:
            path = path.replace(f"{{{field.name}}}", f"{{{field.name}:str}}")
    return path


async def _answer(one: Operation, request: Request[Any, Any, Any], desk: Desk) -> Response[Any]:
    caller: Caller = traced(desk, request, anonymous(request, desk)) if one.is_open else request.scope["user"]
    key = find_key(request) if one.writes else None
    asked = await _read(one, request, desk)
    outcome = await desk.perform(one, caller, asked, key)
    return _rendered(one, request, outcome)


async def _read(one: Operation, request: Request[Any, Any, Any], desk: Desk) -> Struct:
    """The operation's request, from where each field travels; everything that is wrong is named at once."""
    values: dict[str, Any] = {}
    values |= _path_values(one, request)
    if (query := _query_type(one)) is not None:
        values |= _values(parse_query_of(query, request))
        if isinstance(one, Listing):
            # How the page is sent is no part of what is asked for.
            del values["format"]
    for name, field in one.headers.items():
        if name.lower() in request.headers:
            values[field.info.name] = request.headers[name.lower()]
    if (body := one.part(Place.BODY)) is not None:
        values |= _values(parse_body(body, await _body(request, body)))
    elif one.document is not None:
        field = next(field for field in one.fields if field.place is Place.DOCUMENT)
        values[field.info.name] = await _document(one.document, request, desk)
    elif one.writes and (await request.body()).strip() not in (b"", b"{}"):
        raise FieldsError([FieldProblem(field="", message="expected no body, got one", pointer="")])
    return one.takes(**values)


async def _document(document: Document, request: Request[Any, Any, Any], desk: Desk) -> bytes:
    """The body as it was received, of the media type that the operation takes."""
    is_json = document.media_type == JSON
    given, _ = request.content_type
    if not is_json and given != document.media_type:
        raise MediaTypeError(f"expected `{document.media_type}`, got `{given[:80] or 'no media type'}`")
    if document.is_long:
        return await read_long_body(request, desk.config.http.max_stream_bytes, is_json=is_json)
    return await (read_body(request) if is_json else request.body())


def _query_type(one: Operation) -> type[Struct] | None:
    part = one.part(Place.QUERY)
    if isinstance(one, Listing):
        return _with_form(part)
    return _NothingAsked if part is None and one.http_method == "GET" else part


class _NothingAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of a route that takes none."""


async def _body(request: Request[Any, Any, Any], kind: type[Struct]) -> bytes:
    """The JSON body; where every field may be left out, so may the body."""
    is_absent = "content-type" not in request.headers and request.headers.get("content-length", "0") == "0"
    if is_absent and not any(info.required for info in msgspec.structs.fields(kind)):
        return b"{}"
    return await read_body(request)


def _path_values(one: Operation, request: Request[Any, Any, Any]) -> dict[str, Any]:
    part = one.part(Place.PATH)
    if part is None:
        return {}
    given = {name: str(text) for name, text in request.path_params.items()}
    if any("\x00" in text for text in given.values()):
        raise NotFoundError("expected a name without NUL")
    try:
        return _values(msgspec.convert(given, part, strict=False))
    except msgspec.ValidationError as error:
        raise NotFoundError(f"there is no such resource: {error}") from error


def _values(part: Struct) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__struct_fields__}


def _rendered(one: Operation, request: Request[Any, Any, Any], outcome: Outcome) -> Response[Any]:
    value = outcome.value
    if isinstance(value, Content):
        response = answer_content(request, value, status=_CREATED if one.writes and outcome.is_new else _OK)
        response.headers.update(outcome.headers)
        return response
    if isinstance(one, Listing):
        return answer_page(request, value, item=one.item)
    if one.writes:
        return _changed(one, outcome)
    if one.http_method != "GET":
        return answer_value(value)
    is_fixed = one.is_immutable(value) if callable(one.is_immutable) else one.is_immutable
    # A hash of the resource names no result that changes while the resource stays: that one is named by its bytes.
    is_named = one.etag is not None and (is_fixed or not callable(one.is_immutable))
    etag = str(getattr(value, str(one.etag))) if is_named else None
    response = answer_one(request, encode_result(value), etag=etag, is_immutable=is_fixed)
    response.headers.update(outcome.headers)
    return response


def _changed(one: Operation, outcome: Outcome) -> Response[bytes]:
    headers = {**outcome.headers, "cache-control": "no-store"}
    if one.location is not None:
        headers["location"] = PREFIX + one.location.format_map(_Named(outcome.value))
    if outcome.is_kept:
        headers["assay-is-kept"] = "true"
    status = _success(one) if outcome.is_new else _OK
    return Response(encode_result(outcome.value), status_code=status, media_type=JSON, headers=headers)


def _success(one: Operation) -> int:
    """A POST that records something makes a resource; everything else is answered with it."""
    return _CREATED if one.writes and one.http_method == "POST" else _OK


class _Named(dict[str, Any]):
    """Fields of a result by their names, for templates."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self._value = value

    def __missing__(self, name: str) -> object:
        return getattr(self._value, name)


def _described(one: Operation) -> type[OpenApiOperation]:
    headers = {name: field.description for name, field in one.headers.items()}
    query = one.part(Place.QUERY)
    if isinstance(one, Listing):
        return operation(query=_with_form(query), also=["text/csv"])
    body = one.part(Place.BODY)
    if not one.writes and one.http_method == "GET":
        return operation(query=query, headers={**_HELD, **headers}, also=one.media_types)
    if not one.writes:
        return operation(body=body, example=one.example, query=query, headers=headers)
    if one.document is not None and isinstance(one.document.kind, type):
        body = one.document.kind
    return changes(body, example=one.example, headers=headers, query=query)


@cache
def _with_form(query: type[Struct] | None) -> type[Struct]:
    """A list may also be asked for as CSV."""
    if query is None:
        return FormQuery
    declared = [declared_field(info) for info in msgspec.structs.fields(query)]
    return msgspec.defstruct(query.__name__, declared, bases=(FormQuery,), kw_only=True)


def _responses(one: Operation) -> Mapping[int, ResponseSpec]:
    place = f"{one.http_method} {PREFIX}{one.path}"
    if one.gives is Content:
        # Its bytes are JSON of any form: an object, or an array.
        return found(place, Any, 409, *(() if one.http_method == "GET" else (413, 415)), words="the document")
    if isinstance(one, Listing):
        # A list that belongs to something, or is of what is in use, is not found where that is not.
        return lists(place, one.gives, 404)
    more = (HTTPStatus.PRECONDITION_FAILED,) if "If-Match" in one.headers else ()
    if _success(one) == _CREATED:
        return made(place, one.gives, *more, old="recorded before" if one.is_repeatable else None)
    return found(place, one.gives, *more, 409, *((413, 415) if one.http_method != "GET" else ()))
