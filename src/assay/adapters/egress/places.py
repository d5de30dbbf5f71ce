"""Where a database and a model are, as sovereignty sees it: from their addresses alone."""

from urllib.parse import parse_qs, unquote, urlsplit

from assay.adapters.egress.perimeter import is_loopback, parse_endpoint
from assay.verdicts.sovereignty import Place, PlaceKind

_SOCKET = "unix:"


def place_of_database(url: str) -> Place:
    """A file, a socket, this machine, or `host:port` elsewhere; what a URL's options say of the host counts too."""
    if url.startswith("sqlite:"):
        return Place(kind=PlaceKind.LOCAL_FILE, address=url.removeprefix("sqlite:"))
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    named = options.get("hostaddr") or options.get("host") or [unquote(parts.hostname or "")]
    hosts = [host for one in named for host in one.split(",")]
    elsewhere = [host for host in hosts if not _is_here(host)]
    if elsewhere:
        return Place(kind=PlaceKind.REMOTE, address=f"{elsewhere[0]}:{parse_endpoint(url)[1]}")
    is_socket = all(not host or host.startswith("/") for host in hosts)
    return Place(kind=PlaceKind.UNIX_SOCKET if is_socket else PlaceKind.LOOPBACK, address=hosts[0])


def place_of_model(url: str | None) -> Place:
    """Without an address it is a server of our own; an address elsewhere is kept exactly, since it is tagged so."""
    if url is None:
        return Place(kind=PlaceKind.LOOPBACK)
    if url.startswith(_SOCKET):
        return Place(kind=PlaceKind.UNIX_SOCKET, address=url.removeprefix(_SOCKET))
    kind = PlaceKind.LOOPBACK if _is_here(urlsplit(url).hostname or "") else PlaceKind.REMOTE
    return Place(kind=kind, address=url)


def _is_here(host: str) -> bool:
    return not host or host.startswith("/") or host == "localhost" or is_loopback(host)
