"""`assay mcp`: tools for agents, over standard input and output or over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.acting import credential_option
from assay.surfaces.cli.output import Call, NodeCommand

if TYPE_CHECKING:
    from assay.config import Config
    from assay.surfaces.client import Client
    from assay.surfaces.mcp.call import Tooling

_TIMEOUT = 600.0


@click.command(cls=NodeCommand)
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP at /mcp; each request brings its key.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Where to listen, with --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="With --http; 0 lets the system choose.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name clients reach it by; repeatable.")
@click.option("--read-only", is_flag=True, help="Only read the database; operations that record something are refused.")
@credential_option
@click.pass_obj
def mcp(
    call: Call,
    /,
    *,
    over_http: bool,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    read_only: bool,
    credential: str | None,
) -> None:
    """Serve the node's operations to agents as tools.

    Without --http one agent is served over standard input and output, as the principal of ASSAY_CREDENTIAL. Beside a
    running server each call goes through the server's socket. Needs the extra `mcp`.
    """
    _require_installed()
    if over_http:
        _serve_http(call, (host, port), hosts, read_only=read_only)
        return
    from assay.surfaces.cli.acting import read_credential
    from assay.surfaces.mcp.serve import serve_stdio

    token = read_credential(credential)
    with _toolbox(call, read_only=read_only) as (toolbox, _):
        serve_stdio(toolbox, token)


def _serve_http(call: Call, place: tuple[str, int], hosts: tuple[str, ...], *, read_only: bool) -> None:
    from contextlib import closing

    from assay.surfaces.http.rate import rate_of
    from assay.surfaces.http.serve import address_of, listen, stop_on_signals
    from assay.surfaces.mcp.serve import serve_http

    with stop_on_signals(), closing(listen(*place)) as bound, _toolbox(call, read_only=read_only) as opened:
        toolbox, config = opened
        url = f"{address_of(bound)}/mcp"
        serve_http(
            toolbox,
            bound,
            hosts=hosts,
            rate=rate_of(config.http),
            ready=lambda: call.answer_one_of_many({"url": url}, url),
        )


@contextmanager
def _toolbox(call: Call, *, read_only: bool) -> "Iterator[tuple[Tooling, Config]]":
    """The server that runs on this folder, else the node itself; one that is only read needs no model."""
    from assay.flows.verdicts.graphs_in_use import has_graph_in_use
    from assay.surfaces.http.logs import log_as_json
    from assay.surfaces.local_socket import find_local
    from assay.surfaces.mcp.call import ServedToolbox, Toolbox
    from assay.wiring import load_config, open_evaluation, open_models, plug_model

    log_as_json()
    if not read_only:
        with find_local(call.home) as local:
            if local is not None:
                yield ServedToolbox(partial(_connect, local)), load_config(call.home)
                return
    with call.open_node(writable=not read_only) as (tools, config):
        if read_only:
            yield Toolbox(tools, read_only=True), config
            return
        with (
            open_models(call.home, config) as models,
            open_evaluation(call.home, config, tools, may_wait=not has_graph_in_use(tools)) as evaluation,
        ):
            yield Toolbox(plug_model(evaluation.tools, config, models.general)), config


def _connect(socket: Path, credential: str) -> "Client":
    from assay.surfaces.client import Client

    return Client("http://localhost", key=credential, timeout=_TIMEOUT, uds=socket)


def _require_installed() -> None:
    from importlib.util import find_spec

    from assay.surfaces.mcp.errors import McpError

    if find_spec("mcp") is None:
        raise McpError.not_installed("expected the extra `mcp`, got none: install `assay[mcp]`")
