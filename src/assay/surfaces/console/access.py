"""Access: people, agents and services with their roles and keys, requests for power, and why one may or may not."""

from collections.abc import Callable
from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.identity.principals import ListPrincipals, ShowPrincipal
from assay.flows.request import MOST_ITEMS
from assay.flows.review.show_queue import ShowQueue as ShowDesk
from assay.identity.principal import BuiltInRole, PrincipalKind
from assay.kernel.errors import Error
from assay.operations.access import ExplainAccess
from assay.operations.parse import parse_request
from assay.operations.problem import problem_of
from assay.operations.table import BY_NAME, TABLE
from assay.review.kind import TicketKind
from assay.surfaces.console.errors import ConsoleError
from assay.surfaces.console.page import render_page, see_other
from assay.surfaces.console.session import Form, GivenVisit, Visit, needs, read_form
from assay.surfaces.http.query import parse_query

_PAGE = 200
_REQUESTS = (TicketKind.POWER_CHANGE, TicketKind.TIER_CHANGE)
# What a form of a principal's page asks for: the operation, and the fields that it takes besides the principal.
_ACTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "roles": ("principal.amend", ("roles",)),
    "disable": ("principal.disable", ()),
    "key": ("key.issue", ()),
    "revoke": ("key.revoke", ("prefix", "reason")),
}


class AccessQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`action` and `who` ask whether somebody may perform an operation."""

    action: str = ""
    who: str = ""


@get("/access", opt=needs("caller.show"))
async def show_access(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """Everybody with their roles, what waits for a second person, and the answer to "why can I (not)?"."""
    return await _access_page(visit, parse_query(AccessQuery, request))


@post("/access", opt=needs("principal.add"), status_code=303)
async def add_somebody(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[Any]:
    """Add a person, an agent or a service; more power than a node grants alone waits for a second administrator."""
    form = await read_form(request, visit)
    given: dict[str, Any] = {"principal_id": form.find("principal_id"), "kind": form.find("kind")}
    optional = {"name": form.find("name"), "password": form.find("password"), "roles": _roles(form)}
    given |= {name: value for name, value in optional.items() if value}
    try:
        asked = parse_request(BY_NAME["principal.add"], given)
        added = await visit.desk.act(lambda: visit.perform("principal.add", asked))
    except Error as error:
        return await _access_page(visit, AccessQuery(), refused=error, written=form)
    return see_other(f"/review/{added.waiting}" if added.waiting else f"/access/people/{added.id}")


async def _access_page(
    visit: Visit, wanted: AccessQuery, *, refused: Error | None = None, written: Form | None = None
) -> Response[bytes]:
    values = await visit.desk.run(lambda: _look(visit, wanted))
    problem = None if refused is None else problem_of(refused)
    return render_page(
        "access.html",
        visit,
        status=200 if problem is None else problem.status,
        problem=problem,
        written=written or Form({}),
        wanted=wanted,
        roles=[one.value for one in BuiltInRole],
        kinds=[one.value for one in PrincipalKind],
        operations=[one for one in TABLE if one.route is not None],
        **values,
    )


def _look(visit: Visit, wanted: AccessQuery) -> dict[str, Any]:
    people = ()
    if visit.may("principals.list"):
        people = visit.perform("principals.list", ListPrincipals(limit=MOST_ITEMS)).items
    waiting = []
    for kind in _REQUESTS:
        waiting += visit.perform("desk.queue", ShowDesk(kind=kind, limit=_PAGE)).items
    why, problem = None, None
    if wanted.action:
        try:
            asked = ExplainAccess(action=wanted.action, who=wanted.who or None)
            why = visit.perform("access.explain", asked)
        except Error as error:
            problem = problem_of(error)
    return {"people": people, "waiting": waiting, "why": why, "why_problem": problem}


def _roles(form: Form) -> tuple[str, ...]:
    return tuple(sorted(name.removeprefix("role_") for name in form.fields if name.startswith("role_")))


@get("/access/people/{principal_id:str}", opt=needs("principal.show"))
async def show_somebody(visit: GivenVisit, principal_id: FromPath[str]) -> Response[bytes]:
    """One principal: roles, limits, keys, and every version with who granted it."""
    return await _principal_page(visit, principal_id)


@post("/access/people/{principal_id:str}", opt=needs("principal.amend"), status_code=303)
async def change_somebody(
    request: Request[Any, Any, Any], visit: GivenVisit, principal_id: FromPath[str]
) -> Response[Any]:
    """Change roles, disable, issue or revoke a key; a new key is on the answer to this request and nowhere else."""
    form = await read_form(request, visit)
    act = form.get("act")
    if act not in _ACTS:
        raise ConsoleError.form_field(f"expected one of {', '.join(_ACTS)}, got `{act[:40]}`")
    try:
        result = await visit.desk.act(_change(visit, principal_id, act, form))
    except Error as error:
        return await _principal_page(visit, principal_id, refused=error)
    waiting = getattr(result, "waiting", None)
    if waiting:
        return see_other(f"/review/{waiting}")
    if act == "key":
        return await _principal_page(visit, principal_id, key=result.api_key)
    return see_other(f"/access/people/{principal_id}")


def _change(visit: Visit, principal_id: str, act: str, form: Form) -> Callable[[], Any]:
    operation, fields = _ACTS[act]
    given: dict[str, Any] = {name: form.get(name) for name in fields if name != "roles"}
    if "roles" in fields:
        given["roles"] = _roles(form)
    if "prefix" not in fields:
        given["principal_id"] = principal_id
    return lambda: visit.perform(operation, parse_request(BY_NAME[operation], given))


async def _principal_page(
    visit: Visit, principal_id: str, *, refused: Error | None = None, key: str | None = None
) -> Response[bytes]:
    asked = ShowPrincipal(principal_id=principal_id)
    view = await visit.desk.run(lambda: visit.perform("principal.show", asked))
    problem = None if refused is None else problem_of(refused)
    return render_page(
        "principal.html",
        visit,
        status=200 if problem is None else problem.status,
        problem=problem,
        view=view,
        key=key,
        roles=sorted({one.value for one in BuiltInRole} | set(view.principal.roles)),
    )
