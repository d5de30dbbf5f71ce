"""PRAMANA over HTTP: exactly the members of sections 7, 8 and 10, closed where they must be closed."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.delivery.consume import check_claim, open_annotation, read_state
from assay.delivery.level import Level
from assay.flows import time_limit
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.training import list_jobs, trigger_training
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.surfaces.http.app import create_app
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.serve import take_training, tend_answers
from assay.wiring import load_config
from tests.acting import amend_principal, issue_api_key, list_tickets, looking
from tests.flows._delivery import RULE, SLUG, TEXT, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT, at_once
from tests.flows._together import held, wait_until
from tests.surfaces.http._house import MovedClock, refused

_PREFIX = "/api/v2/pramana"


@dataclass
class Served:
    node: Delivery
    client: TestClient[Litestar]
    clock: MovedClock

    def at(self, minute: float) -> None:
        self.clock.at = self.node.desk.at(minutes=minute)

    def get(self, path: str, by: str | None = None) -> httpx.Response:
        return self.client.get(_PREFIX + path, headers={} if by is None else {"x-api-key": by})

    def own(self, path: str, by: str | None = None) -> httpx.Response:
        return self.client.get(f"/api/v1{path}", headers={} if by is None else {"x-api-key": by})

    def post_own(self, path: str, body: Any, by: str | None = None) -> httpx.Response:  # noqa: ANN401
        return self.client.post(f"/api/v1{path}", json=body, headers={} if by is None else {"x-api-key": by})

    def post(self, path: str, body: Any, by: str | None = None, **headers: str) -> httpx.Response:  # noqa: ANN401
        signed = headers if by is None else {"x-api-key": by, **headers}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(_PREFIX + path, content=content, headers={"content-type": "application/json", **signed})

    def ask(self, by: str | None = None) -> httpx.Response:
        return self.post("/query", {"query_type": SLUG, "question": {"ship": "Ada"}}, by or self.node.amira)

    def report(self, outcome: str = "failure", by: str | None = None, **chosen: Any) -> httpx.Response:  # noqa: ANN401
        key = chosen.pop("key", None)
        headers = {} if key is None else {"idempotency-key": key}
        return self.post("/phala", self.node.signal(outcome, minute=3, **chosen), by or self.node.bell, **headers)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with opened_delivery(tmp_path) as node:
        ready = node.ready()
        clock = MovedClock(ready.desk.at(minutes=4))
        tools = replace(ready.tools, clock=clock)
        with TestClient(create_app(tools, load_config(tmp_path / "node"))) as client:
            yield Served(node=ready, client=client, clock=clock)


@pytest.mark.clause("pramana", "7.1")
@pytest.mark.clause("pramana", "11.1")
@pytest.mark.clause("pramana", "13.5")
def test_state_is_open_and_has_the_seven_members(served: Served) -> None:
    response = served.get("/state")
    assert response.status_code == 200
    assert response.json() == {
        "service": "assay",
        "version": response.json()["version"],
        "status": "online",
        "can_answer": [SLUG],
        "can_do": ["CONCLUDE_ROOT_CAUSE", "EMIT_EVENT", "REPORT_OUTCOME"],
        "strands_supported": ["capability", "knowledge", "proof"],
        "pramana_version": "1.0",
    }
    assert served.get("/state/assay").json() == response.json()
    refused(served.get("/state/other"), 404, "flow.not_found")


@pytest.mark.clause("pramana", "7.2")
@pytest.mark.clause("pramana", "11.2")
def test_trust_tells_of_oneself_and_of_others_to_those_who_may_see(served: Served) -> None:
    own = served.get("/trust/user:amira", served.node.amira)
    assert own.json() == {
        "user_id": "user:amira",
        "role": "person",
        "trust_mask": 2,
        "can_query": [SLUG],
        "can_execute": ["EMIT_EVENT"],
        "authenticity_level_floor": 0,
    }
    refused(served.get("/trust/user:rita", served.node.amira), 403, "identity.role")
    assert served.get("/trust/user:sam", served.node.olga).json()["can_query"] == []
    refused(served.get("/trust/user:nobody", served.node.olga), 404, "flow.not_found")
    refused(served.get("/trust/user:amira"), 401, "identity.not_signed_in")


@pytest.mark.clause("pramana", "8")
@pytest.mark.clause("pramana", "11.5")
def test_an_answer_carries_its_annotation_and_its_level_in_the_header(served: Served) -> None:
    """A consumer reads the annotation, checks it against STATE, and finds the same level."""
    response = served.ask()
    body = response.json()
    assert (response.status_code, body["output"], body["withheld"]) == (200, "clear", False)
    assert body["annotation"]["rules"] == [{"rule_id": RULE, "version": 1}]
    header = 'PRAMANA-2; present="capability knowledge"; missing="proof"; review=?0'
    assert response.headers["pramana-authenticity"] == header
    state = read_state(served.get("/state").content)
    found = check_claim(open_annotation(body["annotation"]), state)
    assert found.level == "PRAMANA-2"


def test_a_question_amiss_is_answered_with_what_is_wrong_about_it(served: Served) -> None:
    """And no more: it is no fault of the node, which its switch would count."""
    response = served.post("/query", {"query_type": "rule", "question": {}}, served.node.amira)
    assert "rule_id" in refused(response, 422, "delivery.question")["detail"]
    missing = {"query_type": "verdict", "question": {"telemetry_id": "NO-SUCH"}}
    refused(served.post("/query", missing, served.node.amira), 404, "flow.not_found")


@pytest.mark.clause("pramana", "14.6")
def test_the_floor_is_kept_by_the_server(served: Served) -> None:
    """Whatever the client says; the output is nowhere in the response."""
    change = PrincipalChange(authenticity_level_floor=3)
    node = served.node
    amend_principal(node.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=node.desk.start)
    response = served.ask()
    body = response.json()
    assert (response.status_code, body["output"], body["withheld"]) == (200, None, True)
    assert (body["authenticity_level"], body["computed_level"]) == ("PRAMANA-0", "PRAMANA-2")
    assert "clear" not in response.text
    assert response.headers["pramana-authenticity"].startswith("PRAMANA-0")
    asked = {"query_type": SLUG, "question": {}, "authenticity_level_floor": 0}
    refused(served.post("/query", asked, node.amira), 422, "http.fields")


def test_an_answer_that_waits_for_people_is_given_out_when_they_answered(served: Served) -> None:
    """Withheld with the decision of the gates; the same answer afterwards, for its asker alone."""
    node = served.node
    node.query("vessel.scuttle", risk_tier=RiskTier.DELETE)
    node.desk.add("user:otto", roles=("ops_team",))
    change = PrincipalChange(risk_ceiling=RiskTier.DELETE)
    amend_principal(node.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=node.desk.at(minutes=2))
    held = served.post("/query", {"query_type": "vessel.scuttle", "question": {}}, node.amira).json()
    annotation = held["annotation"]
    assert (held["output"], held["withheld"], annotation["gate"]["decision"]) == (None, True, "ESCALATE")
    [(ticket, _)] = list_tickets(node.tools, looking(None, at=node.desk.at(minutes=5)))
    node.accept(ticket, by=node.desk.session("user:otto"), choice="approve")
    served.at(13)
    place = f"/query/{annotation['answer_id']}/resume"
    refused(served.post(place, {}, node.rita), 404, "flow.not_found")
    given = served.post(place, {}, node.amira)
    assert (given.status_code, given.json()["output"]) == (200, "clear")
    assert given.json()["annotation"]["gate"]["decision"] == "PUBLISH"
    refused(served.post("/query/ans_none/resume", {}, node.amira), 404, "flow.not_found")


def test_questions_are_refused_by_their_reason(served: Served) -> None:
    node = served.node
    refused(served.post("/query", {"query_type": SLUG}), 401, "identity.not_signed_in")
    refused(served.ask(node.sam), 403, "registry.tier_closed")
    refused(served.post("/query", {"query_type": "none"}, node.amira), 404, "delivery.no_answerer")
    refused(served.post("/query", {}, node.amira), 422, "http.fields")
    narrow, _ = _key(node, "service:narrow", scopes=("truth:read",))
    refused(served.ask(narrow), 403, "identity.scope")


@pytest.mark.clause("pramana", "14.2")
@pytest.mark.clause("pramana", "7.4.1")
def test_outcomes_are_counted_once_and_only_from_who_may_report(served: Served) -> None:
    first, again = served.report(key="k"), served.report(key="k")
    assert (first.status_code, again.status_code) == (201, 201)
    assert (first.content, again.headers["assay-is-kept"]) == (again.content, "true")
    refused(served.report("success", key="k"), 422, "request.key_reused")
    refused(served.post("/phala", served.node.signal()), 401, "identity.not_signed_in")
    refused(served.report(by=served.node.amira), 403, "delivery.outcome_source")
    refused(served.report(rule_id="MAR-0"), 404, "delivery.unknown_rule")
    refused(served.post("/phala", b"[]", served.node.bell), 422, "delivery.outcome")
    assert served.node.counters().total == 1


@pytest.mark.clause("pramana", "7.4.2")
def test_outcomes_that_wait_together_take_no_thread_each_and_are_each_told_their_own(served: Served) -> None:
    """Two threads serve them all: while the disk is slow the others wait in line, a repeated and a foreign one too."""
    desk: Desk = served.client.app.state["desk"]
    told = [{"query_context": f"trip {number}"} for number in range(8)]
    told += [told[0], {"rule_id": "INF-LL-001"}]
    jobs: list[Callable[[], object]] = [partial(served.report, "success", **one) for one in told]
    answers: list[object] = []
    runner = threading.Thread(target=lambda: answers.extend(at_once(jobs)))
    with held(served.node.tools.database):
        runner.start()
        wait_until(lambda: desk.gathered["outcome.report"].queue_length == len(jobs) - 2)
        assert desk.actors.busy == 0
    runner.join()
    found = [answer for answer in answers if isinstance(answer, httpx.Response)]
    assert sorted(answer.status_code for answer in found) == [200, *[201] * 8, 403]
    numbers = {answer.json()["sequence_number"] for answer in found[:8]}
    assert len(numbers) == 8
    assert found[8].json()["sequence_number"] == found[0].json()["sequence_number"]
    assert served.node.counters().total == 8


def test_the_outcome_of_an_answer_is_counted_by_a_thread_of_its_own(served: Served) -> None:
    """It may have the answer worked out again; whoever reports beside it does not wait for that."""
    answer_id = served.ask().json()["annotation"]["answer_id"]
    first, again = (served.report("success", answer_id=answer_id) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["sequence_number"] == again.json()["sequence_number"]
    assert served.node.counters().total == 1


def _opened(served: Served, **chosen: Any) -> str:  # noqa: ANN401  any member
    """By three failures, of which only the last has members that were chosen: an answer has one outcome."""
    for number in range(2):
        served.report(key=f"k{number}")
    item_id = served.report(key="k2", **chosen).json()["rules"][0]["item_id"]
    assert isinstance(item_id, str)
    return item_id


@pytest.mark.clause("pramana", "11.10")
@pytest.mark.clause("pramana", "14.5")
def test_a_person_concludes_and_nothing_else_does(served: Served) -> None:
    answer_id = served.ask().json()["annotation"]["answer_id"]
    item_id = _opened(served, answer_id=answer_id)
    node = served.node
    [listed] = served.own("/root-causes?open=true", node.rita).json()["items"]
    assert listed["item"]["item_id"] == item_id
    shown = served.own(f"/root-causes/{item_id}", node.rita).json()
    assert shown["item"]["rule_content"] == TEXT
    said = {
        "failure_category": "C",
        "siddhanta": "too lenient",
        "corrected_rule": "At least 15 %.",
        "seen": shown["ticket"]["shown_hash"],
    }
    path = f"/root-causes/{item_id}/conclusion"
    refused(served.post_own(path, said), 401, "identity.not_signed_in")
    refused(served.post_own(path, said, node.bell), 403, "identity.role")
    robot, _ = _key(node, "user:rob", kind=PrincipalKind.PERSON, roles=("reviewer",))
    refused(served.post_own(path, said, robot), 403, "identity.session_required")
    refused(served.post_own(path, {**said, "failure_category": "A"}, node.rita), 422, "delivery.conclusion")
    refused(served.post_own(path, {**said, "seen": "sha256:" + "0" * 64}, node.rita), 409, "review.stale_ticket")
    refused(served.post_own("/root-causes/rca_none/conclusion", said, node.rita), 404, "flow.not_found")
    done = served.post_own(path, said, node.rita)
    assert (done.status_code, done.json()["conclusion"]["concluded_by"]) == (201, "user:rita")
    [pair] = served.get("/pairs", node.olga).json()
    assert pair["training_pair_id"] == done.json()["pair_id"]
    stages = [one["stage"] for one in served.own(f"/trace/{answer_id}", node.olga).json()["trace"]["loops"]]
    assert stages == ["query", "delivery", "outcome", "root_cause"]
    rule = served.own(f"/rules/{RULE}", node.olga).json()
    assert (rule["tally"]["failure"], rule["item_id"]) == (3, None)
    assert [one["rule_id"] for one in served.own("/rules", node.olga).json()["items"]] == [RULE]


def test_what_tells_of_others_is_for_those_who_may_see_all(served: Served) -> None:
    for path in ("/rules", f"/rules/{RULE}", "/root-causes", "/root-causes/x", "/trace/x", "/pairs"):
        refused(served.own(path, served.node.amira), 403, "identity.role")
    refused(served.get("/pairs", served.node.amira), 403, "identity.role")
    for path, code in (
        ("/rules/NO", "delivery.unknown_rule"),
        ("/trace/x", "flow.not_found"),
        ("/root-causes/x", "flow.not_found"),
    ):
        refused(served.own(path, served.node.olga), 404, code)


def test_a_round_puts_waiting_items_before_people(served: Served) -> None:
    """A round finds nothing to do for an item that was asked at once, and does no harm."""
    item_id = _opened(served)
    tend_answers(served.client.app.state.desk)
    assert served.node.ticket_of(item_id).about == item_id
    done = served.node.report("success", key="z")
    assert isinstance(done, Reported)


@pytest.mark.clause("pramana", "10.4")
def test_a_round_has_the_trainer_take_what_waits_and_leaves_it_to_a_server_that_stops(served: Served) -> None:
    """The job of one pair: a server that is stopping takes none, and the next one says what came of it."""
    item_id = _opened(served)
    served.node.conclude(item_id)
    [job] = trigger_training(served.node.tools, TENANT, size=1, at=served.clock.now())
    desk = served.client.app.state.desk
    desk.stopping.set()
    take_training(desk)
    assert list_jobs(served.node.tools, TENANT)[0].result is None
    desk.stopping.clear()
    take_training(desk)
    [done] = list_jobs(served.node.tools, TENANT)
    assert (done.job.job_id, done.result is not None and done.result.state) == (job.job_id, "passed_over")


def _key(
    node: Delivery,
    name: str,
    *,
    kind: PrincipalKind = PrincipalKind.SERVICE,
    roles: tuple[str, ...] = (),
    scopes: tuple[str, ...] = ("*",),
) -> tuple[str, object]:
    node.desk.add(name, kind=kind, roles=roles, trust_mask=2, action_tier=1)
    return issue_api_key(node.tools, TENANT, PrincipalId(name), scopes=scopes, by=ADMIN, at=node.desk.start)


@pytest.mark.clause("pramana", "12.8")
@pytest.mark.clause("pramana", "12.9")
def test_what_is_worth_a_look_is_listed_for_those_who_see_all(served: Served) -> None:
    """Shortfalls and sessions by page, alerts by the bounds that the asker sets; nobody else sees any."""
    node = served.node
    node.query("vessel.sure", answerer=SLUG, expected_level=Level.AUTHENTIC)
    short = [node.ask(slug="vessel.sure").answer_id for _ in range(2)]
    for number in range(2):
        node.report("success", key=f"a{number}", session_id=f"s{number}")
        node.report("failure", key=f"b{number}", session_id=f"s{number}")
    first = served.own("/shortfalls?limit=1", node.olga).json()
    assert [one["answer_id"] for one in first["items"]] == short[:1]
    rest = served.own(f"/shortfalls?cursor={first['next']}", node.olga).json()
    assert ([one["answer_id"] for one in rest["items"]], rest["next"]) == (short[1:], None)
    page = served.own("/outcome-sessions?limit=1", node.olga).json()
    assert [(one["session"], one["signals"]) for one in page["items"]] == [("session:s0", 2)]
    rest = served.own(f"/outcome-sessions?cursor={page['next']}", node.olga).json()
    assert ([one["session"] for one in rest["items"]], rest["next"]) == (["session:s1"], None)
    told = served.own("/outcome-sessions/session:s1", node.olga).json()["items"]
    assert [one["outcome"] for one in told] == ["success", "failure"]
    refused(served.own("/outcome-sessions/session:none", node.olga), 404, "flow.not_found")
    assert served.own("/rule-alerts", node.olga).json() == {"items": [], "next": None}
    [alert] = served.own("/rule-alerts?min_total=4&min_confidence=0.75", node.olga).json()["items"]
    assert (alert["alert"]["rule_id"], alert["alert"]["confidence"]) == (RULE, 0.5)
    for path in ("/shortfalls", "/outcome-sessions", "/rule-alerts", "/outcome-sessions/session:s1"):
        refused(served.own(path, node.amira), 403, "identity.role")
    refused(served.own("/rule-alerts?min_confidence=2", node.olga), 422, "http.fields")


def test_a_question_that_waits_for_people_names_their_tickets_in_a_header(served: Served) -> None:
    """The body keeps the members of the specification; nothing waits, no header."""
    node = served.node
    node.query("vessel.scuttle", answerer=SLUG, risk_tier=RiskTier.DELETE)
    node.desk.add("user:otto", roles=("ops_team",))
    change = PrincipalChange(risk_ceiling=RiskTier.DELETE)
    amend_principal(node.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=node.desk.at(minutes=4))
    asked = {"query_type": "vessel.scuttle", "question": {"ship": "Ada"}}
    held = served.post("/query", asked, node.amira)
    again = served.own(f"/answers/{held.json()['annotation']['answer_id']}", node.amira).json()
    assert again["withheld"] is held.json()["withheld"] is True
    named = held.headers["assay-tickets"].split(", ")
    opened = {one["ticket"]["id"] for one in served.own("/tickets", node.desk.session("user:otto")).json()["items"]}
    assert set(named) == opened
    assert "assay-tickets" not in served.ask().headers


def test_an_answerer_that_hangs_delays_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more questions to it than the server has threads: other questions and changes are answered meanwhile."""
    monkeypatch.setattr(time_limit, "_places", {})
    ended = threading.Event()
    with opened_delivery(tmp_path) as node:
        ready = node.ready().answering(lambda _question: ended.wait(60), "hangs")
        tools = replace(ready.tools, clock=MovedClock(ready.desk.at(minutes=4)))
        with TestClient(create_app(tools, load_config(tmp_path / "node"))) as client:
            served = Served(node=ready, client=client, clock=MovedClock(ready.desk.at(minutes=4)))
            hung = [
                threading.Thread(target=served.post, args=("/query", {"query_type": "hangs", "question": {}}, by))
                for by in [ready.amira, ready.bell] * 40
            ]
            try:
                for thread in hung:
                    thread.start()
                wait_until(lambda: client.app.state.desk.judges.busy >= 16)
                started = monotonic()
                assert served.ask().status_code == 200
                assert served.report().status_code == 201
                assert monotonic() - started < 15
            finally:
                ended.set()
            for thread in hung:
                thread.join(60)
