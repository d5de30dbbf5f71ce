"""What flows about truth and trust refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame


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
