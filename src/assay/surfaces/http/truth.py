"""Truth states: what is known of a key now, what was known at an instant, the map of it all, and whether one holds.

A state is served byte for byte as it was signed, so that it can be verified as it is. What age has left of it is not
part of it and comes in headers: `assay-confidence-now`, `assay-is-expired`, `assay-is-stale`.
"""

import re
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import FieldsError, Moment
from assay.flows.tools import Tools
from assay.flows.truth.check_truth import CheckedState, StateCheck, check_truth
from assay.flows.truth.compile_now import compile_now
from assay.flows.truth.map_truth import Box, map_features
from assay.flows.truth.show_truth import ShownTruth, show_history, show_truth
from assay.identity.principal import BuiltInRole
from assay.identity.problem import Problem
from assay.kernel.instant import parse_instant, render_instant
from assay.kernel.json_text import parse_json
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import asks, described, problems, takes
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import PageSize, Place, cut_page, parse_moment, parse_query, path_text
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.surfaces.http.v1.one import holds_already
from assay.truth.key import parse_claim_type_id
from assay.truth.state import TruthState, render_truth_state
from assay.truth.status import TruthStatus

_JSON = "application/json"
_GEOJSON = "application/geo+json"
_NO_STORE = {"cache-control": "no-store"}
_NUMBER = re.compile(r"-?\d{1,3}(\.\d{1,12})?", re.ASCII)
_HALF_TURN, _POLE = 180, 90
# A cache may keep a state if it asks each time whether it is still the one; the answer depends on who asks.
_ASK_AGAIN = {"cache-control": "private, no-cache", "vary": "authorization, x-api-key"}


class StateQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`at`: what was known at that instant, the last state compiled by then."""

    at: Moment | None = None


class HistoryQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Only what was compiled by `at`; after a version."""

    at: Moment | None = None
    after: Place = 0
    limit: PageSize = 100


class MapQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a claim type, of some statuses (with commas between them), as known at an instant; after a key.

    `bbox` is `west,south,east,north` in degrees; west is greater than east where it crosses longitude 180.
    """

    claim_type: str | None = None
    status: str | None = None
    at: Moment | None = None
    bbox: str | None = None
    after: str | None = None
    limit: PageSize = 1000


class CompileRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`force` appends a state that says the same as the last; an override of `signed_at` needs a reason."""

    claim_type: str | None = None
    force: bool = False
    fresh_trust: bool = False
    signed_at: Moment | None = None
    signed_at_reason: str | None = None


class CompiledState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state in force, and whether it was appended now."""

    version: int
    sequence_number: int
    is_new: bool
    state: dict[str, Any]


class ShownState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version of a key's state, and what age has left of it."""

    version: int
    sequence_number: int
    compiled_at: str
    confidence_now: float
    is_expired: bool
    state: dict[str, Any]


class StateHistory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Oldest first; `next` is the `after` of the next page, null at the end."""

    truthkey: str
    states: tuple[ShownState, ...]
    next: int | None


class StateFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a state holds, check by check; a check that was not made says null and never counts as passed."""

    truthkey: str
    status: str
    holds: bool
    checks: tuple[StateCheck, ...]


@get(
    "/truthstates/{key:str}",
    opt=allow(scope="truth:read"),
    operation_class=asks(StateQuery),
    responses={
        200: described("the signed state", kind=dict[str, Any]),
        304: described("the state that the caller has is still the one", kind=None),
        **problems(400, 401, 403, 404, 422),
    },
)
async def show_state(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    key: FromPath[str],
) -> Response[bytes]:
    """The latest state of a key, or what was known at an instant; its `state_hash` is the ETag."""
    known_at = parse_moment(parse_query(StateQuery, request).at)
    tenant_id, now = caller.principal.tenant_id, desk.tools.clock.now()
    shown = await desk.run(lambda: show_truth(desk.tools, tenant_id, path_text(key), at=now, known_at=known_at))
    headers = {**_ASK_AGAIN, **_told(shown)}
    if holds_already(request, headers["etag"]):
        return Response(b"", status_code=304, headers=headers)
    return Response(render_truth_state(shown.state), media_type=_JSON, headers=headers)


@get(
    "/truthstates/{key:str}/history",
    opt=allow(scope="truth:read"),
    operation_class=asks(HistoryQuery),
    responses={200: described("a page of states", kind=StateHistory), **problems(400, 401, 403, 404, 422)},
)
async def show_state_history(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    key: FromPath[str],
) -> Response[bytes]:
    """Every state of a key, oldest first; with `at`, those that were known at that instant."""
    wanted = parse_query(HistoryQuery, request)
    known_at, tenant_id, now = parse_moment(wanted.at), caller.principal.tenant_id, desk.tools.clock.now()

    def look() -> StateHistory:
        states = show_history(desk.tools, tenant_id, path_text(key), at=now)
        if not states:
            raise NotFoundError(f"tenant `{tenant_id}` knows nothing of `{key[:200]}`")
        by_then = [one for one in states if known_at is None or one.compiled_at <= known_at]
        return _page(key, [one for one in by_then if one.version > wanted.after], wanted.limit)

    return _answer(await desk.run(look))


@post(
    "/truthstates/{key:str}/compile",
    opt=allow(scope="truth:write", roles=[BuiltInRole.OPERATOR]),
    operation_class=changes(CompileRequest),
    responses={
        200: described("nothing was there to be said; the state in force", kind=CompiledState),
        201: described("appended, signed and on disk", kind=CompiledState),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def compile_key(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    key: FromPath[str],
) -> Response[bytes]:
    """Compile a key now, by an operator; a running server also does it by itself when something is recorded."""
    received = await read_body(request)
    tenant_id = caller.principal.tenant_id

    def compiled(tools: Tools) -> Reply:
        wanted = parse_body(CompileRequest, received)
        if wanted.claim_type is not None:
            parse_claim_type_id(wanted.claim_type)
        done = compile_now(
            tools,
            tenant_id,
            key,
            claim_type=wanted.claim_type,
            force=wanted.force,
            fresh_trust=wanted.fresh_trust,
            signed_at=None if wanted.signed_at is None else parse_instant(wanted.signed_at),
            signed_at_reason=wanted.signed_at_reason,
        )
        desk.metrics.states.labels(tenant=tenant_id, cause="request").inc(done.is_new)
        told = CompiledState(
            version=done.version,
            sequence_number=done.sequence_number,
            is_new=done.is_new,
            state=state_value(done.state),
        )
        return reply_json(told, status=201 if done.is_new else 200)

    return await change(request, desk, caller, received, compiled, is_repeatable=True)


@get(
    "/truthmap",
    opt=allow(scope="truth:read"),
    operation_class=asks(MapQuery),
    media_type=_GEOJSON,
    responses={
        200: described("a GeoJSON FeatureCollection", kind=dict[str, Any], media_type=_GEOJSON),
        **problems(400, 401, 403, 422),
    },
)
async def show_map(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The latest state of each key as GeoJSON, sorted by key; `next` beside `features` is the `after` of more."""
    wanted = parse_query(MapQuery, request)
    statuses, known_at, box = _statuses(wanted.status), parse_moment(wanted.at), _box(wanted.bbox)
    tenant_id, now = caller.principal.tenant_id, desk.tools.clock.now()
    features: list[dict[str, Any]] = []
    await desk.run(
        lambda: map_features(
            desk.tools,
            tenant_id,
            features.append,
            at=now,
            claim_type=wanted.claim_type,
            known_at=known_at,
            statuses=statuses,
            after=wanted.after,
            limit=wanted.limit + 1,
            box=box,
        )
    )
    page, following = cut_page(features, wanted.limit, lambda feature: feature["id"])
    collection = {"type": "FeatureCollection", "features": page, "next": following}
    return Response(msgspec.json.encode(collection), media_type=_GEOJSON, headers=_NO_STORE)


@post(
    "/verify",
    opt=allow(scope="truth:read"),
    status_code=200,
    operation_class=takes(TruthState),
    responses={200: described("what was found", kind=StateFinding), **problems(400, 401, 403, 413, 415, 422)},
)
async def verify_state(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Whether a state is what this node signed and what its ledger holds; a no is an answer, not a refusal."""
    received = await read_body(request)
    tenant_id = caller.principal.tenant_id

    def check() -> CheckedState:
        return check_truth(desk.tools, tenant_id, received)

    found = await desk.run(check)
    finding = StateFinding(truthkey=found.truthkey, status=found.status, holds=found.holds, checks=found.checks)
    return _answer(finding)


def state_value(state: TruthState) -> dict[str, Any]:
    """The state as part of a larger answer; its canonical bytes are what `/truthstates/{key}` serves."""
    value: Any = parse_json(render_truth_state(state))
    return dict(value)


def _answer(value: Struct) -> Response[bytes]:
    return Response(msgspec.json.encode(value), media_type=_JSON, headers=_NO_STORE)


def _told(shown: ShownTruth) -> dict[str, str]:
    security = shown.state.security
    assert security is not None  # noqa: S101 - an unsigned state is never stored
    return {
        "etag": f'"{security.state_hash}"',
        "assay-version": str(shown.version),
        "assay-sequence-number": str(shown.sequence_number),
        "assay-confidence-now": str(shown.confidence_now),
        "assay-is-expired": str(shown.is_expired).lower(),
        "assay-is-stale": str(shown.is_stale).lower(),
    }


def _page(key: str, states: list[ShownTruth], limit: int) -> StateHistory:
    page, following = cut_page(states, limit, lambda one: one.version)
    return StateHistory(truthkey=key, states=tuple(_shown(one) for one in page), next=following)


def _shown(shown: ShownTruth) -> ShownState:
    return ShownState(
        version=shown.version,
        sequence_number=shown.sequence_number,
        compiled_at=render_instant(shown.compiled_at),
        confidence_now=float(shown.confidence_now),
        is_expired=shown.is_expired,
        state=state_value(shown.state),
    )


def _box(text: str | None) -> Box | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) == len(Box._fields) and all(_NUMBER.fullmatch(part) for part in parts):
        box = Box(*map(float, parts))
        if max(abs(box.west), abs(box.east)) <= _HALF_TURN and -_POLE <= box.south <= box.north <= _POLE:
            return box
    message = f"expected `west,south,east,north` in degrees, got `{text[:80]}`"
    raise FieldsError([Problem(field="bbox", message=message)])


def _statuses(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    named, known = text.split(","), [status.value for status in TruthStatus]
    unknown = [name for name in named if name not in known]
    if unknown:
        message = f"expected some of {', '.join(known)}, got `{', '.join(unknown)[:80]}`"
        raise FieldsError([Problem(field="status", message=message)])
    return frozenset(named)
