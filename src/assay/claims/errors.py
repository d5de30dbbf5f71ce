"""What claims refuse.

ClaimsError                     claims.refused
├── BundleError                 claims.bundle               carries every problem at once
└── ClaimsPolicyError           claims.policy               carries every problem at once
"""

from collections.abc import Sequence

from assay.claims.problem import ClaimProblem, render_claim_problems
from assay.kernel.errors import Blame, Code, Error


class ClaimsError(Error):
    """A claim cannot be read, estimated or gated."""

    code = "claims.refused"
    blame = Blame.INPUT
    policy_signature = Code(
        "claims.policy_signature", "A policy is not signed, not wholly, or by a key that nobody here trusts."
    )
    sample = Code("claims.sample", "Too few answers, or answers without what the estimate needs.")
    scores = Code(
        "claims.scores",
        "Scores or labels are not finite, not in range, not as many as each other, or of one kind only.",
    )
    calibration_setting = Code(
        "claims.calibration_setting",
        "A level, a share or a number of rounds is outside what the method allows.",
        Blame.USAGE,
    )
    judge_unavailable = Code(
        "claims.judge_unavailable",
        "A judge of equivalence cannot answer; no estimate is made up in its place.",
        Blame.OURS,
    )
    guardian_unavailable = Code("claims.guardian_unavailable", "A guardian cannot answer; the gate defers.", Blame.OURS)


class BundleError(ClaimsError):
    """A document is not a claim bundle; `problems` lists everything that is wrong with it."""

    code = "claims.bundle"

    def __init__(self, problems: Sequence[ClaimProblem]) -> None:
        super().__init__(render_claim_problems(problems))
        self.problems = tuple(problems)


class ClaimsPolicyError(ClaimsError):
    """A policy of gates cannot be used; `problems` lists everything that is wrong with it."""

    code = "claims.policy"

    def __init__(self, problems: Sequence[ClaimProblem]) -> None:
        super().__init__(render_claim_problems(problems))
        self.problems = tuple(problems)
