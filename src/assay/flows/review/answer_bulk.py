"""One answer to many tickets: each bound to what it showed, each by itself, each refusal told.

filter -> plan: every ticket with its hash, and what the answer would do -> the same tickets and hashes -> answers
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.flows.identity.authenticate import authenticate, require_session
from assay.flows.known import get_ticket
from assay.flows.review.answer_review import Answered, answer_review
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.show_queue import show_queue
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TicketId
from assay.kernel.instant import Instant
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.errors import BodyError, MachineAnswerError, NotBulkError
from assay.review.queue import QueueFilter
from assay.review.settle import SettlementState

__all__ = ["MOST_AT_ONCE", "BulkLine", "BulkReport", "Pick", "answer_bulk", "plan_bulk"]

# More than one person can have looked at.
MOST_AT_ONCE = 200


class Pick(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ticket, and the hash of what it showed."""

    ticket_id: TicketId
    seen: Digest


class BulkLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of one ticket, or would: recorded, from when on it counts, or why it was refused.

    A plan also has the title and the text that the hash is of, for people to look at.
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
    """Every ticket that was asked for is a line; `rehearsed` reports recorded nothing."""

    choice: str
    rehearsed: bool
    accepted: int
    refused: int
    lines: tuple[BulkLine, ...]


def plan_bulk(
    tools: Tools, wanted: QueueFilter, choice: str, *, reason: str = "", credential: str, at: Instant
) -> BulkReport:
    """The dry run: every ticket of the filter, exactly as it shows, and what this answer would do; nothing is recorded.

    The hashes are then the ones to answer; a filter alone is never answered, since tickets come and go.
    """
    person = _person(tools, credential, at)
    page = show_queue(tools, person.tenant_id, wanted, viewer=person, limit=MOST_AT_ONCE, at=at)
    picks = [Pick(ticket_id=one.ticket.id, seen=one.ticket.shown_hash) for one in page.tickets]
    report = answer_bulk(tools, picks, choice, reason=reason, credential=credential, only_rehearsed=True, at=at)
    shown = {one.ticket.id: one.ticket for one in page.tickets}
    lines = tuple(
        replace(line, title=shown[line.ticket_id].title, shown=shown[line.ticket_id].shown) for line in report.lines
    )
    return replace(report, lines=lines)


def answer_bulk(
    tools: Tools,
    picks: Sequence[Pick],
    choice: str,
    *,
    reason: str = "",
    credential: str,
    signing: Signer | None = None,
    only_rehearsed: bool = False,
    at: Instant,
) -> BulkReport:
    """One commit for each ticket, in the order given; what is refused is a line, and the others go on."""
    if len(picks) > MOST_AT_ONCE:
        raise BodyError(f"expected at most {MOST_AT_ONCE} tickets, got {len(picks)}")
    person = _person(tools, credential, at)

    def answer(pick: Pick) -> Answered:
        _require_bulk(tools, person, pick)
        return answer_review(
            tools,
            pick.ticket_id,
            Reply(choice=choice, seen=pick.seen, reason=reason),
            credential=credential,
            signing=signing,
            follow_ups=ROOM_FOLLOW_UPS,
            least_grace=tools.desk.bulk_grace,
            only_rehearsed=only_rehearsed,
            at=at,
        )

    lines = tuple(_line(pick, answer, recorded=not only_rehearsed) for pick in picks)
    accepted = sum(line.accepted for line in lines)
    return BulkReport(
        choice=choice, rehearsed=only_rehearsed, accepted=accepted, refused=len(lines) - accepted, lines=lines
    )


def _person(tools: Tools, credential: str, at: Instant) -> Principal:
    proved = authenticate(tools, credential, at=at)
    if not proved.principal.is_person():
        raise MachineAnswerError(f"expected a person, got {proved.principal.kind} `{proved.principal.id}`")
    require_session(proved)
    return proved.principal


def _require_bulk(tools: Tools, person: Principal, pick: Pick) -> None:
    ticket = tools.database.read(lambda unit: get_ticket(unit, person.tenant_id, pick.ticket_id))
    if not ticket.rule.bulk:
        raise NotBulkError(f"expected a kind that is answered many at a time, got `{ticket.kind}`")


def _line(pick: Pick, answer: Callable[[Pick], Answered], *, recorded: bool) -> BulkLine:
    try:
        done = answer(pick)
    except Error as error:
        # What is our own fault ends the whole: the next ticket would meet it too, and nobody shall take it for a no.
        if error.blame is Blame.OURS:
            raise
        return BulkLine(ticket_id=pick.ticket_id, seen=pick.seen, accepted=False, code=error.code, problem=str(error))
    return BulkLine(
        ticket_id=pick.ticket_id,
        seen=pick.seen,
        accepted=True,
        state=done.settlement.state,
        sequence_number=done.receipt.sequence_number if recorded else None,
        takes_effect_at=done.takes_effect_at,
    )
