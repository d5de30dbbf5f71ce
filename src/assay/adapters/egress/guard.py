"""The egress guard: an audit hook sees every connection and look-up, the socket layer what the hook sees too late.

That is a name handed to `connect`, which is looked up before the hook is told, and a connection that is open already.

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
_REMEMBERED = 16


class _Marks(threading.local):
    """Which guards watch this thread, the innermost last; `is_passed` while a call goes on that was looked at."""

    def __init__(self) -> None:
        self.guards: list[ProcessEgressGuard] = []
        self.is_passed = False


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
    if not guards or _MARKS.is_passed:
        return
    if event in _LOOKUPS:
        guards[-1].look_up(arguments[0])
    elif event in _REACHES:
        guards[-1].reach(arguments[0].family, arguments[1])


def _guarded(original: Callable[..., Any], pick: Callable[..., object]) -> Callable[..., Any]:
    """The method, after a look at where it goes; the hook need not look at the same call again."""

    @wraps(original)
    def call(self: socket.socket, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the original takes
        marks = _MARKS
        if not marks.guards or marks.is_passed:
            return original(self, *arguments, **options)
        marks.guards[-1].reach(self.family, pick(self, *arguments, **options))
        marks.is_passed = True
        try:
            return original(self, *arguments, **options)
        finally:
            marks.is_passed = False

    return call


def _first(_self: socket.socket, address: object, *_more: object) -> object:
    return address


def _last(_self: socket.socket, *arguments: object) -> object:
    return arguments[-1]


def _of_message(connected: socket.socket, _buffers: object, *more: object, address: object = None) -> object:
    """`sendmsg(buffers, ancillary, flags, address)`; without one it goes where the socket is connected to."""
    named = address if len(more) <= _ADDRESS_OF_MESSAGE else more[_ADDRESS_OF_MESSAGE]
    return _peer(connected) if named is None else named


def _where_it_is(connected: socket.socket, *_arguments: object, **_options: object) -> object:
    return _peer(connected)


def _peer(connected: socket.socket) -> object:
    try:
        return connected.getpeername()
    except OSError:
        return None


_ADDRESS_OF_MESSAGE = 2
_METHODS: tuple[tuple[type, str, Callable[..., object]], ...] = (
    (socket.socket, "connect", _first),
    (socket.socket, "connect_ex", _first),
    (socket.socket, "sendto", _last),
    (socket.socket, "sendmsg", _of_message),
    (socket.socket, "send", _where_it_is),
    (socket.socket, "sendall", _where_it_is),
    (ssl.SSLSocket, "send", _where_it_is),
    (ssl.SSLSocket, "sendall", _where_it_is),
    (ssl.SSLSocket, "write", _where_it_is),
)


def _install() -> None:
    with _INSTALLING:
        if _INSTALLED:
            return
        sys.addaudithook(_watch)
        for kind, name, pick in _METHODS:
            setattr(kind, name, _guarded(getattr(kind, name), pick))
        _INSTALLED.append(True)
