"""The routes of Kaori (INTEROP): each parses into an operation's request and renders its result.

A state is served byte for byte as it was signed, so that it can be verified as it is. What age has left of it is not
part of it and comes in headers: `assay-confidence-now`, `assay-is-expired`, `assay-is-stale`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import BulkLine, Moment, encode_result, next_cursor
from assay.flows.trust.record_signal import DisputeReceipt, ListSignals, LoggedItem, RecordSignal, SignalDocument
from assay.flows.trust.standings import ANY_CLAIM_TYPE, AgentItem, ShowAgent, TakeSnapshot
from assay.flows.truth.check_truth import StateCheck, VerifyState
from assay.flows.truth.observe import LINES, ListObservations, ObserveLines, ObserveRequest
from assay.flows.truth.states import ListVersions, ShowState, StateItem
from assay.flows.truth.votes import VoteReceipt, VoteRequest
from assay.kernel.instant import render_instant
from assay.operations.dispatch import Outcome
from assay.operations.trust import AGENT_SHOW, SIGNAL_RECORD, SIGNALS_LIST, SNAPSHOT
from assay.operations.truth import (
    OBSERVATION_RECORD,
    OBSERVATIONS_LIST,
    OBSERVATIONS_RECORD,
    STATE_DOCUMENT,
    STATE_VERIFY,
    VERSIONS_LIST,
    VOTE_CAST,
)
from assay.surfaces.http.body import find_key, parse_body, read_body
from assay.surfaces.http.describe import asks, described, problems, takes
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.errors import BodySizeError, HttpError, MediaTypeError
from assay.surfaces.http.query import PageSize, Place, parse_moment, parse_query, path_text
from assay.surfaces.http.v1.common import changes
from assay.surfaces.http.v1.derive import opt_of
from assay.surfaces.http.v1.one import holds_already
from assay.truth.contract import VoteType
from assay.truth.observation import Observation
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus

MOST_LINES = 10_000
_JSON = "application/json"
_LARGEST = 16 * 1024 * 1024
_NO_STORE = {"cache-control": "no-store"}
# A cache may keep a state if it asks each time whether it is still the one; the answer depends on the caller.
_ASK_AGAIN = {"cache-control": "private, no-cache", "vary": "authorization, x-api-key"}


class ObservationQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one key, of one reporter; after an entry's number."""

    truthkey: str | None = None
    reporter_id: str | None = None
    after: Place = 0
    limit: PageSize = 100


class ObservationReceipt(Struct, frozen=True, kw_only=True):
    """Where an observation is recorded."""

    observation_id: str
    observation_hash: str
    truthkey: str
    sequence_number: int
    is_new: bool


class ObservedLine(Struct, frozen=True, kw_only=True):
    """What happened to one line: where it is recorded, or why not."""

    line: int | None
    observed: ObservationReceipt | None = None
    code: str | None = None
    problem: str | None = None


class ShownObservation(Struct, frozen=True, kw_only=True):
    """A recorded observation and its place in the ledger."""

    observation_id: str
    observation_hash: str
    truthkey: str
    sequence_number: int
    observation: dict[str, Any]


class ObservationPage(Struct, frozen=True, kw_only=True):
    """In the order they were recorded; `next` is the `after` of the next page, null at the end."""

    observations: tuple[ShownObservation, ...]
    next: int | None


class StateQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`at`: what was known at that instant, the last state compiled by then."""

    at: Moment | None = None


class HistoryQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Only what was compiled by `at`; after a version."""

    at: Moment | None = None
    after: Place = 0
    limit: PageSize = 100


class ShownState(Struct, frozen=True, kw_only=True):
    """A version of a key's state, and what age has left of it."""

    version: int
    sequence_number: int
    compiled_at: str
    confidence_now: float
    is_expired: bool
    state: dict[str, Any]


class StateHistory(Struct, frozen=True, kw_only=True):
    """Oldest first; `next` is the `after` of the next page, null at the end."""

    truthkey: str
    states: tuple[ShownState, ...]
    next: int | None


class StateFinding(Struct, frozen=True, kw_only=True):
    """Whether a state holds, check by check; a check that was not made has null and never counts as passed."""

    truthkey: str
    status: str
    holds: bool
    checks: tuple[StateCheck, ...]


class Vote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`seen` is the `shown_hash` of the question; a rejection has its reason, an override the status it sets."""

    truthkey: str
    vote_type: VoteType
    seen: str
    reason: str = ""
    override_status: TruthStatus | None = None


class SnapshotQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of some agents (with commas between them), for a claim type, at an instant up to now."""

    at: Moment | None = None
    agents: str | None = None
    claim_type: str = ANY_CLAIM_TYPE


class SignalQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one agent; after an entry's number."""

    agent_id: str | None = None
    after: Place = 0
    limit: PageSize = 100


class SignalReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a signal is logged; `dispute` is there for a new DISPUTE_RAISED, and for nothing else."""

    signal_id: str
    sequence_number: int
    is_new: bool
    dispute: DisputeReceipt | None = None


class SignalPage(Struct, frozen=True, kw_only=True):
    """In the order they were logged; `next` is the `after` of the next page, null at the end."""

    signals: tuple[LoggedItem, ...]
    next: int | None


@get(
    "/observations",
    opt=opt_of(OBSERVATIONS_LIST),
    operation_class=asks(ObservationQuery),
    responses={200: described("a page", kind=ObservationPage), **problems(400, 401, 403, 422)},
)
async def list_observations(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """List observations in the order they were recorded; without a role that may see all of them, one's own."""
    wanted = parse_query(ObservationQuery, request)
    asked = ListObservations(
        truthkey=wanted.truthkey,
        reporter_id=wanted.reporter_id,
        cursor=next_cursor("observations", wanted.after),
        limit=wanted.limit,
    )
    page = (await desk.perform(OBSERVATIONS_LIST, caller, asked)).value
    shown = tuple(
        ShownObservation(
            observation_id=one.observation_id,
            observation_hash=one.observation_hash,
            truthkey=one.truthkey,
            sequence_number=one.sequence_number,
            observation=one.observation,
        )
        for one in page.items
    )
    following = page.items[-1].sequence_number if page.next is not None else None
    return _answer(ObservationPage(observations=shown, next=following))


@post(
    "/observations",
    opt=opt_of(OBSERVATION_RECORD),
    operation_class=changes(Observation, lines=LINES),
    request_max_body_size=_LARGEST,
    responses={
        200: described("the same was recorded before; where it is", kind=ObservationReceipt),
        201: described("on disk; where it is", kind=ObservationReceipt),
        207: described("what happened to each line, in order", media_type=LINES),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def record_observations(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Record one observation, or many in lines; answered only when on disk. The same id again is recorded once.

    The reporter is the caller, unless the caller has the role `relay`.
    """
    media_type, _ = request.content_type
    if media_type not in (_JSON, LINES):
        raise MediaTypeError(f"expected `{_JSON}` or `{LINES}`, got `{media_type[:80] or 'no media type'}`")
    limits = desk.config.http
    received, key = await request.body(), find_key(request)
    most = limits.max_body_bytes if media_type == _JSON else limits.max_stream_bytes
    if len(received) > most:
        raise BodySizeError(f"expected at most {most} bytes, got {len(received)}")
    if media_type == _JSON:
        done = await desk.perform(OBSERVATION_RECORD, caller, ObserveRequest(observation=received), key)
        receipt = msgspec.convert(done.value, ObservationReceipt, from_attributes=True)
        return _changed(done, msgspec.json.encode(receipt))
    count = received.count(b"\n") + 1
    if count > MOST_LINES + 1:
        raise HttpError.lines(f"expected at most {MOST_LINES} lines, got {count}")
    done = await desk.perform(OBSERVATIONS_RECORD, caller, ObserveLines(observations=received), key)
    response = _changed(done, _lines(done.value))
    response.status_code, response.media_type = 207, LINES
    return response


def _lines(done: Sequence[BulkLine]) -> bytes:
    return b"".join(msgspec.json.encode(_line(one)) + b"\n" for one in done)


def _line(one: BulkLine) -> ObservedLine:
    if one.receipt is None:
        return ObservedLine(line=one.line, code=one.code, problem=one.problem)
    return ObservedLine(line=one.line, observed=msgspec.convert(one.receipt, ObservationReceipt))


@get(
    "/truthstates/{key:str}",
    opt=opt_of(STATE_DOCUMENT),
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
    """Show the latest state of a key, or what was known at an instant; its `state_hash` is the ETag."""
    asked = ShowState(key=path_text(key), at=_moment(parse_query(StateQuery, request).at))
    done = await desk.perform(STATE_DOCUMENT, caller, asked)
    tag = f'"{done.value.etag}"'
    headers = {**_ASK_AGAIN, "etag": tag, **done.headers}
    if holds_already(request, tag):
        return Response(b"", status_code=304, headers=headers)
    return Response(done.value.body, media_type=_JSON, headers=headers)


@get(
    "/truthstates/{key:str}/history",
    opt=opt_of(VERSIONS_LIST),
    operation_class=asks(HistoryQuery),
    responses={200: described("a page of states", kind=StateHistory), **problems(400, 401, 403, 404, 422)},
)
async def show_state_history(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    key: FromPath[str],
) -> Response[bytes]:
    """List every state of a key, oldest first; with `at`, those that were known at that instant."""
    wanted = parse_query(HistoryQuery, request)
    asked = ListVersions(
        key=path_text(key),
        at=_moment(wanted.at),
        cursor=next_cursor("versions", wanted.after),
        limit=wanted.limit,
    )
    page = (await desk.perform(VERSIONS_LIST, caller, asked)).value
    following = page.items[-1].version if page.next is not None else None
    return _answer(StateHistory(truthkey=key, states=tuple(map(_version, page.items)), next=following))


def _version(one: StateItem) -> ShownState:
    return ShownState(
        version=one.version,
        sequence_number=one.sequence_number,
        compiled_at=render_instant(one.compiled_at),
        confidence_now=one.confidence_now,
        is_expired=one.is_expired,
        state=one.state,
    )


@post(
    "/verify",
    opt=opt_of(STATE_VERIFY),
    status_code=200,
    operation_class=takes(TruthState),
    responses={200: described("what was found", kind=StateFinding), **problems(400, 401, 403, 413, 415, 422)},
)
async def verify_state(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Check whether a state is what this node signed and what its ledger holds; a no is an answer, not a refusal."""
    found = (await desk.perform(STATE_VERIFY, caller, VerifyState(state=await read_body(request)))).value
    return _answer(StateFinding(truthkey=found.truthkey, status=found.status, holds=found.holds, checks=found.checks))


@post(
    "/votes",
    opt=opt_of(VOTE_CAST),
    operation_class=changes(Vote),
    responses={
        201: described("on disk; the key's state with it, or why it has none yet", kind=VoteReceipt),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def record_vote(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Answer the open validation ticket of a key, as a person in their own session; an API key is not enough."""
    received, key = await read_body(request), find_key(request)
    wanted = parse_body(Vote, received)
    asked = VoteRequest(
        truthkey=wanted.truthkey,
        vote_type=wanted.vote_type,
        seen=wanted.seen,
        reason=wanted.reason,
        override_status=wanted.override_status,
    )
    done = await desk.perform(VOTE_CAST, caller, asked, key)
    return _changed(done, encode_result(done.value))


@get(
    "/trust-snapshot",
    opt=opt_of(SNAPSHOT),
    operation_class=asks(SnapshotQuery),
    responses={200: described("the snapshot", kind=dict[str, Any]), **problems(400, 401, 403, 409, 422)},
)
async def show_snapshot(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Show the trust that a compilation would freeze now, or would have frozen at an instant; its hash is the ETag."""
    wanted = parse_query(SnapshotQuery, request)
    agents = () if wanted.agents is None else tuple(wanted.agents.split(","))
    asked = TakeSnapshot(at=_moment(wanted.at), agents=agents, claim_type=wanted.claim_type)
    content = (await desk.perform(SNAPSHOT, caller, asked)).value
    return Response(content.body, media_type=_JSON, headers={**_NO_STORE, "etag": f'"{content.etag}"'})


@get(
    "/agents/{agent_id:str}",
    opt=opt_of(AGENT_SHOW),
    responses={200: described("the agent", kind=AgentItem), **problems(400, 401, 403, 404, 409)},
)
async def show_agent(
    desk: GivenDesk, caller: NamedDependency[Authenticated], agent_id: FromPath[str]
) -> Response[bytes]:
    """Show the standing of an agent now, and who endorses it."""
    return _answer((await desk.perform(AGENT_SHOW, caller, ShowAgent(agent_id=path_text(agent_id)))).value)


@get(
    "/signals",
    opt=opt_of(SIGNALS_LIST),
    operation_class=asks(SignalQuery),
    responses={200: described("a page", kind=SignalPage), **problems(400, 401, 403, 422)},
)
async def list_signals(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """List the log of signals in its order; without a role that may see all of it, one's own."""
    wanted = parse_query(SignalQuery, request)
    cursor = next_cursor("signals", wanted.after)
    asked = ListSignals(agent_id=wanted.agent_id, cursor=cursor, limit=wanted.limit)
    page = (await desk.perform(SIGNALS_LIST, caller, asked)).value
    following = page.items[-1].sequence_number if page.next is not None else None
    return _answer(SignalPage(signals=page.items, next=following))


@post(
    "/signals",
    opt=opt_of(SIGNAL_RECORD),
    operation_class=changes(SignalDocument),
    responses={
        200: described("the same was logged before", kind=SignalReceipt),
        201: described("logged, and on disk", kind=SignalReceipt),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def record_new_signal(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Log a signal by the caller, of a kind that is open to them; what moves standings cannot be handed in.

    A dispute of a final state asks people again, where it counts.
    """
    received, key = await read_body(request), find_key(request)
    parse_body(SignalDocument, received)
    done = await desk.perform(SIGNAL_RECORD, caller, RecordSignal(signal=received), key)
    told = done.value
    receipt = SignalReceipt(
        signal_id=told.signal_id, sequence_number=told.sequence_number, is_new=told.is_new, dispute=told.dispute
    )
    return _changed(done, encode_result(receipt))


def _moment(text: str | None) -> str | None:
    """An instant of a query, checked here so that a wrong one is refused as a field of the query."""
    parse_moment(text)
    return text


def _answer(value: Struct) -> Response[bytes]:
    return Response(msgspec.json.encode(value), media_type=_JSON, headers=_NO_STORE)


def _changed(outcome: Outcome, body: bytes) -> Response[bytes]:
    headers = {**outcome.headers, **_NO_STORE}
    if outcome.is_kept:
        headers["assay-is-kept"] = "true"
    return Response(body, status_code=201 if outcome.is_new else 200, media_type=_JSON, headers=headers)
