"""Step 1 of a verdict (SKI 2.2): parse the record, and find whether it was judged before and by which graph to judge.

given text -> Telemetry -> known id? -> skew -> is evaluation allowed? -> the graph in use
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.flows.request_mark import RequestMark
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import get_activation
from assay.flows.verdicts.read_verdicts import Decided, decided_of
from assay.flows.verdicts.sovereignty import require_cleared
from assay.identity.authorise import require_same_tenant
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.telemetry_store import KnownTelemetry
from assay.verdicts.telemetry import Telemetry, check_skew, is_repeat, parse_telemetry

Given = bytes | str | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Submission:
    """A record as its caller sent it; `mark` notes the idempotency key of its request in the commit of its verdicts."""

    given: Given
    caller: Caller
    mark: RequestMark | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record that was parsed, with its caller."""

    telemetry: Telemetry
    caller: Caller
    mark: RequestMark | None


@dataclass(frozen=True, slots=True)
class Intake:
    """Each record as it came in: still to judge, judged before, or refused.

    `document_hash` is of the graph in use; None where no record is to be judged.
    """

    findings: tuple[Arrival | Decided | Error, ...]
    document_hash: Digest | None = None


def parse_submission(one: Submission) -> Arrival | Error:
    """What the text alone says."""
    try:
        return Arrival(parse_telemetry(one.given), one.caller, one.mark)
    except Error as refusal:
        return refusal


def intake_records(unit: Unit, tools: Tools, tenant_id: TenantId, arrivals: Sequence[Arrival]) -> Intake:
    """Find what each record is. What refuses one record refuses it alone; what refuses all new ones, each of them."""
    found = unit.telemetry.find_known_many(tenant_id, [one.telemetry.telemetry_id for one in arrivals])
    known = {one.telemetry_id: one for one in found}
    findings = tuple([_finding(unit, tools, known.get(one.telemetry.telemetry_id), one) for one in arrivals])
    if not any(isinstance(one, Arrival) for one in findings):
        return Intake(findings)
    try:
        require_cleared(unit, tools)
        return Intake(findings, get_activation(unit, tools, tenant_id).document_hash)
    except Error as refusal:
        return Intake(tuple([refusal if isinstance(one, Arrival) else one for one in findings]))


def _finding(unit: Unit, tools: Tools, known: KnownTelemetry | None, one: Arrival) -> Arrival | Decided | Error:
    telemetry, caller = one.telemetry, one.caller
    try:
        if telemetry.tenant_id is not None:
            require_same_tenant(caller.principal, telemetry.tenant_id)
        if is_repeat(telemetry, None if known is None else known.telemetry_hash):
            return decided_of(unit, caller.tenant_id, telemetry.telemetry_id)
        check_skew(telemetry, caller.at, tools.ski.skew)
    except Error as refusal:
        return refusal
    return one
