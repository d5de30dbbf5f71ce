"""Where a model may be: this machine, or an address that the operator says belongs to the deployment.

Anything else is outside the perimeter, where neither questions nor weights may go.
"""

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from assay.ports.model import ModelAddressError

_SOCKET = "unix:"
_HERE = "127.0.0.1"


class Address(Struct, frozen=True, kw_only=True):
    """`url` without a slash at its end; with a `socket` only the path of `url` means anything."""

    url: str
    socket: str | None = None


def parse_address(text: str, *, deployment_local: Collection[str] = ()) -> Address:
    """`unix:/path`, or `http(s)://` at a loopback address; another only if exactly this text is tagged as local."""
    if text.startswith(_SOCKET):
        return _socket(text.removeprefix(_SOCKET))
    try:
        parts = urlsplit(text)
        is_plain = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise ModelAddressError(f"expected `unix:/path` or a URL, got `{text[:80]}`: {error}") from error
    if not is_plain or parts.username is not None or parts.query or parts.fragment or text != text.strip():
        raise ModelAddressError("expected `unix:/path` or `http://host:port` without user, query and fragment")
    if text in deployment_local:
        return Address(url=text.rstrip("/"))
    return Address(url=_loopback(parts).geturl().rstrip("/"))


def _socket(path: str) -> Address:
    if not path.startswith("/"):
        raise ModelAddressError(f"expected an absolute path after `{_SOCKET}`, got `{path[:80]}`")
    return Address(url="http://model", socket=path)


def _loopback(parts: SplitResult) -> SplitResult:
    """A name could come to mean another machine, so `localhost` is replaced by what it should mean."""
    host = parts.hostname or ""
    if host == "localhost":
        port = "" if parts.port is None else f":{parts.port}"
        return parts._replace(netloc=_HERE + port)
    try:
        is_here = ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise ModelAddressError(f"expected a loopback address, or one tagged `deployment_local`, got `{host[:80]}`")
    return parts
