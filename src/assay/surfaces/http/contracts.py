"""`/contracts`: the laws of claim types, released once and never changed."""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import NotReleasedError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.truth.inspect_contract import show_form
from assay.flows.truth.release_contract import release_contract
from assay.identity.principal import BuiltInRole
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.surfaces.http.v1.contract_shapes import (
    ContractRequest,
    ShownContract,
    WholeContract,
    shown_contract,
    whole_contract,
)
from assay.truth.form import ObservationForm

_HEADERS = {"cache-control": "no-store"}


class ContractList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sorted by claim type."""

    contracts: tuple[ShownContract, ...]


class ShownForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`fields` have `name`, `widget`, `required`, `options` and words; `place` is the member that says where."""

    claim_type: str
    title: str
    place: str
    fields: tuple[dict[str, Any], ...]
    evidence: dict[str, Any]


@get(
    "/contracts",
    opt=allow(scope="truth:read"),
    responses={200: described("every released contract", kind=ContractList), **problems(401, 403)},
)
async def list_contracts(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """The contracts in force in the caller's tenant."""
    tenant_id = caller.principal.tenant_id
    found = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.truth.contracts(tenant_id)))
    return _answer(ContractList(contracts=tuple(shown_contract(one) for one in found)))


@get(
    "/contracts/{claim_type:str}",
    opt=allow(scope="truth:read"),
    responses={200: described("the contract", kind=WholeContract), **problems(400, 401, 403, 404)},
)
async def show_contract(
    desk: GivenDesk, caller: NamedDependency[Authenticated], claim_type: FromPath[str]
) -> Response[bytes]:
    """One contract, whole; its hash is the ETag."""
    tenant_id = caller.principal.tenant_id
    found = await desk.run(
        lambda: desk.tools.database.read(lambda unit: unit.truth.find_contract(tenant_id, path_text(claim_type)))
    )
    if found is None:
        raise NotFoundError(f"`{tenant_id}` has no contract `{claim_type[:80]}`")
    return _answer(whole_contract(found), etag=f'"{found.claim_type_hash}"')


@get(
    "/contracts/{claim_type:str}/form",
    opt=allow(scope="truth:read"),
    responses={200: described("the form", kind=ShownForm), **problems(400, 401, 403, 404)},
)
async def show_contract_form(
    desk: GivenDesk, caller: NamedDependency[Authenticated], claim_type: FromPath[str]
) -> Response[bytes]:
    """What observers are asked for: members of the payload and their kinds, evidence, the kind of place."""
    tenant_id = caller.principal.tenant_id

    def show() -> ObservationForm:
        try:
            return show_form(desk.tools, tenant_id, path_text(claim_type))
        except NotReleasedError as error:
            raise NotFoundError(f"`{tenant_id}` has no contract `{claim_type[:80]}`") from error

    form = await desk.run(show)
    shown = ShownForm(
        claim_type=form.claim_type,
        title=form.title,
        place=form.place,
        fields=tuple(msgspec.to_builtins(one) for one in form.fields),
        evidence=msgspec.to_builtins(form.evidence),
    )
    return _answer(shown, etag=f'"{form.claim_type_hash}"')


@post(
    "/contracts",
    opt=allow(scope="truth:write", roles=[BuiltInRole.OPERATOR]),
    operation_class=changes(ContractRequest),
    responses={
        200: described("the same was released before", kind=ShownContract),
        201: described("released, and on disk", kind=ShownContract),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def release_new_contract(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Release a contract; another body under a released id is refused, and a change needs a new version."""
    received = await read_body(request)

    def release(tools: Tools) -> Reply:
        wanted = parse_body(ContractRequest, received)
        done = release_contract(tools, wanted.document, wanted.schema, credential=credential, at=tools.clock.now())
        return reply_json(shown_contract(done.contract), status=201 if done.is_new else 200)

    return await change(request, desk, caller, received, release, is_repeatable=True)


def _answer(value: Struct, **headers: str) -> Response[bytes]:
    content = msgspec.json.encode(value)
    return Response(content, media_type="application/json", headers={**_HEADERS, **headers})
