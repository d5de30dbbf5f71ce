"""On the evaluation path nothing leaves the perimeter, by any way that Python has."""

import _thread
import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue

import pytest

from assay.adapters.egress.guard import ProcessEgressGuard, starting_own_child
from assay.adapters.egress.perimeter import Perimeter, parse_endpoint
from assay.ports.egress import EgressRefusedError

# Addresses that are set aside for documentation: nobody answers there.
_OUTSIDE, _OUTSIDE_6 = "192.0.2.1", "2001:db8::1"


@pytest.fixture
def guard() -> ProcessEgressGuard:
    return ProcessEgressGuard(Perimeter(), is_strict=True)


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def _connect(address: tuple[str, int], family: int = socket.AF_INET) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(0.2)
        one.connect(address)


def _send_to(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", address)


def _send_message(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendmsg([b"x"], [], 0, address)


_WAYS: dict[str, Callable[[], object]] = {
    "connect": lambda: _connect((_OUTSIDE, 443)),
    "connect_ex": lambda: socket.socket().connect_ex((_OUTSIDE, 443)),
    "IPv6": lambda: _connect((_OUTSIDE_6, 443), socket.AF_INET6),
    "mapped IPv6": lambda: _connect((f"::ffff:{_OUTSIDE}", 443), socket.AF_INET6),
    "a datagram": lambda: _send_to((_OUTSIDE, 53)),
    "a message": lambda: _send_message((_OUTSIDE, 53)),
    "a name": lambda: socket.getaddrinfo("example.invalid", 443),
    "a name by the old call": lambda: socket.gethostbyname("example.invalid"),
    "create_connection": lambda: socket.create_connection(("example.invalid", 443), timeout=0.2),
    "a name in connect": lambda: _connect(("example.invalid", 443)),
}


@pytest.mark.clause("ski", "6.3")
@pytest.mark.clause("ski", "2.1.1")
@pytest.mark.parametrize("way", _WAYS.values(), ids=_WAYS.keys())
def test_strict_stops_and_counts_every_way_out(
    guard: ProcessEgressGuard, way: Callable[[], object], recwarn: pytest.WarningsRecorder
) -> None:
    with guard.watching(), pytest.raises(EgressRefusedError):
        way()
    assert guard.attempts == 1
    assert guard.last_attempts
    # A socket that was never connected is closed by its collector.
    recwarn.clear()


@pytest.mark.clause("ski", "6.3")
def test_advisory_counts_and_lets_go(server: tuple[str, int]) -> None:
    """The count is the same in both modes; only strict stops."""
    guard = ProcessEgressGuard(Perimeter(), is_strict=False)
    with guard.watching(), suppress(OSError):
        _send_to((_OUTSIDE, 53))
    assert guard.attempts == 1
    with guard.watching():
        _connect(server)
    assert guard.attempts == 1


def test_loopback_and_unix_sockets_are_inside(guard: ProcessEgressGuard, server: tuple[str, int]) -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with guard.watching(), here, there:
        _connect(server)
        socket.getaddrinfo("127.0.0.1", 80)
        socket.getaddrinfo("localhost", 80)
        here.sendall(b"x")
        assert there.recv(1) == b"x"
    assert guard.attempts == 0


def test_outside_of_evaluation_nobody_is_watched(guard: ProcessEgressGuard) -> None:
    """Not before, not after, and not in another thread, which ships logs or asks a witness."""
    with suppress(OSError):
        _send_to((_OUTSIDE, 53))
    refused: list[bool] = []

    def ship() -> None:
        with suppress(OSError):
            _send_to((_OUTSIDE, 53))
        refused.append(False)

    begin = threading.Event()

    def later() -> None:
        begin.wait()
        ship()

    thread = threading.Thread(target=later)
    thread.start()
    with guard.watching():
        begin.set()
        thread.join()
    with suppress(OSError):
        _send_to((_OUTSIDE, 53))
    assert (guard.attempts, refused) == (0, [False])


def _started(work: Callable[[], None]) -> None:
    threading.Thread(target=work).start()


def _started_raw(work: Callable[[], None]) -> None:
    _thread.start_new_thread(work, ())


def _in_a_thread(start: Callable[[Callable[[], None]], None] = _started) -> None:
    """Raises what the thread raised."""
    caught: SimpleQueue[BaseException] = SimpleQueue()

    def work() -> None:
        try:
            _send_to((_OUTSIDE, 53))
        except EgressRefusedError as error:
            caught.put(error)

    start(work)
    raise caught.get(timeout=30)


def _in_a_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_send_to, (_OUTSIDE, 53)).result()


async def _in_a_loop() -> None:
    await asyncio.get_running_loop().getaddrinfo("example.invalid", 80)


_ROUNDABOUT: dict[str, Callable[[], object]] = {
    "a thread": _in_a_thread,
    "a pool": _in_a_pool,
    "an event loop": lambda: asyncio.run(_in_a_loop()),
    "a raw thread": lambda: _in_a_thread(_started_raw),
    "a program": lambda: subprocess.run([sys.executable, "-c", ""], check=False),
    "a command": lambda: os.system("true"),  # noqa: S605 - it is never run
    "a copy of the process": os.fork,
    "a look-up backwards": lambda: socket.getnameinfo((_OUTSIDE, 80), 0),
}


@pytest.mark.clause("ski", "6.3")
@pytest.mark.parametrize("way", _ROUNDABOUT.values(), ids=_ROUNDABOUT.keys())
def test_a_way_round_is_stopped_and_counted_too(guard: ProcessEgressGuard, way: Callable[[], object]) -> None:
    """By a thread, a pool or a program: the mark goes along, and what it cannot go along with does not start."""
    with guard.watching(), pytest.raises(EgressRefusedError):
        way()
    assert guard.attempts == 1


def test_a_pool_is_watched_for_what_it_was_handed_and_no_longer(guard: ProcessEgressGuard) -> None:
    with ThreadPoolExecutor(1) as pool:
        with guard.watching(), pytest.raises(EgressRefusedError):
            pool.submit(_send_to, (_OUTSIDE, 53)).result()
        with suppress(OSError):
            pool.submit(_send_to, (_OUTSIDE, 53)).result()
    assert guard.attempts == 1


def test_a_program_of_the_nodes_own_may_start(guard: ProcessEgressGuard) -> None:
    with guard.watching(), starting_own_child():
        done = subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=False)
    assert (done.returncode, guard.attempts) == (0, 0)


@pytest.mark.clause("ski", "6.3")
def test_a_connection_is_not_written_to_by_its_number_either(server: tuple[str, int]) -> None:
    guard = ProcessEgressGuard(_Elsewhere(), is_strict=True)
    with socket.create_connection(server) as open_one:
        number = open_one.fileno()
        ways: list[Callable[[], object]] = [
            lambda: os.write(number, b"x"),
            lambda: os.writev(number, [b"x"]),
            lambda: open(number, "wb", closefd=False),  # noqa: SIM115 - it is refused
        ]
        for way in ways:
            with guard.watching(), pytest.raises(EgressRefusedError):
                way()
    assert guard.attempts == len(ways)


def test_an_address_that_was_tagged_is_inside_and_its_neighbours_are_not(server: tuple[str, int]) -> None:
    guard = ProcessEgressGuard(Perimeter([f"http://{_OUTSIDE}:8000"]), is_strict=True)
    with guard.watching(), suppress(OSError):
        _send_to((_OUTSIDE, 8000))
    assert guard.attempts == 0
    for address in ((_OUTSIDE, 8001), ("192.0.2.2", 8000)):
        with guard.watching(), pytest.raises(EgressRefusedError):
            _send_to(address)
    with guard.watching():
        _connect(server)
    assert guard.attempts == 2


class _Elsewhere(Perimeter):
    """Nothing at all is inside: so that loopback can stand for a machine elsewhere."""

    def has_address(self, family: int, address: object) -> bool:
        return family == socket.AF_UNIX or address is None


@pytest.mark.parametrize("send", ["send", "sendall", "sendmsg"])
def test_a_connection_that_was_open_before_carries_nothing_out(server: tuple[str, int], send: str) -> None:
    guard = ProcessEgressGuard(_Elsewhere(), is_strict=True)
    with socket.create_connection(server) as open_one:
        with guard.watching(), pytest.raises(EgressRefusedError):
            getattr(open_one, send)([b"x"] if send == "sendmsg" else b"x")
        open_one.sendall(b"after")
    assert guard.attempts == 1


def test_what_is_no_internet_address_is_outside() -> None:
    inside = Perimeter()
    assert not inside.has_address(socket.AF_INET, "not a pair")
    assert not inside.has_address(socket.AF_INET, ("0.0.0.0", 80))  # noqa: S104 - nothing is bound
    assert not inside.has_address(-1, ("127.0.0.1", 80))
    assert inside.has_address(socket.AF_INET6, ("::1", 80, 0, 0))
    assert inside.has_address(socket.AF_INET6, ("::ffff:127.0.0.1", 80, 0, 0))
    assert inside.has_host(None)
    assert inside.has_host(b"127.0.0.1")
    assert not inside.has_host(b"example.invalid")


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("http://10.0.0.5:8000/v1", ("10.0.0.5", 8000)),
        ("https://model.internal", ("model.internal", 443)),
        ("postgresql://db.internal/assay", ("db.internal", 5432)),
        ("10.0.0.5:9000", ("10.0.0.5", 9000)),
    ],
)
def test_an_endpoint_is_read_from_a_url_or_a_pair(text: str, endpoint: tuple[str, int]) -> None:
    assert parse_endpoint(text) == endpoint


def test_a_name_that_cannot_be_looked_up_stays_outside() -> None:
    inside = Perimeter(["http://nowhere.invalid:80"])
    assert inside.has_host("nowhere.invalid")
    assert not inside.has_address(socket.AF_INET, ("192.0.2.9", 80))
