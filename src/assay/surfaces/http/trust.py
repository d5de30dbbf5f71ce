"""Trust: what would be frozen of agents, where one of them stands, and the log of signals that all of it follows from.

Standings tell of people, so whoever is neither auditor, operator nor reviewer sees only their own.
"""

from collections.abc import Sequence
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
from assay.flows.request import Moment
from assay.flows.tools import Tools
from assay.flows.trust.inspect_trust import AgentView, freeze_agents, list_standings
from assay.flows.trust.recall_trust import recall_trust
from assay.flows.trust.record_signal import DisputeAnswer, Signalled, record_signal
from assay.flows.truth.judge_dispute import DisputeRefusal
from assay.kernel.ids import TenantId
from assay.kernel.instant import render_instant
from assay.kernel.json_text import parse_json
from assay.ports.database import Unit
from assay.ports.trust_store import LoggedSignal
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow, whose
from assay.surfaces.http.query import PageSize, Place, cut_page, parse_moment, parse_query, path_text
from assay.surfaces.http.truth import state_value
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.truth.snapshot import TrustSnapshot, render_snapshot

_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}
# A claim type that no profile of a policy is for.
_ANY_CLAIM_TYPE = "any.any.v1"


class SnapshotQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of some agents (with commas between them), for a claim type, at an instant up to now."""

    at: Moment | None = None
    agents: str | None = None
    claim_type: str = _ANY_CLAIM_TYPE


class SignalQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one agent; after an entry's number."""

    agent_id: str | None = None
    after: Place = 0
    limit: PageSize = 100


class ShownAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent as the log tells it now, under the policy in force."""

    agent_id: str
    standing: float
    standing_class: str
    trust_score: float
    is_admissible: bool
    roles: tuple[str, ...]
    endorsed_by: tuple[str, ...]
    policy_id: str
    at: str


class ShownSignal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal and the entry that logged it."""

    sequence_number: int
    signal: dict[str, Any]


class SignalPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In the order they were logged; `next` is the `after` of the next page, null at the end."""

    signals: tuple[ShownSignal, ...]
    next: int | None


class SignalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal by the caller; what `object` holds is its kind's own."""

    signal_id: str
    kind: str
    agent_id: str
    occurred_at: str
    object: dict[str, Any]


class DisputeReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a dispute: the entry of the round it opened and the key's state with it, or why it opened none.

    Without a state the key is not compiled yet, and `code` and `problem` say why; the dispute stands all the same.
    """

    counts: bool
    refusal: DisputeRefusal | None = None
    window_number: int | None = None
    version: int | None = None
    state: dict[str, Any] | None = None
    code: str | None = None
    problem: str | None = None


class SignalReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a signal is kept; `dispute` is there for a new DISPUTE_RAISED, and for nothing else."""

    signal_id: str
    sequence_number: int
    is_new: bool
    dispute: DisputeReceipt | None = None


@get(
    "/trust-snapshot",
    opt=allow(scope="trust:read", roles=SEE_ALL),
    operation_class=asks(SnapshotQuery),
    responses={200: described("the snapshot", kind=dict[str, Any]), **problems(400, 401, 403, 409, 422)},
)
async def show_snapshot(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The trust that a compilation would freeze now, or would have frozen at an instant; its hash is the ETag."""
    wanted = parse_query(SnapshotQuery, request)
    at, agents = parse_moment(wanted.at), None if wanted.agents is None else tuple(wanted.agents.split(","))
    tenant_id, now = caller.principal.tenant_id, desk.tools.clock.now()

    def freeze() -> TrustSnapshot:
        if at is None:
            return freeze_agents(desk.tools, tenant_id, claim_type=wanted.claim_type, at=now, agents=agents)
        return recall_trust(desk.tools, tenant_id, claim_type=wanted.claim_type, at=at, agents=agents)

    snapshot = await desk.run(freeze)
    headers = {**_NO_STORE, "etag": f'"{snapshot.snapshot_hash}"'}
    return Response(render_snapshot(snapshot), media_type=_JSON, headers=headers)


@get(
    "/agents/{agent_id:str}",
    opt=allow(scope="trust:read"),
    responses={200: described("the agent", kind=ShownAgent), **problems(400, 401, 403, 404, 409)},
)
async def show_agent(
    desk: GivenDesk, caller: NamedDependency[Authenticated], agent_id: FromPath[str]
) -> Response[bytes]:
    """Where an agent stands now, and who vouches for it."""
    whose(caller, path_text(agent_id))
    tenant_id, now = caller.principal.tenant_id, desk.tools.clock.now()

    def look() -> ShownAgent:
        standings = list_standings(desk.tools, tenant_id, at=now, agents=[agent_id])
        if not standings.agents:
            raise NotFoundError(f"tenant `{tenant_id}` knows no agent `{agent_id[:80]}`")
        return _shown_agent(standings.agents[0], standings.policy_id, render_instant(standings.at))

    return Response(msgspec.json.encode(await desk.run(look)), media_type=_JSON, headers=_NO_STORE)


@get(
    "/signals",
    opt=allow(scope="trust:read"),
    operation_class=asks(SignalQuery),
    responses={200: described("a page", kind=SignalPage), **problems(400, 401, 403, 422)},
)
async def list_signals(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The log of signals in its order; whoever may not see all of it sees their own."""
    wanted = parse_query(SignalQuery, request)
    agent_id, tenant_id = whose(caller, wanted.agent_id), caller.principal.tenant_id
    rows = await desk.run(
        lambda: desk.tools.database.read(
            lambda unit: _logged(unit, tenant_id, agent_id, wanted.after, wanted.limit + 1)
        )
    )
    shown, following = cut_page(rows, wanted.limit, lambda row: row.sequence_number)
    page = SignalPage(signals=tuple(_shown_signal(row) for row in shown), next=following)
    return Response(msgspec.json.encode(page), media_type=_JSON, headers=_NO_STORE)


@post(
    "/signals",
    opt=allow(scope="trust:write"),
    operation_class=changes(SignalRequest),
    responses={
        200: described("the same was logged before", kind=SignalReceipt),
        201: described("logged, and on disk", kind=SignalReceipt),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def record_new_signal(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Log a signal by the caller, of a kind that is open to them; what moves standings cannot be handed in.

    A dispute of a final state asks people again, where it counts.
    """
    received = await read_body(request)

    def signal(tools: Tools) -> Reply:
        wanted = parse_body(SignalRequest, received)
        done = record_signal(tools, received, credential=credential, at=tools.clock.now())
        desk.metrics.signals.labels(tenant=caller.principal.tenant_id, kind=wanted.kind).inc(done.is_new)
        return reply_json(_receipt(done), status=201 if done.is_new else 200)

    return await change(request, desk, caller, received, signal, is_repeatable=True)


def _receipt(done: Signalled) -> SignalReceipt:
    dispute = None if done.dispute is None else _dispute_receipt(done.dispute)
    return SignalReceipt(
        signal_id=done.signal_id, sequence_number=done.sequence_number, is_new=done.is_new, dispute=dispute
    )


def _dispute_receipt(answer: DisputeAnswer) -> DisputeReceipt:
    recount = answer.recount
    compiled = None if recount is None else recount.compiled
    return DisputeReceipt(
        counts=answer.counts,
        refusal=answer.refusal,
        window_number=answer.window_number,
        version=None if compiled is None else compiled.version,
        state=None if compiled is None else state_value(compiled.state),
        code=None if recount is None else recount.code,
        problem=None if recount is None else recount.problem,
    )


def _logged(unit: Unit, tenant_id: TenantId, agent_id: str | None, after: int, limit: int) -> Sequence[LoggedSignal]:
    if agent_id is not None:
        return unit.trust.signals_of(tenant_id, agent_id, after=after, limit=limit)
    return tuple(unit.trust.signals(tenant_id, after=after, limit=limit))


def _shown_signal(row: LoggedSignal) -> ShownSignal:
    signal: Any = parse_json(row.text)
    return ShownSignal(sequence_number=row.sequence_number, signal=signal)


def _shown_agent(view: AgentView, policy_id: str, at: str) -> ShownAgent:
    return ShownAgent(
        agent_id=view.agent_id,
        standing=float(view.standing),
        standing_class=view.standing_class,
        trust_score=float(view.trust_score),
        is_admissible=view.is_admissible,
        roles=view.roles,
        endorsed_by=view.endorsed_by,
        policy_id=policy_id,
        at=at,
    )
