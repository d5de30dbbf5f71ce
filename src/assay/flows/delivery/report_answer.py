"""The outcome of an answer of this node, by its id: what the answer says of itself need not be repeated.

signal -> incomplete? -> sender, grant, answer as its entry binds it -> whole signal -> `report_outcome`
"""

from collections.abc import Mapping

from assay.delivery.annotate import Annotation
from assay.delivery.complete import complete_outcome, find_incomplete, names_rules
from assay.delivery.errors import OutcomeAnswerError, OutcomeConflictError, OutcomeSourceError
from assay.delivery.outcome import ReporterGrant, Signal, parse_outcome
from assay.flows.delivery.answer_record import get_proven
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.report_outcome import report_outcome
from assay.flows.delivery.rule_proofs import find_granted
from assay.flows.identity.authenticate import authenticate_in
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.ports.database import Unit

__all__ = ["report_answer"]


def report_answer(
    tools: Tools, content: bytes, *, credential: str, idempotency_key: str | None = None, at: Instant
) -> Reported:
    """One signal, which may leave out all but `outcome` where `answer_id` is of an answer of this node.

    Recorded is the whole signal. What was told must agree with the answer, as it must in a signal that is whole.
    """
    told = find_incomplete(content)

    def report() -> Reported:
        whole = content if told is None else tools.database.read(lambda unit: _complete(unit, told, credential, at))
        return report_outcome(tools, whole, credential=credential, idempotency_key=idempotency_key, at=at)

    try:
        return report()
    except OutcomeConflictError:
        if told is None or "timestamp" in told:
            raise
        # Sent twice at once, each had a time of its own; that of the first is known by now. Any other outcome of the
        # same answer is refused again.
        return report()


def _complete(unit: Unit, told: Mapping[str, JsonValue], credential: str, at: Instant) -> bytes:
    sender, answer_id = authenticate_in(unit, credential, at=at).principal, str(told["answer_id"])
    grant = find_granted(unit, sender.tenant_id, sender.id)
    if grant is None or not grant.rules:
        raise OutcomeSourceError(f"`{sender.id}` may not report outcomes of any rule")
    if unit.delivery.find_answer(sender.tenant_id, answer_id) is None:
        raise OutcomeAnswerError(f"expected an answer of this node, got `{answer_id[:80]}`")
    # What is written into the ledger in the sender's place is what the ledger binds, whoever can write to the rows.
    annotation = get_proven(unit, sender.tenant_id, answer_id).annotation
    if not names_rules(told):
        _require_all(sender, grant, annotation)
    whole = complete_outcome(told, annotation, occurred_at=at)
    known = _find_told(unit, sender, parse_outcome(whole, sender=sender.id, at=at))
    return whole if known is None else complete_outcome(told, annotation, occurred_at=known.occurred_at)


def _require_all(sender: Principal, grant: ReporterGrant, annotation: Annotation) -> None:
    """No rule is named: whoever may not report of it need not learn that it is behind the answer."""
    if not all(grant.covers(ref.rule_id) for ref in annotation.rules):
        raise OutcomeSourceError(f"`{sender.id}` may not report outcomes of every rule behind `{annotation.answer_id}`")


def _find_told(unit: Unit, sender: Principal, signal: Signal) -> Signal | None:
    """What this sender told of the same answer and rules: without a time, the same outcome again is that one."""
    rows = unit.delivery.answer_signals(sender.tenant_id, str(signal.answer_id))
    told = (read_text(row.text, Signal) for row in rows)
    return next((one for one in told if one.sender == sender.id and set(one.rule_ids) & set(signal.rule_ids)), None)
