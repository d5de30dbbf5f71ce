"""The egress guard: an audit hook sees every connection and look-up, the socket layer what the hook sees too late.

That is a name handed to `connect`, which is looked up before the hook is told, and a connection that is open already.

watching -> this thread is marked -> connect, look-up or send -> inside the perimeter, or counted and (strict) stopped
An audit hook can never be taken away, so there is one for the whole process, and it looks at marked threads alone. The
mark goes on to threads that a marked one starts, and to what it hands to a pool; a program that it starts is beyond our
sight, so starting one is an attempt, but for the node's own (`starting_own_child`), which is reached by pipes alone.
What it cannot see is a library that opens sockets in C by itself, as a database driver does: where that one goes is
checked at the start, by its address. Nor can it see code of this process that is out to deceive it, and calls the
methods of `_socket` on a connection of somebody else's: against that, the operating system must keep the ground.
"""

import _thread
import os
import socket
import ssl
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import Any

from assay.adapters.egress.perimeter import Perimeter
from assay.ports.egress import EgressRefusedError

_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
# Whatever these start is out of sight.
_STARTS = frozenset(
    {
        "_thread.start_joinable_thread",
        "_thread.start_new_thread",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "subprocess.Popen",
    }
)
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

    def start(self, what: str) -> None:
        self._attempted(f"start of something that cannot be watched: {what}")

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
    elif event == "socket.getnameinfo":
        guards[-1].look_up(arguments[0][0])
    elif event == "open" and isinstance(arguments[0], int):
        _reach_by_number(guards[-1], arguments[0])
    elif event in _STARTS:
        guards[-1].start(event)


@contextmanager
def starting_own_child() -> Iterator[None]:
    """Around the start of a program of the node's own, which reaches nobody but us."""
    with _passed():
        yield


@contextmanager
def _passed() -> Iterator[None]:
    before, _MARKS.is_passed = _MARKS.is_passed, True
    try:
        yield
    finally:
        _MARKS.is_passed = before


def _marked(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, watched by whoever watches now, in whichever thread it comes to run."""
    guards = list(_MARKS.guards)

    def run(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the original takes
        before, _MARKS.guards = _MARKS.guards, guards
        try:
            return call(*arguments, **options)
        finally:
            _MARKS.guards = before

    return run


def _starting(original: Callable[..., None]) -> Callable[..., None]:
    """`Thread.start`: the new thread is marked as this one is."""

    @wraps(original)
    def start(self: threading.Thread) -> None:
        if _MARKS.guards and not _MARKS.is_passed:
            self.run = _marked(self.run)  # type: ignore[method-assign]  # for this one thread
        with _passed():
            original(self)

    return start


def _starting_raw(original: Callable[..., int]) -> Callable[..., int]:
    """`_thread.start_new_thread`, of which not every Python tells its hooks."""

    @wraps(original)
    def start(call: Callable[..., Any], *arguments: Any) -> int:  # noqa: ANN401 - whatever the original takes
        handed = _marked(call) if _MARKS.guards and not _MARKS.is_passed else call
        with _passed():
            return original(handed, *arguments)

    return start


def _submitting(original: Callable[..., Any]) -> Callable[..., Any]:
    """`ThreadPoolExecutor.submit`: what is handed over is marked, and not the thread, which others use after it."""

    @wraps(original)
    def submit(self: ThreadPoolExecutor, call: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the original takes
        handed = _marked(call) if _MARKS.guards and not _MARKS.is_passed else call
        with _passed():
            return original(self, handed, *arguments, **options)

    return submit


def _by_number(original: Callable[..., Any]) -> Callable[..., Any]:
    """A call of `os` that writes to a descriptor, which may be that of a socket."""

    @wraps(original)
    def call(descriptor: int, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the original takes
        if _MARKS.guards and not _MARKS.is_passed:
            _reach_by_number(_MARKS.guards[-1], descriptor)
        return original(descriptor, *arguments, **options)

    return call


def _reach_by_number(guard: ProcessEgressGuard, descriptor: int) -> None:
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return
        with _passed(), socket.socket(fileno=os.dup(descriptor)) as found:
            family, peer = found.family, _peer(found)
    except OSError:
        return  # No such descriptor: the call itself will say so.
    guard.reach(family, peer)


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


# `sendfile(out, in, …)` names where it goes first, as the others do.
_WRITES = ("write", "writev", "sendfile")


def _install() -> None:
    with _INSTALLING:
        if _INSTALLED:
            return
        sys.addaudithook(_watch)
        for kind, name, pick in _METHODS:
            setattr(kind, name, _guarded(getattr(kind, name), pick))
        for name in _WRITES:
            setattr(os, name, _by_number(getattr(os, name)))
        _thread.start_new_thread = _starting_raw(_thread.start_new_thread)
        threading.Thread.start = _starting(threading.Thread.start)  # type: ignore[method-assign]  # as those above
        ThreadPoolExecutor.submit = _submitting(ThreadPoolExecutor.submit)  # type: ignore[method-assign]  # the same
        _INSTALLED.append(True)
