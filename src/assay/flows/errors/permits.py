"""What flows of permits refuse; each says whether the call may run, which it never may.

NotPublishedError    permit.not_published
NoCallError          permit.no_call
PermitUsedError      permit.used
EffectUnknownError   permit.effect_unknown
NotClaimableError    permit.not_claimable
"""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame


class NotPublishedError(FlowError):
    """The gates have not let this action through, or no longer do."""

    code = "permit.not_published"
    blame = Blame.ANSWER


class NoCallError(FlowError):
    """A published bundle does not name exactly one call, so there is nothing that could be permitted."""

    code = "permit.no_call"
    blame = Blame.INPUT


class PermitUsedError(FlowError):
    """A permit was claimed, reported or revoked before: the call must not run again under it."""

    code = "permit.used"
    blame = Blame.ANSWER


class EffectUnknownError(FlowError):
    """Nobody knows whether an earlier call took place; a reviewer reconciles it first."""

    code = "permit.effect_unknown"
    blame = Blame.ANSWER


class NotClaimableError(FlowError):
    """What was handed in with a claim is not the permit that was signed."""

    code = "permit.not_claimable"
    blame = Blame.INPUT
