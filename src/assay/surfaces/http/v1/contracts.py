"""`/api/v1/contracts`: the laws of claim types, released once and never changed."""

from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.truth.release_contract import release_contract
from assay.identity.principal import BuiltInRole
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import parse_query, path_text
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
from assay.surfaces.http.v1.contract_shapes import (
    ContractPage,
    ContractRequest,
    ShownContract,
    WholeContract,
    shown_contract,
    whole_contract,
)
from assay.surfaces.http.v1.one import answer_one, answer_page
from assay.surfaces.http.v1.page import cut_named

_READ = allow(scope="truth:read")
_CONTRACTS = f"{PREFIX}/contracts"


@get(
    _CONTRACTS,
    opt=_READ,
    operation_class=lists_operation(),
    responses=lists(f"GET {_CONTRACTS}", ContractPage),
)
async def list_released_contracts(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Every released contract, by claim type, without its text."""
    wanted, tenant_id = parse_query(PageQuery, request), caller.principal.tenant_id
    known = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.truth.contracts(tenant_id)))
    page, following = cut_named("contracts", known, wanted.cursor, wanted.limit, lambda one: one.claim_type)
    return answer_page(request, ContractPage(items=tuple(map(shown_contract, page)), next=following))


@get(
    f"{_CONTRACTS}/{{claim_type:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_CONTRACTS}/{{claim_type}}", WholeContract),
)
async def show_released_contract(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    claim_type: FromPath[str],
) -> Response[bytes]:
    """One contract with its canonical text; its hash is the ETag, and it never changes."""
    name, tenant_id = path_text(claim_type), caller.principal.tenant_id
    known = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.truth.find_contract(tenant_id, name)))
    if known is None:
        raise NotFoundError(f"`{tenant_id}` has no contract `{name[:80]}`")
    return answer_one(request, whole_contract(known), etag=known.claim_type_hash, is_immutable=True)


@post(
    _CONTRACTS,
    opt=allow(scope="truth:write", roles=[BuiltInRole.OPERATOR]),
    operation_class=changes(ContractRequest),
    responses=made(f"POST {_CONTRACTS}", ShownContract, old="the same was released before"),
)
async def release_contract_now(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Release a contract; another body under a released id is refused, and a change needs a new version."""
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
        wanted = parse_body(ContractRequest, received)
        done = release_contract(tools, wanted.document, wanted.schema, credential=credential, at=tools.clock.now())
        location = f"{_CONTRACTS}/{done.contract.claim_type}"
        return reply_json(shown_contract(done.contract), status=201 if done.is_new else 200, location=location)

    return await change(request, desk, caller, received, work, is_repeatable=True)
