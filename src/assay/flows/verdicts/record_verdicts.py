"""Step 5 of a verdict (SKI 2.2): records that come together share one unit of work, each with all of its rules.

records of one caller, or of many who wait at the same time -> one unit of work -> receipts, when they are durable
A record whose request has a key has that key and its answer in the same unit.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.flows.errors import RequestInHandError
from assay.flows.request_mark import RequestMark, forget_expired
from assay.flows.tools import Tools
from assay.flows.verdicts.judge_record import Case
from assay.flows.verdicts.new_verdict import newly_decided
from assay.flows.verdicts.read_verdict import Decided
from assay.flows.verdicts.verdict_batch import VerdictBatch
from assay.flows.verdicts.verdict_entry import PreparedVerdict
from assay.kernel.ids import TenantId
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A record with the verdicts of all its rules, which nobody has been told yet."""

    case: Case
    verdicts: tuple[PreparedVerdict, ...]
    mark: RequestMark | None = None


class Recorded(NamedTuple):
    """A receipt for each rule; `decided` where it was needed already, for the answer that is kept."""

    receipts: tuple[Receipt, ...]
    decided: Decided | None = None


@dataclass(frozen=True, slots=True)
class _Recording:
    """What one call brings: records in their order, of which a later one may rest on those before it."""

    keep_seconds: int
    judged: Sequence[JudgedCase]


def record_verdicts(tools: Tools, judged: Sequence[JudgedCase]) -> Sequence[Recorded]:
    """Receipts for the records from the first one on, up to one that must be looked at again.

    That is one whose id was taken meanwhile, or whose rule is not stable any more: neither it nor what comes after it
    is on record then. A key that was used meanwhile is `RequestInHandError`, and none of them is.
    """
    recording = _Recording(tools.ski.keep_seconds, judged)
    return tools.recording.write(tools.database, recording, _record_all, weight=len(judged))


def _record_all(unit: Unit, recordings: Sequence[_Recording]) -> list[list[Recorded] | RequestInHandError]:
    batch = VerdictBatch(unit)
    of_tenant: defaultdict[TenantId, list[Case]] = defaultdict(list)
    for recording in recordings:
        for one in recording.judged:
            of_tenant[one.case.tenant_id].append(one.case)
    for tenant_id, cases in of_tenant.items():
        batch.look(tenant_id, [case.telemetry.telemetry_id for case in cases], [case.subject for case in cases])
    forget_expired(unit, [one.mark for sent in recordings for one in sent.judged if one.mark is not None])
    recorded = [_find_used(unit, recording) or _record(batch, recording) for recording in recordings]
    batch.store()
    return recorded


def _find_used(unit: Unit, recording: _Recording) -> RequestInHandError | None:
    """Asked where the writer is alone: of two requests under one key, one has an effect."""
    try:
        for one in recording.judged:
            if one.mark is not None:
                one.mark.verify_free(unit)
    except RequestInHandError as refusal:
        return refusal
    return None


def _record(batch: VerdictBatch, recording: _Recording) -> list[Recorded]:
    recorded: list[Recorded] = []
    for one in recording.judged:
        tenant_id, telemetry = one.case.tenant_id, one.case.telemetry
        is_known = batch.is_known(tenant_id, telemetry.telemetry_id)
        if is_known or not all(batch.is_still_stable(tenant_id, verdict) for verdict in one.verdicts):
            break
        with batch.unit.ledger.under(one.case.trace):
            receipts = batch.add(
                tenant_id, telemetry, one.verdicts, keep_seconds=recording.keep_seconds, at=one.case.at
            )
        recorded.append(Recorded(receipts, _keep(batch.unit, one, receipts)))
    return recorded


def _keep(unit: Unit, judged: JudgedCase, receipts: tuple[Receipt, ...]) -> Decided | None:
    """The answer to a request with a key, beside what it did."""
    if judged.mark is None:
        return None
    decided = newly_decided(judged.case.telemetry, judged.verdicts, receipts)
    judged.mark.keep(unit, decided, entry=receipts[0].sequence_number - 1)
    return decided
