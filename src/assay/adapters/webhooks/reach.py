"""Which addresses a webhook may have: public ones, unless the operator allowed that very host.

What a name means is looked up once and checked, and the connection goes to the checked address: a name that means
another machine a moment later leads nowhere else. One address inside among several outside refuses them all.
"""

from collections.abc import Collection
from typing import NamedTuple

from assay.adapters.outgoing import UnreachableAddressError, is_public, look_up
from assay.delivery.webhook import parse_webhook_url
from assay.kernel.errors import Blame, Error


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
    try:
        addresses = look_up(host, port)
    except UnreachableAddressError as error:
        raise UnreachableHostError(str(error)) from error
    inside = [one for one in addresses if not is_public(one)]
    if inside and not is_allowed:
        raise UnreachableHostError(f"`{host[:80]}` is no public address")
    return Target(addresses[0], port, host)
