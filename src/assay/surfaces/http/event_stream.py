"""Server-sent events: how the outbox is written to a connection, and when a connection is given up.

place -> pages of events -> `id:`, `event:`, `data:` -> a send that must end in time
A reader that takes nothing for too long is dropped; it comes back with `Last-Event-ID` and has missed nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any, cast

from litestar import Request
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Scope, Send
from msgspec import Struct

from assay.adapters.bus.fanout import Fanout, Place
from assay.flows.identity.authenticate import confirm_now
from assay.flows.review.tell_events import may_tell_of_others, told_events
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.errors import Error
from assay.ports.events import OutboxEvent
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.errors import HttpError

EVENT_STREAM = "text/event-stream"
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
IDLE_SECONDS = 15.0
SEND_SECONDS = 30.0
_HIGHEST = 2**53 - 1
_LONGEST_PLACE = 16
_COME_BACK_MS = 1000
_PART_BYTES = 64 * 1024
Render = Callable[[OutboxEvent], bytes | None]


class Reader(Struct, frozen=True, kw_only=True):
    """A permitted caller who follows the events, from where, and how each is written; None leaves an event out.

    The stream ends for a caller whose credential or permission ended.
    """

    caller: Caller
    place: Place
    render: Render


class PatientStream(ASGIStreamingResponse):
    """A stream to somebody who must take what is sent within a time."""

    __slots__ = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def patient(message: Any) -> None:  # noqa: ANN401  one of ASGI's many messages
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)

        # A connection that ends so ends without its last part: whoever reads so slowly resumes where it was.
        try:
            await super().__call__(scope, receive, patient)
        except* TimeoutError:
            pass
        finally:
            # Now, and not when it is collected: whoever is gone is no reader any more.
            await cast("AsyncGenerator[bytes, None]", self.iterator).aclose()


def last_event_id(request: Request[Any, Any, Any], given: int | None) -> int | None:
    """The place to go on after: the header of a reader that comes back, else the one in the query."""
    text = request.headers.get("last-event-id")
    if text is None or text == "":
        return given
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_PLACE or int(text) > _HIGHEST:
        raise HttpError.last_event_id(f"expected the id of an event in `Last-Event-ID`, got `{text[:40]}`")
    return int(text)


def follow(desk: Desk, fanout: Fanout, reader: Reader) -> PatientStream:
    return PatientStream(iterator=_lines(desk, fanout, reader), media_type=EVENT_STREAM, headers=dict(_HEADERS))


async def _lines(desk: Desk, fanout: Fanout, reader: Reader) -> AsyncGenerator[bytes, None]:
    """First a line, so that a reader knows at once that it is heard; then events, and a sign of life when idle."""
    yield _sign_of_life(reader.place.after)
    place, clock = reader.place.after, asyncio.get_running_loop().time
    checked = clock()
    events = fanout.pages(reader.caller.tenant_id, reader.place, desk.run, idle_seconds=IDLE_SECONDS)
    async with aclosing(events) as pages:
        async for page in pages:
            if clock() - checked >= IDLE_SECONDS:
                checked = clock()
                if not await desk.run(lambda: _is_admitted(desk, reader)):
                    return
            place = page[-1].position if page else place
            is_told = False
            for part in _parts(await _told(desk, page, reader.caller.principal), reader.render):
                is_told = True
                yield part
            if not is_told:
                yield _sign_of_life(place)
    if desk.draining.is_set():
        # The connection ends and the node lives on elsewhere: a reader comes back soon, and goes on where it was.
        yield b"retry: %d\n\n" % _COME_BACK_MS


async def _told(desk: Desk, page: tuple[OutboxEvent, ...], viewer: Principal) -> tuple[OutboxEvent, ...]:
    """Without what blind review keeps from this reader now."""
    if not may_tell_of_others(page):
        return page
    return await desk.run(lambda: told_events(desk.tools, page, viewer))


def _parts(page: tuple[OutboxEvent, ...], render: Render) -> Iterator[bytes]:
    """Many small events in one part, a large one in its own: a part is what a slow reader makes us hold."""
    part = bytearray()
    for event in page:
        text = render(event)
        if text is not None:
            part += _frame(event, text)
        if len(part) >= _PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


def _frame(event: OutboxEvent, text: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.position, _one_line(event.type), text)


def _one_line(name: str) -> bytes:
    return "".join(one if one.isprintable() else "?" for one in name).encode()


def _sign_of_life(place: int) -> bytes:
    """A comment, and the place reached: an id without data moves a reader's `Last-Event-ID` and tells it nothing."""
    return b": alive\nid: %d\n\n" % place


def _is_admitted(desk: Desk, reader: Reader) -> bool:
    """Whether the caller may still follow; a signature is good until its nonce is not."""
    current = reader.caller.as_of(desk.tools.clock.now())
    try:
        confirm_now(desk.tools, current)
    except Error:
        return False
    return True
