"""Every route of the specifications, walked through on real nodes: it answers, and the description shows how."""

import json
import os
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.delivery.federate import Agreement
from assay.delivery.level import Level
from assay.delivery.rule import RuleId
from assay.delivery.strand import StrandId
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.surfaces.http import document as examples
from tests.acting import amend_principal, issue_api_key
from tests.delivering import agree_with_peer, grant_reporter
from tests.flows._delivery import RULE, SLUG
from tests.flows._people import ADMIN, PASSWORD, TENANT
from tests.flows._truth import critical_flood
from tests.flows._verdicts import graph_document, rule
from tests.surfaces.http._house import House, opened_house
from tests.surfaces.http._walking import Send, Walk
from tests.surfaces.http.v1._whole import Whole, opened_whole
from tools.routes import find_routes

_EXAMPLES = Path(examples.__file__).parent / examples.EXAMPLES
_PRAMANA = "/api/v2/pramana"
# No secret that ever opened anything stands in a file.
_UNREAL = "A" * 43
_UNREAL_TOKEN = f"st_{'a' * 16}.{_UNREAL}"


def _walk_states(walk: Walk, house: House) -> None:
    get, post, truth = walk.get, walk.post, house.truth
    for name in ("user:ann", "user:ben"):
        truth.observe(name, claim_type="earth.flood.v2")
    post("/observations", truth.report("user:cem", claim_type="earth.flood.v2"), house.relay)
    get("/observations", house.relay, "/observations?limit=1")
    truth.score(local_vision=0.95)
    house.at("12:40")
    key = truth.truthkey
    house.post(f"/api/v1/states/{key}/compile", {"force": True}, key=truth.operator)
    get("/truthstates/{key}", house.relay, f"/truthstates/{key}")
    get("/truthstates/{key}/history", house.relay, f"/truthstates/{key}/history?limit=1")
    post("/verify", walk.kept["GET /truthstates/{key}"].answered, house.relay)


def _walk_votes(walk: Walk, house: House) -> None:
    post, truth = walk.post, house.truth
    house.at("12:45")
    question = house.get(f"/api/v1/states/{truth.truthkey}/question", key=truth.operator).json()
    vote = {"truthkey": truth.truthkey, "vote_type": "RATIFY", "seen": question["shown_hash"], "reason": "I was there"}
    post("/votes", vote, truth.signed_in("user:eve", "12:44"))


def _walk_trust(walk: Walk, house: House) -> None:
    get, post, truth = walk.get, walk.post, house.truth
    house.at("12:50")
    truth.trust("sensor:042")
    endorsement = {
        "signal_id": "endorse.user-ann",
        "kind": "ENDORSEMENT",
        "agent_id": "sensor:042",
        "occurred_at": render_instant(house.clock.at),
        "object": {"endorsed": "user:ann", "weight": 0.5},
    }
    post("/signals", endorsement, house.join("sensor:042"))
    get("/signals", truth.operator, "/signals?agent_id=sensor:042")
    get("/agents/{agent_id}", truth.operator, "/agents/user:ann")
    get("/trust-snapshot", truth.operator, "/trust-snapshot?agents=user:ann")


def _walk_ledger(walk: Walk, whole: Whole) -> None:
    get, operator = walk.get, whole.keys["operator"]
    for route in ("/healthz", "/readyz", "/whoami"):
        get(route, operator)
    whole.post("/api/v1/checkpoints", None)
    get("/log/checkpoint", operator)


def _walk_login(walk: Walk, _whole: Whole) -> None:
    told = walk.post("/auth/login", {"principal_id": "user:amira", "password": PASSWORD, "to": "token"}, "")
    walk.get("/auth/session", told["session_token"])
    walk.post("/auth/logout", None, told["session_token"])
    walk.hide("POST /auth/login", session_token=_UNREAL_TOKEN)
    walk.hide("GET /auth/session", csrf_token=_UNREAL)


def _walk_verdicts(walk: Walk, whole: Whole) -> None:
    get, post, operator = walk.get, walk.post, whole.keys["operator"]
    signed = whole.desk.release(graph_document(rule("r1"), compiled_at="2026-01-02T00:00:00Z")).document
    post("/api/kg/load", json.loads(signed), operator)
    post("/api/evaluate", whole.record("t-walked"), whole.keys["sensor"])
    get("/api/verdicts", operator, "/api/verdicts?limit=1")
    for route in ("/api/health", "/api/canary", "/api/sovereignty"):
        get(route, operator)


def _walk_answers(walk: Walk, whole: Whole) -> None:
    get, post, amira, operator = walk.get, walk.post, whole.keys["amira"], whole.keys["operator"]
    get(f"{_PRAMANA}/state", operator)
    get(f"{_PRAMANA}/state/{{entity_id}}", operator, f"{_PRAMANA}/state/assay")
    get(f"{_PRAMANA}/trust/{{user_id}}", amira, f"{_PRAMANA}/trust/user:amira")
    whole.delivery.query("vessel.sure", expected_level=Level.AUTHENTIC)
    post(f"{_PRAMANA}/query", {"query_type": "vessel.sure", "question": {"ship": "Ada"}}, amira)
    _walk_held(walk, whole)


def _walk_held(walk: Walk, whole: Whole) -> None:
    whole.delivery.query("vessel.scuttle", risk_tier=RiskTier.DELETE)
    change = PrincipalChange(risk_ceiling=RiskTier.DELETE)
    amend_principal(whole.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=whole.desk.at(minutes=4))
    asked = {"query_type": "vessel.scuttle", "question": {"ship": "Ada"}}
    held = whole.post(f"{_PRAMANA}/query", asked, "amira").json()["annotation"]["answer_id"]
    tickets = whole.get("/api/v1/tickets", "otto").json()["items"]
    (ticket,) = [one["ticket"] for one in tickets if one["settlement"]["state"] == "open"]
    choice = {"choice": "approve", "seen": ticket["shown_hash"], "reason": "looked at it"}
    assert whole.post(f"/api/v1/tickets/{ticket['id']}/answers", choice, "otto").status_code == 201
    walk.post(f"{_PRAMANA}/query/{{answer_id}}/resume", None, whole.keys["amira"], f"{_PRAMANA}/query/{held}/resume")


def _walk_outcomes(walk: Walk, whole: Whole) -> None:
    get, post, operator = walk.get, walk.post, whole.keys["operator"]
    asked = {"query_type": SLUG, "question": {"ship": "Ada"}}
    answer_id = whole.post(f"{_PRAMANA}/query", asked, "amira").json()["annotation"]["answer_id"]
    for number in range(2):
        whole.post(f"{_PRAMANA}/phala", _failure(whole, query_context=f"trip {number}"), "bell")
    told = post(f"{_PRAMANA}/phala", _failure(whole, answer_id=answer_id), whole.keys["bell"])
    item_id = told["rules"][0]["item_id"]
    shown = whole.get(f"/api/v1/root-causes/{item_id}").json()
    said = {
        "failure_category": "C",
        "siddhanta": "too lenient",
        "corrected_rule": "At least 15 %.",
        "seen": shown["ticket"]["shown_hash"],
    }
    concluded = whole.post(f"/api/v1/root-causes/{item_id}/conclusion", said, "rita")
    assert concluded.status_code == 201, concluded.text
    get(f"{_PRAMANA}/pairs", operator)


def _failure(whole: Whole, **chosen: Any) -> dict[str, Any]:  # noqa: ANN401  members of a signal
    return whole.delivery.signal("failure", minute=3, session_id="s1", **chosen)


def _walk_peers(walk: Walk, whole: Whole) -> None:
    name = whole.desk.add("service:harbour", kind=PrincipalKind.SERVICE, roles=()).id
    start, operator = whole.desk.start, whole.keys["operator"]
    key, _ = issue_api_key(whole.tools, TENANT, name, by=ADMIN, at=start)
    grant_reporter(whole.tools, name, ["MAR-*"], credential=operator, at=start)
    pair = (RuleId("HAR-1"), RuleId(RULE))
    agreed = Agreement(peer="harbour", rules=(pair,), strands=(StrandId("x-pilot"),))
    agree_with_peer(whole.tools, agreed, credential=operator, at=start)
    told = whole.delivery.signal("failure", minute=3, rule_id=None, rule_ids=["HAR-1", "HAR-2"])
    walk.post(f"{_PRAMANA}/phala/foreign", told, key)
    event = {"event_type": "crane.moved", "service": "bell", "timestamp": whole.later(minutes=4), "payload": {"t": 4}}
    walk.post(f"{_PRAMANA}/sense/emit", event, whole.keys["bell"])


# Figures, tiles and streams are no JSON, and a login elsewhere is a redirect to where nobody is here.
_NO_EXAMPLE = {
    "GET /metrics",
    "GET /log/tile/{level}/{place}",
    "GET /auth/oidc/login",
    "GET /auth/oidc/callback",
    f"GET {_PRAMANA}/sense/events",
}


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, examples.Exchange]:
    """What was sent to each route and what came back, from a node that compiles truth and one that does the rest."""
    kept: dict[str, examples.Exchange] = {}
    with opened_house(tmp_path_factory.mktemp("house"), contract=critical_flood()) as house:
        truth = Walk(_sender(house.client), kept)
        for part in (_walk_states, _walk_votes, _walk_trust):
            part(truth, house)
    with opened_whole(tmp_path_factory.mktemp("whole")) as whole:
        rest = Walk(_sender(whole.client), kept)
        for step in _REST:
            step(rest, whole)
    return kept


_REST = (
    _walk_ledger,
    _walk_login,
    _walk_verdicts,
    _walk_answers,
    _walk_outcomes,
    _walk_peers,
)


def _sender(client: TestClient[Litestar]) -> Send:
    def send(method: str, path: str, body: object, by: str) -> httpx.Response:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        typed = {} if body is None else {"content-type": kind}
        return client.request(method, path, content=content, headers={**({"x-api-key": by} if by else {}), **typed})

    return send


def test_every_route_of_the_specifications_is_walked(walked: dict[str, examples.Exchange]) -> None:
    """With ASSAY_RECORD=1 the examples are written anew; else they have the members that are sent and answered now."""
    described = {f"{one.method} {one.path}" for one in find_routes() if not one.path.startswith("/api/v1")}
    assert set(walked) == described - {"GET /", "GET /openapi.json"} - _NO_EXAMPLE
    if os.environ.get("ASSAY_RECORD") == "1":
        _EXAMPLES.write_text(json.dumps(msgspec.to_builtins(walked), indent=1, sort_keys=True) + "\n")
        examples.load_exchanges.cache_clear()
    kept = examples.load_exchanges()
    assert set(kept) == set(walked)
    for route, exchange in walked.items():
        assert _members(exchange) == _members(kept[route]), route


def _members(exchange: examples.Exchange) -> Any:  # noqa: ANN401  any JSON
    """Names and kinds, without what depends on the day."""
    return exchange.status, exchange.media_type, _names(exchange.sent), _names(exchange.answered)


def _names(value: object) -> object:
    return sorted(value) if isinstance(value, dict) else type(value).__name__


def test_no_secret_of_a_walk_is_in_the_examples() -> None:
    """Neither an API key nor a session's token: what is shown opens nothing."""
    text = _EXAMPLES.read_text()
    assert re.findall(r"\b(?:ak|st)_[a-z2-7]+\.[\w-]+", text) == [_UNREAL_TOKEN]
    assert re.findall(r'"csrf_token": "([^"]*)"', text) == [_UNREAL]
