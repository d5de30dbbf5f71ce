"""Lines in, lines out: a body of any length is read as it comes, and each line is answered when it is done.

parts of the body -> whole lines -> batches -> one answer a line -> sent before the next part is read
Nothing is read that is not worked on: whoever sends faster than we write waits, and nobody's memory grows.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import structlog
from litestar import Request
from litestar.exceptions import HTTPException
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Send

from assay.flows.request import BulkLine
from assay.kernel.errors import Error
from assay.operations.problem import problem_of
from assay.surfaces.http.errors import MediaTypeError

LINES = "application/x-ndjson"
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
