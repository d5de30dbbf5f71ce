"""The fleet as a registry tells it: every entry at one revision, and what changed from one revision to the next.

registry: entries -> FleetSnapshot -> change_between -> FleetChange;   client: index + FleetChange -> follow_change
A revision is a number that grows with every change of the index, and never with anything else.
"""

from collections.abc import Mapping

from msgspec import Struct

from assay.registry.discover import Index, ServiceEntry, update_index
from assay.registry.errors import RegistryError


class FleetSnapshot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All services that are listed, by id."""

    revision: int
    services: tuple[ServiceEntry, ...]


class FleetChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What turns the fleet of revision `since` into that of `revision`: entries put, and ids that left."""

    since: int
    revision: int
    put: tuple[ServiceEntry, ...] = ()
    drop: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.put and not self.drop


def change_between(
    old: Mapping[str, ServiceEntry], new: Mapping[str, ServiceEntry], *, since: int, revision: int
) -> FleetChange:
    """The least that turns one into the other, by id."""
    return FleetChange(
        since=since,
        revision=revision,
        put=tuple(new[name] for name in sorted(new) if old.get(name) != new[name]),
        drop=tuple(sorted(old.keys() - new.keys())),
    )


def join_changes(first: FleetChange, then: FleetChange) -> FleetChange:
    """Both as one: what was put and then dropped is only dropped."""
    if first.revision != then.since:
        raise RegistryError.fleet_history(
            f"expected a change from revision {first.revision}, got one from {then.since}"
        )
    put = {entry.id: entry for entry in first.put}
    gone = {*first.drop, *then.drop}
    for name in then.drop:
        put.pop(name, None)
    for entry in then.put:
        put[entry.id] = entry
    return FleetChange(
        since=first.since,
        revision=then.revision,
        put=tuple(put[name] for name in sorted(put)),
        drop=tuple(sorted(gone - put.keys())),
    )


def follow_change(index: Index, change: FleetChange, *, at_revision: int) -> Index:
    """The next snapshot of the index; a change that does not begin where it stands is refused."""
    if change.since != at_revision:
        raise RegistryError.fleet_history(f"expected a change from revision {at_revision}, got one from {change.since}")
    return update_index(index, put=change.put, drop=change.drop)
