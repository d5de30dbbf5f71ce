"""Which addresses a webhook may have: public ones, unless the operator allowed that very host.

What a name means is looked up once and checked, and the connection goes to the checked address: a name that means
another machine a moment later leads nowhere else. One address inside among several outside refuses them all.
"""

import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

from assay.delivery.webhook import parse_webhook_url
from assay.kernel.errors import Blame, Error

__all__ = ["Target", "UnreachableHostError", "find_target", "is_public"]

# IPv4 inside IPv6, by way of the translator that everybody knows: what matters is the address inside. A network may
# have translators of its own (64:ff9b:1::/48, ::ffff:0:0:0/96), and nobody outside can say where those lead.
_TRANSLATED = IPv6Network("64:ff9b::/96")
# All that is given out of IPv6; whatever else there is leads inside, or nowhere.
_GIVEN_OUT = IPv6Network("2000::/3")
# What not every version of the library counts as special.
_SPECIAL = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"), IPv4Network("240.0.0.0/4"))
_SPECIAL_6 = (IPv6Network("3fff::/20"),)
_LOW_32 = 0xFFFFFFFF
# An interface that is called after an IPv4 address (ISATAP, RFC 5214), whether that is unique or not.
_ISATAP = (0x00005EFE, 0x02005EFE)


class UnreachableHostError(Error):
    """A webhook's host may not be reached, or has no address."""

    code = "webhook.host"
    blame = Blame.ANSWER


class Target(NamedTuple):
    """The checked address to connect to, and the name that the request and the certificate are for."""

    address: str
    port: int
    host: str


def find_target(url: str, *, allowed: Collection[str] = ()) -> Target:
    """Where to post to. Only `allowed` hosts (`name` or `name:port`) may be inside, or be reached by plain http."""
    scheme, host, port = parse_webhook_url(url)
    is_allowed = host in allowed or f"{host}:{port}" in allowed
    if scheme == "http" and not is_allowed:
        raise UnreachableHostError(f"expected https for `{host[:80]}`, got http")
    addresses = _look_up(host, port)
    inside = [one for one in addresses if not is_public(one)]
    if inside and not is_allowed:
        raise UnreachableHostError(f"`{host[:80]}` is no public address")
    return Target(addresses[0], port, host)


def is_public(text: str) -> bool:
    """Whether an address is one of the open network: neither private, loopback, link-local, shared nor reserved."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        return _is_public_6(address)
    return _is_public_4(address)


def _is_public_4(address: IPv4Address) -> bool:
    is_special = address.is_multicast or any(address in network for network in _SPECIAL)
    return address.is_global and not is_special


def _is_public_6(address: IPv6Address) -> bool:
    low = IPv4Address(int(address) & _LOW_32)
    if address.ipv4_mapped is not None or address in _TRANSLATED:
        return _is_public_4(low)
    hidden = [*(address.teredo or ()), *([address.sixtofour] if address.sixtofour else [])]
    if int(address) >> 32 & _LOW_32 in _ISATAP:
        hidden.append(low)
    is_special = any(address in network for network in _SPECIAL_6)
    return address in _GIVEN_OUT and address.is_global and not is_special and all(map(_is_public_4, hidden))


def _look_up(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnreachableHostError(f"`{host[:80]}` has no address") from error
    return list(dict.fromkeys(str(one[4][0]) for one in found))
