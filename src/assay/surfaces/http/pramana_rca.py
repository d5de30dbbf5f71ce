"""PRAMANA over HTTP (sections 9 and 10): rules and counters, root causes, conclusions, traces, training pairs."""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import Category
from assay.flows.answer_once import Reply
from assay.flows.delivery.conclude_rootcause import conclude_rootcause
from assay.flows.delivery.export_pairs import export_pairs
from assay.flows.delivery.inspect_delivery import (
    RuleLine,
    ShownItem,
    ShownRuleRecord,
    list_items,
    list_rules,
    show_item,
    show_rule,
)
from assay.flows.delivery.trace_answer import ShownTrace, trace_answer
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import parse_digest
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.pramana import PREFIX
from assay.surfaces.http.query import parse_query, path_text
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes

__all__ = [
    "ConclusionRequest",
    "RootCauseQuery",
    "conclude_item",
    "list_root_causes",
    "list_rule_lines",
    "show_pairs",
    "show_root_cause",
    "show_rule_record",
    "show_trace",
]

_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}
_READ = allow(scope="pramana:read", roles=SEE_ALL)


class RootCauseQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`open=true` leaves out those that are concluded."""

    open: bool = False


class ConclusionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`seen` is the hash of what the ticket shows; `corrected_rule` goes with category C and with no other."""

    failure_category: Category
    siddhanta: str
    seen: str
    corrected_rule: str | None = None
    sub_category: str | None = None


@get(f"{PREFIX}/rules", opt=_READ, responses={200: described("every rule", kind=list[RuleLine]), **problems(401, 403)})
async def list_rule_lines(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """Every rule with its counters and whether a person stands by it."""
    return _answer(await desk.run(lambda: list_rules(desk.tools, caller.principal.tenant_id)))


@get(
    f"{PREFIX}/rules/{{rule_id:str}}",
    opt=_READ,
    responses={200: described("one rule", kind=ShownRuleRecord), **problems(401, 403, 404, 422)},
)
async def show_rule_record(
    desk: GivenDesk, caller: NamedDependency[Authenticated], rule_id: FromPath[str]
) -> Response[bytes]:
    """One rule: text, versions, certifications, counters, and the counters by day."""
    name = path_text(rule_id)
    return _answer(await desk.run(lambda: show_rule(desk.tools, caller.principal.tenant_id, name)))


@get(
    f"{PREFIX}/rca",
    opt=_READ,
    operation_class=asks(RootCauseQuery),
    responses={200: described("root causes, the oldest first", kind=list[ShownItem]), **problems(400, 401, 403, 422)},
)
async def list_root_causes(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Root causes, open and concluded."""
    wanted, by = parse_query(RootCauseQuery, request), caller.principal
    return _answer(await desk.run(lambda: list_items(desk.tools, by.tenant_id, open_only=wanted.open, viewer=by)))


@get(
    f"{PREFIX}/rca/{{item_id:str}}",
    opt=_READ,
    responses={200: described("one root cause", kind=ShownItem), **problems(401, 403, 404)},
)
async def show_root_cause(
    desk: GivenDesk, caller: NamedDependency[Authenticated], item_id: FromPath[str]
) -> Response[bytes]:
    """One root cause as its ticket shows it, and what came of it."""
    name, by = path_text(item_id), caller.principal
    return _answer(await desk.run(lambda: show_item(desk.tools, by.tenant_id, name, viewer=by)))


@post(
    f"{PREFIX}/rca/{{item_id:str}}/conclusion",
    opt=allow(scope="pramana:conclude", roles=[BuiltInRole.REVIEWER], session=True),
    operation_class=changes(ConclusionRequest),
    responses={
        201: described("concluded, with its training pair", kind=ShownItem),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def conclude_item(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    item_id: FromPath[str],
) -> Response[bytes]:
    """A person concludes a root cause in their own session; an API key is not enough (PRAMANA 14.5)."""
    name, received = path_text(item_id), await read_body(request)

    def conclude(tools: Tools) -> Reply:
        wanted = parse_body(ConclusionRequest, received)
        conclude_rootcause(
            tools,
            name,
            wanted.failure_category,
            wanted.siddhanta,
            seen=parse_digest(wanted.seen),
            corrected_rule=wanted.corrected_rule,
            sub_category=wanted.sub_category,
            credential=credential,
            at=tools.clock.now(),
        )
        by = caller.principal
        return reply_json(show_item(tools, by.tenant_id, name, viewer=by), status=201)

    return await change(request, desk, caller, received, conclude)


@get(
    f"{PREFIX}/trace/{{answer_id:str}}",
    opt=_READ,
    responses={200: described("all stages", kind=ShownTrace), **problems(401, 403, 404)},
)
async def show_trace(
    desk: GivenDesk, caller: NamedDependency[Authenticated], answer_id: FromPath[str]
) -> Response[bytes]:
    """What each stage about an answer read, routed and recorded."""
    name = path_text(answer_id)
    return _answer(await desk.run(lambda: trace_answer(desk.tools, caller.principal.tenant_id, name)))


@get(
    f"{PREFIX}/pairs",
    opt=_READ,
    responses={
        200: described("training pairs, in the order of their capture", kind=list[TrainingPair]),
        **problems(401, 403),
    },
)
async def show_pairs(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """Training pairs exactly as PRAMANA 10.4 has them; outputs below the caller's floor are left out of them."""
    by = caller.principal
    content = await desk.run(lambda: export_pairs(desk.tools, by.tenant_id, viewer=by))
    return Response(content, media_type=_JSON, headers=_NO_STORE)


def _answer(value: object) -> Response[bytes]:
    return Response(msgspec.json.encode(value), media_type=_JSON, headers=_NO_STORE)
