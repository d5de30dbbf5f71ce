"""Reviewer performance: each person sees their own figures; stewards of the desk and auditors see everybody's.

caller -> reviewers of the page -> what each answered, without what blind review keeps from the caller -> figures
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from assay.flows.request import Page, Paged, cut, read_text
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId, TicketId
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.review.lease import live_leases
from assay.review.progress import GivenAnswer, Progress, measure_progress
from assay.review.sight import STEWARDS, is_blind
from assay.review.ticket import Ticket

_READERS = (*STEWARDS, BuiltInRole.AUDITOR)


class ListProgress(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


def progress(tools: Tools, caller: Caller, request: ListProgress) -> Page[Progress]:
    """List reviewers with their number of answers, median time, and how often their answer prevailed.

    Reviewers see their own figures; admins, operators and auditors see everybody's. Others' answers to an open ticket
    that the caller has yet to answer are in no figure; a reviewer without any other answer is not listed.
    """
    after = read_text("progress", request.cursor)

    def look(unit: Unit) -> Page[Progress]:
        viewer = caller.viewer
        if viewer is not None and not has_role(viewer, _READERS):
            return Page(items=_figures(unit, caller, (viewer.id,)))
        found = _listed(unit, caller, None if after is None else PrincipalId(after), request.limit + 1)
        return cut("progress", found, request.limit, lambda one: one.by)

    return tools.database.read(look)


def _listed(unit: Unit, caller: Caller, after: PrincipalId | None, wanted: int) -> list[Progress]:
    found: list[Progress] = []
    while len(found) < wanted:
        asked = wanted - len(found)
        names = unit.review.reviewers(caller.tenant_id, after=after, limit=asked)
        found += [one for one in _figures(unit, caller, names) if caller.viewer is None or one.answered]
        if len(names) < asked:
            break
        after = names[-1]
    return found


class _Sight:
    """Which answers the viewer may know of: of an open ticket that several must answer, after their own."""

    def __init__(self, unit: Unit, viewer: Principal | None) -> None:
        self._viewer = viewer
        self._answered: frozenset[TicketId] = frozenset()
        if viewer is not None:
            given = unit.review.answers_on(viewer.tenant_id, unit.review.answered_tickets(viewer.tenant_id))
            self._answered = frozenset(one.ticket_id for one in given if one.by == viewer.id)

    def sees(self, by: PrincipalId, ticket: Ticket, *, settled: bool) -> bool:
        viewer = self._viewer
        if viewer is None or by == viewer.id:
            return True
        return not is_blind(ticket, viewer, [viewer.id] if ticket.id in self._answered else [], settled=settled)


def _figures(unit: Unit, caller: Caller, names: Sequence[PrincipalId]) -> tuple[Progress, ...]:
    tenant_id, sight = caller.tenant_id, _Sight(unit, caller.viewer)
    leases = Counter(one.by for one in live_leases(unit.desk.leases_of(tenant_id, names), caller.at))
    rows = unit.desk.held_of(tenant_id, names)
    asked = {one.id: one for one in unit.review.find_tickets(tenant_id, {row.ticket_id for row in rows})}
    if missing := {row.ticket_id for row in rows} - asked.keys():
        raise DamagedRecordError(f"expected the ticket `{min(missing)}` of an answer that is held, got none")
    held = Counter(row.by for row in rows if sight.sees(row.by, asked[row.ticket_id], settled=False))

    def measured(by: PrincipalId, given: Iterable[GivenAnswer]) -> Progress:
        seen = (one for one in given if sight.sees(by, one.ticket, settled=one.settlement is not None))
        return measure_progress(by, seen, open_leases=leases[by], held=held[by])

    # One person after the other: the texts that all of them were shown may be large.
    everything = groupby(unit.review.answers_by(tenant_id, names), key=lambda one: one.answer.by)
    found = {by: measured(by, given) for by, given in everything}
    return tuple(found.get(by) or measured(by, ()) for by in names)
