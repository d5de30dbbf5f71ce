"""A final state is disputed: whether that counts, and the round in which people look at it again.

signal -> by a person who is there, about the state in force, of a standing that votes -> a window for `timeout`
Everybody's dispute is recorded. One that does not count changes nothing but the log, and the answer says why.
"""

from collections.abc import Sequence
from enum import StrEnum

from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.trust.take_snapshot import take_snapshot
from assay.flows.truth.load_truth import read_released
from assay.flows.truth.released import get_contract
from assay.flows.truth.vouch_rows import vouch_states
from assay.identity.caller import Via
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, SilverState
from assay.trust.signal import DisputeRaised, TrustSignal, signal_hash
from assay.truth.admit import bucket_bounds
from assay.truth.consensus import find_window, may_dispute
from assay.truth.contract import Contract
from assay.truth.key import parse_truth_key
from assay.truth.opening import open_dispute
from assay.truth.route import is_expired
from assay.truth.status import FINAL_STATUSES
from assay.truth.window import WindowEvent, parse_window_event


class DisputeRefusal(StrEnum):
    """Why a dispute that was recorded does not count; the first reason that applies."""

    NOT_IN_PERSON = "not_in_person"
    NO_REASON = "no_reason"
    NOT_IN_FORCE = "not_in_force"
    NOT_FINAL = "not_final"
    EXPIRED = "expired"
    NOT_AUTHORISED = "not_authorised"
    WINDOW_OPEN = "window_open"
    DISPUTED_BEFORE = "disputed_before"


def judge_dispute(
    unit: Unit, tools: Tools, proved: Authenticated, signal: TrustSignal, dispute: DisputeRaised, *, at: Instant
) -> WindowEvent | DisputeRefusal:
    """The opening of the round that a dispute of the state in force begins, or why it begins none.

    Once for each agent and key: whoever was not convinced by the answer asks an operator, who may open the next round.
    """
    refusal = _find_unfit(proved, dispute)
    if refusal is not None:
        return refusal
    tenant_id = proved.principal.tenant_id
    last = unit.truth.find_state(tenant_id, dispute.truthkey)
    if last is None or last.state_hash != dispute.state_hash:
        return DisputeRefusal.NOT_IN_FORCE
    vouch_states(unit, tools.vouched, tenant_id, [last])
    contract = read_released(tools, get_contract(unit, tenant_id, last.claim_type))
    refusal = _find_settled(contract, last, at)
    if refusal is not None:
        return refusal
    snapshot, _ = take_snapshot(unit, tools, tenant_id, [signal.agent_id], contract.id, at=at)
    if not may_dispute(contract, signal.agent_id, snapshot):
        return DisputeRefusal.NOT_AUTHORISED
    records = unit.truth.records(tenant_id, dispute.truthkey)
    events = [parse_window_event(one.text) for one in records if one.kind is RecordKind.WINDOW_EVENT]
    refusal = _find_obstacle(contract, dispute.truthkey, events, signal.agent_id, at)
    if refusal is not None:
        return refusal
    return open_dispute(contract, dispute.truthkey, by=signal.agent_id, dispute_hash=signal_hash(signal), at=at)


def _find_unfit(proved: Authenticated, dispute: DisputeRaised) -> DisputeRefusal | None:
    if proved.via is not Via.SESSION:
        # A script's key does not show that a person wants this now.
        return DisputeRefusal.NOT_IN_PERSON
    return None if dispute.reason.strip() else DisputeRefusal.NO_REASON


def _find_settled(contract: Contract, last: SilverState, at: Instant) -> DisputeRefusal | None:
    """Only what is final, and can still be known, can be disputed."""
    if last.status not in FINAL_STATUSES:
        return DisputeRefusal.NOT_FINAL
    _, end = bucket_bounds(contract, parse_truth_key(last.truthkey))
    return DisputeRefusal.EXPIRED if is_expired(contract, end, at) else None


def _find_obstacle(
    contract: Contract, truthkey: str, events: Sequence[WindowEvent], agent_id: str, at: Instant
) -> DisputeRefusal | None:
    window, _ = find_window(contract, truthkey, events, at)
    if window is not None and window.is_open(at):
        # People are being asked, and a vote CHALLENGE says the same there.
        return DisputeRefusal.WINDOW_OPEN
    is_again = any(event.dispute_hash is not None and event.by == agent_id for event in events)
    return DisputeRefusal.DISPUTED_BEFORE if is_again else None
