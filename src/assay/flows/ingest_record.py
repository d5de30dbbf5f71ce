"""Step 1 of a verdict (SKI 2.2): who sends a record, whether it was judged before, and by which graph it is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.flows.active_graph import get_activation
from assay.flows.admit_principal import admit_principal
from assay.flows.errors import OtherRuntimeError
from assay.flows.note_egress import require_cleared
from assay.flows.tools import Tools
from assay.flows.verdict_row import vouch_known
from assay.identity.authorise import require_same_tenant
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.telemetry_store import KnownTelemetry
from assay.verdicts.telemetry import Telemetry, check_skew, is_repeat

__all__ = ["Arrival", "Found", "Ingested", "ingest_records", "require_runtime"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record that came in, and when."""

    telemetry: Telemetry
    at: Instant


class Found(StrEnum):
    """Whether a record is still to be judged, or has its verdicts already."""

    NEW = "new"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What each record is, or why it is refused; `document_hash` is None where none is new."""

    principal: Principal
    document_hash: Digest | None
    findings: tuple[Found | Error, ...]


def require_runtime(tools: Tools, *, is_v2: bool) -> None:
    if tools.ski.is_v2 is not is_v2:
        raise OtherRuntimeError(f"expected the runtime {'v2' if is_v2 else 'v3'} to be selected, got the other one")


def ingest_records(unit: Unit, tools: Tools, arrivals: Sequence[Arrival], credential: str) -> Ingested:
    """What refuses one record is told of it alone; what refuses them all is raised."""
    # The credential must be good for all, so it is looked at for the latest of them.
    principal = admit_principal(unit, credential, at=max(one.at for one in arrivals))
    ids = [one.telemetry.telemetry_id for one in arrivals]
    known = {one.telemetry_id: one for one in unit.telemetry.find_known_many(principal.tenant_id, ids)}
    findings = tuple([_finding(unit, tools, principal, known, one) for one in arrivals])
    if Found.NEW not in findings:
        return Ingested(principal, None, findings)
    require_cleared(unit, tools)
    return Ingested(principal, get_activation(unit, tools, principal.tenant_id).document_hash, findings)


def _finding(
    unit: Unit, tools: Tools, principal: Principal, known: Mapping[str, KnownTelemetry], arrival: Arrival
) -> Found | Error:
    telemetry = arrival.telemetry
    try:
        if telemetry.tenant_id is not None:
            require_same_tenant(principal, telemetry.tenant_id)
        found = known.get(telemetry.telemetry_id)
        if found is not None:
            vouch_known(unit, principal.tenant_id, found)
        if is_repeat(telemetry, None if found is None else found.telemetry_hash):
            return Found.KNOWN
        check_skew(telemetry, arrival.at, tools.ski.skew)
    except Error as refusal:
        return refusal
    return Found.NEW
