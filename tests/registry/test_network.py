"""The state of the network says how many services there are, where, and how they are."""

import pytest

from assay.kernel.digest import ZERO_DIGEST
from assay.registry.discover import build_index, entry_of
from assay.registry.lease import Lease
from assay.registry.network import network_state
from tests.identity.people import NOON, later
from tests.registry.codex import make_manifest


def _lease(instance: str, hours: int) -> Lease:
    return Lease(
        service_id="portwatch-backend",
        instance_id=instance,
        base_url=None,
        key_id=None,
        sequence=1,
        announce_hash=ZERO_DIGEST,
        announced_at=NOON,
        expires_at=later(hours=hours),
        heard_at=NOON,
    )


@pytest.mark.clause("forja", "discovery")
def test_services_are_counted_by_domain_and_instances_by_presence() -> None:
    index = build_index([entry_of(make_manifest(), tier=3), entry_of(make_manifest(service="other"), tier=0)])
    state = network_state(index, [_lease("a", 1), _lease("b", 9), _lease("c", 9)], at=later(hours=2))
    assert (state.services, state.queries, state.actions, state.as_of) == (2, 3, 3, later(hours=2))
    assert [(one.domain, one.services) for one in state.domains] == [("maritime-port", 2)]
    assert [(one.presence, one.instances) for one in state.presences] == [("expired", 1), ("live", 2)]
