"""Whose guesses are counted: the address a request came from, or the one that a proxy of ours says it came from.

peer -> one of our proxies? -> its `X-Forwarded-For`, from the end, as long as our own proxies speak -> address
Whatever stands before the last proxy of ours is the sender's own invention, and is never read.
"""

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from litestar.connection import ASGIConnection

from assay.config.http import HttpConfig
from assay.surfaces.http.desk import Desk

_HEADER = "x-forwarded-for"
_LOOPBACK = ("127.0.0.0/8", "::1/128")
_Networks = tuple[IPv4Network | IPv6Network, ...]


def sender_address(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """The address that failures are counted for; a proxy's own where it does not say for whom it asks."""
    desk: Desk = connection.app.state.desk
    proxies = _proxies(desk.config.http)
    address = "local" if connection.client is None else connection.client.host
    lines = connection.headers.getall(_HEADER, [])
    hops = [hop.strip() for line in lines for hop in line.split(",")]
    while hops and _is_among(address, proxies):
        if not _is_address(hops[-1]):
            return address
        address = hops.pop()
    return address


def _proxies(http: HttpConfig) -> _Networks:
    """As configured. With a `public_url` something stands before us, and what asks from this machine is that."""
    named = http.trusted_proxies or (_LOOPBACK if http.public_url is not None else ())
    return tuple(ip_network(one, strict=False) for one in named)


def _is_among(address: str, networks: _Networks) -> bool:
    return _is_address(address) and any(ip_address(address) in one for one in networks)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
