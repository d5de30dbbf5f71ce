"""Which addresses are inside: Unix sockets, loopback, and what the operator tagged, each exactly."""

import socket
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443, "postgresql": 5432, "postgres": 5432}


class Perimeter:
    """Names are looked up once, when the perimeter is drawn: one that means another machine later is outside."""

    def __init__(self, deployment_local: Iterable[str] = ()) -> None:
        endpoints = [parse_endpoint(text) for text in deployment_local]
        self._names = frozenset(host for host, _ in endpoints)
        self._endpoints = frozenset(one for host, port in endpoints for one in _resolved(host, port))

    def has_host(self, host: object) -> bool:
        """Whether a name may be looked up."""
        name = _text(host)
        return name is None or name in ("", "localhost") or name in self._names or self._is_inside(name)

    def has_address(self, family: int, address: object) -> bool:
        """Whether a socket of this family may reach this address; None is a socket that is connected already."""
        if family == socket.AF_UNIX or address is None:
            return True
        if family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple) or len(address) < 2:  # noqa: PLR2004 - host and port
            return False
        host = _text(address[0]) or ""
        return is_loopback(host) or (host, address[1]) in self._endpoints

    def _is_inside(self, host: str) -> bool:
        return is_loopback(host) or any(host == known for known, _ in self._endpoints)


def parse_endpoint(text: str) -> tuple[str, int]:
    """Host and port of a tagged address: a URL, or `host:port`."""
    parts = urlsplit(text if "//" in text else f"//{text}")
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


def is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def _resolved(host: str, port: int) -> Iterable[tuple[str, int]]:
    # A name that cannot be looked up now stays outside.
    with suppress(OSError):
        for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            yield str(address[0]), port


def _text(host: object) -> str | None:
    if isinstance(host, bytes | bytearray):
        return bytes(host).decode("ascii", "replace")
    return host if isinstance(host, str) or host is None else str(host)
