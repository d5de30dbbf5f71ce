"""Operations of the review desk: tickets, the queue, answers, and what people do to a ticket besides answering."""

from collections.abc import Callable
from typing import Any

from assay.flows.review import (
    act_review,
    answer_bulk,
    answer_desk,
    keep_draft,
    keep_view,
    open_approval,
    settle_reviews,
    show_progress,
    show_queue,
    show_ticket,
    show_timeline,
)
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import Change, Listing, Operation, Read, needs
from assay.operations.shown import review as shown
from assay.registry.action import Tier
from assay.review.act import ActKind

SEE = needs("review:read")
PREPARE = needs("review:read", session=True)
ACT = needs("review:answer", session=True)
OPEN = needs("review:open", BuiltInRole.OPERATOR, session=True)
SETTLE = needs("review:settle", BuiltInRole.ADMIN, BuiltInRole.OPERATOR, tier=Tier.LOW_RISK_WRITE)

_FILTER = {"kind": "approval", "about": "batch:"}
_SEEN = "sha256:" + "ab" * 32


def _act(
    kind: ActKind,
    flow: Callable[..., Any],
    name: str,
    route: str,
    command: str,
    **more: Any,  # noqa: ANN401 - of a declaration
) -> Change:
    """An act of a person on a ticket, which their own key may sign."""
    return Change(
        name,
        flow,
        f"POST /tickets/{{ticket_id}}/{route}",
        needs=ACT,
        command=command,
        prepared_by=("ticket.act.prepare", {"act": kind.value}),
        **more,
    )


_READING: tuple[Operation, ...] = (
    Listing("tickets.list", show_ticket.tickets, "GET /tickets", needs=SEE),
    Listing(
        "desk.queue",
        show_queue.queue,
        "GET /desk/queue",
        needs=SEE,
        command="review list",
        columns=shown.QUEUE_COLUMNS,
        row=shown.queue_row,
    ),
    Read(
        "desk.next",
        show_queue.next_ticket,
        "GET /desk/next",
        needs=SEE,
        command="review next",
        shows=shown.next_text,
    ),
    Read("ticket.show", show_ticket.ticket, "GET /tickets/{ticket_id}", needs=SEE),
    Read(
        "desk.ticket",
        show_ticket.desk_ticket,
        "GET /tickets/{ticket_id}/desk",
        needs=SEE,
        command="review show",
        shows=shown.ticket_text,
        blames=shown.ticket_blame,
    ),
    Listing(
        "ticket.timeline",
        show_timeline.timeline,
        "GET /tickets/{ticket_id}/timeline",
        needs=SEE,
        command="review timeline",
        columns=shown.TIMELINE_COLUMNS,
        row=shown.timeline_row,
    ),
    Listing(
        "desk.progress",
        show_progress.progress,
        "GET /desk/progress",
        needs=SEE,
        command="review progress",
        columns=shown.PROGRESS_COLUMNS,
        row=shown.progress_row,
    ),
)

_ANSWERING: tuple[Operation, ...] = (
    Change(
        "ticket.open",
        open_approval.open_ticket,
        "POST /tickets",
        needs=OPEN,
        command="review open",
        file="FILE",
        location="/tickets/{id}",
        example={
            "title": "archive the gauges of 2019",
            "shown": {"gauges": 40},
            "eligible_roles": ["reviewer"],
            "quorum": 2,
        },
        says="{id}",
        notes="opened; it shows {shown_hash}",
    ),
    Change(
        "ticket.answer",
        answer_desk.answer_ticket,
        "POST /tickets/{ticket_id}/answers",
        needs=ACT,
        command="review answer",
        example={"choice": "approve", "seen": _SEEN, "reason": "I read the evidence"},
        shows=shown.answer_text,
        notes=shown.answer_notes,
        prepared_by=("ticket.answer.prepare", {}),
    ),
    Read(
        "ticket.answer.prepare",
        answer_desk.prepare_answer,
        "POST /tickets/{ticket_id}/answers/prepare",
        needs=PREPARE,
        example={"choice": "approve", "seen": _SEEN},
    ),
    Read(
        "desk.bulk.plan",
        answer_bulk.plan_answers,
        "POST /desk/bulk/plan",
        needs=PREPARE,
        command="review plan",
        rehearses=True,
        example={"choice": "approve", "filter": _FILTER},
        shows=shown.report_text,
        blames=shown.report_blame,
    ),
    Change(
        "desk.bulk.answer",
        answer_bulk.answer_tickets,
        "POST /desk/bulk",
        needs=ACT,
        command="review bulk",
        example={
            "choice": "approve",
            "picks": [{"ticket_id": "tkt_aaaaaaaaaaaaaaaaaaaaaaaaaa", "seen": _SEEN}],
        },
        shows=shown.report_text,
        blames=shown.report_blame,
    ),
    Change(
        "tickets.settle",
        settle_reviews.settle_tickets,
        "POST /tickets/settle",
        needs=SETTLE,
        command="review settle",
        shows=shown.sweep_text,
        blames=shown.sweep_blame,
    ),
)

_ACTS: tuple[Operation, ...] = (
    _act(
        ActKind.CLAIM,
        act_review.claim_ticket,
        "ticket.claim",
        "claim",
        "review claim",
        shows=shown.claimed_text,
        example={"seconds": 900},
    ),
    _act(
        ActKind.RELEASE,
        act_review.release_ticket,
        "ticket.release",
        "release",
        "review release",
        shows=shown.acted_text("released"),
    ),
    _act(
        ActKind.ASSIGN,
        act_review.assign_ticket,
        "ticket.assign",
        "assign",
        "review assign",
        shows=shown.acted_text("assigned"),
        example={"person": "user:rita"},
    ),
    _act(
        ActKind.PRIORITISE,
        act_review.prioritise_ticket,
        "ticket.prioritise",
        "prioritise",
        "review priority",
        shows=shown.acted_text("priority set"),
        example={"priority": "urgent"},
    ),
    _act(
        ActKind.COMMENT,
        act_review.comment_ticket,
        "ticket.comment",
        "comments",
        "review comment",
        shows=shown.acted_text("commented"),
        example={"text": "I ask the supplier first"},
    ),
    _act(
        ActKind.UNDO,
        act_review.undo_answer,
        "ticket.undo",
        "undo",
        "review undo",
        shows=shown.acted_text("undone; you may answer again"),
        example={"reason": "I read the wrong line"},
    ),
    Read(
        "ticket.act.prepare",
        act_review.prepare_act,
        "POST /tickets/{ticket_id}/acts/prepare",
        needs=PREPARE,
        example={"act": "claim", "seconds": 900},
    ),
)

_KEEPING: tuple[Operation, ...] = (
    Change(
        "draft.keep",
        keep_draft.keep_draft,
        "PUT /tickets/{ticket_id}/draft",
        needs=ACT,
        command="review draft save",
        example={"choice": "approve", "reason": "as far as I have read"},
        says="saved; `assay review show` shows it to you alone",
    ),
    Change(
        "draft.drop",
        keep_draft.drop_draft,
        "DELETE /tickets/{ticket_id}/draft",
        needs=ACT,
        command="review draft drop",
        says="deleted",
    ),
    Listing(
        "views.list",
        keep_view.views,
        "GET /desk/views",
        needs=SEE,
        command="review view list",
        columns=shown.VIEW_COLUMNS,
        row=shown.view_row,
    ),
    Change(
        "view.keep",
        keep_view.keep_view,
        "PUT /desk/views/{name}",
        needs=ACT,
        command="review view save",
        example={"filter": {"kind": "approval"}, "shared": True},
        says="saved; `assay review list --view {name}` uses it",
    ),
    Change(
        "view.drop",
        keep_view.drop_view,
        "DELETE /desk/views/{name}",
        needs=ACT,
        command="review view drop",
        says="deleted",
    ),
)

OPERATIONS: tuple[Operation, ...] = (*_READING, *_ANSWERING, *_ACTS, *_KEEPING)
