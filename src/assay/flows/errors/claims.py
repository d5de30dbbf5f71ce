"""What the journeys of claims refuse, beyond what the room itself refuses.

FlowError
"""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code


class ClaimsFlowError(FlowError):
    """A bundle of claims, its evidence or a gate policy was refused."""

    origin = Code(
        "claims.origin", "A bundle says that it comes from somebody other than who sends it; the refusal is on record."
    )
    not_resumable = Code(
        "claims.not_resumable", "A bundle that was published or refused, or is another's, has no place to be taken."
    )
    superseded = Code(
        "claims.superseded", "Another bundle was put in this one's place, so that this one is never published."
    )
    thread = Code("claims.thread", "A thread has a name that is empty, too long, or cannot be printed.", Blame.INPUT)
    approver = Code(
        "claims.approver", "A bundle asks for an approval by what is neither a role nor a principal.", Blame.INPUT
    )
    approver_refused = Code(
        "claims.approver_refused", "An approval by this person would not count for this bundle, so it is not taken."
    )
    edit = Code(
        "claims.edit",
        "An answer carries an edit that is no bundle, or changes nothing.",
        Blame.INPUT,
    )
    not_blind = Code(
        "claims.not_blind", "Somebody who judged or labelled an output before is asked to review it blindly."
    )
    not_certified = Code(
        "claims.not_certified", "The threshold in force lets more pass than the cases show to be right.", Blame.INPUT
    )
    evidence_erased = Code("claims.evidence_erased", "Content that was erased is not kept again.")
    evidence_size = Code(
        "claims.evidence_size", "Evidence is larger than is kept, or than is read for one bundle.", Blame.INPUT
    )
    busy = Code(
        "claims.busy", "What a decision rests on changed every time before it could be recorded; ask again.", Blame.OURS
    )
    policy_released = Code(
        "claims.policy_released", "Another policy was released under this id and version; a change needs a new version."
    )
    received_otherwise = Code(
        "claims.received_otherwise",
        "The same bundle came before, with other tool arguments, or asking for fewer people: that one is on record.",
        Blame.INPUT,
    )
    calibration_line = Code(
        "claims.calibration_line", 'A line is not `{"uncertainty": 0 to 1, "wrong": true or false}`.', Blame.INPUT
    )
    estimate_budget = Code(
        "claims.estimate_budget", "The tenant has used the answers of the general model that it may draw in a day."
    )
    no_estimator = Code(
        "claims.no_estimator", "The operator named no general model, so none can be asked how uncertain it is."
    )
