"""Changes of the fleet lead from one snapshot to the next, joined or one by one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.registry.discover import ServiceEntry, build_index
from assay.registry.errors import RegistryError
from assay.registry.fleet import FleetChange, change_between, follow_change, join_changes
from tests.raising import raises

_ENTRIES = st.builds(
    ServiceEntry,
    id=st.sampled_from(["a", "b", "c", "d"]),
    domain=st.sampled_from(["port", "bank"]),
    capability_mask=st.integers(0, 255),
    tier=st.integers(0, 3),
)
_FLEETS = st.lists(_ENTRIES, max_size=4, unique_by=lambda one: one.id).map(lambda all_: {one.id: one for one in all_})


@pytest.mark.clause("forja", "discovery")
@given(st.lists(_FLEETS, min_size=2, max_size=5))
def test_following_every_change_or_all_of_them_joined_ends_at_the_same_fleet(
    fleets: list[dict[str, ServiceEntry]],
) -> None:
    changes = [
        change_between(old, new, since=number, revision=number + 1)
        for number, (old, new) in enumerate(itertools.pairwise(fleets))
    ]
    index = first = build_index(fleets[0].values())
    for number, change in enumerate(changes):
        index = follow_change(index, change, at_revision=number)
    joined = changes[0]
    for change in changes[1:]:
        joined = join_changes(joined, change)
    assert dict(index.entries) == fleets[-1]
    assert dict(follow_change(first, joined, at_revision=0).entries) == fleets[-1]
    assert (joined.since, joined.revision) == (0, len(fleets) - 1)


@given(_FLEETS)
def test_a_fleet_that_stays_the_same_changes_by_nothing(fleet: dict[str, ServiceEntry]) -> None:
    assert change_between(fleet, fleet, since=3, revision=4).is_empty


def test_a_change_that_begins_elsewhere_is_refused() -> None:
    """A gap would leave a service listed that is gone."""
    with raises(RegistryError.fleet_history):
        follow_change(build_index(()), FleetChange(since=4, revision=5), at_revision=3)
    with raises(RegistryError.fleet_history):
        join_changes(FleetChange(since=1, revision=2), FleetChange(since=3, revision=4))
