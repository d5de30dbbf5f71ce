"""How a request proves its caller: exactly one of a bearer token, an API key, a signature, or a browser's session.

headers -> the one proof -> authenticate, or admit the signature -> caller + the text that journeys prove it with again
"""

from typing import Any, NamedTuple

from litestar import Request
from litestar.connection import ASGIConnection

from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.admit_request import admit_request
from assay.flows.identity.authenticate import Authenticated, render_signed
from assay.identity.authorise import require_same_tenant
from assay.identity.caller import Caller, anonymous_caller, local_caller
from assay.identity.signed_request import (
    SIGNATURE_INPUT,
    SignedRequest,
    has_content_digest,
    parse_signed_request,
)
from assay.kernel.ids import parse_tenant_id
from assay.surfaces.credential import asked_path, credential_in, signature_in
from assay.surfaces.http.cookies import find_session_cookie, is_own_host, public_origin, require_own_page
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.errors import BodySizeError
from assay.surfaces.http.methods import HEAD_KEY
from assay.surfaces.http.sender import sender_address

# Over the node's own socket, the tenant in which its operator acts.
TENANT_HEADER = "assay-tenant"
_Connection = ASGIConnection[Any, Any, Any, Any]


class Proof(NamedTuple):
    """Who asks, and the text under which journeys prove it again in the commit that they end with."""

    caller: Authenticated
    credential: str


async def prove_caller(connection: _Connection) -> Proof:
    """The caller, or `identity.not_signed_in`; a cookie counts only where no header names a credential."""
    desk: Desk = connection.app.state.desk
    if SIGNATURE_INPUT in connection.headers:
        return await _prove_signed(desk, connection)
    token = find_bearer(connection)
    if token is None:
        if is_local(connection):
            return Proof(_operator(desk, connection), "")
        token = find_session_cookie(connection)
        if token is None:
            raise NotSignedInError("expected one of `Authorization: Bearer …` and `x-api-key`")
        require_own_page(connection, token)
    caller = await desk.prove(token)
    named = connection.headers.get(TENANT_HEADER)
    if named is not None:
        require_same_tenant(caller.principal, parse_tenant_id(named))
    return Proof(caller, token)


def is_local(connection: _Connection) -> bool:
    """Whether the request came over the node's own socket, which has a path and no port."""
    server = connection.scope.get("server")
    return server is not None and server[1] is None


def anonymous(request: Request[Any, Any, Any], desk: Desk) -> Caller:
    """The caller of an open operation: the operator over the node's own socket, else an address."""
    if is_local(request):
        return _operator(desk, request)
    tenant_id = parse_tenant_id(request.headers.get(TENANT_HEADER) or desk.config.node.tenant)
    return anonymous_caller(tenant_id, sender_address(request), at=desk.tools.clock.now())


def _operator(desk: Desk, connection: _Connection) -> Caller:
    """The operator of the folder, in the tenant that the request names or the node's own."""
    named = connection.headers.get(TENANT_HEADER) or desk.config.node.tenant
    return local_caller(parse_tenant_id(named), at=desk.tools.clock.now())


def find_bearer(connection: _Connection) -> str | None:
    """The text of the one header that names a credential; None where there is no such header."""
    return credential_in(lambda name: connection.headers.getall(name, []))


async def _prove_signed(desk: Desk, connection: _Connection) -> Proof:
    """The signature is checked before the body is read: strangers make us read no more than headers."""
    if find_bearer(connection) is not None:
        raise NotSignedInError("expected a signature or another credential, got both")
    request = _signed_of(connection)
    caller = await desk.act(lambda: admit_request(desk.tools, request, at=desk.tools.clock.now()))
    # INVARIANT: what the handler reads is what was signed; Litestar keeps the body that is read here.
    body = await _read_whole(desk, connection) if isinstance(connection, Request) else b""
    if not has_content_digest(request.content_digest, body):
        raise NotSignedInError("expected the body that `Content-Digest` is of, got another")
    return Proof(caller, render_signed(request))


async def _read_whole(desk: Desk, request: Request[Any, Any, Any]) -> bytes:
    """A signed body is held whole, so it has an end: on routes that take lines without one, it says where that is."""
    most = desk.config.http.max_stream_bytes
    if request.route_handler.resolve_request_max_body_size() is None:
        length = request.content_length
        if length is None and "transfer-encoding" in request.headers:
            raise BodySizeError("expected `Content-Length` with a signed body, got none")
        if length is not None and length > most:
            raise BodySizeError(f"expected at most {most} bytes in a signed body, got {length}")
    return await request.body()


def _signed_of(connection: _Connection) -> SignedRequest:
    given = signature_in(lambda name: connection.headers.getall(name, []))
    # HEAD goes the way of GET, and was signed as what it is.
    method = "HEAD" if HEAD_KEY in connection.state else str(connection.scope.get("method", ""))
    return parse_signed_request(method, _target_uri(connection), given)


def _target_uri(connection: _Connection) -> str:
    """The whole address as it was asked for, before anything is decoded.

    INVARIANT: the host is ours. `Host` is whatever the sender says: what was signed for another node, where the same
    key is registered, must not be taken here because somebody sends it on under the other's name.
    """
    if not is_own_host(connection):
        raise NotSignedInError("expected a request signed for this node: `http.public_url` says where it is reached")
    return public_origin(connection) + asked_path(connection.scope)
