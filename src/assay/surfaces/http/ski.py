"""The routes of SKI: each parses into an operation's request, and renders its result as clients of SKI know it.

record -> every rule judged and recorded -> the strictest envelope, the rest named in its `notes`
A held verdict is no verdict: the answer is then 202 with the tickets that people have to answer.
"""

from collections.abc import Mapping
from time import perf_counter
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Meta, Struct

from assay.flows.identity.authenticate import Authenticated
from assay.flows.verdicts.change_graphs import GraphDocument, LoadedGraph, LoadGraph
from assay.flows.verdicts.coverage import ShowAgreement
from assay.flows.verdicts.evaluate import (
    EvaluateRecord,
    TelemetryRecord,
    strictest_envelope,
    strictest_verdict,
    verdict_notes,
)
from assay.flows.verdicts.read_verdicts import Decided, ListedVerdict, ListVerdicts, RuleVerdict
from assay.flows.verdicts.sovereignty import JudgeHealth, ShowHealth, ShowSovereignty
from assay.identity.caller import Caller, local_caller
from assay.kernel.digest import EMPTY_DIGEST
from assay.kernel.ids import parse_tenant_id
from assay.kernel.instant import render_instant
from assay.operations.dispatch import Outcome
from assay.operations.verdicts import AGREEMENT, EVALUATE_RECORD, HEALTH, LIST_VERDICTS, LOAD_GRAPH, SOVEREIGNTY
from assay.surfaces.http.body import find_key, read_body, read_long_body
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.errors import NotReadyError
from assay.surfaces.http.guard import OPEN
from assay.surfaces.http.health import Readiness
from assay.surfaces.http.proof import anonymous
from assay.surfaces.http.query import PageSize, parse_query
from assay.surfaces.http.v1.common import changes
from assay.surfaces.http.v1.derive import opt_of
from assay.verdicts.agreement import Canary
from assay.verdicts.envelope import Envelope
from assay.verdicts.graph.graph import Notice
from assay.verdicts.graph.issue import Issue

_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}
_V2_SCHEMA = "2.1.0"
_LARGEST = 512 * 1024 * 1024
_HELD, _OK = 202, 200

Offset = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class RecordVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the second runtime comes to: it asks no model, so there is no envelope (SKI 11.4)."""

    verdict: str
    reasoning: str
    schema_version: str
    telemetry_id: str
    rule_id: str
    notes: tuple[str, ...]


class HeldRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of a held record: `verdict` is null while its own waits for a person."""

    rule_id: str
    standing: str
    verdict: str | None
    ticket_id: str | None
    sequence_number: int


class HeldRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No verdict yet: a rule of the high tier waits for a person's attestation (SKI 5.4)."""

    telemetry_id: str
    subject: str
    rules: tuple[HeldRule, ...]
    status: Literal["held"] = "held"


# To a type checker a union is no type, and to the description it is.
_Answer: Any = Envelope | RecordVerdict


class VerdictsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest first; `offset` passes over so many."""

    limit: PageSize = 100
    offset: Offset = 0


class ShownVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry. A held one has no verdict and no envelope; `settles` is the entry of a held one that this ended."""

    sequence_number: int
    entry_hash: str
    telemetry_id: str
    rule_id: str
    subject: str
    as_of: str
    recorded_at: str
    standing: str
    tier: str
    reason: str
    verdict: str | None
    envelope: Envelope | None
    ticket_id: str | None
    settles: int | None


class VerdictPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`next_offset` is null at the end."""

    verdicts: tuple[ShownVerdict, ...]
    limit: int
    offset: int
    next_offset: int | None


class GraphInUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The graph by which records are judged from now on; `issues` and `notices` are remarks, the refusals are not."""

    kg_version_hash: str
    content_hash: str
    document_hash: str
    signature_verified: bool
    mode: str
    reviewers: int
    sequence_number: int
    issues: tuple[Issue, ...]
    notices: tuple[Notice, ...]


@post(
    "/api/evaluate",
    opt=opt_of(EVALUATE_RECORD),
    status_code=200,
    operation_class=changes(TelemetryRecord),
    responses={
        200: described("recorded; the strictest envelope of all rules", kind=_Answer),
        202: described("recorded, and held until people attest", kind=HeldRecord),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def evaluate_telemetry(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Judge one record by every rule that applies to it; answered only when all verdicts are on disk.

    The same record again is answered with what is recorded.
    """
    asked, key = EvaluateRecord(record=await read_body(request)), find_key(request)
    began = perf_counter()
    outcome = await desk.perform(EVALUATE_RECORD, caller, asked, key)
    desk.metrics.evaluations.observe(perf_counter() - began)
    return _evaluated(outcome)


@get(
    "/api/verdicts",
    opt=opt_of(LIST_VERDICTS),
    operation_class=asks(VerdictsQuery),
    responses={200: described("a page, the newest first", kind=VerdictPage), **problems(400, 401, 403, 422)},
)
async def list_recorded_verdicts(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Every recorded verdict, each with its envelope; what is held is listed as held."""
    wanted = parse_query(VerdictsQuery, request)
    asked = ListVerdicts(limit=wanted.limit, offset=wanted.offset)
    found = (await desk.perform(LIST_VERDICTS, caller, asked)).value
    page = VerdictPage(
        verdicts=tuple(_shown(one) for one in found.items),
        limit=wanted.limit,
        offset=wanted.offset,
        next_offset=None if found.next is None else wanted.offset + wanted.limit,
    )
    return Response(msgspec.json.encode(page), media_type=_JSON, headers=_NO_STORE)


@post(
    "/api/kg/load",
    opt=opt_of(LOAD_GRAPH),
    status_code=200,
    operation_class=changes(GraphDocument),
    request_max_body_size=_LARGEST,
    responses={
        200: described("in use from now on", kind=GraphInUse),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def load_knowledge_graph(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Put a graph into use, by an operator. Strict: signed by an anchor, valid, accepted by people, no step back."""
    document, key = await read_long_body(request, desk.config.http.max_stream_bytes), find_key(request)
    outcome = await desk.perform(LOAD_GRAPH, caller, LoadGraph(document=document), key)
    return _changed(outcome, _in_use(outcome.value))


@get(
    "/api/health",
    opt=opt_of(HEALTH),
    security=[{}],
    responses={200: described("the node works; whether it evaluates", kind=JudgeHealth), **problems()},
)
async def show_judge_health(
    request: Request[Any, Any, Any], desk: GivenDesk, readiness: NamedDependency[Readiness]
) -> Response[bytes]:
    """Whether the node works and can judge; for everybody, so it says nothing of a tenant."""
    found = await readiness.problems(desk)
    if found:
        raise NotReadyError(found)
    health = (await desk.perform(HEALTH, anonymous(request, desk), ShowHealth())).value
    return Response(msgspec.json.encode(health), media_type=_JSON, headers=_NO_STORE)


@get(
    "/api/canary",
    opt=opt_of(AGREEMENT),
    responses={200: described("the agreement rate", kind=Canary), **problems(401, 403)},
)
async def show_canary(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """How often the verifier agreed with the model over the latest verdicts (SKI 9.2); it survives a restart."""
    canary = (await desk.perform(AGREEMENT, caller, ShowAgreement())).value
    return Response(msgspec.json.encode(canary), media_type=_JSON, headers=_NO_STORE)


@get(
    "/api/sovereignty",
    opt=opt_of(SOVEREIGNTY),
    responses={200: described("the signed document", kind=dict[str, Any]), **problems(401, 403)},
)
async def show_sovereignty(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """What evaluates here and whether it stays on the operator's ground, signed by the node's ledger key (SKI 6.4)."""
    return await _attest(desk, caller)


@get(
    "/api/sovereignty",
    opt=OPEN,
    security=[{}],
    responses={200: described("the signed document", kind=dict[str, Any]), **problems()},
)
async def open_sovereignty_route(desk: GivenDesk) -> Response[bytes]:
    """The same of the node's own tenant for everybody, when the operator has configured `http.open_sovereignty`."""
    return await _attest(desk, local_caller(parse_tenant_id(desk.config.node.tenant), at=desk.tools.clock.now()))


async def _attest(desk: Desk, caller: Caller) -> Response[bytes]:
    document = (await desk.perform(SOVEREIGNTY, caller, ShowSovereignty())).value
    return Response(document.body, media_type=_JSON, headers=_NO_STORE)


def _evaluated(outcome: Outcome) -> Response[bytes]:
    decided: Decided = outcome.value
    chosen, headers = strictest_verdict(decided), {"assay-is-new": str(decided.is_new).lower()}
    if chosen is None or chosen.verdict is None:
        return _changed(outcome, _held(decided), headers, status=_HELD)
    answer = strictest_envelope(decided) or _v2(decided, chosen, chosen.verdict)
    headers |= {"assay-sequence-number": str(chosen.sequence_number), "assay-entry-hash": chosen.entry_hash}
    return _changed(outcome, answer, headers)


def _changed(
    outcome: Outcome, value: object, headers: Mapping[str, str] | None = None, *, status: int = _OK
) -> Response[bytes]:
    kept = {"assay-is-kept": "true"} if outcome.is_kept else {}
    return Response(
        msgspec.json.encode(value),
        status_code=status,
        media_type=_JSON,
        headers={**(headers or {}), **_NO_STORE, **kept},
    )


def _v2(decided: Decided, chosen: RuleVerdict, verdict: str) -> RecordVerdict:
    return RecordVerdict(
        verdict=verdict,
        reasoning=chosen.reason,
        schema_version=_V2_SCHEMA,
        telemetry_id=decided.telemetry_id,
        rule_id=chosen.rule_id,
        notes=tuple(verdict_notes(decided, chosen)),
    )


def _held(decided: Decided) -> HeldRecord:
    rules = tuple(
        HeldRule(
            rule_id=one.rule_id,
            standing=one.standing,
            verdict=one.verdict,
            ticket_id=one.ticket_id,
            sequence_number=one.sequence_number,
        )
        for one in decided.verdicts
    )
    return HeldRecord(telemetry_id=decided.telemetry_id, subject=decided.subject, rules=rules)


def _shown(listed: ListedVerdict) -> ShownVerdict:
    outcome = listed.outcome
    return ShownVerdict(
        sequence_number=outcome.sequence_number,
        entry_hash=outcome.entry_hash,
        telemetry_id=listed.telemetry_id,
        rule_id=outcome.rule_id,
        subject=listed.subject,
        as_of=render_instant(listed.as_of),
        recorded_at=render_instant(outcome.recorded_at),
        standing=outcome.standing,
        tier=outcome.tier,
        reason=outcome.reason,
        verdict=outcome.verdict,
        envelope=outcome.envelope,
        ticket_id=outcome.ticket_id,
        settles=listed.settles,
    )


def _in_use(loaded: LoadedGraph) -> GraphInUse:
    activation = loaded.activation
    return GraphInUse(
        kg_version_hash=activation.kg_version_hash,
        content_hash=activation.content_hash,
        document_hash=activation.document_hash,
        signature_verified=activation.kg_version_hash != EMPTY_DIGEST,
        mode=activation.mode,
        reviewers=activation.reviewers,
        sequence_number=activation.sequence_number,
        issues=loaded.issues,
        notices=loaded.notices,
    )
