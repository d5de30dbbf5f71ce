"""Webhooks: where events are posted, how a message is signed (Standard Webhooks, `v1a`), and when it is tried again.

event + time -> webhook_headers (Ed25519 over `id.timestamp.body`) -> a sender;   failure -> pause_after -> again
"""

import re
from base64 import b64encode
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

from msgspec import Struct

from assay.delivery.errors import DeliveryError
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant

# With the pauses below an endpoint may be away for some ten hours before an event is given up.
MOST_ATTEMPTS: Final = 10
_FIRST_SECONDS = 5.0
_FACTOR = 4.0
_LONGEST_SECONDS = 3 * 3600.0
_LONGEST_URL = 2000
_HIGHEST_PORT = 65535
_PORTS = {"http": 80, "https": 443}
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:/[!\"$-~]*)?",
    re.ASCII,
)
_MOST_TYPES = 100
_LONGEST_TYPE = 200


class WebhookUrl(NamedTuple):
    """Where a URL leads; its path and query are for whoever listens there."""

    scheme: str
    host: str
    port: int


class Webhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A subscription: whose events go where. No `types` are all types."""

    webhook_id: str
    url: str
    types: tuple[str, ...] = ()
    added_by: PrincipalId
    added_at: Instant

    def __post_init__(self) -> None:
        parse_webhook_url(self.url)
        if len(self.types) > _MOST_TYPES or len(set(self.types)) < len(self.types):
            raise DeliveryError.webhook(f"expected at most {_MOST_TYPES} types of events, each once")
        if not all(0 < len(one) <= _LONGEST_TYPE and one.isprintable() for one in self.types):
            raise DeliveryError.webhook(f"expected types of 1 to {_LONGEST_TYPE} printable characters")

    def wants(self, event_type: str) -> bool:
        return not self.types or event_type in self.types


def parse_webhook_url(text: str) -> WebhookUrl:
    """An absolute http(s) URL without user and fragment; whether its host may be reached is the sender's to check."""
    found = _URL.fullmatch(text) if len(text) <= _LONGEST_URL else None
    if found is None:
        raise DeliveryError.webhook(f"expected `https://host/path` without user and fragment, got `{text[:80]}`")
    scheme, host, digits = found["scheme"], found["host"].lower().strip("[]"), found["port"]
    port = _PORTS[scheme] if digits is None else int(digits)
    if not 1 <= port <= _HIGHEST_PORT:
        raise DeliveryError.webhook(f"expected a port of 1 to {_HIGHEST_PORT}, got {port}")
    return WebhookUrl(scheme, host, port)


def verify_webhook_target(url: str) -> None:
    """Raise where a URL names a link-local address: metadata services of clouds are there, and no receiver is."""
    host = parse_webhook_url(url).host
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return  # A name: the sender checks the addresses that it has when something is sent.
    plain = address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
    if plain.is_link_local:
        raise DeliveryError.webhook(f"expected an address that others can reach, got the link-local `{host[:80]}`")


def message_id(tenant_id: str, position: int) -> str:
    """The same for every attempt and every replay of one event: by it a receiver knows a repeat.

    It holds no full stop, which separates the parts of what is signed. INVARIANT: it begins with `evt_` and the signed
    message has no line break, so that none of our other signatures can ever be taken for one of a webhook.
    """
    return f"evt_{position}_{tenant_id.replace('.', '-')}"


def webhook_message(ident: str, *, sent: int, body: bytes) -> bytes:
    """What is signed: id, time of the attempt in seconds, and the body."""
    return b"%s.%d.%s" % (ident.encode(), sent, body)


def webhook_headers(ident: str, *, sent: int, body: bytes, sign: Callable[[bytes], bytes]) -> dict[str, str]:
    signature = b64encode(sign(webhook_message(ident, sent=sent, body=body))).decode()
    return {
        "content-type": "application/json",
        "webhook-id": ident,
        "webhook-timestamp": str(sent),
        "webhook-signature": f"v1a,{signature}",
    }


def render_webhook_key(public_key: bytes) -> str:
    """The key by which a receiver verifies, as Standard Webhooks writes it."""
    return f"whpk_{b64encode(public_key).decode()}"


def pause_after(attempt: int, *, chance: float) -> float:
    """Seconds to wait after a failed attempt (1 is the first): longer each time, and never the same for all.

    `chance` is in [0, 1): half of the pause is fixed and half is chance, so that many who failed together come back
    apart.
    """
    longest = min(_LONGEST_SECONDS, _FIRST_SECONDS * _FACTOR ** (attempt - 1))
    return longest * (0.5 + chance / 2)
