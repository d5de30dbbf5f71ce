"""What each room does with answers and decisions on the review desk: one table, which every surface passes on."""

from types import MappingProxyType

from assay.flows.claims.approve_claims import require_approver, settle_claims
from assay.flows.claims.sampling import require_blind
from assay.flows.delivery.settle_rootcause import (
    read_conclusion,
    settle_certification,
    settle_proposal,
    settle_rootcause,
)
from assay.flows.identity.duties import apply_power, refuse_own_power
from assay.flows.identity.tiers import apply_tier, refuse_own_tier
from assay.flows.model.activate_model import put_model_in_use
from assay.flows.permits.mandates import require_signer, sign_mandate
from assay.flows.permits.permits import settle_effect
from assay.flows.registry.restore_switch import open_latch
from assay.flows.review.settle_review import FollowUps
from assay.flows.trust.request_penalty import apply_penalty, refuse_own_penalty
from assay.flows.truth.vote_entry import record_vote
from assay.flows.verdicts.attest_verdict import require_token, settle_held_verdict
from assay.review.kind import TicketKind

ROOM_FOLLOW_UPS = FollowUps(
    on_settlement=MappingProxyType(
        {
            TicketKind.APPROVAL: settle_claims,
            TicketKind.ATTESTATION: settle_held_verdict,
            TicketKind.DEFERRAL: settle_claims,
            TicketKind.EFFECT: settle_effect,
            TicketKind.MANDATE: sign_mandate,
            TicketKind.MODEL_ACTIVATION: put_model_in_use,
            TicketKind.PENALTY: apply_penalty,
            TicketKind.POWER_CHANGE: apply_power,
            TicketKind.RESTORE: open_latch,
            TicketKind.ROOT_CAUSE: settle_rootcause,
            TicketKind.RULE_CERTIFICATION: settle_certification,
            TicketKind.RULE_PROPOSAL: settle_proposal,
            TicketKind.TIER_CHANGE: apply_tier,
        }
    ),
    on_answer=MappingProxyType(
        {
            TicketKind.APPROVAL: require_approver,
            TicketKind.ATTESTATION: require_token,
            TicketKind.DEFERRAL: require_approver,
            TicketKind.MANDATE: require_signer,
            TicketKind.PENALTY: refuse_own_penalty,
            TicketKind.POWER_CHANGE: refuse_own_power,
            TicketKind.ROOT_CAUSE: read_conclusion,
            TicketKind.SAMPLE: require_blind,
            TicketKind.TIER_CHANGE: refuse_own_tier,
            TicketKind.VALIDATION: record_vote,
        }
    ),
)
