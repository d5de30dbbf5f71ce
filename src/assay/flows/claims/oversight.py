"""Oversight of people: what each reviewer answered about claims, as figures with intervals and alarms.

answers on the desk -> tickets of claims, in the order of answers -> ReviewerFigures
The time of an answer is counted from when its ticket was opened: a reviewer has read it in at most that time.
"""

from typing import Annotated

from msgspec import Meta, Struct

from assay.claims.oversight.reviewers import OversightRules, ReviewedTicket, ReviewerFigures, review_figures
from assay.flows.request import Moment, Option, Request, parse_moment
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.review.progress import GivenAnswer
from assay.review.sight import STEWARDS

_KINDS = frozenset({TicketKind.APPROVAL, TicketKind.DEFERRAL})
_READERS = (*STEWARDS, BuiltInRole.AUDITOR)
_PAGE = 500


class MeasureOversight(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    since: Annotated[Moment | None, Meta(description="Only answers from this instant on.")] = None
    rules: Annotated[OversightRules, Meta(description="When an alarm sounds."), Option(metavar="JSON")] = (
        OversightRules()
    )


class Oversight(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    figures: tuple[ReviewerFigures, ...]


def oversight(tools: Tools, caller: Caller, request: MeasureOversight) -> Oversight:
    """Measure how reviewers answer about claims, each figure with an interval.

    Without a role that may see others, one's own.

    Answers to tickets that are not settled yet are left out: they tell nobody how a vote stands.
    """

    def work(unit: Unit) -> list[ReviewedTicket]:
        viewer = caller.viewer
        if viewer is not None and not has_role(viewer, _READERS):
            names: tuple[PrincipalId, ...] = (viewer.id,)
        else:
            names = _everybody(unit, caller.tenant_id)
        since = parse_moment(request.since)
        given = (one for one in unit.review.answers_by(caller.tenant_id, names) if _is_counted(one, since))
        return [_reviewed(one) for one in sorted(given, key=lambda one: one.answer.answered_at)]

    return Oversight(figures=review_figures(tools.database.read(work), request.rules))


def _everybody(unit: Unit, tenant_id: TenantId) -> tuple[PrincipalId, ...]:
    names: list[PrincipalId] = []
    while True:
        page = unit.review.reviewers(tenant_id, after=names[-1] if names else None, limit=_PAGE)
        names += page
        if len(page) < _PAGE:
            return tuple(names)


def _is_counted(given: GivenAnswer, since: Instant | None) -> bool:
    is_recent = since is None or given.answer.answered_at >= since
    return is_recent and given.ticket.kind in _KINDS and given.settlement is not None


def _reviewed(given: GivenAnswer) -> ReviewedTicket:
    ticket, answer = given.ticket, given.answer
    return ReviewedTicket(
        reviewer=answer.by,
        kind=ticket.kind.value,
        agent=ticket.requested_by or ticket.opened_by,
        approved=answer.choice not in ticket.rejecting,
        words=len(ticket.shown.split()),
        seconds=(answer.answered_at - ticket.opened_at).total_seconds(),
    )
