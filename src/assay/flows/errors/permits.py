"""What flows of permits refuse; each says whether the call may run, which it never may."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code


class PermitFlowError(FlowError):
    """A permit was not issued or used."""

    not_published = Code("permit.not_published", "The gates have not let this action through, or no longer do.")
    no_call = Code(
        "permit.no_call",
        "A published bundle does not name exactly one call, so there is nothing that could be permitted.",
        Blame.INPUT,
    )
    used = Code(
        "permit.used", "A permit was claimed, reported or revoked before: the call must not run again under it."
    )
    running = Code("permit.running", "A call was claimed and is not reported yet; it may be running, or never end.")
    effect_unknown = Code(
        "permit.effect_unknown", "Nobody knows whether an earlier call took place; a reviewer reconciles it first."
    )


class NotClaimableError(FlowError):
    """What was handed in with a claim is not the permit that was signed."""

    code = "permit.not_claimable"
    blame = Blame.INPUT
