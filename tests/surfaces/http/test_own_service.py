"""The node is a service of its own kind: its documents come from its stores, and its switch really stops machines."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.delivery.answerer import Question
from assay.flows.registry.check_service import check_service
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.conformance import Fetched
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.registry.conform import Profile
from assay.surfaces.http.app import create_app
from assay.surfaces.http.desk import Desk as HttpDesk
from assay.surfaces.http.registry import tend_switch
from assay.wiring import load_config
from tests.acting import amend_principal, issue_api_key
from tests.delivering import grant_reporter
from tests.flows._delivery import BELL, RULE, SLUG, TEXT, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.surfaces.http._house import MovedClock

_FORJA = "/api/v2/forja"


@dataclass
class Served:
    """A node over HTTP at a time that the test chooses; also a `ServiceClient` on itself."""

    node: Delivery
    client: TestClient[Litestar]
    clock: MovedClock

    @property
    def http(self) -> HttpDesk:
        found = self.client.app.state.desk
        assert isinstance(found, HttpDesk)
        return found

    def get(self, path: str) -> Any:  # noqa: ANN401  whatever JSON it is
        self._look_again()
        answer = self.client.get(_FORJA + path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def request(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Fetched | None:
        answer = self.client.request(method, url.removeprefix("http://node"), content=content, headers=headers)
        return Fetched(status=answer.status_code, content=answer.content)

    def report(self, by: str) -> httpx.Response:
        signal = self.node.signal("failure", minute=3, session_id=None)
        return self.client.post("/api/v2/pramana/phala", json=signal, headers={"x-api-key": by})

    def ask(self, by: str) -> httpx.Response:
        said = {"query_type": SLUG, "question": {}}
        return self.client.post("/api/v2/pramana/query", json=said, headers={"x-api-key": by})

    def fail(self, times: int) -> None:
        own = self.http.registry.own if self.http.registry is not None else None
        assert own is not None
        for _ in range(times):
            own.observe(500, "/somewhere", is_agent=False)

    def _look_again(self) -> None:
        """The manifest may be a second old; here it is not."""
        assert self.http.registry is not None
        self.http.registry.own.codex()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with opened_delivery(tmp_path) as node:
        ready = node.ready()
        clock = MovedClock(ready.desk.at(minutes=4))
        app = create_app(replace(ready.tools, clock=clock), load_config(tmp_path / "node"))
        with TestClient(app) as client:
            yield Served(node=ready, client=client, clock=clock)


@pytest.mark.clause("forja", "endpoints")
def test_state_tells_the_query_types_and_rules_that_are_really_there(served: Served) -> None:
    state = served.get("/state")
    assert (state["identity"]["id"], [one["id"] for one in state["ai_surface"]["queryable"]]) == ("assay", [SLUG])
    assert (state["knowledge"]["rule_count"], state["knowledge"]["certified_count"]) == (1, 1)
    served.node.rule("MAR-YK-008", "Another rule.")
    now = served.get("/state")["knowledge"]
    assert (now["rule_count"], now["certified_count"]) == (2, 1)
    assert served.client.get("/codex.json").json()["can_answer"] == [SLUG]
    assert served.client.get("/.well-known/agent-card.json").json()["name"] == "assay"


@pytest.mark.clause("forja", "conformance-levels")
@pytest.mark.parametrize("profile", [Profile.BASIC, Profile.STANDARD])
def test_the_node_conforms_while_it_is_attacked(served: Served, profile: Profile) -> None:
    report = check_service(served, "http://node", profile, active=True, at=served.clock.now())
    assert report.failures == ()
    assert served.get("/sense")["security"]["self_escalation_attempt_count"] == 1


@pytest.mark.clause("forja", "endpoints")
def test_sense_counts_the_nodes_own_requests_and_how_far_its_rules_moved(served: Served) -> None:
    served.ask(served.node.amira)
    served.get("/state")
    served.client.get("/healthz")
    served.node.rule(RULE, TEXT + " Always.")
    sense = served.get("/sense")
    assert sense["velocity"]["total_requests"] == 1
    assert sense["knowledge_drift"]["stale_rules"] == 1
    assert sense["knowledge_drift"]["drift_score"] == 1.0


@pytest.mark.clause("forja", "proof")
def test_proof_is_the_latest_measurement_and_its_history_is_kept(served: Served) -> None:
    served.node.prove(minutes=2)
    first = served.get("/proof")
    assert (first["rules_certified"], first["coverage_pct"], first["passing"]) == (1, 100.0, True)
    served.clock.at = Instant(served.clock.at + timedelta(days=89))
    assert [one["coverage_pct"] for one in served.get("/proof/history")] == [100.0]
    served.clock.at = Instant(served.clock.at + timedelta(days=300))
    assert served.get("/proof/history") == []
    assert [one["passing"] for one in served.get("/proof/history?days=400")] == [True]
    for days in ("0", "x", "-1", "99999999"):
        assert served.client.get(f"{_FORJA}/proof/history?days={days}").json()["code"] == "forja.bad_request"


@pytest.mark.clause("forja", "proof")
def test_before_any_measurement_proof_says_what_is_certified_and_that_nothing_has_code(tmp_path: Path) -> None:
    with opened_delivery(tmp_path) as node:
        node.rule()
        node.certify()
        with TestClient(create_app(node.tools, load_config(tmp_path / "node"))) as client:
            proof = client.get(f"{_FORJA}/proof").json()
    assert (proof["rules_certified"], proof["rules_with_code"], proof["passing"]) == (1, 0, False)
    assert proof["unimplemented_rules"] == [RULE]


@pytest.mark.clause("forja", "kill-switch")
def test_errors_of_the_node_take_writing_from_machines_until_a_person_restores_it(served: Served) -> None:
    """Reading and asking go on, people go on, and the firing is on record with a ticket; then it is lifted."""
    assert served.report(served.node.bell).status_code < 300
    served.fail(60)
    answer = served.report(served.node.bell)
    assert (answer.status_code, answer.json()["code"]) == (403, "registry.tier_closed")
    assert served.ask(served.node.amira).status_code == 200
    assert served.get("/sense")["security"] | {"self_escalation_attempt_count": 0} == {
        "current_trust_tier": 1,
        "kill_switch_active": True,
        "self_escalation_attempt_count": 0,
    }
    tend_switch(served.http)
    assert [one["service_id"] for one in served.node.desk.entries(EntryKind.SWITCH_FIRED)] == ["assay"]
    assert served.client.get("/api/v2/pramana/state").json()["status"] == "degraded"
    forged = served.client.post(f"{_FORJA}/trust/restore", json={"human_session_token": "st_forged"})
    assert (forged.status_code, forged.json()["code"]) == (401, "identity.not_signed_in")
    session = served.node.olga
    restored = served.client.post(f"{_FORJA}/trust/restore", json={"human_session_token": session})
    assert restored.json()["restored_by"] == ["user:olga"]
    assert served.report(served.node.bell).status_code < 300


def _odd(question: Question) -> str:
    """An answerer that stumbles over a question that it does not know how to refuse."""
    told: str = question.question["ship"]
    return told


@pytest.mark.clause("forja", "kill-switch")
def test_one_who_asks_what_an_answerer_stumbles_over_takes_power_from_nobody_else(tmp_path: Path) -> None:
    """Alone they lose what the switch would leave; when a second one's questions fail as well, it fires for all."""
    with opened_delivery(tmp_path) as node:
        ready = node.ready(_odd)
        asking = PrincipalChange(trust_mask=0b10, action_tier=1)
        amend_principal(ready.tools, TENANT, BELL, asking, by=ADMIN, at=ready.desk.at(minutes=3))
        agent = ready.desk.add("service:horn", kind=PrincipalKind.SERVICE, roles=()).id
        grant_reporter(ready.tools, agent, ["MAR-*"], credential=ready.olga, at=ready.desk.at(minutes=3))
        horn, _ = issue_api_key(ready.tools, TENANT, agent, by=ADMIN, at=ready.desk.at(minutes=3))
        clock = MovedClock(ready.desk.at(minutes=4))
        app = create_app(replace(ready.tools, clock=clock), load_config(tmp_path / "node"))
        with TestClient(app) as client:
            served = Served(node=ready, client=client, clock=clock)
            assert {served.ask(ready.bell).status_code for _ in range(60)} == {503}
            tend_switch(served.http)
            assert ready.desk.entries(EntryKind.SWITCH_FIRED) == []
            assert served.get("/sense")["health"]["error_rate"] == 1.0
            assert served.report(ready.bell).json()["code"] == "registry.tier_closed"
            assert served.report(horn).status_code < 300
            assert {served.ask(ready.amira).status_code for _ in range(3)} == {503}
            tend_switch(served.http)
            assert len(ready.desk.entries(EntryKind.SWITCH_FIRED)) == 1
            assert served.report(horn).json()["code"] == "registry.tier_closed"


@pytest.mark.clause("forja", "kill-switch")
def test_who_failed_alone_has_their_power_again_a_minute_later(tmp_path: Path) -> None:
    with opened_delivery(tmp_path) as node:
        ready = node.ready(_odd)
        asking = PrincipalChange(trust_mask=0b10, action_tier=1)
        amend_principal(ready.tools, TENANT, BELL, asking, by=ADMIN, at=ready.desk.at(minutes=3))
        clock = MovedClock(ready.desk.at(minutes=4))
        app = create_app(replace(ready.tools, clock=clock), load_config(tmp_path / "node"))
        with TestClient(app) as client:
            served = Served(node=ready, client=client, clock=clock)
            for _ in range(60):
                served.ask(ready.bell)
            assert served.report(ready.bell).status_code == 403
            clock.at = Instant(clock.at + timedelta(seconds=61))
            assert served.report(ready.bell).status_code < 300


@pytest.mark.clause("forja", "kill-switch")
def test_a_restore_at_the_desk_reaches_a_node_that_was_started_again(served: Served, tmp_path: Path) -> None:
    served.fail(60)
    tend_switch(served.http)
    tools = replace(served.node.tools, clock=served.clock)
    with TestClient(create_app(tools, load_config(tmp_path / "node"))) as client:
        again = Served(node=served.node, client=client, clock=served.clock)
        assert again.report(served.node.bell).status_code == 403
        (ticket,) = served.node.desk.read(lambda unit: unit.review.tickets(TENANT, unsettled_only=True))
        served.node.desk.answer(ticket, served.node.olga, "restore", at=served.clock.now(), follow_ups=ROOM_FOLLOW_UPS)
        tend_switch(again.http)
        assert again.report(served.node.bell).status_code < 300
