"""Look at tickets as an auditor would: what was asked and answered, whether signatures hold, how it stands."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.known import get_ticket
from assay.flows.review.by_ticket import by_ticket
from assay.flows.review.check_answer import AnswerFinding, check_answer, desk_key_ring
from assay.flows.review.kept_back import is_kept_from
from assay.flows.review.settle_now import Givers, settle_now
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.sight import hide_others, is_blind
from assay.review.ticket import Ticket

__all__ = ["ListedReview", "ReviewView", "inspect_review", "list_reviews", "page_reviews"]

# Where many of those that were read are not for the viewer, so many are read at once.
_MOST = 1000


class ListedReview(NamedTuple):
    """A ticket and where it stands; `position` is where the list goes on after it."""

    position: int
    ticket: Ticket
    settlement: Settlement


class ReviewView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ticket. `recorded` says that the settlement is in the ledger, and not only what would be recorded now."""

    ticket: Ticket
    answers: tuple[AnswerFinding, ...]
    settlement: Settlement
    recorded: bool


def inspect_review(
    tools: Tools, tenant_id: TenantId, ticket_id: TicketId, *, viewer: Principal | None = None, at: Instant
) -> ReviewView:
    """One ticket with every answer's signature verified; only answers that hold are counted.

    A `viewer` who has yet to judge by themselves sees no answers, and one from whom the output is withheld no ticket.
    Without a viewer it is the operator of the node's folder, who sees all.
    """

    def look(unit: Unit) -> ReviewView:
        ticket = get_ticket(unit, tenant_id, ticket_id)
        if is_kept_from(unit, ticket, viewer):
            raise NotFoundError(f"tenant `{tenant_id}` has no ticket `{ticket_id}` that may be shown to its asker")
        ring = desk_key_ring(unit, tools.founder)
        findings = tuple(check_answer(unit, ticket, one, ring) for one in unit.review.answers(tenant_id, ticket_id))
        recorded = unit.review.find_settlement(tenant_id, ticket_id)
        standing = recorded or settle_now(unit, ticket, [one.answer for one in findings if one.verified], at=at)
        seen = ReviewView(ticket=ticket, answers=findings, settlement=standing, recorded=recorded is not None)
        if not _is_kept_from(ticket, standing, [one.answer.by for one in findings], viewer):
            return seen
        return replace(seen, answers=(), settlement=hide_others(standing))

    return tools.database.read(look)


def list_reviews(
    tools: Tools, tenant_id: TenantId, *, settled_too: bool = False, viewer: Principal | None = None, at: Instant
) -> tuple[tuple[Ticket, Settlement], ...]:
    """Tickets in the order they were opened, each with where it stands; signatures are not verified here."""

    def look(unit: Unit) -> tuple[tuple[Ticket, Settlement], ...]:
        tickets = unit.review.tickets(tenant_id, unsettled_only=not settled_too)
        shown = [ticket for ticket in tickets if not is_kept_from(unit, ticket, viewer)]
        return tuple(zip(shown, _standings(unit, tenant_id, shown, viewer, at), strict=True))

    return tools.database.read(look)


def page_reviews(
    tools: Tools,
    tenant_id: TenantId,
    *,
    settled_too: bool = False,
    kind: TicketKind | None = None,
    about: str | None = None,
    only: Callable[[Ticket], bool] = lambda _: True,
    viewer: Principal | None = None,
    after: int = 0,
    limit: int,
    at: Instant,
) -> tuple[ListedReview, ...]:
    """The same from after a position on, and no more than `limit`; no more are read than that takes.

    Of a kind, and about one thing; `only` narrows it to those that may be listed.
    """

    def look(unit: Unit) -> tuple[ListedReview, ...]:
        found: list[tuple[int, Ticket]] = []
        place, size = after, min(limit, _MOST)
        while len(found) < limit:
            part = unit.review.tickets_after(
                tenant_id, place, unsettled_only=not settled_too, kind=kind, about=about, limit=size
            )
            found += [(position, one) for position, one in part if only(one) and not is_kept_from(unit, one, viewer)]
            if len(part) < size:
                break
            place, size = part[-1][0], _MOST
        page = found[:limit]
        standings = _standings(unit, tenant_id, [ticket for _, ticket in page], viewer, at)
        return tuple(ListedReview(*one, standing) for one, standing in zip(page, standings, strict=True))

    return tools.database.read(look)


def _standings(
    unit: Unit, tenant_id: TenantId, tickets: Sequence[Ticket], viewer: Principal | None, at: Instant
) -> list[Settlement]:
    """Of all of them at once, since a list may be long."""
    ids = [ticket.id for ticket in tickets]
    recorded = {one.ticket_id: one for one in unit.review.settlements_on(tenant_id, ids)}
    answers = by_ticket(unit.review.answers_on(tenant_id, ids))
    givers = Givers(unit, tenant_id)
    return [
        _standing(unit, one, recorded.get(one.id), answers.get(one.id, ()), viewer, at, givers=givers)
        for one in tickets
    ]


def _standing(
    unit: Unit,
    ticket: Ticket,
    recorded: Settlement | None,
    answers: Sequence[Answer],
    viewer: Principal | None,
    at: Instant,
    *,
    givers: Givers,
) -> Settlement:
    standing = recorded or settle_now(unit, ticket, answers, at=at, givers=givers)
    return hide_others(standing) if _is_kept_from(ticket, standing, [one.by for one in answers], viewer) else standing


def _is_kept_from(
    ticket: Ticket, standing: Settlement, answered_by: list[PrincipalId], viewer: Principal | None
) -> bool:
    return viewer is not None and is_blind(ticket, viewer, answered_by, settled=not standing.is_open)
