"""`/api/v1/keys`: API keys, each shown once; issued, rotated and revoked by an administrator in their own session."""

from datetime import timedelta
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.identity.inspect_principal import ListedApiKey, list_api_keys
from assay.flows.identity.keep_api_keys import issue_key_as_admin, revoke_key_as_admin, rotate_key_as_admin
from assay.flows.tools import Tools
from assay.identity.authorise import has_role, require_role
from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation, parse_api_key_prefix
from assay.identity.errors import MalformedApiKeyError
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId, parse_principal_id
from assay.surfaces.fields import PrincipalName
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
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
from assay.surfaces.http.v1.key_shapes import IssuedKey, IssueKey, KeyPage, RevokeKey, RotateKey
from assay.surfaces.http.v1.one import answer_one, answer_page
from assay.surfaces.http.v1.page import cut_named

__all__ = ["KeysQuery", "issue_key", "list_keys", "revoke_key", "rotate_key", "show_key"]

_KEYS = f"{PREFIX}/keys"
_KEY = f"{_KEYS}/{{prefix:str}}"
_READ = allow(scope="identity:read")
_WRITE = allow(scope="identity:write", roles=[BuiltInRole.ADMIN], session=True)
_MAY_LOOK = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
_EXAMPLE = {"principal_id": "service:sensor", "scopes": ["truth:write"], "expires_at": "2027-01-01T00:00:00Z"}


class KeysQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one principal; without it those of the whole tenant, and one's own for whoever may not look at others'."""

    principal_id: PrincipalName | None = None


@get(_KEYS, opt=_READ, operation_class=lists_operation(KeysQuery), responses=lists(f"GET {_KEYS}", KeyPage))
async def list_keys(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """API keys by prefix, the ended ones too; never a secret."""
    wanted, now = parse_query(KeysQuery, request), desk.tools.clock.now()
    of, tenant_id = _whose(caller, wanted.principal_id), caller.principal.tenant_id
    known = await desk.run(lambda: list_api_keys(desk.tools, tenant_id, of=of, at=now))
    page, following = cut_named("keys", known, wanted.cursor, wanted.limit, lambda one: one.prefix)
    return answer_page(request, KeyPage(items=page, next=following))


@get(_KEY, opt=_READ, operation_class=one_operation(), responses=found(f"GET {_KEYS}/{{prefix}}", ListedApiKey))
async def show_key(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], prefix: FromPath[str]
) -> Response[bytes]:
    """One key, as anybody who may look sees it."""
    name, now, tenant_id = path_text(prefix), desk.tools.clock.now(), caller.principal.tenant_id
    of = _whose(caller, None)
    known = await desk.run(lambda: list_api_keys(desk.tools, tenant_id, of=of, at=now))
    key = next((one for one in known if one.prefix == name), None)
    if key is None:
        raise NotFoundError(f"there is no API key `{name[:80]}` that `{caller.principal.id}` may look at")
    return answer_one(request, key)


@post(
    _KEYS,
    opt=_WRITE,
    operation_class=changes(IssueKey, example=_EXAMPLE),
    responses=made(f"POST {_KEYS}", IssuedKey),
)
async def issue_key(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Issue a key to a principal and show it, once; an API key is not enough to ask for one."""
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
        wanted = parse_body(IssueKey, received)
        text, record = issue_key_as_admin(
            tools,
            parse_principal_id(wanted.principal_id),
            scopes=wanted.scopes,
            expires_at=parse_moment(wanted.expires_at),
            credential=credential,
            at=tools.clock.now(),
        )
        return _shown_once(text, record)

    return await change(request, desk, caller, received, work)


@post(
    f"{_KEY}/rotate",
    opt=_WRITE,
    operation_class=changes(RotateKey, example={"overlap_seconds": 3600}),
    responses=made(f"POST {_KEYS}/{{prefix}}/rotate", IssuedKey),
)
async def rotate_key(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    prefix: FromPath[str],
) -> Response[bytes]:
    """Issue the successor of a key and show it, once; the old key ends after the overlap."""
    received, name = await read_body(request), path_text(prefix)

    def work(tools: Tools) -> Reply:
        overlap = timedelta(seconds=parse_body(RotateKey, received).overlap_seconds)
        old, now = _prefix(name), tools.clock.now()
        return _shown_once(*rotate_key_as_admin(tools, old, overlap=overlap, credential=credential, at=now))

    return await change(request, desk, caller, received, work)


@post(
    f"{_KEY}/revoke",
    opt=_WRITE,
    operation_class=changes(RevokeKey, example={"reason": "its holder left"}),
    responses=made(f"POST {_KEYS}/{{prefix}}/revoke", ApiKeyRevocation),
)
async def revoke_key(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    prefix: FromPath[str],
) -> Response[bytes]:
    """End a key now; the next request with it is refused."""
    received, name = await read_body(request), path_text(prefix)

    def work(tools: Tools) -> Reply:
        reason, now = parse_body(RevokeKey, received).reason, tools.clock.now()
        ended = revoke_key_as_admin(tools, _prefix(name), reason=reason, credential=credential, at=now)
        return reply_json(ended, status=201)

    return await change(request, desk, caller, received, work)


def _prefix(text: str) -> ApiKeyPrefix:
    """What no key can be called is not found."""
    try:
        return parse_api_key_prefix(text)
    except MalformedApiKeyError as error:
        raise NotFoundError(f"there is no API key `{text[:80]}`") from error


def _whose(caller: Authenticated, asked: str | None) -> PrincipalId | None:
    """None is everybody's; asking for another's needs a role that may look."""
    of = None if asked is None else parse_principal_id(asked)
    if has_role(caller.principal, _MAY_LOOK) or of == caller.principal.id:
        return of
    if of is not None:
        require_role(caller.principal, _MAY_LOOK)
    return caller.principal.id


def _shown_once(text: str, record: ApiKeyRecord) -> Reply:
    issued = IssuedKey(
        api_key=text,
        prefix=record.prefix,
        principal_id=record.principal_id,
        scopes=record.scopes,
        issued_at=record.issued_at,
        expires_at=record.expires_at,
    )
    kept = msgspec.json.encode(msgspec.structs.replace(issued, api_key=None))
    shown = reply_json(issued, status=201, location=f"{_KEYS}/{record.prefix}")
    return msgspec.structs.replace(shown, kept=kept)
