"""Throttling of guesses: after a few free failures each further one doubles the wait.

Counted for the account that is guessed at and for the address that guesses; an unknown account is counted like any
other, so that the wait tells nothing. `failures` are what a store kept, and a long silence forgets them.
"""

from datetime import timedelta
from ipaddress import IPv4Address, ip_address, ip_network

from msgspec import Struct

from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant


class Throttle(Struct, frozen=True, kw_only=True):
    """`free` failures cost nothing; the next one costs `first`, each after it twice as much, up to `longest`."""

    free: int
    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=15)
    forgotten_after: timedelta = timedelta(hours=24)


# A person mistypes a few times; behind one address there may be many persons.
ACCOUNT = Throttle(free=5)
ADDRESS = Throttle(free=20)
_MOST_DOUBLINGS = 40
# What a provider gives to one customer, at the least (RFC 6177).
_ONE_SENDER = 64


class Failures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often in a row it went wrong, and when last."""

    count: int
    failed_at: Instant


def account_subject(tenant_id: TenantId, principal_id: PrincipalId) -> Digest:
    """What failures of an account are kept under: the store need not say whose they are."""
    return digest_of(f"account\n{tenant_id}\n{principal_id}".encode())


def address_subject(address: str) -> Digest:
    """An IPv6 network counts as one sender: whoever has one of its addresses can guess from all 2^64 of them."""
    return digest_of(f"address\n{_sender(address)}".encode())


def _sender(address: str) -> str:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ip_network((parsed, _ONE_SENDER), strict=False))


def free_at(failures: Failures | None, throttle: Throttle) -> Instant | None:
    """When the next attempt is allowed; None is at once."""
    if failures is None or failures.count <= throttle.free:
        return None
    doublings = min(failures.count - throttle.free - 1, _MOST_DOUBLINGS)
    return Instant(failures.failed_at + min(throttle.first * 2**doublings, throttle.longest))


def add_failure(failures: Failures | None, throttle: Throttle, *, at: Instant) -> Failures:
    """One more failure; after a long enough silence the count starts again at 1."""
    if failures is None or at - failures.failed_at >= throttle.forgotten_after:
        return Failures(count=1, failed_at=at)
    # A clock that was set back must not shorten a wait.
    return Failures(count=failures.count + 1, failed_at=max(at, failures.failed_at))
