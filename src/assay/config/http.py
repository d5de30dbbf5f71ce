"""The HTTP interface: where it listens, how much it takes, who may come from elsewhere."""

import re

from msgspec import Struct

from assay.config._address import is_network, shown_address
from assay.identity.problem import Problem, when

_HIGHEST_PORT = 65535
_LARGEST_BODY = 16 * 1024 * 1024
LONGEST_DRAIN = 300
# No wildcard: whoever may send a person's credentials along is named.
_WEB_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?", re.ASCII)


class HttpConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Loopback, small bodies and guarded metrics unless the operator says otherwise.

    `max_stream_bytes` is for a body of many lines, each of which is a record of its own. A principal may ask
    `rate_requests` times in `rate_seconds`; 0 requests means as often as it likes. Pages of other origins may ask only
    where `cors_origins` names them, each as a browser says it. `drain_seconds` is how long a server that was told to
    end goes on answering while `/readyz` says no, so that whoever balances the load hears of it.
    `open_sovereignty` shows `/api/sovereignty` of the node's own tenant to everybody, as `open_metrics` `/metrics`.
    `public_url` is where browsers and agents reach the node, when something stands before it: `https://host`. Cookies
    are then for that scheme, and requests are signed for that address. `trusted_proxies` are the addresses or networks
    whose `X-Forwarded-For` is believed; without any, that of this machine is where there is a `public_url`.
    """

    host: str = "127.0.0.1"
    port: int = 4585
    max_body_bytes: int = 1024 * 1024
    max_stream_bytes: int = _LARGEST_BODY
    open_metrics: bool = False
    open_sovereignty: bool = False
    rate_requests: int = 60_000
    rate_seconds: int = 60
    cors_origins: tuple[str, ...] = ()
    drain_seconds: int = 0
    public_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()


def http_problems(http: HttpConfig) -> tuple[Problem, ...]:
    problems = when(not 0 <= http.port <= _HIGHEST_PORT, "http.port", f"expected 0 to 65535, got {http.port}")
    for name in ("max_body_bytes", "max_stream_bytes"):
        size: int = getattr(http, name)
        wrong = not 1 <= size <= _LARGEST_BODY
        problems += when(wrong, f"http.{name}", f"expected 1 to {_LARGEST_BODY}, got {size}")
    return problems + _limit_problems(http)


def _limit_problems(http: HttpConfig) -> tuple[Problem, ...]:
    problems = when(http.rate_requests < 0, "http.rate_requests", f"expected 0 or more, got {http.rate_requests}")
    problems += when(http.rate_seconds < 1, "http.rate_seconds", f"expected 1 or more, got {http.rate_seconds}")
    problems += when(
        not 0 <= http.drain_seconds <= LONGEST_DRAIN,
        "http.drain_seconds",
        f"expected 0 to {LONGEST_DRAIN}, got {http.drain_seconds}",
    )
    problems += when(
        http.public_url is not None and _WEB_ORIGIN.fullmatch(http.public_url) is None,
        "http.public_url",
        f"expected `https://host` or `https://host:port`, got `{shown_address(str(http.public_url))}`",
    )
    for number, origin in enumerate(http.cors_origins):
        wrong = _WEB_ORIGIN.fullmatch(origin) is None
        message = f"expected `https://host` or `https://host:port`, got `{shown_address(origin)}`"
        problems += when(wrong, f"http.cors_origins[{number}]", message)
    for number, proxy in enumerate(http.trusted_proxies):
        message = f"expected an address or a network such as `10.0.0.0/8`, got `{proxy[:80]}`"
        problems += when(not is_network(proxy), f"http.trusted_proxies[{number}]", message)
    return problems
