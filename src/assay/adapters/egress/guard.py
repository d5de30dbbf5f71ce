"""The egress guard: an audit hook sees every connection and look-up, the socket layer what goes over an open one.

watching -> this thread is marked -> connect, look-up or send -> inside the perimeter, or counted and (strict) stopped
An audit hook can never be taken away, so there is one for the whole process, and it looks at marked threads alone.
What it cannot see is a library that opens sockets in C by itself, as a database driver does: where that one goes is
checked at the start, by its address.
"""

import socket
import ssl
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from assay.adapters.egress.perimeter import Perimeter
from assay.ports.egress import EgressRefusedError

__all__ = ["ProcessEgressGuard"]

_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_REACHES = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_SENDS = (
    (socket.socket, ("send", "sendall")),
    (ssl.SSLSocket, ("send", "sendall", "write")),
)
_REMEMBERED = 16


class _Marks(threading.local):
    """Which guards watch this thread, the innermost last."""

    def __init__(self) -> None:
        self.guards: list[ProcessEgressGuard] = []


_MARKS = _Marks()
_INSTALLING = threading.Lock()
_INSTALLED: list[bool] = []


class ProcessEgressGuard:
    """Implements `ports.egress.EgressGuard`; a strict one raises in the very call that tried to leave."""

    def __init__(self, perimeter: Perimeter, *, is_strict: bool) -> None:
        self._perimeter = perimeter
        self._is_strict = is_strict
        self._lock = threading.Lock()
        self._attempts = 0
        self._last: deque[str] = deque(maxlen=_REMEMBERED)
        _install()

    @property
    def attempts(self) -> int:
        return self._attempts

    @property
    def last_attempts(self) -> tuple[str, ...]:
        return tuple(self._last)

    @contextmanager
    def watching(self) -> Iterator[None]:
        _MARKS.guards.append(self)
        try:
            yield
        finally:
            _MARKS.guards.pop()

    def look_up(self, host: object) -> None:
        if not self._perimeter.has_host(host):
            self._attempted(f"look-up of {host!r}")

    def reach(self, family: int, address: object) -> None:
        if not self._perimeter.has_address(family, address):
            self._attempted(f"{address!r}")

    def _attempted(self, where: str) -> None:
        with self._lock:
            self._attempts += 1
            self._last.append(where[:200])
        if self._is_strict:
            raise EgressRefusedError(f"expected evaluation to stay inside the perimeter, got {where[:80]}")


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: for every event of the process, so it returns at once for threads that are not marked."""
    guards = _MARKS.guards
    if not guards:
        return
    if event in _LOOKUPS:
        guards[-1].look_up(arguments[0])
    elif event in _REACHES:
        guards[-1].reach(arguments[0].family, arguments[1])


def _sending(original: Callable[..., Any]) -> Callable[..., Any]:
    """A connection that was open before evaluation began must not carry anything out either."""

    @wraps(original)
    def send(self: socket.socket, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the original takes
        if _MARKS.guards:
            _MARKS.guards[-1].reach(self.family, _peer(self))
        return original(self, *arguments, **options)

    return send


def _peer(connected: socket.socket) -> object:
    try:
        return connected.getpeername()
    except OSError:
        return None


def _install() -> None:
    with _INSTALLING:
        if _INSTALLED:
            return
        sys.addaudithook(_watch)
        for kind, names in _SENDS:
            for name in names:
                setattr(kind, name, _sending(getattr(kind, name)))
        _INSTALLED.append(True)
