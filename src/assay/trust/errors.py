"""What trust refuses.

TrustError                      trust.refused
├── SignalError                 trust.signal                carries every problem at once
└── PolicyError                 trust.policy                carries every problem at once
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Code, Error
from assay.truth.problem import Problem, render_problems


class TrustError(Error):
    """Trust cannot be folded, frozen or simulated."""

    code = "trust.refused"
    blame = Blame.INPUT
    signal_kind = Code("trust.signal_kind", "The body of a signal is not that of its kind.")
    fold_state = Code("trust.fold_state", "A text is not the checkpoint of a fold in its one canonical form.")
    policy_mismatch = Code("trust.policy_mismatch", "A checkpoint was folded under another policy.")
    snapshot_instant = Code(
        "trust.snapshot_instant", "Trust cannot be frozen at an instant before the last signal that was folded in."
    )
    unknown_agent = Code("trust.unknown_agent", "No signal registered the agent whose standing is asked for.")
    unknown_probe = Code("trust.unknown_probe", "No signal created the probe that trust is asked for.")
    simulation = Code("trust.simulation", "A simulation was asked for that has no rounds or no agents.")


class SignalError(TrustError):
    """A trust signal is not well formed; `problems` lists everything that is wrong with it."""

    code = "trust.signal"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class PolicyError(TrustError):
    """A trust policy cannot be used; `problems` lists everything that is wrong with it, line by line."""

    code = "trust.policy"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)
