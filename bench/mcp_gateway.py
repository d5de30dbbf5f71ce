"""A READ_ONLY call through the gateway, beside the same call made directly, both over stdio."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from assay.flows.permits.gateway import ReleaseGatewayTable, release_gateway_table
from assay.identity.caller import local_caller
from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId, TenantId
from assay.permits.gateway import ToolRow
from assay.surfaces.gateway.learn import draft_rows
from assay.surfaces.gateway.servers import Server, read_places
from assay.wiring import init_node, open_node
from bench._frame import Aim, Figure, load
from tests.acting import add_principal, issue_api_key

__all__ = ["figures"]

_CALLS = 300
_WANTED_MS = 3.0
_SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("echo")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("stdio")
"""


def figures() -> list[Figure]:
    with _site() as (direct, through):
        cpu = time.process_time()
        alone, governed = anyio.run(_measure, direct, through)
    return [
        Figure(
            name="MCP gateway: READ_ONLY call over stdio, p50",
            ours=governed,
            peer=alone,
            peer_name="direct MCP call",
            unit="ms",
            ratio=governed - alone,
            target=_WANTED_MS,
            cpu_seconds=time.process_time() - cpu,
            load=load(),
            aim=Aim.AT_MOST,
            note="the ratio is the difference in ms; the record is durable before the result is given",
        )
    ]


async def _measure(direct: StdioServerParameters, through: StdioServerParameters) -> tuple[float, float]:
    alone: list[float] = []
    governed: list[float] = []
    async with Client(direct, mode="legacy") as plain, Client(through, mode="legacy") as gateway:
        for number in range(_CALLS):
            alone.append(await _milliseconds(plain, "echo", number))
            governed.append(await _milliseconds(gateway, "echo__echo", number))
    return median(alone), median(governed)


async def _milliseconds(client: Client, tool: str, number: int) -> float:
    began = time.perf_counter()
    result = await client.call_tool(tool, {"text": f"number {number}"})
    assert not result.is_error, result  # noqa: S101 - a refusal is quick and says nothing
    return 1000 * (time.perf_counter() - began)


@contextmanager
def _site() -> Iterator[tuple[StdioServerParameters, StdioServerParameters]]:
    with TemporaryDirectory() as folder:
        home, tenant = Path(folder) / "node", TenantId("bench")
        script, servers = Path(folder) / "echo.py", Path(folder) / "servers.json"
        script.write_text(_SERVER)
        place: dict[str, Any] = {"command": sys.executable, "args": [str(script)]}
        servers.write_text(json.dumps({"mcpServers": {"echo": place}}))
        rows = anyio.run(draft_rows, {name: Server(name, one) for name, one in read_places(servers).items()})
        init_node(home, tenant=tenant, origin="example.org/bench")
        with open_node(home) as (tools, _):
            agent, admin = PrincipalId("ai:clerk"), PrincipalId("user:admin")
            at = tools.clock.now()
            add_principal(tools, tenant, agent, kind=PrincipalKind.AGENT, name=agent, by=admin, at=at)
            key = issue_api_key(tools, tenant, agent, scopes=("*",), by=admin, at=tools.clock.now())[0]
            row = ToolRow(tool="echo__echo", definition_hash=rows[0]["definition_hash"], tier=RiskTier.READ_ONLY)
            caller = local_caller(tenant, at=tools.clock.now())
            release_gateway_table(tools, caller, ReleaseGatewayTable(rows=(row,)))
        arguments = ["-m", "assay.surfaces.cli", "--home", str(home), "gateway", "serve", str(servers)]
        gateway = StdioServerParameters(command=sys.executable, args=arguments, env={"ASSAY_CREDENTIAL": key})
        yield StdioServerParameters(**place), gateway
