"""What the journeys of claims refuse, beyond what the room itself refuses.

FlowError
├── NotOriginError            claims.origin
├── NotResumableError         claims.not_resumable
├── SupersededBundleError     claims.superseded
├── ThreadNameError           claims.thread
├── UnknownApproverError      claims.approver
├── ApproverRefusedError      claims.approver_refused
├── EvidenceErasedError       claims.evidence_erased
├── EvidenceSizeError         claims.evidence_size
├── GatesBusyError            claims.busy
├── PolicyReleasedError       claims.policy_released
├── ReceivedOtherwiseError    claims.received_otherwise
├── CalibrationLineError      claims.calibration_line
├── EstimateBudgetError       claims.estimate_budget
└── NoEstimatorError          claims.no_estimator
"""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame


class NotOriginError(FlowError):
    """A bundle says that it comes from somebody other than who sends it; the refusal is on record."""

    code = "claims.origin"


class NotResumableError(FlowError):
    """A bundle that was published or refused, or is another's, has no place to be taken."""

    code = "claims.not_resumable"


class SupersededBundleError(FlowError):
    """Another bundle was put in this one's place, so that this one is never published."""

    code = "claims.superseded"


class ThreadNameError(FlowError):
    """A thread has a name that is empty, too long, or cannot be printed."""

    code = "claims.thread"
    blame = Blame.INPUT


class UnknownApproverError(FlowError):
    """A bundle asks for an approval by what is neither a role nor a principal."""

    code = "claims.approver"
    blame = Blame.INPUT


class ApproverRefusedError(FlowError):
    """An approval by this person would not count for this bundle, so it is not taken."""

    code = "claims.approver_refused"


class EvidenceErasedError(FlowError):
    """Content that was erased is not kept again."""

    code = "claims.evidence_erased"


class EvidenceSizeError(FlowError):
    """Evidence is larger than is kept, or than is read for one bundle."""

    code = "claims.evidence_size"
    blame = Blame.INPUT


class GatesBusyError(FlowError):
    """What a decision rests on changed every time before it could be recorded; ask again."""

    code = "claims.busy"
    blame = Blame.OURS


class PolicyReleasedError(FlowError):
    """Another policy was released under this id and version; a change needs a new version."""

    code = "claims.policy_released"


class ReceivedOtherwiseError(FlowError):
    """The same bundle came before, with other tool arguments, or asking for fewer people: that one is on record."""

    code = "claims.received_otherwise"
    blame = Blame.INPUT


class CalibrationLineError(FlowError):
    """A line is not `{"uncertainty": 0 to 1, "wrong": true or false}`."""

    code = "claims.calibration_line"
    blame = Blame.INPUT


class EstimateBudgetError(FlowError):
    """The tenant has used the answers of the general model that it may draw in a day."""

    code = "claims.estimate_budget"


class NoEstimatorError(FlowError):
    """The operator named no general model, so none can be asked how uncertain it is."""

    code = "claims.no_estimator"
