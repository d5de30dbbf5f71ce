"""`/api/v1/observations` and `states`: what agents saw, and what follows from it."""

from itertools import islice
from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import Moment, read_number, read_text
from assay.flows.tools import Tools
from assay.flows.truth.compile_now import compile_now
from assay.flows.truth.observe import Observed, observe
from assay.flows.truth.show_truth import ShownTruth, gold_of, show_history, show_truth
from assay.identity.principal import BuiltInRole
from assay.kernel.json_text import parse_json
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.surfaces.http.body import read_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow, whose
from assay.surfaces.http.query import parse_moment, parse_query, path_text
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import (
    PREFIX,
    PageQuery,
    changes,
    found,
    lists,
    lists_operation,
    made,
    one_operation,
)
from assay.surfaces.http.v1.one import answer_one, answer_page
from assay.surfaces.http.v1.page import cut
from assay.surfaces.http.v1.shapes import CompiledState, ObservationItem, ObservationPage, StateItem, StatePage
from assay.truth.observation import Observation
from assay.truth.state import TruthState, render_truth_state

_READ, _WRITE = allow(scope="truth:read"), allow(scope="truth:write")
_COMPILE = allow(scope="truth:write", roles=[BuiltInRole.OPERATOR])
_OBSERVATIONS, _STATES = f"{PREFIX}/observations", f"{PREFIX}/states"
OBSERVATION_EXAMPLE = {
    "observation_id": "obs-1",
    "claim_type": "earth.flood.v1",
    "reported_at": "2026-01-07T12:10:00Z",
    "reporter_id": "sensor:042",
    "reporter_context": {"standing": "bronze", "trust_score": 0, "source_type": "sensor"},
    "geo": {"lat": 4.175, "lon": 73.509},
    "payload": {"severity": "high", "water_level_meters": 1.25},
    "evidence_refs": [],
}


class ObservationsQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one key, of one reporter."""

    truthkey: str | None = None
    reporter_id: str | None = None


class StatesQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a claim type; as they were known at an instant."""

    claim_type: str | None = None
    at: Moment | None = None


class StateQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As it was known at an instant."""

    at: Moment | None = None


@get(
    _OBSERVATIONS,
    opt=_READ,
    operation_class=lists_operation(ObservationsQuery),
    responses=lists(f"GET {_OBSERVATIONS}", ObservationPage),
)
async def list_observations(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Observations in the order they were recorded; whoever may not see all of them sees their own."""
    wanted = parse_query(ObservationsQuery, request)
    by, tenant_id = whose(caller, wanted.reporter_id), caller.principal.tenant_id
    after = read_number("observations", wanted.cursor)

    def look(unit: Unit) -> tuple[TruthRecord, ...]:
        return unit.truth.observations(tenant_id, truthkey=wanted.truthkey, by=by, after=after, limit=wanted.limit + 1)

    rows = await desk.run(lambda: desk.tools.database.read(look))
    page, following = cut("observations", rows, wanted.limit, lambda row: row.sequence_number)
    return answer_page(request, ObservationPage(items=tuple(map(_observation, page)), next=following))


@get(
    f"{_OBSERVATIONS}/{{observation_id:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_OBSERVATIONS}/{{observation_id}}", ObservationItem),
)
async def show_observation(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    observation_id: FromPath[str],
) -> Response[bytes]:
    """One observation by its id; another's only for whoever may see all of them."""
    name, by, tenant_id = path_text(observation_id), whose(caller, None), caller.principal.tenant_id

    def look(unit: Unit) -> TruthRecord | None:
        return unit.truth.find_record(tenant_id, RecordKind.OBSERVATION, name, by=by)

    row = await desk.run(lambda: desk.tools.database.read(look))
    if row is None:
        raise NotFoundError(f"`{tenant_id}` has no observation `{name[:80]}`")
    return answer_one(request, _observation(row), etag=row.record_hash, is_immutable=True)


@post(
    _OBSERVATIONS,
    opt=_WRITE,
    operation_class=changes(Observation, example=OBSERVATION_EXAMPLE),
    responses=made(f"POST {_OBSERVATIONS}", Observed, old="the same was recorded before"),
)
async def record_observation(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Record what was seen; the reporter is the caller, unless the caller has the role `relay`."""
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
        done = observe(tools, received, credential=credential, at=tools.clock.now())
        desk.metrics.count_observations(caller.principal.tenant_id, recorded=done.is_new, repeated=not done.is_new)
        return reply_json(done, status=201 if done.is_new else 200)

    return await change(request, desk, caller, received, work, is_repeatable=True)


@get(
    _STATES,
    opt=_READ,
    operation_class=lists_operation(StatesQuery),
    responses=lists(f"GET {_STATES}", StatePage),
)
async def list_states(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The latest state of each key, by key."""
    wanted = parse_query(StatesQuery, request)
    after, known_at = read_text("states", wanted.cursor), parse_moment(wanted.at)
    tools, tenant_id, now = desk.tools, caller.principal.tenant_id, desk.tools.clock.now()

    def look(unit: Unit) -> list[ShownTruth]:
        shown = gold_of(unit, tools, tenant_id, claim_type=wanted.claim_type, known_at=known_at, at=now, after=after)
        return list(islice(shown, wanted.limit + 1))

    states = await desk.run(lambda: tools.database.read(look))
    page, following = cut("states", states, wanted.limit, lambda one: one.state.truthkey)
    return answer_page(request, StatePage(items=tuple(map(_state, page)), next=following))


@get(
    f"{_STATES}/{{key:str}}",
    opt=_READ,
    operation_class=one_operation(StateQuery),
    responses=found(f"GET {_STATES}/{{key}}", StateItem),
)
async def show_state(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], key: FromPath[str]
) -> Response[bytes]:
    """The latest state of a key, or what was known of it at an instant."""
    wanted, name = parse_query(StateQuery, request), path_text(key)
    now, known_at = desk.tools.clock.now(), parse_moment(wanted.at)
    shown = await desk.run(lambda: show_truth(desk.tools, caller.principal.tenant_id, name, at=now, known_at=known_at))
    return answer_one(request, _state(shown))


@get(
    f"{_STATES}/{{key:str}}/versions",
    opt=_READ,
    operation_class=lists_operation(),
    responses=lists(f"GET {_STATES}/{{key}}/versions", StatePage),
)
async def list_versions(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], key: FromPath[str]
) -> Response[bytes]:
    """Every state of a key, the oldest first."""
    wanted, name = parse_query(PageQuery, request), path_text(key)
    after, now = read_number("versions", wanted.cursor), desk.tools.clock.now()
    history = await desk.run(lambda: show_history(desk.tools, caller.principal.tenant_id, name, at=now))
    rest = [one for one in history if one.version > after]
    page, following = cut("versions", rest, wanted.limit, lambda one: one.version)
    return answer_page(request, StatePage(items=tuple(map(_state, page)), next=following))


@post(
    f"{_STATES}/{{key:str}}/compile",
    opt=_COMPILE,
    operation_class=changes(),
    responses=made(f"POST {_STATES}/{{key}}/compile", CompiledState, old="nothing new was to be said"),
)
async def compile_state(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], key: FromPath[str]
) -> Response[bytes]:
    """Compile a key now; nothing is appended where nothing new is to be said."""
    name, tenant_id = path_text(key), caller.principal.tenant_id

    def work(tools: Tools) -> Reply:
        done = compile_now(tools, tenant_id, name)
        desk.metrics.states.labels(tenant=tenant_id, cause="request").inc(done.is_new)
        told = CompiledState(
            version=done.version,
            sequence_number=done.sequence_number,
            is_new=done.is_new,
            state=_value(done.state),
        )
        return reply_json(told, status=201 if done.is_new else 200)

    return await change(request, desk, caller, await request.body(), work, is_repeatable=True)


def _observation(row: TruthRecord) -> ObservationItem:
    observation: Any = parse_json(row.text)
    return ObservationItem(
        observation_id=row.record_id,
        observation_hash=row.record_hash,
        truthkey=row.truthkey,
        reporter_id=row.by,
        received_at=row.received_at,
        sequence_number=row.sequence_number,
        observation=observation,
    )


def _state(shown: ShownTruth) -> StateItem:
    return StateItem(
        truthkey=shown.state.truthkey,
        version=shown.version,
        sequence_number=shown.sequence_number,
        compiled_at=shown.compiled_at,
        confidence_now=float(shown.confidence_now),
        is_expired=shown.is_expired,
        is_stale=shown.is_stale,
        state=_value(shown.state),
    )


def _value(state: TruthState) -> dict[str, Any]:
    value: Any = parse_json(render_truth_state(state))
    return dict(value)
