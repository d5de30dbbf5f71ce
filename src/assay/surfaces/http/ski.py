"""Verdicts over HTTP, as clients of SKI know it: `/api/evaluate` and `/api/verdicts`.

record -> every rule judged and recorded -> the strictest envelope, the rest named in its `notes`
A held verdict is no verdict: the answer is then 202 with the tickets that people have to answer.
"""

from time import perf_counter
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Meta, Struct

from assay.flows.answer_once import Reply
from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import Moment
from assay.flows.tools import Tools
from assay.flows.verdicts.evaluate_record import evaluate_record, strictest_envelope, strictest_verdict, verdict_notes
from assay.flows.verdicts.read_verdicts import Decided, ListedVerdict, RuleVerdict, page_verdicts
from assay.kernel.instant import render_instant
from assay.surfaces.http.body import read_body
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.query import PageSize, parse_query
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.verdicts.envelope import Envelope

_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}
_V2_SCHEMA = "2.1.0"


Offset = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class TelemetryRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One record, with one of the three ids; a measurement is a scalar, `{"value", "unit"}`, or an object of such."""

    timestamp: Moment
    subject: str
    measurement: dict[str, Any]
    measurement_id: str | None = None
    telemetry_id: str | None = None
    id: str | None = None
    jurisdiction: str | None = None
    tenant_id: str | None = None


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


@post(
    "/api/evaluate",
    opt=allow(scope="verdicts:write"),
    status_code=200,
    operation_class=changes(TelemetryRecord),
    responses={
        200: described("recorded; the strictest envelope of all rules", kind=_Answer),
        202: described("recorded, and held until people attest", kind=HeldRecord),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def evaluate_telemetry(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Judge one record by every rule that applies to it; answered only when all verdicts are on disk.

    The same record again is answered with what is recorded.
    """
    received = await read_body(request)
    began = perf_counter()

    def evaluate(tools: Tools) -> Reply:
        return _answer(evaluate_record(tools, received, credential=credential, at=tools.clock.now()))

    together = desk.evaluation(received, credential, caller.principal.tenant_id, _answer)
    answer = await change(
        request, desk, caller, received, evaluate, is_repeatable=True, run=desk.judge, together=together
    )
    desk.metrics.evaluations.observe(perf_counter() - began)
    return answer


@get(
    "/api/verdicts",
    opt=allow(scope="verdicts:read", roles=SEE_ALL),
    operation_class=asks(VerdictsQuery),
    responses={200: described("a page, the newest first", kind=VerdictPage), **problems(400, 401, 403, 422)},
)
async def list_recorded_verdicts(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Every recorded verdict, each with its envelope; what is held is listed as held."""
    wanted = parse_query(VerdictsQuery, request)
    tenant_id = caller.principal.tenant_id
    found = await desk.run(lambda: page_verdicts(desk.tools, tenant_id, limit=wanted.limit + 1, offset=wanted.offset))
    # One more than a page was read: whether there is a next one is then known.
    page = VerdictPage(
        verdicts=tuple(_shown(one) for one in found[: wanted.limit]),
        limit=wanted.limit,
        offset=wanted.offset,
        next_offset=wanted.offset + wanted.limit if len(found) > wanted.limit else None,
    )
    return Response(msgspec.json.encode(page), media_type=_JSON, headers=_NO_STORE)


def _answer(decided: Decided) -> Reply:
    chosen, is_new = strictest_verdict(decided), str(decided.is_new).lower()
    if chosen is None or chosen.verdict is None:
        return reply_json(_held(decided), status=202, assay_is_new=is_new)
    answer = strictest_envelope(decided) or _v2(decided, chosen, chosen.verdict)
    number, name = str(chosen.sequence_number), chosen.entry_hash
    return reply_json(answer, assay_is_new=is_new, assay_sequence_number=number, assay_entry_hash=name)


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
