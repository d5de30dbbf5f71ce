"""Step 1 of a verdict (SKI 2.2): who sends a record, whether it was judged before, and by which graph it is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.flows.errors.verdicts import OtherRuntimeError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.request_mark import RequestMark
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import get_activation
from assay.flows.verdicts.sovereignty import require_cleared
from assay.flows.verdicts.verdict_rows import vouch_known
from assay.identity.authorise import require_same_tenant
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.trace import TraceId
from assay.ports.database import Unit
from assay.ports.telemetry_store import KnownTelemetry
from assay.verdicts.telemetry import Telemetry, check_skew, is_repeat


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record that came in, when, by which credential, and under which key and trace id of its request."""

    telemetry: Telemetry
    at: Instant
    credential: str
    mark: RequestMark | None = None
    trace: TraceId | None = None


@dataclass(frozen=True, slots=True)
class Fresh:
    """A record that is still to be judged, who sent it, and under which key and trace id of its request."""

    sender: Principal
    telemetry: Telemetry
    at: Instant
    mark: RequestMark | None = None
    trace: TraceId | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A record that has its verdicts already."""

    tenant_id: TenantId
    telemetry_id: str


@dataclass(frozen=True, slots=True)
class Ingested:
    """What each record is, or why it is refused; those that are none of the first sender's tenant are.

    `document_hash` is of the graph in use, None where no record is to be judged.
    """

    findings: tuple[Fresh | Known | Error, ...]
    document_hash: Digest | None


def require_runtime(tools: Tools, *, is_v2: bool) -> None:
    if tools.ski.is_v2 is not is_v2:
        raise OtherRuntimeError(f"expected the runtime {'v2' if is_v2 else 'v3'} to be selected, got the other one")


def ingest_records(unit: Unit, tools: Tools, arrivals: Sequence[Arrival]) -> Ingested:
    """What refuses one record, or whoever sent it, is told of it alone; what refuses all new ones, of each of them."""
    # A credential must be good for all that it brings, so it is looked at once, for the latest of them.
    latest = max(one.at for one in arrivals)
    senders = {name: _sender(unit, name, latest) for name in dict.fromkeys([one.credential for one in arrivals])}
    tenant_id = next((one.tenant_id for one in senders.values() if isinstance(one, Principal)), None)
    known: Mapping[str, KnownTelemetry] = {}
    if tenant_id is not None:
        found = unit.telemetry.find_known_many(tenant_id, [one.telemetry.telemetry_id for one in arrivals])
        known = {one.telemetry_id: one for one in found}
    findings = tuple([_finding(unit, tools, senders[one.credential], tenant_id, known, one) for one in arrivals])
    if tenant_id is None or not any(isinstance(one, Fresh) for one in findings):
        return Ingested(findings, None)
    try:
        require_cleared(unit, tools)
        return Ingested(findings, get_activation(unit, tools, tenant_id).document_hash)
    except Error as refusal:
        return Ingested(tuple([refusal if isinstance(one, Fresh) else one for one in findings]), None)


def _sender(unit: Unit, credential: str, at: Instant) -> Principal | Error:
    try:
        return admit_principal(unit, credential, at=at)
    except Error as refusal:
        return refusal


def _finding(
    unit: Unit,
    tools: Tools,
    sender: Principal | Error,
    tenant_id: TenantId | None,
    known: Mapping[str, KnownTelemetry],
    arrival: Arrival,
) -> Fresh | Known | Error:
    if isinstance(sender, Error):
        return sender
    telemetry = arrival.telemetry
    try:
        for asked in (tenant_id, telemetry.tenant_id):
            if asked is not None:
                require_same_tenant(sender, asked)
        found = known.get(telemetry.telemetry_id)
        if found is not None:
            vouch_known(unit, sender.tenant_id, found)
        if is_repeat(telemetry, None if found is None else found.telemetry_hash):
            return Known(sender.tenant_id, telemetry.telemetry_id)
        check_skew(telemetry, arrival.at, tools.ski.skew)
    except Error as refusal:
        return refusal
    return Fresh(sender, telemetry, arrival.at, arrival.mark, arrival.trace)
