"""A service says that it is there, lives, or leaves; it is believed or refused, on one state of the database.

announce -> strict parse -> keys, skew, sequence, origin -> lease, and an entry for all but heartbeats
"""

from assay.flows.registry.leases import hold, parse_lease
from assay.flows.registry.registry_entry import announce_entry
from assay.flows.registry.service_keys import known_keys
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.registry.announce import (
    AnnounceEvent,
    AnnounceFinding,
    AnnouncePolicy,
    AnnounceRefusal,
    Origin,
    follow_announce,
    judge_announce,
    parse_announce,
)
from assay.registry.errors import RefusedAnnounceError
from assay.registry.lease import Lease


class AnnounceNotBelievedError(RefusedAnnounceError):
    """An announce was not believed; `refusal` is the stable reason that the sender is told."""

    code = "registry.not_believed"

    def __init__(self, finding: AnnounceFinding, refusal: AnnounceRefusal) -> None:
        super().__init__(finding.reason)
        self.refusal = refusal


def receive_announce(
    tools: Tools,
    tenant_id: TenantId,
    content: bytes,
    *,
    origin: Origin,
    policy: AnnouncePolicy,
    at: Instant,
    address: str | None = None,
) -> Lease:
    """The lease after it. A sequence number is used once, also by two messages that arrive together."""
    received = parse_announce(content)
    told = received.announce

    def work(unit: Unit) -> Lease:
        known = known_keys(unit.registry, tenant_id, told.service_id)
        keys = {told.service_id: frozenset(one.public_key for one in known)}
        revoked = frozenset(one.key.key_id for one in known if one.revoked is not None)
        held = {one.instance_id: one for one in unit.registry.leases(tenant_id, told.service_id)}
        leases = {name: parse_lease(one) for name, one in held.items()}
        finding = judge_announce(
            received, keys=keys, revoked=revoked, leases=leases, origin=origin, policy=policy, now=at, address=address
        )
        if finding.refusal is not None:
            raise AnnounceNotBelievedError(finding, finding.refusal)
        lease = follow_announce(leases.get(told.instance_id), received, finding, at=at, address=address)
        is_beat = told.event is AnnounceEvent.HEARTBEAT
        kept = held[told.instance_id].announce if is_beat else content.decode()
        hold(unit.registry, tenant_id, lease, kept)
        if not is_beat:
            unit.record(announce_entry(tenant_id, received, finding.key_id, at=at))
        return lease

    return tools.database.write(work)
