"""Serving a gateway: over this process's own streams for one agent, or over HTTP for many."""

import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server import Server as McpServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from msgspec.structs import replace

from assay import __version__
from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.admit_request import admit_request
from assay.flows.identity.authenticate import authenticate_admitted
from assay.flows.request import Content
from assay.flows.tools import Tools
from assay.identity.signed_request import SignedRequest
from assay.kernel.errors import Error
from assay.kernel.trace import TRACE_BYTES, new_trace
from assay.operations.calls import Calls
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.operations.rate import RateLimit
from assay.operations.table import BY_NAME
from assay.surfaces.client import Client
from assay.surfaces.gateway.gateway import Elicit, Gateway, GatewayNode
from assay.surfaces.mcp.serve import LARGEST_BODY, LOOPBACK, Door, credential_of
from assay.surfaces.mcp.server import KEY_META, Context, FindCredential

_MOST_CLIENTS = 256
_INSTRUCTIONS = (
    "Tools of other servers, governed. A call that needs approval is answered with `gateway.pending` and its tickets: "
    "make the same call again after people have answered. A refusal has a stable code."
)


class _Dispatched(Calls):
    """The operations of a node that this process opened, for one credential."""

    def __init__(self, tools: Tools, credential: str) -> None:
        self._tools = tools
        self._credential = credential

    def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        found = BY_NAME[operation]
        caller = authenticate_admitted(self._tools, self._credential, at=self._tools.clock.now())
        traced = replace(caller, trace=new_trace(self._tools.entropy.token(TRACE_BYTES)))
        value = Dispatcher(tools=self._tools)(found, traced, parse_request(found, given)).value
        return value.body if isinstance(value, Content) else value

    def _walk(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._perform(operation, given if cursor is None else {**given, "cursor": cursor})
            yield from page.items
            cursor = page.next
            if cursor is None:
                return


class OpenNode:
    """Implements `GatewayNode` on a node that this process opened."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def sign_in(self, credential: str) -> tuple[str, str]:
        caller = authenticate_admitted(self._tools, credential, at=self._tools.clock.now())
        return caller.tenant_id, caller.principal.id

    def admit(self, request: SignedRequest) -> tuple[str, str]:
        caller = admit_request(self._tools, request, at=self._tools.clock.now())
        return caller.tenant_id, caller.principal.id

    def calls(self, credential: str) -> Calls:
        return _Dispatched(self._tools, credential)


class ServedNode:
    """Implements `GatewayNode` by a server: beside it on this machine, or elsewhere."""

    def __init__(self, connect: Callable[[str], Client]) -> None:
        self._connect = connect
        self._clients: dict[str, Client] = {}

    def sign_in(self, credential: str) -> tuple[str, str]:
        caller = self._client(credential).whoami()
        return caller.tenant_id, caller.id

    def admit(self, request: SignedRequest) -> tuple[str, str]:
        del request
        raise NotSignedInError("expected an API key: a signature for this address is not one for the server behind it")

    def calls(self, credential: str) -> Calls:
        return self._client(credential)

    def _client(self, credential: str) -> Client:
        known = self._clients.get(credential)
        if known is None:
            if len(self._clients) >= _MOST_CLIENTS:
                self._clients.pop(next(iter(self._clients))).close()
            known = self._clients[credential] = self._connect(credential)
        return known


def create_server(gateway: Gateway, find_credential: FindCredential) -> "McpServer[Any]":
    """The protocol's own server over a gateway."""

    async def list_tools(context: Context, _params: object) -> types.ListToolsResult:
        try:
            return types.ListToolsResult(tools=await gateway.tools(find_credential(context)))
        except Error as error:
            raise MCPError(types.INVALID_REQUEST, f"{error} [{error.code}]") from error

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        key = (params.meta or {}).get(KEY_META)
        return await gateway.call(
            find_credential(context),
            params.name,
            dict(params.arguments or {}),
            key=None if key is None else str(key),
            elicit=_elicit(context),
        )

    return McpServer(
        "assay-gateway",
        version=__version__,
        title="Assay gateway",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _elicit(context: Context) -> Elicit | None:
    """Ask the person at the client, where the client says that it can be asked."""
    session = context.session
    capabilities = session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return None

    async def ask(message: str) -> bool:
        try:
            answer = await session.elicit_form(message, {"type": "object", "properties": {}})
        except MCPError:
            return False
        return answer.action == "accept"

    return ask


def serve_stdio(gateway: Gateway, node: GatewayNode, credential: str) -> None:
    """Until the other side closes standard input."""
    node.sign_in(credential)
    server = create_server(gateway, lambda _context: credential)

    async def run() -> None:
        async with gateway.running(), stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def serve_http(
    gateway: Gateway,
    node: GatewayNode,
    bound: socket.socket,
    *,
    hosts: tuple[str, ...] = (),
    rate: RateLimit | None = None,
    ready: Callable[[], None],
) -> None:
    """Streamable HTTP at `/mcp` until SIGTERM or Ctrl-C; each request brings its own proof, as at the API."""
    server = create_server(gateway, lambda context: credential_of(context.request))
    names = [name for host in (*LOOPBACK, *hosts) for name in (host, f"{host}:*")]
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    )
    app = server.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=security, max_request_body_size=LARGEST_BODY
    )
    door: Any = Door(app, node, hosts, rate)  # type: ignore[arg-type] # it signs in and admits, no more
    config = uvicorn.Config(door, log_config=None, access_log=False, server_header=False, proxy_headers=False)

    async def run() -> None:
        serving = uvicorn.Server(config)
        async with gateway.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(_tell, serving, ready)
            await serving.serve(sockets=[bound])

    anyio.run(run)


async def _tell(serving: uvicorn.Server, ready: Callable[[], None]) -> None:
    while not serving.started:  # noqa: ASYNC110 - the server has no event for it
        await anyio.sleep(0.02)
    ready()
