"""`assay gateway`: others' MCP servers behind a signed table of tools; draft the table, serve, approve definitions."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.operations.permits import OPERATIONS
from assay.surfaces.cli.acting import credential_option
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Call, Group, NodeCommand

if TYPE_CHECKING:
    from assay.surfaces.gateway.gateway import Gateway, GatewayNode

_TIMEOUT = 600.0


@click.group(cls=Group)
def gateway() -> None:
    """A gateway in front of MCP servers: calls are gated, approved, forwarded once and recorded."""


add_operations(gateway, "gateway", OPERATIONS)

_servers = click.argument("servers", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="SERVERS")
_node = click.option("--node-url", "url", metavar="URL", help="A node elsewhere; else the node of --home.")


@gateway.command("learn", cls=NodeCommand)
@_servers
@click.pass_obj
def learn(call: Call, /, *, servers: Path) -> None:
    """Draft a table of the tools that the servers offer now; read every line before you release it.

    SERVERS is a JSON file as MCP clients have it: `{"mcpServers": {"files": {"command": ..., "args": [...]}}}`.
    Tiers are drafted from what the servers say of themselves, which nobody checked. Needs the extra `mcp`.
    """
    _require_installed()
    import anyio

    from assay.surfaces.gateway.learn import draft_rows
    from assay.surfaces.gateway.servers import Server, read_places

    found = {name: Server(name, place) for name, place in read_places(servers).items()}
    rows = anyio.run(draft_rows, found)
    call.answer({"rows": rows}, _json({"rows": rows}))


@gateway.command("serve", cls=NodeCommand)
@_servers
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP at /mcp; each request brings its proof.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Where to listen, with --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="With --http; 0 lets the system choose.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name clients reach it by; repeatable.")
@_node
@credential_option
@click.pass_obj
def serve(
    call: Call,
    /,
    *,
    servers: Path,
    over_http: bool,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    url: str | None,
    credential: str | None,
) -> None:
    """Serve the tools of other servers to agents; what the table in force does not name is refused.

    Without --http one agent is served over standard input and output, as the principal of ASSAY_CREDENTIAL. With --http
    each request proves its caller: API key, bearer token of the identity provider, or a signature, which only a gateway
    without a server beside it can check. Needs the extra `mcp`.
    """
    _require_installed()
    with _opened(call, servers, url) as (made, node):
        if over_http:
            _serve_http(call, made, node, (host, port), hosts)
            return
        from assay.surfaces.cli.acting import read_credential
        from assay.surfaces.gateway.serve import serve_stdio

        serve_stdio(made, node, read_credential(credential))


def _serve_http(
    call: Call, made: "Gateway", node: "GatewayNode", place: tuple[str, int], hosts: tuple[str, ...]
) -> None:
    from contextlib import closing

    from assay.surfaces.gateway.serve import serve_http
    from assay.surfaces.http.serve import address_of, listen

    with closing(listen(*place)) as bound:
        url = f"{address_of(bound)}/mcp"
        serve_http(made, node, bound, hosts=hosts, ready=lambda: call.answer_one_of_many({"url": url}, url))


@contextmanager
def _opened(call: Call, servers: Path, url: str | None) -> "Iterator[tuple[Gateway, GatewayNode]]":
    """The node elsewhere, the server that runs on this folder, else the node itself."""
    from assay.surfaces.client import Client
    from assay.surfaces.gateway.gateway import Gateway
    from assay.surfaces.gateway.serve import OpenNode, ServedNode
    from assay.surfaces.gateway.servers import Server, read_places
    from assay.surfaces.http.logs import log_as_json
    from assay.surfaces.local_socket import find_local

    log_as_json()
    places: dict[str, Server] = {name: Server(name, place) for name, place in read_places(servers).items()}
    if url is not None:
        node: GatewayNode = ServedNode(lambda key: Client(url, key=key, timeout=_TIMEOUT))
        yield Gateway(node, places), node
        return
    with find_local(call.home) as local:
        if local is not None:
            node = ServedNode(partial(_connect, local))
            yield Gateway(node, places), node
            return
    with call.open_node(writable=True) as (tools, _):
        node = OpenNode(tools)
        yield Gateway(node, places), node


def _connect(socket: Path, credential: str) -> Any:  # noqa: ANN401 - a client
    from assay.surfaces.client import Client

    return Client("http://localhost", key=credential, timeout=_TIMEOUT, uds=socket)


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2)


def _require_installed() -> None:
    from importlib.util import find_spec

    from assay.surfaces.mcp.errors import McpError

    if find_spec("mcp") is None:
        raise McpError.not_installed("expected the extra `mcp`, got none: install `assay[mcp]`")
