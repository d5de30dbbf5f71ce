"""Events go to public addresses and to hosts that an operator allowed, whatever a name comes to mean."""

import socket
import ssl
import threading
from contextlib import suppress
from typing import Any

import pytest

from assay.adapters.outgoing import OutgoingGuard, Target, UnreachableAddressError, is_public
from assay.adapters.webhooks.sender import HttpWebhookSender
from tests.receiver import receiving

_INSIDE = (
    "127.0.0.1 127.8.8.8 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255"
    " 192.0.0.8 198.18.0.1 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd00::1 fec0::1 ff02::1 ::ffff:127.0.0.1"
    " ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::a00:1 2002:7f00:1:: 2002:a00:1:: 2001:0:7f00:1:: ::127.0.0.1 3fff::1"
    " 5f00::1 64:ff9b:1:7f00:0:100:808:808 64:ff9b:1::808:808 ::ffff:0:7f00:1 ::ffff:0:808:808 2606:2800::5efe:a00:1"
    " 2606:2800::200:5efe:7f00:1 ::5efe:7f00:1 ::808:808 100:0:0:1::1 200::1 4000::1 e000::1"
)


@pytest.mark.parametrize("address", _INSIDE.split())
def test_an_address_inside_is_not_public(address: str) -> None:
    """In every spelling, also as IPv4 inside IPv6."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
)
def test_an_address_outside_is_public(address: str) -> None:
    assert is_public(address)


def _meaning(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[list[str]]:
    """Names mean these addresses, one answer after the other."""
    left = list(answers)
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *arguments: Any, **options: Any) -> list[Any]:  # noqa: ANN401  as the system's
        if host.replace(".", "").isdigit() and "." in host:
            return real(host, port, *arguments, **options)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return left


def _target(url: str, *hosts: str) -> Target:
    return OutgoingGuard(hosts=hosts, needs_https=True).find_target(url)


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("https://hook.example/", ["127.0.0.1"]),
        ("https://hook.example/", ["93.184.216.34", "10.0.0.1"]),
        ("http://hook.example/", ["93.184.216.34"]),
        ("https://169.254.169.254/latest", ["169.254.169.254"]),
        ("https://2130706433/", ["127.0.0.1"]),
    ],
)
def test_a_name_that_means_something_inside_is_refused(
    url: str, means: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One address inside is enough, and plain http is for hosts that were allowed."""
    _meaning(monkeypatch, means)
    with pytest.raises(UnreachableAddressError):
        _target(url)
    assert HttpWebhookSender().send(url, b"{}", {}).status is None


def test_a_host_that_the_operator_allowed_may_be_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, or by name and port; another port is another host then."""
    _meaning(monkeypatch, ["10.0.0.1"])
    assert _target("http://hook.example:8080/", "hook.example").address == "10.0.0.1"
    assert _target("http://hook.example:8080/", "hook.example:8080").port == 8080
    with pytest.raises(UnreachableAddressError):
        _target("http://hook.example:8081/", "hook.example:8080")


def test_a_name_without_an_address_is_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert "no address" in HttpWebhookSender().send("https://hook.example/", b"{}", {}).problem


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is looked up once: had it been asked again, it would have meant a place where nobody listens."""
    with receiving() as receiver:
        port = receiver.host.partition(":")[2]
        left = _meaning(monkeypatch, ["127.0.0.1"], ["192.0.2.1"])
        sent = HttpWebhookSender(allowed=["hook.example"], seconds=5).send(
            f"http://hook.example:{port}/a?b=1", b"{}", {"webhook-id": "evt_1"}
        )
    assert (sent.status, sent.problem, left) == (204, "", [["192.0.2.1"]])
    [one] = receiver.received
    assert (one.path, one.headers["host"], one.headers["webhook-id"]) == ("/a?b=1", f"hook.example:{port}", "evt_1")


@pytest.mark.parametrize("status", [301, 307, 400, 410, 500])
def test_a_redirect_or_a_refusal_is_not_taken(status: int) -> None:
    """A redirect is not followed, wherever it points."""
    with receiving(answers=[status]) as receiver:
        receiver.extra["location"] = receiver.url
        sent = HttpWebhookSender(allowed=[receiver.host]).send(receiver.url, b"{}", {})
    assert (sent.status, sent.is_taken, len(receiver.received)) == (status, False, 1)


def test_an_endpoint_that_is_slow_or_away_is_given_up() -> None:
    with receiving() as receiver:
        receiver.gate.clear()
        sent = HttpWebhookSender(allowed=[receiver.host], seconds=0.1).send(receiver.url, b"{}", {})
        assert (sent.status, sent.problem) == (None, "no answer: TimeoutError")
    away = HttpWebhookSender(allowed=[receiver.host], seconds=1).send(receiver.url, b"{}", {})
    assert away.problem == "no answer: ConnectError"


def _trickle(listener: socket.socket, is_over: threading.Event) -> None:
    """Answer the first caller with one header after the other, and never come to the end of them."""
    line, _ = listener.accept()
    with line, suppress(OSError):
        line.sendall(b"HTTP/1.1 200 OK\r\n")
        while not is_over.wait(0.05):
            line.sendall(b"x-more: to come\r\n")


def test_an_endpoint_that_trickles_its_headers_is_given_up() -> None:
    """The limit is of the whole attempt: each read alone would be in time for ever."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        endpoint = threading.Thread(target=_trickle, args=(listener, is_over))
        endpoint.start()
        # Without a limit of the whole the endpoint has to end it.
        patience = threading.Timer(10, is_over.set)
        patience.start()
        sent = HttpWebhookSender(allowed=[host], seconds=0.5).send(f"http://{host}/hook", b"{}", {})
        was_in_time = not is_over.is_set()
        patience.cancel()
        is_over.set()
        endpoint.join(20)
    assert (sent.status, sent.problem, was_in_time) == (None, "no answer: TimeoutError", True)


def test_whom_a_sender_trusts_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates take longer to read than an event to post."""
    made: list[ssl.SSLContext] = []
    make = ssl.create_default_context

    def keep(**chosen: Any) -> ssl.SSLContext:  # noqa: ANN401  as the library's
        made.append(make(**chosen))
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", keep)
    with receiving() as receiver:
        sender = HttpWebhookSender(allowed=[receiver.host])
        assert all(sender.send(receiver.url, b"{}", {}).is_taken for _ in range(3))
    assert [(one.verify_mode, one.check_hostname) for one in made] == [(ssl.CERT_REQUIRED, True)]
