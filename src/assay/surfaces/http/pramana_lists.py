"""PRAMANA over HTTP (section 12): the registry of questions, the queue of training, and what is worth a look."""

from typing import Annotated, Any

import msgspec
from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Meta, Struct

from assay.delivery.outcome import Signal
from assay.delivery.query import QueryType
from assay.delivery.tally import AlertRule
from assay.flows.delivery.inspect_delivery import show_session
from assay.flows.delivery.inspect_outcomes import RuleAlert, ShortAnswer, list_alerts, list_sessions, list_shortfalls
from assay.flows.delivery.inspect_queue import TrainingQueue, list_queries, show_queue
from assay.flows.identity.authenticate import Authenticated
from assay.ports.delivery_store import ReportingSession
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.pramana import PREFIX
from assay.surfaces.http.query import PageSize, Place, cut_page, parse_query, path_text

__all__ = [
    "AlertsQuery",
    "SessionList",
    "SessionsQuery",
    "ShortfallList",
    "ShortfallsQuery",
    "list_query_types",
    "list_reporting_sessions",
    "list_rule_alerts",
    "list_short_answers",
    "show_reporting_session",
    "show_training_queue",
]

_READ = allow(scope="pramana:read", roles=SEE_ALL)
_MOST_NAME = 256
_DEFAULT = AlertRule()


class ShortfallsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`after` is the entry of the last answer seen."""

    after: Place = 0
    limit: PageSize = 100
    query_type: str | None = None


class ShortfallList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page, oldest first; `next` is the `after` of the one that follows."""

    shortfalls: tuple[ShortAnswer, ...]
    next: int | None


class AlertsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule is worth a look from so many outcomes on, while its confidence is below this."""

    min_total: Annotated[int, Meta(ge=1, le=2**53 - 1)] = _DEFAULT.min_total
    min_confidence: Annotated[float, Meta(ge=0, le=1)] = _DEFAULT.min_confidence


class SessionsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`after` is the name of the last session seen."""

    after: Annotated[str, Meta(max_length=_MOST_NAME)] = ""
    limit: PageSize = 100


class SessionList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page, by name; `next` is the `after` of the one that follows."""

    sessions: tuple[ReportingSession, ...]
    next: str | None


@get(
    f"{PREFIX}/queries",
    opt=_READ,
    responses={200: described("every kind of question", kind=list[QueryType]), **problems(401, 403)},
)
async def list_query_types(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """The query registry: who answers what on which rules, and the level that is expected."""
    return _answer(await desk.run(lambda: list_queries(desk.tools, caller.principal.tenant_id)))


@get(
    f"{PREFIX}/shortfalls",
    opt=_READ,
    operation_class=asks(ShortfallsQuery),
    responses={200: described("answers below what was expected", kind=ShortfallList), **problems(400, 401, 403, 422)},
)
async def list_short_answers(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Answers below the level that their kind of question should reach (PRAMANA 12.8), with whoever owns the kind."""
    wanted, tenant_id = parse_query(ShortfallsQuery, request), caller.principal.tenant_id
    found = await desk.run(
        lambda: list_shortfalls(
            desk.tools, tenant_id, after=wanted.after, limit=wanted.limit + 1, slug=wanted.query_type
        )
    )
    page, following = cut_page(found, wanted.limit, lambda one: one.sequence_number)
    return _answer(ShortfallList(shortfalls=tuple(page), next=following))


@get(
    f"{PREFIX}/alerts",
    opt=_READ,
    operation_class=asks(AlertsQuery),
    responses={200: described("rules worth a look", kind=list[RuleAlert]), **problems(400, 401, 403, 422)},
)
async def list_rule_alerts(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Rules whose outcomes are bad over time, also where no run of failures has opened a root cause."""
    wanted, tenant_id = parse_query(AlertsQuery, request), caller.principal.tenant_id
    rule = AlertRule(min_total=wanted.min_total, min_confidence=wanted.min_confidence)
    return _answer(await desk.run(lambda: list_alerts(desk.tools, tenant_id, rule)))


@get(
    f"{PREFIX}/sessions",
    opt=_READ,
    operation_class=asks(SessionsQuery),
    responses={200: described("sessions that told outcomes", kind=SessionList), **problems(400, 401, 403, 422)},
)
async def list_reporting_sessions(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Sessions with how many outcomes each told (PRAMANA 12.9): `session:ID`, or `sender:ID` of those without one."""
    wanted, tenant_id = parse_query(SessionsQuery, request), caller.principal.tenant_id
    found = await desk.run(lambda: list_sessions(desk.tools, tenant_id, after=wanted.after, limit=wanted.limit + 1))
    page, following = cut_page(found, wanted.limit, lambda one: one.session)
    return _answer(SessionList(sessions=tuple(page), next=following))


@get(
    f"{PREFIX}/sessions/{{session:str}}",
    opt=_READ,
    responses={200: described("the signals of one session", kind=list[Signal]), **problems(401, 403, 404)},
)
async def show_reporting_session(
    desk: GivenDesk, caller: NamedDependency[Authenticated], session: FromPath[str]
) -> Response[bytes]:
    """What one session told, in order."""
    name = path_text(session)
    return _answer(await desk.run(lambda: show_session(desk.tools, caller.principal.tenant_id, name)))


@get(
    f"{PREFIX}/pairs/queue",
    opt=_READ,
    responses={200: described("the queue of training", kind=TrainingQueue), **problems(401, 403)},
)
async def show_training_queue(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """How many pairs wait, and how many make a job."""
    return _answer(await desk.run(lambda: show_queue(desk.tools, caller.principal.tenant_id)))


def _answer(value: object) -> Response[bytes]:
    content = msgspec.json.encode(value)
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})
