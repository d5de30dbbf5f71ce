"""What each room does with answers and decisions on the review desk: one table, which every surface passes on."""

from types import MappingProxyType

from assay.flows.attest_verdict import require_token, settle_held_verdict
from assay.flows.request_penalty import apply_penalty, refuse_own_penalty
from assay.flows.restore_switch import open_latch
from assay.flows.review_graph import note_graph_review
from assay.flows.settle_review import FollowUps
from assay.flows.validation_ticket import record_vote
from assay.review.kind import TicketKind

__all__ = ["ROOM_FOLLOW_UPS"]

ROOM_FOLLOW_UPS = FollowUps(
    on_settlement=MappingProxyType(
        {
            TicketKind.ATTESTATION: settle_held_verdict,
            TicketKind.PENALTY: apply_penalty,
            TicketKind.RESTORE: open_latch,
        }
    ),
    on_answer=MappingProxyType(
        {
            TicketKind.ATTESTATION: require_token,
            TicketKind.KNOWLEDGE_REVIEW: note_graph_review,
            TicketKind.PENALTY: refuse_own_penalty,
            TicketKind.VALIDATION: record_vote,
        }
    ),
)
