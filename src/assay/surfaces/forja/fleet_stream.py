"""Server-sent events of the fleet: first where it stands, then every change, until the caller or the server leaves.

event: snapshot | change;   id: the place in its history, which a caller that was cut off says as `Last-Event-ID`
"""

import asyncio
import contextlib
from functools import partial

import msgspec

from assay.registry.fleet import FleetSnapshot
from assay.surfaces.forja.call import Call
from assay.surfaces.forja.fleet_shelf import FleetShelf
from assay.surfaces.forja.reply import Receive, Scope, Send
from assay.surfaces.forja.threads import in_thread

# A comment in between shows both sides, and whoever stands between them, that the line is not dead.
ALIVE_SECONDS = 15.0
_PATIENCE_SECONDS = 30.0
_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


async def stream_fleet(shelf: FleetShelf, scope: Scope, receive: Receive, send: Send) -> None:
    """Nothing is sent before there is a place for one more watcher."""
    loop, woken = asyncio.get_running_loop(), asyncio.Event()
    unsubscribe = shelf.subscribe(lambda: _wake(loop, woken))
    leaving = asyncio.create_task(_leaves(receive))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await _tell(shelf, _place(scope), woken, leaving, send)
    except TimeoutError:
        # A caller that takes nothing gives its place to another; it may come back and name where it was.
        return
    finally:
        unsubscribe()
        leaving.cancel()


async def _tell(
    shelf: FleetShelf, place: str | None, woken: asyncio.Event, leaving: "asyncio.Task[None]", send: Send
) -> None:
    while not shelf.is_closed and not leaving.done():
        woken.clear()
        news = await in_thread(partial(shelf.news_since, place))
        if news is not None:
            place = shelf.place(news.revision)
            kind = b"snapshot" if isinstance(news, FleetSnapshot) else b"change"
            await _send(send, b"event: %b\nid: %b\ndata: %b\n\n" % (kind, place.encode(), msgspec.json.encode(news)))
        elif not await _is_woken(woken, leaving):
            await _send(send, b": alive\n\n")
    await send({"type": "http.response.body", "body": b""})


async def _is_woken(woken: asyncio.Event, leaving: "asyncio.Task[None]") -> bool:
    waiting = asyncio.create_task(woken.wait())
    done, _ = await asyncio.wait({waiting, leaving}, timeout=ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    return bool(done)


async def _send(send: Send, body: bytes) -> None:
    await asyncio.wait_for(send({"type": "http.response.body", "body": body, "more_body": True}), _PATIENCE_SECONDS)


async def _leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _wake(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    # A loop that has ended has nobody left to wake.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(woken.set)


def _place(scope: Scope) -> str | None:
    said = Call(scope).header(b"last-event-id")
    return None if said is None else said.decode("latin-1")
