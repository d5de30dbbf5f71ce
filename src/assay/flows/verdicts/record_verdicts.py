"""Step 5 of a verdict (SKI 2.2): records that come together share one unit of work, each with all of its rules.

records of one caller, or of many who wait at the same time -> one unit of work -> receipts, when they are durable
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from assay.flows.tools import Tools
from assay.flows.verdicts.judge_record import Case
from assay.flows.verdicts.verdict_batch import VerdictBatch
from assay.flows.verdicts.verdict_entry import PreparedVerdict
from assay.kernel.ids import TenantId
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit

__all__ = ["JudgedCase", "record_verdicts"]

Receipts = tuple[Receipt, ...]


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A record with the verdicts of all its rules, which nobody has been told yet."""

    case: Case
    verdicts: tuple[PreparedVerdict, ...]


@dataclass(frozen=True, slots=True)
class _Recording:
    """What one call brings: records in their order, of which a later one may rest on those before it."""

    keep_seconds: int
    judged: Sequence[JudgedCase]


def record_verdicts(tools: Tools, judged: Sequence[JudgedCase]) -> Sequence[Receipts]:
    """Receipts for the records from the first one on, up to one that must be looked at again.

    That is one whose id was taken meanwhile, or whose rule is not stable any more: neither it nor what comes after it
    is on record then.
    """
    recording = _Recording(tools.ski.keep_seconds, judged)
    return tools.recording.write(tools.database, recording, _record_all, weight=len(judged))


def _record_all(unit: Unit, recordings: Sequence[_Recording]) -> list[list[Receipts]]:
    batch = VerdictBatch(unit)
    of_tenant: defaultdict[TenantId, list[Case]] = defaultdict(list)
    for recording in recordings:
        for one in recording.judged:
            of_tenant[one.case.tenant_id].append(one.case)
    for tenant_id, cases in of_tenant.items():
        batch.look(tenant_id, [case.telemetry.telemetry_id for case in cases], [case.subject for case in cases])
    receipts = [_record(batch, recording) for recording in recordings]
    batch.store()
    return receipts


def _record(batch: VerdictBatch, recording: _Recording) -> list[Receipts]:
    receipts: list[Receipts] = []
    for one in recording.judged:
        tenant_id, telemetry = one.case.tenant_id, one.case.telemetry
        is_known = batch.is_known(tenant_id, telemetry.telemetry_id)
        if is_known or not all(batch.is_still_stable(tenant_id, verdict) for verdict in one.verdicts):
            break
        receipts.append(
            batch.add(tenant_id, telemetry, one.verdicts, keep_seconds=recording.keep_seconds, at=one.case.at)
        )
    return receipts
