"""The tools by the protocol's own client: over standard input and output, and over HTTP."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from assay.operations.table import BY_TOOL
from assay.surfaces.mcp.server import create_server
from tests.node._home import RULE, Home, record
from tests.surfaces.cli.running import ask, environment
from tests.surfaces.http.served import Served, serving
from tests.surfaces.mcp._scene import LAW, opened_scene, peopled

T = TypeVar("T")
_EVERYBODYS = {str(one.tool) for one in BY_TOOL.values() if one.needs.roles is None and not one.needs.session}
_AUDITORS = {
    str(one.tool)
    for one in BY_TOOL.values()
    if not one.writes and (one.needs.roles is None or "auditor" in one.needs.roles) and not one.needs.session
}


def _over_stdio(home: Home, who: str, story: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "assay.surfaces.cli", "--home", str(home.folder), "mcp"],
            env={**environment(), "ASSAY_CREDENTIAL": home.keys[who]},
        )
        async with Client(parameters, read_timeout_seconds=60) as client:
            return await story(client)

    return asyncio.run(run())


def _over_http(url: str, headers: dict[str, str], story: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), read_timeout_seconds=60) as client,
        ):
            return await story(client)

    return asyncio.run(run())


async def _whole_story(client: Client, name: str) -> dict[str, Any]:
    """List, ask, judge, look up: what an agent does in its life."""
    tools = (await client.list_tools()).tools
    asked = await client.call_tool("ask", {"query_type": LAW, "question": {"rule_id": RULE}})
    judged = await client.call_tool("evaluate", {"record": record(name)})
    shown = await client.call_tool("show_verdict", {"telemetry_id": name})
    refused = await client.call_tool("who_can", {"bits": []})
    return {"tools": tools, "asked": asked, "judged": judged, "shown": shown, "refused": refused}


def _require_whole(told: dict[str, Any]) -> None:
    assert {tool.name for tool in told["tools"]} == set(BY_TOOL)
    by_name = {tool.name: tool for tool in told["tools"]}
    assert by_name["verify"].annotations.read_only_hint is True
    assert by_name["ask"].annotations.read_only_hint is False
    assert by_name["ask"].input_schema["required"] == ["query_type"]
    assert by_name["ask"].input_schema["additionalProperties"] is False
    assert "At least 10 %" in str(told["asked"].structured_content["body"]["output"])
    verdicts = told["judged"].structured_content["verdicts"]
    assert {one["rule_id"]: one["verdict"] for one in verdicts} == {"SO2": "FLAG", "NOX": None}
    assert told["shown"].structured_content["verdicts"] == verdicts
    assert told["refused"].is_error is True
    assert told["refused"].structured_content["error"]["code"] == "mcp.arguments"


def test_an_agent_works_over_standard_input_and_output(home: Home) -> None:
    _require_whole(_over_stdio(home, "pilot", lambda client: _whole_story(client, "by-stdio")))


@pytest.fixture(scope="module")
def served(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving("--home", str(home.folder), "mcp", "--http", folder=folder) as running:
        yield running
        assert running.stop() == 0


def test_an_agent_works_over_http(home: Home, served: Served) -> None:
    bearer = {"authorization": f"Bearer {home.keys['pilot']}"}
    _require_whole(_over_http(served.url, bearer, lambda client: _whole_story(client, "by-http")))


def test_each_request_over_http_is_of_its_own_principal(home: Home, served: Served) -> None:
    async def names(client: Client) -> set[str]:
        return {one.name for one in (await client.list_tools()).tools}

    assert _over_http(served.url, {"x-api-key": home.keys["scout"]}, names) == _EVERYBODYS
    assert _over_http(served.url, {"x-api-key": home.keys["narrow"]}, names) < _EVERYBODYS


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-api-key": "ak_no.key"}, {"authorization": "Basic YTpi"}, {"authorization": "Bearer x", "x-api-key": "x"}],
    ids=["none", "unknown", "basic", "two"],
)
def test_without_a_valid_key_every_request_is_refused(headers: dict[str, str], served: Served) -> None:
    """Whatever it asks for: not even the handshake is answered."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for method in ("POST", "GET", "DELETE"):
        answer = httpx.request(method, served.url, headers=headers, json=body if method == "POST" else None)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json()["error"]["code"] == "identity.not_signed_in"


def test_a_page_under_a_foreign_name_is_refused(home: Home, served: Served) -> None:
    """DNS rebinding: a valid key does not help a host or an origin that nobody named."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    signed = {"x-api-key": home.keys["pilot"], "accept": "application/json, text/event-stream"}
    for name, value, status in (("host", "evil.example", 421), ("origin", "https://evil.example", 403)):
        assert httpx.post(served.url, headers={**signed, name: value}, json=body).status_code == status


def test_beside_a_running_server_calls_go_through_its_socket(tmp_path: Path) -> None:
    """Recording and reading; the principal's own permissions, and the server's own refusals."""

    async def story(client: Client) -> tuple[set[str], Any, Any, Any]:
        names = {one.name for one in (await client.list_tools()).tools}
        asked = await client.call_tool("ask", {"query_type": LAW, "question": {"rule_id": RULE}})
        return names, asked, await client.call_tool("whoami", {}), await client.call_tool("nothing", {})

    home = peopled(tmp_path / "home")
    with serving("--home", str(home.folder), "serve", "--port", "0", folder=tmp_path):
        names, asked, who, unknown = _over_stdio(home, "pilot", story)
        answer = ask("--home", home.folder, "mcp", "--credential", "ak_no.key", "--json")
    assert (answer.code, answer.error_code) == (1, "identity.not_signed_in")
    assert {"ask", "whoami", "verify"} <= names
    assert not asked.is_error, asked.structured_content
    assert "At least 10 %" in str(asked.structured_content["body"]["output"])
    assert who.structured_content["id"] == "ai:pilot"
    assert unknown.structured_content["error"]["code"] == "mcp.unknown_tool"


def test_a_key_that_opens_nothing_is_told_at_once(home: Home) -> None:
    answer = ask("--home", home.folder, "mcp", "--read-only", "--credential", "ak_no.key", "--json")
    assert (answer.code, answer.error_code) == (1, "identity.not_signed_in")
    assert ask("--home", home.folder, "mcp", "--json").error_code == "identity.not_signed_in"


def test_without_the_extra_the_answer_says_what_to_install(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    answer = ask("--home", home.folder, "mcp", "--json")
    assert (answer.code, answer.error_code) == (2, "mcp.not_installed")


def _in_process(home: Home, credential: str, story: Callable[[Client], Awaitable[T]]) -> T:
    """A server that only reads, beside whoever writes."""

    async def run() -> T:
        async with Client(server) as client:
            return await story(client)

    with opened_scene(home, read_only=True) as scene:
        server = create_server(scene.toolbox, lambda _context: credential)
        return asyncio.run(run())


def test_a_reader_beside_the_node_records_nothing(home: Home) -> None:
    async def story(client: Client) -> tuple[set[str], Any]:
        names = {one.name for one in (await client.list_tools()).tools}
        return names, await client.call_tool("ask", {"query_type": LAW})

    names, refused = _in_process(home, home.keys["pilot"], story)
    assert names == _AUDITORS
    assert refused.structured_content["error"]["code"] == "mcp.read_only"


def test_a_refusal_of_the_list_is_an_error_of_the_protocol(home: Home) -> None:
    """As when a key was revoked while the agent was at work."""

    async def story(client: Client) -> None:
        with pytest.raises(MCPError, match=r"identity\.not_signed_in"):
            await client.list_tools()

    _in_process(home, "ak_no.key", story)


def test_the_protocol_is_imported_by_its_own_command_alone(tmp_path: Path) -> None:
    code = "import sys, assay, assay.surfaces.cli.main, assay.surfaces.mcp.call; sys.exit('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == 0
