"""What flows refuse, beyond what the rooms and ports they call refuse.

FlowError                     flow.refused
├── NotFoundError             flow.not_found
├── RolledBackError           ledger.rolled_back
├── ForkedLedgerError         ledger.forked
├── MarkError                 ledger.mark
├── OwnKeyError               key.not_own
├── NoCheckpointError         proof.no_checkpoint
├── OwnProofError             proof.not_own
├── NoWitnessesError          proof.no_witnesses
├── ReportError               proof.report
├── NothingToEraseError       ledger.nothing_to_erase
├── WitnessRefusedError       witness.refused
├── NotSignedInError          identity.not_signed_in
├── SessionRequiredError      identity.session_required
├── PrincipalExistsError      identity.exists
├── PasswordFormError         identity.password_form
├── CredentialEndedError      identity.credential_ended
├── CredentialExistsError     identity.credential_exists
├── ThrottledError            identity.throttled      carries the seconds to wait
├── ReplayedRequestError      identity.replayed
├── NoProviderError           identity.no_provider
├── CompileTimeError          truth.compile_time
├── FutureObservationError    truth.future_observation
├── NoTruthKeyError           key.no_truth_key
├── NoOpenTicketError         truth.no_open_ticket
├── NotReporterError          truth.not_reporter
├── NotReleasedError          truth.not_released
├── RecordConflictError       truth.record_conflict
├── TooManyReportsError       truth.too_many_reports
├── TruthBusyError            truth.busy
├── UnsignedVoteError         truth.vote_unsigned
├── UnboundVoteError          truth.vote_unbound
├── WindowRefusedError        truth.window_refused
├── PolicyChangedError        trust.policy_changed
├── NoPolicyError             trust.no_policy
├── SignalRefusedError        trust.signal_refused
├── AnswerTimeError           review.answer_time
├── DraftGraphError           graph.draft
├── InvalidGraphError         graph.invalid
├── UnreviewedGraphError      graph.unreviewed
├── NoGraphError              verdict.no_graph
├── NoReasonerError           verdict.no_model
├── NotHeldError              verdict.not_held
├── OtherRuntimeError         verdict.runtime
├── SovereigntyError          sovereignty.unmet       carries every finding
├── AttestationDocumentError  sovereignty.document
├── SubstitutedWeightsError   sovereignty.weights
├── CaseFileError             model.cases             a file of cases or pairs that cannot be read
├── UnteachableCaseError      model.unteachable
├── NothingLearntError        model.unchanged
├── UnknownWeightsError       model.unknown
├── NotEvaluatedError         model.not_evaluated
├── WorseModelError           model.worse             carries every reason
├── ModelMovedError           model.moved
├── NoWeightFilesError        model.no_folder
├── NoAnswererError           delivery.no_answerer
├── AnswererError             delivery.answerer
├── StrandCheckError          delivery.strand_check
├── EmitterError              delivery.emitter
├── RequestKeyReusedError     request.key_reused
├── RequestInHandError        request.in_hand
└── AnswerLostError           request.answer_lost
"""

from assay.kernel.errors import Blame, Error
from assay.verdicts.graph.issue import Issue
from assay.verdicts.sovereignty import SovereigntyFinding

__all__ = [
    "AnswerLostError",
    "AnswerTimeError",
    "AnswererError",
    "AttestationDocumentError",
    "CaseFileError",
    "CompileTimeError",
    "CredentialEndedError",
    "CredentialExistsError",
    "DraftGraphError",
    "EmitterError",
    "FlowError",
    "ForkedLedgerError",
    "FutureObservationError",
    "InvalidGraphError",
    "MarkError",
    "ModelMovedError",
    "NoAnswererError",
    "NoCheckpointError",
    "NoGraphError",
    "NoOpenTicketError",
    "NoPolicyError",
    "NoProviderError",
    "NoReasonerError",
    "NoTruthKeyError",
    "NoWeightFilesError",
    "NoWitnessesError",
    "NotEvaluatedError",
    "NotFoundError",
    "NotHeldError",
    "NotReleasedError",
    "NotReporterError",
    "NotSignedInError",
    "NothingLearntError",
    "NothingToEraseError",
    "OtherRuntimeError",
    "OwnKeyError",
    "OwnProofError",
    "PasswordFormError",
    "PolicyChangedError",
    "PrincipalExistsError",
    "RecordConflictError",
    "ReplayedRequestError",
    "ReportError",
    "RequestInHandError",
    "RequestKeyReusedError",
    "RolledBackError",
    "SessionRequiredError",
    "SignalRefusedError",
    "SovereigntyError",
    "StrandCheckError",
    "SubstitutedWeightsError",
    "ThrottledError",
    "TooManyReportsError",
    "TruthBusyError",
    "UnboundVoteError",
    "UnknownWeightsError",
    "UnreviewedGraphError",
    "UnsignedVoteError",
    "UnteachableCaseError",
    "WindowRefusedError",
    "WitnessRefusedError",
    "WorseModelError",
]


class FlowError(Error):
    """A journey ended early."""

    code = "flow.refused"
    blame = Blame.ANSWER


class NotFoundError(FlowError):
    """What was asked for is not there."""

    code = "flow.not_found"


class RolledBackError(FlowError):
    """The database ends before a checkpoint that was signed for it: entries were lost or taken away."""

    code = "ledger.rolled_back"
    blame = Blame.OURS


class ForkedLedgerError(FlowError):
    """The database is not the one a checkpoint was signed for: its tree has another root."""

    code = "ledger.forked"
    blame = Blame.OURS


class MarkError(FlowError):
    """A verification mark is not one this node made."""

    code = "ledger.mark"
    blame = Blame.INPUT


class OwnKeyError(FlowError):
    """A key that the configuration names is not one this node may sign with now."""

    code = "key.not_own"
    blame = Blame.USAGE


class NoCheckpointError(FlowError):
    """No signed checkpoint covers the entry yet."""

    code = "proof.no_checkpoint"


class OwnProofError(FlowError):
    """The proof that was to be signed in another form does not hold by the node's own keys: the database is damaged."""

    code = "proof.not_own"
    blame = Blame.OURS


class NoWitnessesError(FlowError):
    """Witnesses were asked for in a form of proof that cannot carry their word."""

    code = "proof.no_witnesses"
    blame = Blame.USAGE


class ReportError(FlowError):
    """A text is no audit report, or its rows do not say what their entries say."""

    code = "proof.report"
    blame = Blame.INPUT


class NothingToEraseError(FlowError):
    """The entry has no such erasable value, or it was erased before."""

    code = "ledger.nothing_to_erase"


class WitnessRefusedError(FlowError):
    """A witness did not cosign."""

    code = "witness.refused"


class NotSignedInError(FlowError):
    """No valid credential was shown."""

    code = "identity.not_signed_in"


class SessionRequiredError(FlowError):
    """Only a person's own live session may do this; an API key is not enough."""

    code = "identity.session_required"


class PrincipalExistsError(FlowError):
    """A principal of that id is already there; amend it instead."""

    code = "identity.exists"


class PasswordFormError(FlowError):
    """A new password is too short, too long, or not text."""

    code = "identity.password_form"
    blame = Blame.USAGE


class CredentialEndedError(FlowError):
    """The credential was revoked or has expired; issue a new one."""

    code = "identity.credential_ended"


class CredentialExistsError(FlowError):
    """A key is registered already; one key proves one principal."""

    code = "identity.credential_exists"


class ThrottledError(FlowError):
    """Too many failed logins of this account or from this address; wait before the next one."""

    code = "identity.throttled"

    def __init__(self, *, seconds: int) -> None:
        super().__init__(f"too many failed logins: expected none for {seconds} s")
        self.seconds = seconds


class ReplayedRequestError(FlowError):
    """A signed request came a second time."""

    code = "identity.replayed"


class NoProviderError(FlowError):
    """No identity provider is configured."""

    code = "identity.no_provider"


class AnswerTimeError(FlowError):
    """An answer that was signed elsewhere carries a time that is not close to ours."""

    code = "review.answer_time"
    blame = Blame.INPUT


class CompileTimeError(FlowError):
    """A key cannot be compiled for a time before its latest state."""

    code = "truth.compile_time"


class FutureObservationError(FlowError):
    """An observation says that it was made later than our clock and its allowed skew."""

    code = "truth.future_observation"
    blame = Blame.INPUT


class NoTruthKeyError(FlowError):
    """This node has no key to sign truth states with."""

    code = "key.no_truth_key"
    blame = Blame.USAGE


class NoOpenTicketError(FlowError):
    """Nobody is asked about this key now, so there is nothing to vote on."""

    code = "truth.no_open_ticket"


class NotReporterError(FlowError):
    """Whoever submits is neither the reporter nor a relay."""

    code = "truth.not_reporter"


class NotReleasedError(FlowError):
    """No contract of this claim type was released."""

    code = "truth.not_released"


class RecordConflictError(FlowError):
    """Another record has this id already."""

    code = "truth.record_conflict"


class TooManyReportsError(FlowError):
    """One reporter says more about one key than a state has room for."""

    code = "truth.too_many_reports"


class TruthBusyError(FlowError):
    """Others wrote to the same key all the time; try again."""

    code = "truth.busy"


class UnsignedVoteError(FlowError):
    """The entry of a vote holds no signed answer: nobody can tell whose it is."""

    code = "truth.vote_unsigned"
    blame = Blame.INPUT


class UnboundVoteError(FlowError):
    """A vote is not what its voter signed, or not about what that person was shown."""

    code = "truth.vote_unbound"
    blame = Blame.INPUT


class WindowRefusedError(FlowError):
    """The validation window of a key does not stand so that this could follow."""

    code = "truth.window_refused"


class PolicyChangedError(FlowError):
    """Another policy was registered under this id; give it a new one."""

    code = "trust.policy_changed"


class NoPolicyError(FlowError):
    """No trust policy is registered, so nobody's trust can be told."""

    code = "trust.no_policy"
    blame = Blame.USAGE


class SignalRefusedError(FlowError):
    """A signal of this kind cannot be handed in from outside, or not by this agent."""

    code = "trust.signal_refused"


class DraftGraphError(FlowError):
    """A draft comes into use only when people accepted it and an anchor signed it, whatever the mode."""

    code = "graph.draft"


class InvalidGraphError(FlowError):
    """A knowledge graph has defects for which it may not be signed or used; `issues` lists all that were found."""

    code = "graph.invalid"
    blame = Blame.INPUT

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        worst = "; ".join(f"{issue.code} {issue.node or ''}: {issue.message}" for issue in issues[:3])
        super().__init__(f"expected a graph without critical or high issues, got {len(issues)} issues: {worst}")
        self.issues = issues


class UnreviewedGraphError(FlowError):
    """People have not accepted this knowledge graph, or one of them has rejected it (SKI 2.1.2)."""

    code = "graph.unreviewed"


class NoGraphError(FlowError):
    """No knowledge graph is in use, so nothing can be judged."""

    code = "verdict.no_graph"
    blame = Blame.USAGE


class NoReasonerError(FlowError):
    """No language model is configured, and no verdict is reached without one (SKI 2.1.3)."""

    code = "verdict.no_model"
    blame = Blame.USAGE


class NotHeldError(FlowError):
    """No verdict waits for this answer."""

    code = "verdict.not_held"


class OtherRuntimeError(FlowError):
    """The operator selected the other runtime (`SKI_RUNTIME_VERSION`)."""

    code = "verdict.runtime"
    blame = Blame.USAGE


class SovereigntyError(FlowError):
    """Evaluation would not stay on the operator's own ground (SKI 6.2); `findings` has all five checks."""

    code = "sovereignty.unmet"
    blame = Blame.USAGE

    def __init__(self, findings: tuple[SovereigntyFinding, ...]) -> None:
        unmet = "; ".join(f"{one.check}: {one.detail}" for one in findings if not one.is_met)
        super().__init__(f"expected every check of SKI 6.2 to be met, got {unmet}")
        self.findings = findings


class AttestationDocumentError(FlowError):
    """A text is not the document that `/api/sovereignty` answers with."""

    code = "sovereignty.document"
    blame = Blame.INPUT


class SubstitutedWeightsError(FlowError):
    """Another model answered than the one that was named: nothing of what it said is used."""

    code = "sovereignty.weights"
    blame = Blame.INPUT


class CaseFileError(FlowError):
    """A file is not one of cases with their right answers, one in each line."""

    code = "model.cases"
    blame = Blame.INPUT


class UnteachableCaseError(FlowError):
    """The verifier does not agree with what a model would learn from this case, so nothing is learnt from it."""

    code = "model.unteachable"
    blame = Blame.INPUT


class NothingLearntError(FlowError):
    """A training ended in the very integers it began with; give it more steps or a higher rate."""

    code = "model.unchanged"


class UnknownWeightsError(FlowError):
    """No weights with this hash are in the registry."""

    code = "model.unknown"


class NotEvaluatedError(FlowError):
    """A model was not measured here on the cases that decide whether it may be used."""

    code = "model.not_evaluated"


class WorseModelError(FlowError):
    """A model is worse than the one in use; nobody is asked about it. `reasons` has every figure that fell."""

    code = "model.worse"

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__(f"expected a model that is no worse than the one in use, got {'; '.join(reasons)}")
        self.reasons = reasons


class ModelMovedError(FlowError):
    """Another model came into use after the question was asked; ask again."""

    code = "model.moved"


class NoWeightFilesError(FlowError):
    """This node has no folder for weights, so it can neither keep nor run any but the shipped ones."""

    code = "model.no_folder"
    blame = Blame.USAGE


class NoAnswererError(FlowError):
    """Nobody here answers questions of this kind."""

    code = "delivery.no_answerer"


class AnswererError(FlowError):
    """The answerer failed, was late or said nothing that can be marked: no answer was given, and that is on record."""

    code = "delivery.answerer"
    blame = Blame.OURS


class StrandCheckError(FlowError):
    """A strand was registered twice, or its check said neither what it found nor that it found nothing."""

    code = "delivery.strand_check"
    blame = Blame.OURS


class EmitterError(FlowError):
    """A service tells events under its own name, and under nobody else's."""

    code = "delivery.emitter"
    blame = Blame.ANSWER


class RequestKeyReusedError(FlowError):
    """A key was used for another request; each request needs one of its own."""

    code = "request.key_reused"
    blame = Blame.INPUT


class RequestInHandError(FlowError):
    """The same request is being worked on; come again, and it is answered as the first."""

    code = "request.in_hand"


class AnswerLostError(FlowError):
    """The request took effect, and the process ended before its answer was kept; the ledger has what it appended."""

    code = "request.answer_lost"
