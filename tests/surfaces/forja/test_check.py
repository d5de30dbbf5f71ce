"""A registry served by a node, a service attached in a process of its own, and the command that attacks it."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

import assay
from assay.adapters.keyfile import create_key_file
from assay.identity.principal import PrincipalKind
from assay.wiring import init_node, open_node
from tests.acting import issue_api_key
from tests.flows._people import ADMIN, TENANT, Desk, quick_passwords
from tests.registry.codex import codex
from tests.surfaces.cli.running import Answer, ask
from tests.surfaces.forja._served import free_port, serve, wait_for

_NODE = """
import sys
from assay.surfaces.cli.main import run
sys.exit(run(["--home", sys.argv[1], "serve", "--port", sys.argv[2]]))
"""
_SERVICE = """
import sys, uvicorn, assay
from fastapi import FastAPI, HTTPException

app = FastAPI()

@app.get("/break")
async def broken():
    raise HTTPException(500)

codex, port, registry, key, node, node_key = sys.argv[1:]
assay.attach(app, codex, registry=registry, key=key, node=node, node_url=registry, node_key=node_key,
             base_url=f"http://127.0.0.1:{port}", heartbeat_seconds=0.5)
uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")
"""
_NAME = "portwatch-backend"
_FORJA = "/api/v2/forja"


class Town(NamedTuple):
    """Where the registry and the service are."""

    registry: str
    service: str
    home: Path
    session: str
    agent: str

    def instances(self) -> list[dict[str, object]]:
        found = httpx.get(f"{self.registry}{_FORJA}/services/{_NAME}", timeout=5).json()
        listed: list[dict[str, object]] = found.get("instances", [])
        return listed

    def who_can(self, query: str) -> list[str]:
        found: list[str] = httpx.get(f"{self.registry}{_FORJA}/services?{query}", timeout=5).json()["services"]
        return found

    def check(self, *options: str) -> Answer:
        return ask("check", self.service, "--registry", self.registry, *options)


def _people(home: Path) -> tuple[str, str, str]:
    """The session of an operator, and the API keys of the service itself and of an agent of tier 1."""
    with open_node(home) as (tools, _):
        desk = Desk(tools=replace(tools, passwords=quick_passwords()), start=tools.clock.now())
        desk.add("user:olga", roles=("operator",))
        name = desk.add(f"service:{_NAME}", kind=PrincipalKind.SERVICE, roles=()).id
        api_key, _ = issue_api_key(tools, TENANT, name, by=ADMIN, at=desk.start)
        agent = desk.add("ai:planner", kind=PrincipalKind.AGENT, roles=(), trust_mask=1, action_tier=1).id
        agent_key, _ = issue_api_key(tools, TENANT, agent, by=ADMIN, at=desk.start)
        return desk.session("user:olga"), api_key, agent_key


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    home, key = folder / "node", folder / "service.key"
    init_node(home)
    with (home / "assay.toml").open("a") as file:
        file.write('\n[registry]\nservice_networks = ["127.0.0.0/8"]\n')
    create_key_file(key)
    (folder / "codex.json").write_bytes(codex())
    assert ask("--home", home, "service", "trust", _NAME, folder / "service.key.pub").code == 0
    session, api_key, agent = _people(home)
    ports = free_port(), free_port()
    town = Town(f"http://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}", home, session, agent)
    arguments = (str(folder / "codex.json"), str(ports[1]), town.registry, str(key), str(home), api_key)
    with (
        serve(_NODE, str(home), str(ports[0]), ready=town.registry + "/healthz"),
        serve(_SERVICE, *arguments, ready=town.service + "/codex.json"),
    ):
        wait_for(lambda: bool(town.instances()), "the service never announced itself")
        yield town


@pytest.mark.clause("forja", "conformance-levels")
@pytest.mark.parametrize("profile", ["forja-basic", "forja-standard", "forja-full"])
def test_an_attached_service_passes_every_profile_while_it_is_attacked(town: Town, profile: str) -> None:
    done = town.check("--profile", profile, "--active", "--json")
    failed = [one for one in done.json["findings"] if not one["passed"] and one["severity"] == "error"]
    assert (done.code, failed) == (0, [])
    rules = {one["rule"] for one in done.json["findings"]}
    assert {"restore.token", "write.authenticated", "announce.spoofed", "FRJ-005", "FRJ-011"} <= rules


@pytest.mark.clause("forja", "FRJ-011")
def test_an_issued_agent_escalates_no_more_than_a_stranger(town: Town) -> None:
    """By bits and by tier; a key that nobody was issued shows nothing, and is told so."""
    done = town.check("--profile", "forja-standard", "--active", "--key", town.agent, "--json")
    tried = [one for one in done.json["findings"] if one["where"] == "attack:agent_escalation"]
    assert (done.code, [(one["rule"], one["passed"]) for one in tried]) == (0, [("FRJ-011", True)] * 2)
    unknown = town.check("--profile", "forja-standard", "--active", "--key", "ak_nobody.secret", "--json")
    [told] = [one for one in unknown.json["findings"] if one["where"] == "attack:agent_escalation"]
    assert (unknown.code, told["passed"]) == (1, False)
    assert "401" in told["message"]


def test_a_build_server_reads_the_same_as_junit(town: Town) -> None:
    done = town.check("--profile", "forja-standard", "--junit")
    assert done.code == 0
    assert done.out.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="forja-standard"')
    assert 'failures="0"' in done.out


@pytest.mark.clause("forja", "discovery")
def test_the_registry_says_who_can_after_it_looked(town: Town) -> None:
    wait_for(lambda: town.who_can("needs=ALERT_ACK,WRITE&tier=2") == [_NAME], "never listed")
    assert town.who_can("needs=BOOK") == []
    assert town.who_can("answers=berth.availability") == [_NAME]
    assert town.who_can("does=BERTH_ASSIGN&domain=bank") == []
    told = httpx.get(f"{town.registry}{_FORJA}/services/{_NAME}/explain?needs=BOOK").json()
    assert (told["can"], told["missing"]) == (False, ["BOOK"])
    assert httpx.get(f"{town.registry}{_FORJA}/network").json()["services"] == 1
    assert ask("--home", town.home, "service", "who-can", "ALERT_ACK", "--tier", "2").out.split() == [_NAME]
    assert ask("--home", town.home, "service", "who-can", "BOOK").code == 1


@pytest.mark.clause("forja", "discovery")
def test_a_client_holds_the_index_of_a_served_node(town: Town) -> None:
    wait_for(lambda: town.who_can("needs=ALERT_ACK,WRITE&tier=2") == [_NAME], "never listed")
    with assay.Fleet(town.registry) as fleet:
        assert fleet.who_can("ALERT_ACK,WRITE", tier=2) == (_NAME,)
        assert fleet.network().services == 1
    with httpx.stream("GET", f"{town.registry}{_FORJA}/fleet/watch") as answer:
        assert next(answer.iter_lines()) == "event: snapshot"


@pytest.mark.clause("forja", "announce")
def test_a_spoofed_offline_is_refused_with_its_reason(town: Town) -> None:
    (one,) = [one for one in town.instances() if one["presence"] != "offline"]
    announce = dict(one["announce"])  # type: ignore[call-overload]  # a JSON object
    announce.pop("signature")
    forged = {**announce, "event": "offline", "sequence": 10**9}
    answer = httpx.post(f"{town.registry}{_FORJA}/announce", json=forged)
    assert (answer.status_code, answer.json()["code"]) == (403, "registry.spoofed")


class _Liar(BaseHTTPRequestHandler):
    """A service whose documents look right and that lets everybody do everything."""

    truth = ""

    def do_GET(self) -> None:
        answer = httpx.get(self.truth + self.path)
        self._send(200, answer.content)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._send(200, b"{}")

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.mark.clause("forja", "conformance-levels")
def test_a_service_that_lets_everybody_in_is_found_out_only_by_attacking_it(town: Town) -> None:
    _Liar.truth = town.service
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Liar)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        assert ask("check", url, "--profile", "forja-standard").code == 0
        attacked = ask("check", url, "--profile", "forja-standard", "--active", "--key", town.agent, "--json")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    failed = {one["rule"] for one in attacked.json["findings"] if not one["passed"]}
    assert attacked.code == 1
    assert {"FRJ-011", "FRJ-005", "restore.token", "write.authenticated"} <= failed
    assert [one["passed"] for one in attacked.json["findings"] if one["where"] == "attack:agent_escalation"] == [
        False,
        False,
    ]


def test_a_service_that_is_not_there_fails_every_rule_that_was_asked() -> None:
    done = ask("check", f"http://127.0.0.1:{free_port()}", "--profile", "forja-full", "--json")
    assert done.code == 1
    assert not any(one["passed"] for one in done.json["findings"])


@pytest.mark.clause("forja", "kill-switch")
def test_a_fired_service_loses_its_tier_in_the_registry_and_a_person_gives_it_back(town: Town) -> None:
    """The service tells the node that is being served; the node's people restore it through the service's endpoint."""
    wait_for(lambda: town.who_can("needs=ALERT_ACK&tier=2") == [_NAME], "never listed")
    for _ in range(60):
        httpx.get(town.service + "/break")
    wait_for(lambda: town.who_can("needs=ALERT_ACK&tier=2") == [], "still listed with tier 2")
    assert town.who_can("needs=ALERT_ACK&tier=1") == [_NAME]
    tickets = ask("--home", town.home, "review", "list", "--json").out
    assert "restore portwatch-backend after firing 1" in tickets
    url = f"{town.service}{_FORJA}/trust/restore"
    assert httpx.post(url, json={"human_session_token": "st_forged"}).status_code == 401
    answer = httpx.post(url, json={"human_session_token": town.session})
    assert (answer.status_code, answer.json()) == (
        200,
        {"restored": True, "episode": 1, "restored_by": ["user:olga"]},
    )
    wait_for(lambda: town.who_can("needs=ALERT_ACK&tier=2") == [_NAME], "never listed again")


def test_a_node_that_is_asked_to_stop_does_not_wait_for_those_who_watch(tmp_path: Path) -> None:
    """A stream has no end of its own; the server ends it, well before its patience with requests is over."""
    home, port = tmp_path / "node", free_port()
    init_node(home)
    url = f"http://127.0.0.1:{port}"
    with (
        serve(_NODE, str(home), str(port), ready=url + "/healthz") as node,
        httpx.stream("GET", f"{url}{_FORJA}/fleet/watch", timeout=50) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == "event: snapshot"
        node.terminate()
        assert list(lines)[-1] == ""
        assert node.wait(timeout=40) == 0
