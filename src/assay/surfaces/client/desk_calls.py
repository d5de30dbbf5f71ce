"""Every call of the review desk, and why somebody may or may not do something; as `calls` has the rest."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from assay.flows.review.act_review import Acted
from assay.flows.review.answer_bulk import BulkReport
from assay.flows.review.keep_draft import DraftedReply, KeptDraft
from assay.flows.review.keep_view import KeptView
from assay.flows.review.show_ticket import DeskTicket
from assay.flows.review.show_timeline import TimelineEntry
from assay.kernel.instant import render_instant
from assay.review.act import ActKind, Priority
from assay.review.progress import Progress
from assay.review.queue import QueuedTicket, QueueFilter
from assay.surfaces.client.call import Call, Listing, content_of, path, query
from assay.surfaces.http.v1 import desk_shapes, shapes
from assay.surfaces.http.v1.key_shapes import Why

__all__ = [
    "answer_tickets",
    "assign_ticket",
    "claim_ticket",
    "comment_ticket",
    "desk_ticket",
    "drop_draft",
    "drop_view",
    "keep_draft",
    "keep_view",
    "plan_answers",
    "prepare_act",
    "prepare_answer",
    "prioritise_ticket",
    "progress",
    "queue",
    "release_ticket",
    "timeline",
    "undo_answer",
    "views",
    "why",
]


def queue(wanted: QueueFilter | None = None, *, view: str | None = None, limit: int = 100) -> Listing[QueuedTicket]:
    """The tickets that concern the caller, what should be looked at first on top; `view` is a saved filter."""
    asked = query(**_filter(wanted or QueueFilter()), view=view, limit=limit)
    return Listing(path=path("desk", "queue"), page=desk_shapes.QueuePageOut, query=asked)


def desk_ticket(ticket_id: str) -> Call[DeskTicket]:
    """A ticket with who works on it, whose it is, what was said, and one's own draft and held answer."""
    return Call(method="GET", path=path("tickets", ticket_id, "desk"), answer=DeskTicket)


def timeline(ticket_id: str) -> Listing[TimelineEntry]:
    """Everything that happened to a ticket, each step with its entry and the hash of that."""
    return Listing(path=path("tickets", ticket_id, "timeline"), page=desk_shapes.TimelinePage)


def progress() -> Listing[Progress]:
    """How reviewers get on."""
    return Listing(path=path("desk", "progress"), page=desk_shapes.ProgressPage)


def claim_ticket(ticket_id: str, *, span: timedelta | None = None) -> Call[Acted]:
    """Work on a ticket for a while."""
    seconds = None if span is None else int(span.total_seconds())
    return _act(ticket_id, desk_shapes.ActRequest(act=ActKind.CLAIM, seconds=seconds))


def release_ticket(ticket_id: str, *, holder: str | None = None) -> Call[Acted]:
    """Give a ticket back; another's claim takes an admin or operator."""
    return _act(ticket_id, desk_shapes.ActRequest(act=ActKind.RELEASE, holder=holder))


def assign_ticket(ticket_id: str, *, person: str | None = None, role: str | None = None) -> Call[Acted]:
    """Say whose a ticket is."""
    return _act(ticket_id, desk_shapes.ActRequest(act=ActKind.ASSIGN, person=person, role=role))


def prioritise_ticket(ticket_id: str, priority: Priority | str) -> Call[Acted]:
    """Say how soon a ticket should be looked at."""
    return _act(ticket_id, desk_shapes.ActRequest(act=ActKind.PRIORITISE, priority=Priority(priority)))


def comment_ticket(ticket_id: str, text: str) -> Call[Acted]:
    """Add words, signed and erasable."""
    return _act(ticket_id, desk_shapes.ActRequest(act=ActKind.COMMENT, text=text))


def undo_answer(ticket_id: str, *, reason: str = "") -> Call[Acted]:
    """Take an answer back that does not count yet."""
    return _act(ticket_id, desk_shapes.ActRequest(act=ActKind.UNDO, reason=reason))


def prepare_act(ticket_id: str, wanted: desk_shapes.ActRequest) -> Call[desk_shapes.PreparedAct]:
    """What a person with a key of their own has to sign; nothing is recorded."""
    return _send("POST", desk_shapes.PreparedAct, wanted, "tickets", ticket_id, "acts", "prepare")


def prepare_answer(
    ticket_id: str, choice: str, *, seen: str, reason: str = "", body: Mapping[str, Any] | None = None
) -> Call[desk_shapes.PreparedAnswer]:
    """What a person with a key of their own has to sign; nothing is recorded."""
    wanted = shapes.TicketAnswer(choice=choice, seen=seen, reason=reason, body=dict(body or {}))
    return _send("POST", desk_shapes.PreparedAnswer, wanted, "tickets", ticket_id, "answers", "prepare")


def keep_draft(ticket_id: str, reply: DraftedReply) -> Call[KeptDraft]:
    """Keep a draft of one's answer; nobody else sees it."""
    return _send("PUT", KeptDraft, reply, "tickets", ticket_id, "draft")


def drop_draft(ticket_id: str) -> Call[dict[str, bool]]:
    """Throw one's draft away, whether or not there was one."""
    return Call(method="DELETE", path=path("tickets", ticket_id, "draft"), answer=dict[str, bool])


def views() -> Listing[KeptView]:
    """One's own views, and those that others share."""
    return Listing(path=path("desk", "views"), page=desk_shapes.ViewPage)


def keep_view(name: str, wanted: QueueFilter, *, shared: bool = False) -> Call[KeptView]:
    """Keep a filter under a name."""
    return _send("PUT", KeptView, desk_shapes.ViewRequest(filter=wanted, shared=shared), "desk", "views", name)


def drop_view(name: str) -> Call[dict[str, bool]]:
    """Forget a view of one's own."""
    return Call(method="DELETE", path=path("desk", "views", name), answer=dict[str, bool])


def plan_answers(wanted: QueueFilter, choice: str, *, reason: str = "") -> Call[BulkReport]:
    """A dry run over every ticket of the filter; nothing is recorded."""
    plan = desk_shapes.BulkPlan(choice=choice, filter=wanted, reason=reason)
    return _send("POST", BulkReport, plan, "desk", "bulk", "plan")


def answer_tickets(seen: Mapping[str, str], choice: str, *, reason: str = "") -> Call[BulkReport]:
    """Answer many tickets, each by itself; `seen` is the hash of what each of them showed."""
    picks = tuple(desk_shapes.BulkPick(ticket_id=name, seen=shown) for name, shown in seen.items())
    return _send("POST", BulkReport, desk_shapes.BulkRequest(choice=choice, picks=picks, reason=reason), "desk", "bulk")


def why(action: str, *, on: str | None = None, who: str | None = None) -> Call[Why]:
    """Why one may, or may not, do this now: every requirement, and what would change it."""
    return Call(method="GET", path=path("why"), answer=Why, query=query(action=action, on=on, who=who))


def _act(ticket_id: str, wanted: desk_shapes.ActRequest) -> Call[Acted]:
    return _send("POST", Acted, wanted, "tickets", ticket_id, "acts")


def _send(method: str, answer: Any, given: Any, *parts: str) -> Call[Any]:  # noqa: ANN401 - any type
    return Call(method=method, path=path(*parts), answer=answer, content=content_of(given))


def _filter(wanted: QueueFilter) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(wanted, name) for name in QueueFilter.__struct_fields__}
    due = wanted.due_before
    return {**fields, "due_before": None if due is None else render_instant(due)}
