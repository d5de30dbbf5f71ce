"""The review desk as text for people."""

from collections.abc import Callable, Mapping

from assay.flows.review.act_review import Acted
from assay.flows.review.answer_bulk import BulkReport
from assay.flows.review.answer_desk import DeskAnswer
from assay.flows.review.check_answer import AnswerFinding
from assay.flows.review.comment_review import ShownComment
from assay.flows.review.keep_view import KeptView
from assay.flows.review.settle_reviews import Sweep
from assay.flows.review.show_queue import FoundTicket
from assay.flows.review.show_ticket import DeskTicket
from assay.flows.review.show_timeline import TimelineEntry
from assay.flows.review.take_effect import Effect, EffectState
from assay.flows.truth.compile_truth import Recount
from assay.kernel.errors import Blame
from assay.kernel.instant import render_instant
from assay.operations.shown.claims import gated_text
from assay.operations.shown.text import columns, plain
from assay.review.act import Claim, parse_act_body
from assay.review.placement import Placement
from assay.review.progress import Progress
from assay.review.queue import QueuedTicket
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

QUEUE_COLUMNS = ("ticket", "kind", "state", "priority", "due", "assigned", "title")
TIMELINE_COLUMNS = ("entry", "at", "kind", "by", "hash")
PROGRESS_COLUMNS = ("reviewer", "answered", "median", "prevailed", "claims", "held")
VIEW_COLUMNS = ("name", "owner", "for")


def queue_row(queued: QueuedTicket) -> Mapping[str, str]:
    ticket, placed = queued.ticket, queued.placement
    return {
        "ticket": ticket.id,
        "kind": ticket.kind.value,
        "state": _queue_state(queued),
        "priority": placed.priority.value,
        "due": _due(ticket),
        "assigned": _assigned(placed),
        "title": plain(ticket.title),
    }


def timeline_row(step: TimelineEntry) -> Mapping[str, str]:
    return {
        "entry": str(step.sequence_number),
        "at": render_instant(step.at),
        "kind": step.kind,
        "by": step.by or "-",
        "hash": step.entry_hash,
    }


def progress_row(one: Progress) -> Mapping[str, str]:
    return {
        "reviewer": one.by,
        "answered": str(one.answered),
        "median": "-" if one.median_seconds is None else f"{one.median_seconds:.0f} s",
        "prevailed": f"{one.agreed} of {one.settled}",
        "claims": str(one.open_leases),
        "held": str(one.held),
    }


def view_row(view: KeptView) -> Mapping[str, str]:
    return {"name": plain(view.name), "owner": view.by, "for": "shared" if view.shared else "private"}


def next_text(found: FoundTicket) -> str:
    return found.ticket_id or "no ticket waits for you"


def standing_text(settlement: Settlement) -> str:
    return f"{settlement.state}: {settlement.reason}{' (denied)' if settlement.denied else ''}"


def claimed_text(done: Acted) -> str:
    body = parse_act_body(done.act)
    until = render_instant(body.until) if isinstance(body, Claim) else "-"
    return f"claimed until {until}, entry {done.receipt.sequence_number}"


def acted_text(words: str) -> Callable[[Acted], str]:
    return lambda done: f"{words}, entry {done.receipt.sequence_number}"


def answer_text(done: DeskAnswer) -> str:
    said, receipt = done.answered.answer, done.answered.receipt
    lines = [
        f"{said.by} chose `{said.choice}`, signed with the {said.signed_with}, entry {receipt.sequence_number}",
        standing_text(done.answered.settlement),
    ]
    if done.answered.takes_effect_at is not None:
        at = render_instant(done.answered.takes_effect_at)
        lines.append(f"takes effect at {at}; until then `assay review undo` undoes it")
    if done.recount is not None:
        lines.append(_recount_text(done.recount))
    if done.regated is not None and done.regated.gated is not None:
        lines.append(gated_text(done.regated.gated))
    return "\n".join(lines)


def answer_notes(_given: Mapping[str, object], done: DeskAnswer) -> str | None:
    """A vote counts once its key is compiled, an approval once the bundle is gated again; warn where that failed."""
    regated, recount = done.regated, done.recount
    if regated is not None and regated.gated is None:
        return (
            "warning: the answer is recorded, and the bundle is not decided yet: "
            f"{regated.problem} [{regated.code}]; `assay claims resume {regated.bundle_hash}` decides it"
        )
    if recount is None or recount.compiled is not None:
        return None
    return (
        "warning: the vote is recorded, and its key is not compiled yet: "
        f"{recount.problem} [{recount.code}]; the next compilation counts it"
    )


def _recount_text(recount: Recount) -> str:
    compiled = recount.compiled
    if compiled is None:
        return f"{recount.truthkey}\nnot compiled yet"
    state = compiled.state
    return f"{recount.truthkey}\n{state.status} by {state.verification_basis}, version {compiled.version}"


def report_text(report: BulkReport) -> str:
    done = "would be" if report.rehearsed else "were"
    rows: list[tuple[str, ...]] = [
        (line.ticket_id, "yes" if line.accepted else f"no: {line.problem} [{line.code}]", plain(line.title or ""))
        for line in report.lines
    ]
    total = f"{report.accepted} {done} answered `{report.choice}`, {report.refused} refused"
    return "\n".join([*([columns(rows)] if rows else []), total])


def report_blame(report: BulkReport) -> Blame | None:
    return Blame.ANSWER if report.refused else None


def sweep_text(sweep: Sweep) -> str:
    lines = [f"{one.ticket_id}  {standing_text(one)}" for one in sweep.settled]
    lines += [f"{one.ticket_id}  stuck: {one.problem} [{one.code}]" for one in sweep.stuck]
    lines += [f"{one.ticket_id}  {_effect_text(one)}" for one in sweep.effects]
    lines += [f"{one.ticket_id}  escalated: its end is {one.stage}" for one in sweep.escalated]
    return "\n".join(lines) or "nothing is due"


def sweep_blame(sweep: Sweep) -> Blame | None:
    """A ticket is stuck where an answer to it does not verify."""
    return Blame.INPUT if sweep.stuck else None


def _effect_text(effect: Effect) -> str:
    if effect.state is EffectState.COUNTS:
        return f"the answer of {effect.by} took effect"
    return f"the answer of {effect.by} lapsed: {effect.problem} [{effect.code}]"


def ticket_text(seen: DeskTicket) -> str:
    ticket = seen.review.ticket
    facts = [
        ("ticket", ticket.id),
        ("kind", ticket.kind.value),
        ("title", plain(ticket.title)),
        ("opened", f"{render_instant(ticket.opened_at)} by {ticket.opened_by}"),
        ("requested by", ticket.requested_by or "-"),
        ("about", plain(ticket.about or "-")),
        *([] if seen.subject is None or seen.subject.answer_id is None else [("answer", seen.subject.answer_id)]),
        ("due", f"{_due(ticket)}, then {ticket.on_expiry}"),
        ("priority", seen.placement.priority.value),
        ("assigned to", _assigned(seen.placement)),
        ("claimed by", _claims(seen)),
        ("choices", ", ".join(ticket.choices)),
        ("eligible", f"{', '.join(ticket.eligible_roles)}; {ticket.quorum} must agree"),
        ("status", standing_text(seen.review.settlement) + _unrecorded(seen)),
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


def ticket_blame(seen: DeskTicket) -> Blame | None:
    """A stored answer or comment whose signature is invalid is untrusted input."""
    findings = [one.verified for one in seen.review.answers] + [one.verified for one in seen.comments]
    return None if all(findings) else Blame.INPUT


def _queue_state(queued: QueuedTicket) -> str:
    if not queued.settlement.is_open:
        return queued.settlement.state.value
    if queued.leases:
        return "claimed"
    return queued.settlement.state.value if queued.decided is None else "decided"


def _due(ticket: Ticket) -> str:
    return "-" if ticket.due_at is None else render_instant(ticket.due_at)


def _assigned(placement: Placement) -> str:
    return placement.person or placement.role or "-"


def _claims(seen: DeskTicket) -> str:
    return ", ".join(f"{lease.by} until {render_instant(lease.expires_at)}" for lease in seen.leases) or "-"


def _unrecorded(seen: DeskTicket) -> str:
    view = seen.review
    return "" if view.recorded or view.settlement.is_open else ", not recorded yet: run `assay review settle`"


def _decided_text(decided: str, ticket: Ticket) -> str:
    return f"{decided}; others may contradict it until {_due(ticket)}, and then it is settled"


def _own_text(seen: DeskTicket) -> list[str]:
    lines = []
    if seen.held is not None:
        at = render_instant(seen.held.takes_effect_at)
        lines.append(f"your answer `{seen.held.answer.choice}` takes effect at {at}; until then `assay review undo`")
    if seen.draft is not None:
        lines.append(f"your draft: {seen.draft.reply.choice or 'no choice yet'}: {plain(seen.draft.reply.reason)}")
    return lines


def _comment_text(comment: ShownComment) -> str:
    words = "(erased)" if comment.text is None else plain(comment.text).replace("\n", "\n| ")
    mark = "" if comment.verified else " SIGNATURE INVALID"
    at = render_instant(comment.commented_at)
    return f"{at} {comment.by} commented, entry {comment.sequence_number}{mark}:\n| {words}"


def _finding_text(finding: AnswerFinding) -> str:
    one = finding.answer
    verified = "signature valid" if finding.verified else f"SIGNATURE INVALID: {finding.problem} [{finding.code}]"
    reason = f": {plain(one.reason)}" if one.reason else ""
    return f"{render_instant(one.answered_at)} {one.by} chose `{one.choice}`{reason} ({one.signed_with}, {verified})"
