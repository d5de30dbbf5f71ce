"""One request or websocket as it passes: its status, and whether the caller was still there to get one.

Whoever leaves before a response begins says nothing about the service. Otherwise anybody could fire its switch, by
sending half a request and hanging up fifty times.
"""

from assay.surfaces.forja.reply import Message, Receive, Send

_BROKE = 500
_SWITCHED = 101
# A close code by which a server says that it failed (RFC 6455 7.4.1, and the registry's 1014).
_FAILED = frozenset({1011, 1014})


class Passing:
    """Stands in for `receive` and `send`, and changes nothing of what they carry."""

    __slots__ = ("_has_broken", "_has_left", "_is_unheard", "_receive", "_send", "_status")

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._status: int | None = None
        self._has_left = self._has_broken = self._is_unheard = False

    @property
    def is_started(self) -> bool:
        return self._status is not None

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] in ("http.disconnect", "websocket.disconnect"):
            self._has_left = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._is_unheard = message["status"], self._has_left
        elif message["type"] == "websocket.accept":
            self._status = _SWITCHED
        elif message["type"] == "websocket.close" and message.get("code") in _FAILED:
            self.broke()
        await self._send(message)

    def broke(self) -> None:
        """An exception came through, or no response at all."""
        self._has_broken = True

    def status(self) -> int | None:
        """To be counted: as sent, or 500 where it broke; None for a failure that only who had left could have seen."""
        if self._has_broken:
            return None if self._has_left else _BROKE
        if self._is_unheard and self._status is not None and self._status >= _BROKE:
            return None
        return self._status
