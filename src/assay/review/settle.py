"""Settle a ticket: what its answers and the time amount to.

answers + time -> `settle`;   where the room decides: its own finding -> `conclude`, or a new question -> `withdraw`
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.review.answer import UnsignedAnswer, is_bound
from assay.review.errors import ReviewError
from assay.review.kind import OnExpiry
from assay.review.ticket import Ticket


class SettlementState(StrEnum):
    """EXPIRED is decided too: by the time-out, as `choice` and `denied` say. WITHDRAWN allows nothing, ever."""

    OPEN = "open"
    SETTLED = "settled"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Tally(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who chose this, each person once, sorted."""

    choice: str
    by: tuple[PrincipalId, ...]


class Settlement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a ticket stands. `denied` is the one bit a careful caller needs: a rejection or a denying time-out.

    An open ticket is not denied and not allowed: nothing may proceed on it. `counted` are the answers up to the
    decision; `ignored` is how many others there were: bound elsewhere, late, still to come, or a person's second.
    """

    ticket_id: TicketId
    state: SettlementState
    choice: str | None
    denied: bool
    overdue: bool
    reason: str
    settled_at: Instant | None
    counted: tuple[Tally, ...]
    ignored: int

    @property
    def is_open(self) -> bool:
        return self.state is SettlementState.OPEN


def settle(ticket: Ticket, answers: Iterable[UnsignedAnswer], *, at: Instant) -> Settlement:
    """Where the ticket stands at `at`; total, and the same for every order of the same answers.

    Answers are taken in the order of their own time. A quorum counts different people with the same choice; where the
    kind has a veto, the first rejection decides; where the room decides, only the time-out does here.
    Signatures are the caller's to verify first.
    """
    given = tuple(answers)
    counted: list[UnsignedAnswer] = []
    for answer in _in_time(ticket, given, at):
        counted.append(answer)
        if _decides(ticket, counted, answer):
            return _settled(ticket, counted, len(given))
    return _undecided(ticket, counted, len(given), at)


def conclude(
    ticket: Ticket, answers: Iterable[UnsignedAnswer], *, choice: str | None, reason: str, at: Instant
) -> Settlement:
    """What the room made of the answers up to `at`; no choice denies. Refused where a number of people decides."""
    if not ticket.rule.by_room:
        raise ReviewError.not_by_room(f"expected a kind that its room decides, got `{ticket.kind}`")
    if choice is not None and choice not in ticket.choices:
        raise ReviewError.unknown_choice(f"expected one of `{', '.join(ticket.choices)}`, got `{choice[:80]}`")
    denied = choice is None or choice in ticket.rejecting
    return _ended(ticket, answers, SettlementState.SETTLED, choice=choice, denied=denied, reason=reason, at=at)


def withdraw(ticket: Ticket, answers: Iterable[UnsignedAnswer], *, reason: str, at: Instant) -> Settlement:
    """The question is no longer asked, whatever was answered: what it showed is not so any more."""
    if not ticket.rule.by_room:
        raise ReviewError.not_by_room(f"expected a kind that its room decides, got `{ticket.kind}`")
    return _ended(ticket, answers, SettlementState.WITHDRAWN, choice=None, denied=True, reason=reason, at=at)


def _ended(
    ticket: Ticket,
    answers: Iterable[UnsignedAnswer],
    state: SettlementState,
    *,
    choice: str | None,
    denied: bool,
    reason: str,
    at: Instant,
) -> Settlement:
    given = tuple(answers)
    counted = list(_in_time(ticket, given, at))
    return Settlement(
        ticket_id=ticket.id,
        state=state,
        choice=choice,
        denied=denied,
        overdue=False,
        reason=reason,
        settled_at=at,
        counted=_tallies(ticket, counted),
        ignored=len(given) - len(counted),
    )


def _in_time(ticket: Ticket, answers: Sequence[UnsignedAnswer], at: Instant) -> Iterator[UnsignedAnswer]:
    """Bound, given by now, before a time-out that decides, each person's first; of one instant, rejections first."""
    closes_at = None if ticket.on_expiry is OnExpiry.STAY_OPEN else ticket.due_at
    bound = (answer for answer in answers if is_bound(answer, ticket) and answer.answered_at <= at)
    heard: set[PrincipalId] = set()
    for answer in sorted(bound, key=lambda one: _order(ticket, one)):
        if answer.by in heard or (closes_at is not None and answer.answered_at >= closes_at):
            continue
        heard.add(answer.by)
        yield answer


def _order(ticket: Ticket, answer: UnsignedAnswer) -> tuple[Instant, bool, PrincipalId, int]:
    # The stricter answer wins a tie; a person's id and the choice only make the order total.
    return answer.answered_at, answer.choice not in ticket.rejecting, answer.by, ticket.choices.index(answer.choice)


def _decides(ticket: Ticket, counted: Sequence[UnsignedAnswer], answer: UnsignedAnswer) -> bool:
    if ticket.rule.by_room:
        return False
    if ticket.rule.veto and answer.choice in ticket.rejecting:
        return True
    return sum(one.choice == answer.choice for one in counted) >= ticket.quorum


def _settled(ticket: Ticket, counted: Sequence[UnsignedAnswer], given: int) -> Settlement:
    last = counted[-1]
    denied = last.choice in ticket.rejecting
    vetoed = denied and ticket.rule.veto
    words = (
        f"`{last.by}` chose `{last.choice}`, and one is enough" if vetoed else f"{ticket.quorum} chose `{last.choice}`"
    )
    return Settlement(
        ticket_id=ticket.id,
        state=SettlementState.SETTLED,
        choice=last.choice,
        denied=denied,
        overdue=False,
        reason=words,
        settled_at=last.answered_at,
        counted=_tallies(ticket, counted),
        ignored=given - len(counted),
    )


def _undecided(ticket: Ticket, counted: Sequence[UnsignedAnswer], given: int, at: Instant) -> Settlement:
    overdue = ticket.due_at is not None and at >= ticket.due_at
    expired = overdue and ticket.on_expiry is not OnExpiry.STAY_OPEN
    choice = ticket.default_choice if expired else None
    return Settlement(
        ticket_id=ticket.id,
        state=SettlementState.EXPIRED if expired else SettlementState.OPEN,
        choice=choice,
        denied=expired and (choice is None or choice in ticket.rejecting),
        overdue=overdue,
        reason=_waiting(ticket, counted, overdue=overdue, expired=expired),
        settled_at=ticket.due_at if expired else None,
        counted=_tallies(ticket, counted),
        ignored=given - len(counted),
    )


def _waiting(ticket: Ticket, counted: Sequence[UnsignedAnswer], *, overdue: bool, expired: bool) -> str:
    if ticket.rule.by_room and not expired:
        return f"{'due, and ' if overdue else ''}waiting for the room: {len(counted)} answered"
    most = max((len(tally.by) for tally in _tallies(ticket, counted)), default=0)
    words = f"{most} of {ticket.quorum} agree"
    if expired:
        return f"due, and {words}: {ticket.default_choice or 'denied'}"
    return f"due and still open: {words}" if overdue else f"waiting: {words}"


def _tallies(ticket: Ticket, counted: Sequence[UnsignedAnswer]) -> tuple[Tally, ...]:
    people = {choice: sorted(one.by for one in counted if one.choice == choice) for choice in ticket.choices}
    return tuple(Tally(choice=choice, by=tuple(by)) for choice, by in people.items() if by)
