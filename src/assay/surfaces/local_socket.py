"""The node's own socket: `assay.sock` in its folder, for commands, tools and services beside a running server.

Who can open the socket can read the key files, and so has full control already; both belong to one user, and the
server checks the peer's user id. A request over it without a credential is the operator's.
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SOCKET_NAME = "assay.sock"
# What an address of a Unix socket may be long, with its final zero byte.
_LONGEST = 107
_PEER = struct.Struct("3i")
_BACKLOG = 128


@contextmanager
def listen_locally(home: Path) -> Iterator[socket.socket | None]:
    """Listen on the folder's socket, with mode 0600; None where another server of this folder listens already."""
    with _reachable(home) as place:
        if _answers(place):
            yield None
            return
        with suppress(FileNotFoundError):
            place.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
            before = os.umask(0o177)
            try:
                bound.bind(str(place))
            finally:
                os.umask(before)
            bound.listen(_BACKLOG)
            bound.setblocking(False)
            try:
                yield bound
            finally:
                with suppress(FileNotFoundError):
                    place.unlink()


@contextmanager
def find_local(home: Path) -> Iterator[Path | None]:
    """The address of the socket while a server answers there; None where none does."""
    with _reachable(home) as place:
        yield place if _answers(place) else None


def is_own_user(peer: socket.socket) -> bool:
    """Whether the process at the other end runs as this user or as root."""
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _process, user, _group = _PEER.unpack(raw)
    return user in (0, os.geteuid())


@contextmanager
def _reachable(home: Path) -> Iterator[Path]:
    """A name of the socket that fits an address: through the open folder where the folder's own is too long."""
    place = home.resolve() / SOCKET_NAME
    if len(os.fsencode(place)) <= _LONGEST or not home.is_dir():
        yield place
        return
    folder = os.open(home, os.O_PATH | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{folder}/{SOCKET_NAME}")
    finally:
        os.close(folder)


def _answers(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(place))
        except OSError:
            return False
    return True
