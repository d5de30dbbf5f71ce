"""The title of a ticket as a sentence about the thing, made from what is recorded; the recorded title stays."""

import re

from assay.review.kind import TicketKind
from assay.review.ticket import Ticket

_KEY = re.compile(r"(?P<domain>[^:]+):(?P<name>[^:]+):(?P<place>.*):(?P<when>\d{4}-\d\d-\d\dT\d\d:\d\dZ)$")


def key_title(key: str) -> str:
    """A truth key as a title: what, where in short, when."""
    found = _KEY.match(key)
    if found is None:
        return key
    name = found["name"].replace("_", " ").capitalize()
    day, _, hour = found["when"].rstrip("Z").partition("T")
    return f"{name}, {day} {hour} UTC"


def ticket_title(ticket: Ticket) -> str:
    """What a ticket asks, as a sentence; its recorded title where that is one already."""
    if ticket.kind is TicketKind.RESTORE:
        return f"Restore “{(ticket.about or ticket.title).partition('#')[0]}” (switch fired)"
    if ticket.kind is TicketKind.VALIDATION and ticket.about:
        return f"Is this true? {key_title(ticket.about)}"
    if ticket.kind is TicketKind.KNOWLEDGE_REVIEW and ticket.shown.startswith(_GRAPH):
        name = ticket.shown.removeprefix(_GRAPH).partition("\n")[0]
        return f"Review the knowledge graph “{name}”"
    pattern, words = _PATTERNS.get(ticket.kind, ("(?!)", ""))
    found = re.fullmatch(pattern, ticket.title, re.DOTALL)
    return ticket.title if found is None else words.format(*found.groups(), lower=str(found[1]).lower())


_GRAPH = "knowledge graph: "
# By kind: how its flow words a title, and the sentence that people read.
_PATTERNS = {
    TicketKind.ATTESTATION: (r"attest (\w+) for (.+) under (.+)", "Attest {0} for {1} under {2}"),
    TicketKind.APPROVAL: (r"approve as \S+: (\w+) by (\S+): \"(.*)\"", "{1} asks to {lower}: {2}"),
    TicketKind.ROOT_CAUSE: (r"root cause of (\S+)@(\d+): .*", "Why does rule {0} (version {1}) keep failing?"),
    TicketKind.RULE_CERTIFICATION: (r"stand by rule (\S+)@(\d+)", "Certify rule {0}, version {1}"),
    TicketKind.RULE_PROPOSAL: (r"corrected text of rule (\S+)@(\d+)", "Accept the correction of rule {0}?"),
    TicketKind.PENALTY: (
        r"take ([\d.]+?)(?:\.0)? points of standing from (.+)",
        "Take {0} points of standing from {1}",
    ),
    TicketKind.TIER_CHANGE: (r"change the tier of (.+) from (\d) to (\d)", "Change the tier of {0} from {1} to {2}"),
    TicketKind.POWER_CHANGE: (r"(.+) asks for more power for (.+): (.+)", "{0} asks to give {1} more power: {2}"),
}
