"""What `assay review` prints for people."""

from assay.flows.review.check_answer import AnswerFinding
from assay.flows.review.comment_review import ShownComment
from assay.flows.review.show_ticket import DeskTicket
from assay.kernel.instant import render_instant
from assay.review.lease import Lease
from assay.review.placement import Placement
from assay.review.settle import Settlement
from assay.review.ticket import Ticket
from assay.surfaces.cli.acting import columns, plain

__all__ = ["due_text", "placed_text", "standing_text", "view_text", "with_text"]


def due_text(ticket: Ticket) -> str:
    return "-" if ticket.due_at is None else render_instant(ticket.due_at)


def placed_text(placement: Placement) -> str:
    """Whose it is."""
    return placement.person or placement.role or "-"


def with_text(leases: tuple[Lease, ...]) -> str:
    """Who works on it."""
    return ", ".join(f"{lease.by} until {render_instant(lease.expires_at)}" for lease in leases) or "-"


def standing_text(settlement: Settlement) -> str:
    return f"{settlement.state}: {settlement.reason}{' (denied)' if settlement.denied else ''}"


def view_text(seen: DeskTicket) -> str:
    ticket = seen.review.ticket
    facts = [
        ("ticket", ticket.id),
        ("kind", ticket.kind.value),
        ("title", plain(ticket.title)),
        ("opened", f"{render_instant(ticket.opened_at)} by {ticket.opened_by}"),
        ("requested by", ticket.requested_by or "-"),
        ("about", plain(ticket.about or "-")),
        ("due", f"{due_text(ticket)}, then {ticket.on_expiry}"),
        ("priority", seen.placement.priority.value),
        ("for", placed_text(seen.placement)),
        ("with", with_text(seen.leases)),
        ("choices", ", ".join(ticket.choices)),
        ("who may answer", f"{', '.join(ticket.eligible_roles)}; {ticket.quorum} must agree"),
        ("standing", standing_text(seen.review.settlement) + _unrecorded(seen)),
        *([] if seen.decided is None else [("decided", _decided_text(seen.decided, ticket))]),
        ("shown hash", ticket.shown_hash),
    ]
    # Each line is marked, so that no text shown can pass for one of ours.
    shown = [f"| {line}" for line in plain(ticket.shown).split("\n")]
    said = [
        *(_finding_text(finding) for finding in seen.review.answers),
        *(_comment_text(comment) for comment in seen.comments),
        *_own_text(seen),
    ]
    return "\n".join([columns(list(facts)), "", "shown", *shown, *([""] if said else []), *said])


def _unrecorded(seen: DeskTicket) -> str:
    view = seen.review
    return "" if view.recorded or view.settlement.is_open else ", not recorded yet: run `assay review settle`"


def _decided_text(decided: str, ticket: Ticket) -> str:
    return f"{decided}; others may contradict it until {due_text(ticket)}, and then it is settled"


def _own_text(seen: DeskTicket) -> list[str]:
    lines = []
    if seen.held is not None:
        until = render_instant(seen.held.takes_effect_at)
        lines.append(f"your answer `{seen.held.answer.choice}` counts from {until} on; until then `assay review undo`")
    if seen.draft is not None:
        lines.append(f"your draft: {seen.draft.reply.choice or 'no choice yet'}: {plain(seen.draft.reply.reason)}")
    return lines


def _comment_text(comment: ShownComment) -> str:
    words = "(erased)" if comment.text is None else plain(comment.text).replace("\n", "\n| ")
    mark = "" if comment.verified else " SIGNATURE DOES NOT HOLD"
    return (
        f"{render_instant(comment.commented_at)} {comment.by} said, entry {comment.sequence_number}{mark}:\n| {words}"
    )


def _finding_text(finding: AnswerFinding) -> str:
    one = finding.answer
    verified = "signature holds" if finding.verified else f"SIGNATURE DOES NOT HOLD: {finding.problem} [{finding.code}]"
    reason = f": {plain(one.reason)}" if one.reason else ""
    return f"{render_instant(one.answered_at)} {one.by} chose `{one.choice}`{reason} ({one.signed_with}, {verified})"
