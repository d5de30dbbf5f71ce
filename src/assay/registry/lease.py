"""Leases: how long a service counts as there, as a pure function of time.

accepted announce -> grant_lease -> Lease -> (heartbeats) -> presence_at -> evict
The lease runs 168 hours from when we heard it; a heartbeat shows life in between, and never prolongs it.
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant

DEFAULT_TTL_HOURS = 168
HEARTBEAT_TIMEOUT = timedelta(minutes=5)


class Presence(StrEnum):
    """LIVE and SILENT are found by `who_can`; SILENT says that no heartbeat came for a while."""

    LIVE = "live"
    SILENT = "silent"
    EXPIRED = "expired"
    OFFLINE = "offline"


class Lease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What we hold of one instance: the last message that was accepted, and when we last heard of it."""

    service_id: str
    instance_id: str
    base_url: str | None
    key_id: KeyId | None
    sequence: int | None
    announce_hash: Digest
    announced_at: Instant
    expires_at: Instant
    heard_at: Instant
    offline_at: Instant | None = None
    # Only who has shown a heartbeat can fall silent: others' implementations have none.
    beats: bool = False


def note_heartbeat(lease: Lease, *, sequence: int | None, announced_at: Instant, at: Instant) -> Lease:
    """Life was shown; the end of the lease stays where it was, and an instance that left stays gone."""
    heard = max(lease.heard_at, at)
    return replace(lease, sequence=sequence, announced_at=announced_at, heard_at=heard, beats=True)


def end_lease(lease: Lease, *, sequence: int | None, announced_at: Instant, at: Instant) -> Lease:
    """The instance said that it leaves; its sequence is kept, so that an older message cannot bring it back."""
    return replace(lease, sequence=sequence, announced_at=announced_at, heard_at=at, offline_at=at)


def presence_at(lease: Lease, at: Instant) -> Presence:
    """From `expires_at` on it is expired, whatever was heard since."""
    if lease.offline_at is not None and at >= lease.offline_at:
        return Presence.OFFLINE
    if at >= lease.expires_at:
        return Presence.EXPIRED
    if lease.beats and at - lease.heard_at > HEARTBEAT_TIMEOUT:
        return Presence.SILENT
    return Presence.LIVE


def evict(leases: Iterable[Lease], at: Instant) -> tuple[tuple[Lease, ...], tuple[Lease, ...]]:
    """Who stays and who goes: the expired and the offline leave the index.

    The caller keeps the leases of those who said they leave for at least the allowed skew: their sequence is what
    refuses a replay.
    """
    kept: list[Lease] = []
    gone: list[Lease] = []
    for lease in leases:
        ended = presence_at(lease, at) in {Presence.EXPIRED, Presence.OFFLINE}
        (gone if ended else kept).append(lease)
    return tuple(kept), tuple(gone)
