"""Outcomes of other organisations over HTTP, and the agreement they are translated by; on the command line, too."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.identity.principal import PrincipalKind
from assay.kernel.key import key_id_of
from assay.surfaces.http.app import create_app
from assay.wiring import load_config, open_node
from tests.acting import issue_api_key
from tests.delivering import grant_reporter
from tests.flows._delivery import RULE, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.surfaces.cli.running import ask
from tests.surfaces.http._house import MovedClock, refused

_PREFIX = "/api/v2/pramana"
_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"  # RFC 8032, 7.1, test 1


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("peers")


@pytest.fixture(scope="module")
def agreed(home: Path) -> Iterator[tuple[Delivery, TestClient[Litestar], str]]:
    with opened_delivery(home) as opened:
        node = opened.ready()
        name = node.desk.add("service:harbour", kind=PrincipalKind.SERVICE, roles=()).id
        key, _ = issue_api_key(node.tools, TENANT, name, by=ADMIN, at=node.desk.start)
        grant_reporter(node.tools, name, ["MAR-*"], credential=node.olga, at=node.desk.start)
    document = home / "agreement.json"
    document.write_text(json.dumps({"peer": "harbour", "rules": [["HAR-1", RULE]], "strands": ["x-pilot"]}))
    at_home = ("--home", str(home / "node"))
    told = ask(*at_home, "peer", "agree", str(document), "--key", _KEY, "--credential", node.olga, "--json")
    assert told.code == 0, told.out
    shown = ask(*at_home, "peer", "show", "harbour").out
    assert f"HAR-1 -> {RULE}" in shown
    assert key_id_of(bytes.fromhex(_KEY)) in shown
    with open_node(home / "node") as (tools, _):
        moved = replace(tools, clock=MovedClock(node.desk.at(minutes=6)))
        with TestClient(create_app(moved, load_config(home / "node"))) as client:
            yield replace(node, desk=replace(node.desk, tools=moved)), client, key


@pytest.mark.clause("pramana", "13.2")
def test_a_peer_forwards_under_its_own_rule_ids(agreed: tuple[Delivery, TestClient[Litestar], str]) -> None:
    """What is known is counted under ours, what is not waits for a person; nobody else may forward."""
    node, client, key = agreed
    path = f"{_PREFIX}/phala/foreign"
    told = node.signal("failure", rule_id=None, rule_ids=["HAR-1", "HAR-2"])
    done = client.post(path, json=told, headers={"x-api-key": key, "idempotency-key": "1"})
    assert done.status_code == 201
    body = done.json()
    assert ([one["rule_id"] for one in body["reported"]["rules"]], body["untranslated"]) == ([RULE], ["HAR-2"])
    assert body["ticket_id"].startswith("tkt_")
    refused(client.post(path, json=told, headers={"x-api-key": node.bell}), 403, "delivery.outcome_source")
    refused(client.post(path, json=told), 401, "identity.not_signed_in")


def test_the_agreement_is_shown_to_those_who_may_see(agreed: tuple[Delivery, TestClient[Litestar], str]) -> None:
    node, client, key = agreed
    shown = client.get("/api/v1/peers/harbour", headers={"x-api-key": node.olga})
    assert shown.json() == {"peer": "harbour", "rules": [["HAR-1", RULE]], "strands": ["x-pilot"], "keys": [_KEY]}
    refused(client.get("/api/v1/peers/quay", headers={"x-api-key": node.olga}), 404, "flow.not_found")
    refused(client.get("/api/v1/peers/harbour", headers={"x-api-key": key}), 403, "identity.role")


def test_guesses_are_measured_on_the_command_line(tmp_path: Path) -> None:
    """Without pairs there is nothing to guess from, and it says so."""
    home = str(tmp_path / "node")
    assert ask("init", home).code == 0
    found = ask("--home", home, "pairs", "measure", "--json")
    assert (found.code, found.json) == (0, {"pairs": 0, "right": 0, "commonest_right": 0})
    assert "too few" in ask("--home", home, "pairs", "measure").out
