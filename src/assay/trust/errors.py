"""What trust refuses.

TrustError                      trust.refused
├── SignalError                 trust.signal                carries every problem at once
├── SignalKindError             trust.signal_kind
├── PolicyError                 trust.policy                carries every problem at once
├── FoldStateError              trust.fold_state
├── PolicyMismatchError         trust.policy_mismatch
├── SnapshotInstantError        trust.snapshot_instant
├── UnknownAgentError           trust.unknown_agent
├── UnknownProbeError           trust.unknown_probe
└── SimulationError             trust.simulation
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Error
from assay.truth.problem import Problem, render_problems


class TrustError(Error):
    """Trust cannot be folded, frozen or simulated."""

    code = "trust.refused"
    blame = Blame.INPUT


class SignalError(TrustError):
    """A trust signal is not well formed; `problems` lists everything that is wrong with it."""

    code = "trust.signal"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class SignalKindError(TrustError):
    """The body of a signal is not that of its kind."""

    code = "trust.signal_kind"


class PolicyError(TrustError):
    """A trust policy cannot be used; `problems` lists everything that is wrong with it, line by line."""

    code = "trust.policy"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class FoldStateError(TrustError):
    """A text is not the checkpoint of a fold in its one canonical form."""

    code = "trust.fold_state"


class PolicyMismatchError(TrustError):
    """A checkpoint was folded under another policy."""

    code = "trust.policy_mismatch"


class SnapshotInstantError(TrustError):
    """Trust cannot be frozen at an instant before the last signal that was folded in."""

    code = "trust.snapshot_instant"


class UnknownAgentError(TrustError):
    """No signal registered the agent whose standing is asked for."""

    code = "trust.unknown_agent"


class UnknownProbeError(TrustError):
    """No signal created the probe that trust is asked for."""

    code = "trust.unknown_probe"


class SimulationError(TrustError):
    """A simulation was asked for that has no rounds or no agents."""

    code = "trust.simulation"
