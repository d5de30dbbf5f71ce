"""Does a service deliver as PRAMANA says: it is asked, failed, concluded and attacked, and what came of it is judged.

documents -> answers -> failures until a root cause opens -> a person's conclusion -> a success by two wrong steps
          -> pairs, queue, events by subscription, attacks -> Evidence -> check_delivery (one finding a requirement)
"""

from assay.delivery.conform import Evidence, Profile
from assay.delivery.conform import check_delivery as judge_delivery
from assay.flows.delivery.delivery_probe import PREFIX, Checking, Probe, Service, signed
from assay.kernel.conformance import Report
from assay.kernel.instant import Instant
from assay.ports.service_client import StreamClient


def check_delivery(
    client: StreamClient, base_url: str, profile: Profile, *, probe: Probe, active: bool = False, at: Instant
) -> Report:
    """Never raises for a bad service; what could not be tried is not met."""
    service = Service(client, base_url.rstrip("/") + PREFIX, probe.credential)
    evidence = Evidence(state=service.get("/state"))
    if probe.credential is not None:
        with client.listen(f"{service.root}/sense/events", signed(probe.credential)) as listening:
            evidence = Checking(service, probe, at, evidence).run(listening, active=active)
    return judge_delivery(evidence, profile)
