"""The state of the network: how many services there are, where, and how they are, at one instant."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.registry.discover import Index
from assay.registry.lease import Lease, presence_at


class DomainCount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    domain: str
    services: int


class PresenceCount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    presence: str
    instances: int


class NetworkState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`queries` and `actions` are how many different ones somebody answers or does."""

    services: int
    queries: int
    actions: int
    domains: tuple[DomainCount, ...]
    presences: tuple[PresenceCount, ...]
    as_of: Instant


def network_state(index: Index, leases: Iterable[Lease], *, at: Instant) -> NetworkState:
    """Services by domain, instances by presence; both sorted by name."""
    presences = Counter(presence_at(lease, at).value for lease in leases)
    return NetworkState(
        services=len(index),
        queries=len(index.queries),
        actions=len(index.actions),
        domains=tuple(DomainCount(domain=name, services=len(index.domains[name])) for name in sorted(index.domains)),
        presences=tuple(PresenceCount(presence=name, instances=presences[name]) for name in sorted(presences)),
        as_of=at,
    )
