"""Permits and mandates, learning, and models: what agents may do, what failed and was learnt, which weights judge."""

from decimal import Decimal, InvalidOperation
from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.delivery.root_causes import ListRootCauses
from assay.flows.delivery.rules import ListRules
from assay.flows.delivery.training import ShowQueue
from assay.flows.model.show_model import ListModels, ShowModel
from assay.flows.permits.mandates import ListMandates, ListMandateUses, MandateView, RevokeMandate, ShowMandate
from assay.flows.permits.permits import ListPermits, RevokePermit
from assay.flows.request import MOST_ITEMS
from assay.flows.review.show_queue import ShowQueue as ShowDesk
from assay.kernel.errors import Error
from assay.operations.problem import problem_of
from assay.permits.permit import PermitState
from assay.review.kind import TicketKind
from assay.surfaces.console.errors import ConsoleError
from assay.surfaces.console.page import render_page, see_other
from assay.surfaces.console.session import GivenVisit, Visit, needs, read_form
from assay.surfaces.http.query import parse_query

_PAGE = 100


class PermitsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    state: str = ""
    agent: str = ""
    cursor: str = ""


@get("/permits", opt=needs("permits.list"))
async def list_permits(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """Permits by state, and the mandates that stand behind some of them."""
    return await _permits_page(visit, parse_query(PermitsQuery, request))


@post("/permits/{permit_id:str}/revoke", opt=needs("permit.revoke"), status_code=303)
async def revoke_permit(request: Request[Any, Any, Any], visit: GivenVisit, permit_id: FromPath[str]) -> Response[Any]:
    """Revoke a permit that was not used yet."""
    form = await read_form(request, visit)
    asked = RevokePermit(permit_id=permit_id, reason=form.get("reason"))
    try:
        await visit.desk.act(lambda: visit.perform("permit.revoke", asked))
    except Error as error:
        return await _permits_page(visit, PermitsQuery(), refused=error)
    return see_other("/permits")


async def _permits_page(visit: Visit, wanted: PermitsQuery, *, refused: Error | None = None) -> Response[bytes]:
    if wanted.state and wanted.state not in set(PermitState):
        raise ConsoleError.form_field(f"expected a state of permits, got `{wanted.state[:40]}`")
    asked = ListPermits(
        state=PermitState(wanted.state) if wanted.state else None,
        agent=wanted.agent or None,
        cursor=wanted.cursor or None,
        limit=_PAGE,
    )

    def look() -> tuple[Any, Any, Any]:
        effects = ShowDesk(kind=TicketKind.EFFECT, limit=MOST_ITEMS)
        return (
            visit.perform("permits.list", asked),
            visit.perform("mandates.list", ListMandates(limit=_PAGE)),
            visit.perform("desk.queue", effects),
        )

    permits, mandates, effects = await visit.desk.run(look)
    problem = None if refused is None else problem_of(refused)
    return render_page(
        "permits.html",
        visit,
        status=200 if problem is None else problem.status,
        problem=problem,
        permits=permits.items,
        following=permits.next,
        mandates=[(one, _used(one)) for one in mandates.items],
        reconcile={row.ticket.about: row.ticket.id for row in effects.items},
        wanted=wanted,
        states=list(PermitState),
    )


def _used(mandate: MandateView) -> float | None:
    """The share of the budget that is used; of the number of calls where there is no budget."""
    if mandate.terms.budget is None:
        return mandate.used_count / mandate.terms.count if mandate.terms.count else None
    try:
        return float(Decimal(mandate.used_total) / Decimal(mandate.terms.budget.total))
    except (InvalidOperation, ZeroDivisionError):
        return None


@get("/permits/mandates/{mandate_id:str}", opt=needs("mandate.show"))
async def show_mandate(visit: GivenVisit, mandate_id: FromPath[str]) -> Response[bytes]:
    """The terms of a mandate in words, its signatures, and every use against its budget."""
    return await _mandate_page(visit, mandate_id)


@post("/permits/mandates/{mandate_id:str}/revoke", opt=needs("mandate.revoke"), status_code=303)
async def revoke_mandate(
    request: Request[Any, Any, Any], visit: GivenVisit, mandate_id: FromPath[str]
) -> Response[Any]:
    form = await read_form(request, visit)
    asked = RevokeMandate(mandate_id=mandate_id, reason=form.get("reason"))
    try:
        await visit.desk.act(lambda: visit.perform("mandate.revoke", asked))
    except Error as error:
        return await _mandate_page(visit, mandate_id, refused=error)
    return see_other(f"/permits/mandates/{mandate_id}")


async def _mandate_page(visit: Visit, mandate_id: str, *, refused: Error | None = None) -> Response[bytes]:
    def look() -> tuple[MandateView, Any]:
        mandate = visit.perform("mandate.show", ShowMandate(mandate_id=mandate_id))
        uses = visit.perform("mandate.uses", ListMandateUses(mandate_id=mandate_id, limit=_PAGE))
        return mandate, uses

    mandate, uses = await visit.desk.run(look)
    problem = None if refused is None else problem_of(refused)
    return render_page(
        "mandate.html",
        visit,
        status=200 if problem is None else problem.status,
        problem=problem,
        mandate=mandate,
        used=_used(mandate),
        uses=uses.items,
    )


@get("/learning", opt=needs("rootcauses.list"))
async def show_learning(visit: GivenVisit) -> Response[bytes]:
    """Root causes with what people concluded, the training pairs that follow, and rules that need a review."""

    def look() -> tuple[Any, Any, Any]:
        causes = visit.perform("rootcauses.list", ListRootCauses(limit=_PAGE)).items
        queue = visit.perform("pairs.queue", ShowQueue())
        rules = visit.perform("rules.list", ListRules(limit=MOST_ITEMS)).items
        return causes, queue, [one for one in rules if one.alert is not None or one.item_id is not None]

    causes, queue, alerts = await visit.desk.run(look)
    ordered = sorted(causes, key=lambda one: (one.conclusion is not None, -one.item.opened_at.timestamp()))
    return render_page("learning.html", visit, causes=ordered, queue=queue, alerts=alerts)


@get("/models", opt=needs("models.list"))
async def list_models(visit: GivenVisit) -> Response[bytes]:
    """Every model with its figures before and after, the one in use first."""

    def look() -> list[Any]:
        rows = visit.perform("models.list", ListModels(limit=_PAGE)).items
        return [(one, visit.perform("model.show", ShowModel(weights=one.weight_hash))) for one in rows]

    rows = await visit.desk.run(look)
    return render_page("models.html", visit, rows=sorted(rows, key=lambda row: not row[0].is_active))
