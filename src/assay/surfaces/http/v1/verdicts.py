"""`/api/v1/telemetry`, `verdicts`, `graphs`; and how the node judges: `coverage`, `agreement`, `sovereignty`."""

import re
from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import field

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import NoGraphError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.request import Moment, read_number
from assay.flows.tools import Tools
from assay.flows.verdicts.change_graphs import LoadedGraph, load_graph
from assay.flows.verdicts.coverage import check_agreement, show_coverage
from assay.flows.verdicts.evaluate_record import evaluate_record
from assay.flows.verdicts.read_verdicts import Decided, ListedVerdict, listed_verdicts, show_verdict
from assay.flows.verdicts.sovereignty import attest_sovereignty, sovereignty_value
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonicalize
from assay.kernel.merkle import MAX_SIZE
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation
from assay.surfaces.http.body import read_body, read_long_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, SIGNED_IN, allow
from assay.surfaces.http.query import parse_moment, parse_query, path_text
from assay.surfaces.http.ski import TelemetryRecord
from assay.surfaces.http.ski_graph import GraphDocument, log_notices
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
from assay.surfaces.http.v1.page import cut, cut_named
from assay.surfaces.http.v1.shapes import CoveragePage, GraphPage, VerdictPage
from assay.verdicts.agreement import Canary
from assay.verdicts.envelope import Verdict

_READ = allow(scope="verdicts:read", roles=SEE_ALL)
_EVALUATE = allow(scope="verdicts:write")
_TELEMETRY, _VERDICTS, _GRAPHS = f"{PREFIX}/telemetry", f"{PREFIX}/verdicts", f"{PREFIX}/graphs"
_LARGEST_GRAPH = 512 * 1024 * 1024
_NEWEST = 2**53 - 1
TELEMETRY_EXAMPLE = {
    "measurement_id": "stack-1-2026-01-07T12:00",
    "timestamp": "2026-01-07T12:00:00Z",
    "subject": "stack-1",
    "measurement": {"so2": {"value": 42.5, "unit": "mg/Nm3"}, "load_percent": 80},
    "jurisdiction": "EU",
}
_GRAPH_EXAMPLE = {
    "metadata": {"version": "1"},
    "rules": [{"id": "r1", "metric": "so2", "predicate": "lte", "value": 50, "unit": "mg/Nm3"}],
    "tag_registry": {"stack-1": "r1"},
}


class VerdictsQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a rule, of a subject, with this verdict, of records measured `from` an instant on and before `to`; `standing`
    leaves out held ones that were settled since.
    """

    rule_id: str | None = None
    subject: str | None = None
    verdict: Verdict | None = None
    from_at: Moment | None = field(name="from", default=None)
    to: Moment | None = None
    standing: bool = False


class CoverageQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`open` leaves out what a later graph closed."""

    open: bool = False


@post(
    _TELEMETRY,
    opt=_EVALUATE,
    operation_class=changes(TelemetryRecord, example=TELEMETRY_EXAMPLE),
    responses=made(f"POST {_TELEMETRY}", Decided, old="it was judged before; what is recorded"),
)
async def evaluate_telemetry(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Judge one record by every rule that applies to it, and answer with all of its verdicts.

    A held one has neither verdict nor envelope, only the ticket that asks people.
    """
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
        return _decided(evaluate_record(tools, received, credential=credential, at=tools.clock.now()))

    together = desk.evaluation(received, credential, caller.principal.tenant_id, _decided)
    return await change(request, desk, caller, received, work, is_repeatable=True, run=desk.judge, together=together)


def _decided(done: Decided) -> Reply:
    return reply_json(done, status=201 if done.is_new else 200)


@get(
    f"{_TELEMETRY}/{{telemetry_id:str}}/verdicts",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_TELEMETRY}/{{telemetry_id}}/verdicts", Decided),
)
async def show_telemetry(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    telemetry_id: FromPath[str],
) -> Response[bytes]:
    """Every rule's verdict on a record; what settled a held one stands in its place."""
    name = path_text(telemetry_id)
    return answer_one(request, await desk.run(lambda: show_verdict(desk.tools, caller.principal.tenant_id, name)))


@get(
    _VERDICTS,
    opt=_READ,
    operation_class=lists_operation(VerdictsQuery),
    responses=lists(f"GET {_VERDICTS}", VerdictPage),
)
async def list_verdicts(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Verdicts, the newest first, each with its envelope."""
    wanted = parse_query(VerdictsQuery, request)
    before, tenant_id = read_number("verdicts", wanted.cursor, start=_NEWEST), caller.principal.tenant_id
    since, until = parse_moment(wanted.from_at), parse_moment(wanted.to)

    def look(unit: Unit) -> tuple[ListedVerdict, ...]:
        rows = unit.verdicts.page(
            tenant_id,
            rule_id=wanted.rule_id,
            subject=wanted.subject,
            verdict=wanted.verdict,
            since=since,
            until=until,
            before=before,
            limit=wanted.limit + 1,
            is_standing=wanted.standing,
        )
        return listed_verdicts(unit, tenant_id, rows)

    rows = await desk.run(lambda: desk.tools.database.read(look))
    page, following = cut("verdicts", rows, wanted.limit, lambda one: one.outcome.sequence_number)
    return answer_page(request, VerdictPage(items=page, next=following))


@get(
    f"{_VERDICTS}/{{sequence:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_VERDICTS}/{{sequence}}", ListedVerdict),
)
async def show_verdict_entry(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    sequence: FromPath[str],
) -> Response[bytes]:
    """The verdict in an entry; it never changes."""
    tenant_id, number = caller.principal.tenant_id, _read_sequence(sequence)

    def look(unit: Unit) -> ListedVerdict:
        row = unit.verdicts.find(tenant_id, number)
        if row is None:
            raise NotFoundError(f"`{tenant_id}` has no verdict in entry {number}")
        (listed,) = listed_verdicts(unit, tenant_id, [row])
        return listed

    shown = await desk.run(lambda: desk.tools.database.read(look))
    return answer_one(request, shown, is_immutable=True)


@get(
    _GRAPHS,
    opt=_READ,
    operation_class=lists_operation(),
    responses=lists(f"GET {_GRAPHS}", GraphPage),
)
async def list_graphs(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Knowledge graphs in the order they came, without their documents."""
    wanted, tenant_id = parse_query(PageQuery, request), caller.principal.tenant_id
    after = read_number("graphs", wanted.cursor)
    heads = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.graphs.heads(tenant_id)))
    rest = sorted((one for one in heads if one.sequence_number > after), key=lambda one: one.sequence_number)
    page, following = cut("graphs", rest, wanted.limit, lambda one: one.sequence_number)
    return answer_page(request, GraphPage(items=page, next=following))


@get(
    f"{_GRAPHS}/active",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_GRAPHS}/active", GraphActivation, 409),
)
async def show_active_graph(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The graph by which records are judged now; its document is under its `document_hash`."""
    tenant_id = caller.principal.tenant_id
    active = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.graphs.find_active(tenant_id)))
    if active is None:
        raise NoGraphError(f"`{tenant_id}` has no graph in use")
    return answer_one(request, active)


@get(
    f"{_GRAPHS}/{{document_hash:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_GRAPHS}/{{document_hash}}", dict[str, Any], words="the document, byte for byte"),
)
async def show_graph(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    document_hash: FromPath[str],
) -> Response[bytes]:
    """A graph as it was received; SHA-256 of this body is its name."""
    tenant_id, name = caller.principal.tenant_id, path_text(document_hash)
    row = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.graphs.find_version(tenant_id, name)))
    if row is None:
        raise NotFoundError(f"`{tenant_id}` has no graph `{name[:80]}`")
    return answer_one(request, row.document.encode(), etag=row.document_hash, is_immutable=True)


@post(
    _GRAPHS,
    opt=allow(scope="graphs:write", roles=[BuiltInRole.OPERATOR]),
    operation_class=changes(GraphDocument, example=_GRAPH_EXAMPLE),
    request_max_body_size=_LARGEST_GRAPH,
    responses=made(f"POST {_GRAPHS}", LoadedGraph),
)
async def put_graph_into_use(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Put a graph into use. Strict: signed by an anchor, valid, accepted by people, no step back."""
    received = await read_long_body(request, desk.config.http.max_stream_bytes)

    def work(tools: Tools) -> Reply:
        done = load_graph(tools, received, credential=credential, at=tools.clock.now())
        log_notices(done)
        return reply_json(done, status=201, location=f"{_GRAPHS}/{done.activation.document_hash}")

    return await change(request, desk, caller, received, work, is_repeatable=True)


@get(
    f"{PREFIX}/coverage",
    opt=_READ,
    operation_class=lists_operation(CoverageQuery),
    responses=lists(f"GET {PREFIX}/coverage", CoveragePage),
)
async def list_coverage(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Subjects that the rules did not speak about, by name."""
    wanted = parse_query(CoverageQuery, request)
    report = await desk.run(lambda: show_coverage(desk.tools, caller.principal.tenant_id))
    known = report.gaps if wanted.open else (*report.gaps, *report.closed)
    by_name = sorted(known, key=lambda one: one.subject)
    page, following = cut_named("coverage", by_name, wanted.cursor, wanted.limit, lambda one: one.subject)
    return answer_page(request, CoveragePage(items=page, next=following))


@get(
    f"{PREFIX}/agreement",
    opt=allow(scope="verdicts:read"),
    operation_class=one_operation(),
    responses=found(f"GET {PREFIX}/agreement", Canary),
)
async def show_agreement(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """How often the verifier agreed with the model over the latest verdicts."""
    return answer_one(request, await desk.run(lambda: check_agreement(desk.tools, caller.principal.tenant_id)))


@get(
    f"{PREFIX}/sovereignty",
    opt=SIGNED_IN,
    operation_class=one_operation(),
    responses=found(f"GET {PREFIX}/sovereignty", dict[str, Any], words="the signed document"),
)
async def show_sovereignty(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """What evaluates here and whether it stays on the operator's ground, signed by the node's ledger key."""
    tenant_id = caller.principal.tenant_id
    signed = await desk.run(lambda: attest_sovereignty(desk.tools, tenant_id, at=desk.tools.clock.now()))
    return answer_one(request, canonicalize(sovereignty_value(signed)))


def _read_sequence(text: str) -> int:
    """A number from 1 on; anything else is not found."""
    if re.fullmatch(r"[1-9][0-9]{0,18}", text, re.ASCII) is None or int(text) > MAX_SIZE:
        raise NotFoundError(f"expected a number from 1 on, got `{text[:80]}`")
    return int(text)
