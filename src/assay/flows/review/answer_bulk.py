"""One answer to many tickets: each bound to what it showed, each recorded by itself, each refusal reported.

filter -> plan: every ticket with its hash, and what the answer would do -> the same tickets and hashes -> answers
"""

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.flows.known import get_ticket
from assay.flows.request import Done, Option, Request
from assay.flows.review.answer_review import Answered, answer_review, require_reviewing
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.show_queue import page_queue
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TicketId, parse_ticket_id
from assay.kernel.instant import Instant
from assay.kernel.json_text import parse_json
from assay.review.draft import Reply
from assay.review.errors import ReviewError
from assay.review.queue import QueueFilter
from assay.review.settle import SettlementState

# More than one person can have looked at.
MOST_AT_ONCE = 200
_Choice = Annotated[str, Meta(description="The answer to every ticket."), Option(form="argument", metavar="CHOICE")]
_Reason = Annotated[str, Meta(description="Why; a rejection must have a reason.")]


class PlanFileError(Error):
    """A file is not the answer of a dry run."""

    code = "review.plan_file"
    blame = Blame.INPUT


class Pick(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ticket, and the hash of what it showed."""

    ticket_id: str
    seen: str


class _PlanLine(Struct):
    ticket_id: str
    seen: str
    accepted: bool = True


class _Plan(Struct):
    lines: tuple[_PlanLine, ...]


def read_plan(content: bytes) -> list[dict[str, str]]:
    """The tickets of a dry run that it did not refuse, from its JSON."""
    try:
        plan = msgspec.convert(parse_json(content), _Plan)
    except msgspec.ValidationError as error:
        raise PlanFileError(f"expected the JSON of a dry run, got: {error}") from error
    return [{"ticket_id": line.ticket_id, "seen": line.seen} for line in plan.lines if line.accepted]


class PlanAnswers(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    choice: _Choice
    filter: Annotated[QueueFilter, Meta(description="Which tickets of the queue."), Option(form="flat")]
    reason: _Reason = ""


class AnswerTickets(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    choice: _Choice
    picks: Annotated[
        tuple[Pick, ...],
        Meta(min_length=1, max_length=MOST_AT_ONCE, description="The tickets of a dry run, each with its hash."),
        Option(flag="--plan", metavar="FILE", form="file", read=read_plan),
    ]
    reason: _Reason = ""


class BulkLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of one ticket: recorded, and when it takes effect, or why it was refused.

    A plan also has the title and the text that the hash is of, for people to read.
    """

    ticket_id: TicketId
    seen: Digest
    accepted: bool
    state: SettlementState | None = None
    sequence_number: int | None = None
    takes_effect_at: Instant | None = None
    code: str | None = None
    problem: str | None = None
    title: str | None = None
    shown: str | None = None


class BulkReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line for each ticket; nothing was recorded where `rehearsed` is true."""

    choice: str
    rehearsed: bool
    accepted: int
    refused: int
    lines: tuple[BulkLine, ...]


def plan_answers(tools: Tools, caller: Caller, request: PlanAnswers) -> BulkReport:
    """Plan one answer to every ticket of a filter: what each shows, what the answer would do; record nothing.

    The tickets and hashes of the report are then the ones to answer. A filter alone is never answered, since the
    tickets that match it change.
    """
    require_reviewing(caller)
    page = page_queue(tools, caller, request.filter, limit=MOST_AT_ONCE)
    picks = [Pick(ticket_id=one.ticket.id, seen=one.ticket.shown_hash) for one in page.tickets]
    report = answer_bulk(tools, caller, picks, request.choice, reason=request.reason, only_rehearsed=True)
    shown = {one.ticket.id: one.ticket for one in page.tickets}
    lines = tuple(
        replace(line, title=shown[line.ticket_id].title, shown=shown[line.ticket_id].shown) for line in report.lines
    )
    return replace(report, lines=lines)


def answer_tickets(tools: Tools, caller: Caller, request: AnswerTickets) -> Done[BulkReport]:
    """Answer the tickets of a plan, each by itself and bound to what it showed; each refusal is reported.

    The answers take effect after a short time, in which each can be undone.
    """
    return Done(value=answer_bulk(tools, caller, request.picks, request.choice, reason=request.reason), is_new=False)


def answer_bulk(
    tools: Tools,
    caller: Caller,
    picks: Sequence[Pick],
    choice: str,
    *,
    reason: str = "",
    only_rehearsed: bool = False,
) -> BulkReport:
    """Answer in one commit for each ticket, in the order given; a refusal is a line, and the others go on."""
    if len(picks) > MOST_AT_ONCE:
        raise ReviewError.body(f"expected at most {MOST_AT_ONCE} tickets, got {len(picks)}")
    require_reviewing(caller)

    def answer(ticket_id: TicketId, seen: Digest) -> Answered:
        _require_bulk(tools, caller, ticket_id)
        return answer_review(
            tools,
            caller,
            ticket_id,
            Reply(choice=choice, seen=seen, reason=reason),
            follow_ups=ROOM_FOLLOW_UPS,
            least_grace=tools.desk.bulk_grace,
            only_rehearsed=only_rehearsed,
        )

    named = [(parse_ticket_id(pick.ticket_id), parse_digest(pick.seen)) for pick in picks]
    lines = tuple(_line(ticket_id, seen, answer, recorded=not only_rehearsed) for ticket_id, seen in named)
    accepted = sum(line.accepted for line in lines)
    return BulkReport(
        choice=choice, rehearsed=only_rehearsed, accepted=accepted, refused=len(lines) - accepted, lines=lines
    )


def _require_bulk(tools: Tools, caller: Caller, ticket_id: TicketId) -> None:
    ticket = tools.database.read(lambda unit: get_ticket(unit, caller.tenant_id, ticket_id))
    if not ticket.rule.bulk:
        raise ReviewError.not_bulk(f"expected a kind that is answered many at a time, got `{ticket.kind}`")


def _line(
    ticket_id: TicketId, seen: Digest, answer: Callable[[TicketId, Digest], Answered], *, recorded: bool
) -> BulkLine:
    try:
        done = answer(ticket_id, seen)
    except Error as error:
        # A fault of ours ends the whole request: the next ticket would meet it too, and it must not pass for a refusal.
        if error.blame is Blame.OURS:
            raise
        return BulkLine(ticket_id=ticket_id, seen=seen, accepted=False, code=error.code, problem=str(error))
    return BulkLine(
        ticket_id=ticket_id,
        seen=seen,
        accepted=True,
        state=done.settlement.state,
        sequence_number=done.receipt.sequence_number if recorded else None,
        takes_effect_at=done.takes_effect_at,
    )
