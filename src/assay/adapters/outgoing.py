"""The one guard of what this node connects to: public addresses, and what the operator lists or names.

url -> look up its host once -> every address public, listed or named, none link-local -> connect to the checked address
A name that means another machine a moment later leads nowhere else. One refused address among several refuses them all.
Announced services, webhooks, identity providers, peers, plugins and models' servers pass it. Evidence is sent to the
node and never fetched.
"""

import socket
from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from assay.kernel.errors import Blame, Error

_PORTS = {"http": 80, "https": 443}
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


class UnreachableAddressError(Error):
    """This node does not connect to an address, or a host has none."""

    code = "registry.address"
    blame = Blame.ANSWER


class Target(NamedTuple):
    """The checked address to connect to, and the name that the request and the certificate are for."""

    address: str
    port: int
    host: str


class OutgoingGuard:
    """Public addresses, those in `networks`, and the `hosts` (`name` or `name:port`) that the operator names.

    A named host may be inside, though never link-local: metadata services of clouds are there. An address is
    link-local only where a listed network holds it. With `needs_https`, plain http is for named hosts alone.
    """

    def __init__(self, networks: Iterable[str] = (), *, hosts: Collection[str] = (), needs_https: bool = False) -> None:
        self._networks = tuple(ip_network(one, strict=False) for one in networks)
        self._hosts = frozenset(hosts)
        self._needs_https = needs_https

    def find_target(self, url: str) -> Target:
        """The first checked address of a URL's host."""
        return self.find_targets(url)[0]

    def find_targets(self, url: str) -> tuple[Target, ...]:
        """The addresses of a URL's host, to be tried in turn; raise `registry.address` where one of them is refused."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
        except ValueError as error:
            raise UnreachableAddressError("expected an address such as `https://host:port`") from error
        is_named = host in self._hosts or f"{host}:{port}" in self._hosts
        if self._needs_https and parts.scheme != "https" and not is_named:
            raise UnreachableAddressError(f"expected https for `{host[:80]}`, got {parts.scheme[:20]}")
        addresses = look_up(host, port)
        for one in addresses:
            if not self._is_allowed(one, is_named=is_named):
                kind = "a link-local" if _plain(one).is_link_local else "no public"
                raise UnreachableAddressError(
                    f"`{host[:80]}` is at {one}, {kind} address, and its network is not listed"
                )
        return tuple(Target(one, port, host) for one in addresses)

    def _is_allowed(self, text: str, *, is_named: bool) -> bool:
        address = _plain(text)
        if any(address in network for network in self._networks):
            return True
        return is_public(text) or (is_named and not address.is_link_local and not address.is_multicast)


def _plain(text: str) -> IPv4Address | IPv6Address:
    """The address without its zone; IPv4 that is mapped into IPv6 is IPv4."""
    address = ip_address(text.partition("%")[0])
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def is_public(text: str) -> bool:
    """Whether an address is one of the open network: neither private, loopback, link-local, shared nor reserved."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        return _is_public_6(address)
    return _is_public_4(address)


def look_up(host: str, port: int) -> list[str]:
    """Every address of a host, each once; raise `registry.address` where it has none."""
    if is_literal(host):
        return [host]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnreachableAddressError(f"`{host[:80]}` has no address") from error
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def is_literal(host: str) -> bool:
    """Whether a host is an address already, so that nobody has to be asked for it."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def pin(url: str, target: Target) -> tuple[str, str, str]:
    """The URL with the checked address in the place of its host; the `Host` header; the name of the certificate."""
    parts = urlsplit(url)
    host = f"[{target.address}]" if ":" in target.address else target.address
    pinned = urlunsplit((parts.scheme, f"{host}:{target.port}", parts.path or "/", parts.query, ""))
    return pinned, parts.netloc.rpartition("@")[2], target.host


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
