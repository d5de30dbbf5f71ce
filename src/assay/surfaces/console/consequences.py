"""What follows from each choice of a ticket, shown before anybody chooses; the rooms' flows do it."""

from collections.abc import Mapping
from types import MappingProxyType

from assay.review.kind import OnExpiry, TicketKind
from assay.review.ticket import Ticket
from assay.surfaces.console.times import moment

CONSEQUENCES: Mapping[TicketKind, Mapping[str, str]] = MappingProxyType(
    {
        TicketKind.APPROVAL: {
            "approve": "What is shown may be done, if nothing else stands in its way.",
            "reject": "It is refused for good.",
        },
        TicketKind.DEFERRAL: {
            "resume": "The bundle goes on past the gate that stopped it; the gates after it still decide.",
            "reject": "The bundle is refused for good.",
        },
        TicketKind.ATTESTATION: {
            "attest": "The verdict becomes final as the model gave it if the verifier agreed, otherwise DISCRETIONARY.",
            "decline": "The verdict becomes DISCRETIONARY: a person must decide the case.",
        },
        TicketKind.VALIDATION: {
            "ratify": "Your vote for the claim, by your weight.",
            "reject": "Your vote against the claim, by your weight.",
            "abstain": "You looked, and vote neither way.",
            "challenge": "You dispute the claim: it is held for people until that is decided.",
            "override": "You set the status yourself, where the contract lets you.",
        },
        TicketKind.ROOT_CAUSE: {
            "routing_failure": "Category A: the rule is sound, and was asked where another should have been.",
            "application_failure": "Category B: the right rule, wrongly applied.",
            "rule_failure": "Category C: the rule itself is wrong. A corrected text goes to a second person.",
        },
        TicketKind.RESTORE: {
            "restore": "The service may write again, at the tier that it had.",
            "keep_restricted": "It stays restricted to reading.",
        },
        TicketKind.KNOWLEDGE_REVIEW: {
            "accept": "You confirm that the graph is right; it may then be signed and loaded.",
            "reject": "You state that the graph is wrong.",
        },
        TicketKind.MODEL_ACTIVATION: {
            "activate": "Verdicts are reached with these weights from now on.",
            "reject": "The model in use stays.",
        },
        TicketKind.PENALTY: {
            "apply": "The agent's standing is lowered as shown.",
            "dismiss": "The agent's standing stays.",
        },
        TicketKind.TIER_CHANGE: {
            "authorise": "The principal has the new tier at once.",
            "refuse": "The principal keeps the tier it has.",
        },
        TicketKind.POWER_CHANGE: {
            "approve": "The change takes effect at once, and the ledger names you as its second administrator.",
            "reject": "Nothing changes.",
        },
        TicketKind.MANDATE: {
            "sign": "Calls within these limits run without asking anybody, until the mandate is used up or revoked.",
            "reject": "Each such call is approved by itself, as before.",
        },
        TicketKind.EFFECT: {
            "happened": "The call counts as done, and is never permitted again.",
            "did_not_happen": "The call counts as failed, and may be permitted again.",
        },
        TicketKind.SAMPLE: {
            "right": "The output counts as right in the figures of oversight; nothing is published or taken back.",
            "wrong": "The output counts as wrong in the figures of oversight and in the next calibration.",
        },
        TicketKind.SHIFT: {
            "recalibrate": "You calibrate again: `assay claims labels`, `claims calibrate`, `claims certify`.",
            "dismiss": "The stricter thresholds stay, and nothing is watched until the next certificate.",
        },
        TicketKind.RULE_CERTIFICATION: {
            "certify": "You stand by this version of the rule, by name.",
            "decline": "You do not stand by it.",
        },
        TicketKind.FOREIGN_OUTCOME: {
            "translate": "The agreement is to name this rule; the outcome counts when the peer sends it again.",
            "dismiss": "The outcome counts for nothing here.",
        },
        TicketKind.RULE_PROPOSAL: {
            "accept": "A text rule gets this version, and you stand by it; any other is changed at its source.",
            "reject": "The rule stays as it is.",
        },
    }
)


def who_decides(ticket: Ticket) -> str:
    """How answers become a decision."""
    if ticket.rule.by_room:
        return "Votes are weighted by the contract; no number of them decides alone."
    one = ticket.quorum == 1
    words = "One person decides" if one else f"{ticket.quorum} people must choose the same"
    return f"{words}; one rejection is enough." if ticket.rule.veto and ticket.rejecting and not one else f"{words}."


def silence_words(ticket: Ticket) -> str:
    """What happens where nobody decides."""
    if ticket.due_at is None:
        return "It waits until somebody decides."
    due = moment(ticket.due_at)
    if ticket.on_expiry is OnExpiry.DENY:
        return f"Without a decision by {due} it is denied."
    if ticket.on_expiry is OnExpiry.DEFAULT_CHOICE:
        return f"Without a decision by {due} it is settled as {(ticket.default_choice or '').replace('_', ' ')}."
    return f"It is due {due}, and stays open after that."
