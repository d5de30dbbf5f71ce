"""What claims refuse.

ClaimsError                     claims.refused
├── BundleError                 claims.bundle               carries every problem at once
├── ClaimsPolicyError           claims.policy               carries every problem at once
├── PolicySignatureError        claims.policy_signature
├── SampleError                 claims.sample
├── ScoresError                 claims.scores
├── CalibrationSettingError     claims.calibration_setting
├── JudgeUnavailableError       claims.judge_unavailable
└── GuardianUnavailableError    claims.guardian_unavailable
"""

from collections.abc import Sequence

from assay.claims.problem import ClaimProblem, render_claim_problems
from assay.kernel.errors import Blame, Error


class ClaimsError(Error):
    """A claim cannot be read, estimated or gated."""

    code = "claims.refused"
    blame = Blame.INPUT


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


class PolicySignatureError(ClaimsError):
    """A policy is not signed, not wholly, or by a key that nobody here trusts."""

    code = "claims.policy_signature"


class SampleError(ClaimsError):
    """Too few answers, or answers without what the estimate needs."""

    code = "claims.sample"


class ScoresError(ClaimsError):
    """Scores or labels are not finite, not in range, not as many as each other, or of one kind only."""

    code = "claims.scores"


class CalibrationSettingError(ClaimsError):
    """A level, a share or a number of rounds is outside what the method allows."""

    code = "claims.calibration_setting"
    blame = Blame.USAGE


class JudgeUnavailableError(ClaimsError):
    """A judge of equivalence cannot answer; no estimate is made up in its place."""

    code = "claims.judge_unavailable"
    blame = Blame.OURS


class GuardianUnavailableError(ClaimsError):
    """A guardian cannot answer; the gate defers."""

    code = "claims.guardian_unavailable"
    blame = Blame.OURS
