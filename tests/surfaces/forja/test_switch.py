"""The switch of a running service: it fires by itself, holds, and opens for a person."""

import itertools
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import assay
from assay.adapters.service_file import ServiceFile
from assay.flows.registry.service_desk import NodeDesk
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.registry.health import Outcome
from assay.registry.trip import Fired, SwitchRule
from assay.surfaces.forja.folder_desk import FolderDesk
from assay.surfaces.forja.service import Service, ServiceRule
from assay.wiring import init_node
from tests.acting import request_tier
from tests.contract._kit import refused
from tests.flows._people import TENANT
from tests.registry.codex import codex
from tests.surfaces.forja._service import AGENT, FRAMEWORKS, Failing, House, make_app, opened_house
from tests.surfaces.http._house import MovedClock

_FORJA = "/api/v2/forja"
_PROBLEM = "application/problem+json"


@pytest.fixture(params=FRAMEWORKS)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path, request.param) as opened:
        yield opened


def _restore(house: House, token: str) -> tuple[int, str | None]:
    answer = house.call("POST", f"{_FORJA}/trust/restore", json={"human_session_token": token})
    return answer.status_code, answer.json().get("code")


@pytest.mark.clause("forja", "FRJ-013")
@pytest.mark.clause("forja", "kill-switch")
def test_errors_take_writing_away_at_once_and_leave_reading(house: House) -> None:
    """4xx are not errors, nor are the protocol's own endpoints; the fiftieth failure is one too many."""
    for _ in range(60):
        house.call("GET", f"{_FORJA}/nothing")
    house.fail(49)
    assert house.as_agent("POST", "/ack/a-1").status_code == 200
    house.fail(1)
    answer = house.as_agent("POST", "/ack/a-2")
    assert (answer.status_code, answer.json()["code"]) == (403, "registry.tier_closed")
    sense = house.sense()
    assert (sense["security"]["kill_switch_active"], sense["security"]["current_trust_tier"]) == (True, 1)
    assert sense["health"]["status"] == "fired"
    assert house.call("GET", "/ping").text == "pong"
    assert house.done == ["a-1"]


@pytest.mark.clause("forja", "kill-switch")
def test_it_stays_fired_after_a_restart_and_for_every_other_worker(house: House, tmp_path: Path) -> None:
    house.fail(60)
    house.agent.service.tick()
    done: list[str] = []
    app, bind = make_app("plain", done)
    node = NodeDesk(tools=house.desk.tools, tenant_id=TENANT)
    other = assay.attach(app, tmp_path / "codex.json", node=node)
    bind(other)
    second = House(other, house.desk, house.key, done)
    assert second.sense()["security"]["kill_switch_active"] is True
    assert second.as_agent("POST", "/ack/a-1").json()["code"] == "registry.tier_closed"
    assert done == []
    other.stop()
    other.service.memory.close()


@pytest.mark.clause("forja", "kill-switch")
def test_a_second_memory_of_the_same_service_is_refused_at_its_node(tmp_path: Path) -> None:
    """Wherever its codex.json lies: with two memories a switch that fired in one would hold in one."""
    init_node(tmp_path / "node")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "codex.json").write_bytes(codex())
    node = tmp_path / "node"
    first = assay.attach(make_app("plain", [])[0], tmp_path / "a" / "codex.json", node=node)
    with refused("store.other_memory"):
        assay.attach(make_app("plain", [])[0], tmp_path / "b" / "codex.json", node=node)
    assert [one.name for one in (tmp_path / "b").iterdir()] == ["codex.json"]
    memory = tmp_path / "a" / f"{first.service.manifest.service}.forja.db"
    second = assay.attach(make_app("plain", [])[0], tmp_path / "b" / "codex.json", node=node, memory=memory)
    for agent in (first, second):
        agent.service.memory.close()
        assert isinstance(agent.service.desk, FolderDesk)
        agent.service.desk.close()


@pytest.mark.clause("forja", "kill-switch")
def test_what_fired_elsewhere_in_its_name_holds_here_by_way_of_the_node(tmp_path: Path) -> None:
    """A worker of another folder or machine has a memory of its own; the node has the firing on record, and people."""
    far = tmp_path / "far"
    far.mkdir()
    with opened_house(tmp_path, "plain") as house:
        (far / "codex.json").write_bytes((tmp_path / "codex.json").read_bytes())
        node = NodeDesk(tools=house.desk.tools, tenant_id=TENANT)
        done: list[str] = []
        app, bind = make_app("plain", done)
        other = assay.attach(app, far / "codex.json", node=node, rule=ServiceRule(tick_seconds=60))
        bind(other)
        second = House(other, house.desk, house.key, done)
        house.fail(60)
        house.agent.service.tick()
        other.service.tick()
        assert second.as_agent("POST", "/ack/a-1").json()["code"] == "registry.tier_closed"
        assert _restore(house, house.desk.session("user:olga"))[0] == 200
        for _ in range(2):
            other.service.tick()
        assert second.as_agent("POST", "/ack/a-1").status_code == 200
        other.stop()
        other.service.memory.close()


@pytest.mark.clause("forja", "kill-switch")
def test_only_a_persons_token_restores_it_and_old_errors_are_forgotten(house: House) -> None:
    house.fail(60)
    house.agent.service.tick()
    for token in ("", "st_forged", "a.b", house.key):
        assert _restore(house, token) == (401, "identity.not_signed_in")
    assert house.sense()["security"]["kill_switch_active"] is True
    assert _restore(house, house.desk.session("user:olga")) == (200, None)
    sense = house.sense()
    assert (sense["security"]["kill_switch_active"], sense["security"]["current_trust_tier"]) == (False, 3)
    house.fail(2)
    assert house.as_agent("POST", "/ack/a-1").status_code == 200
    assert _restore(house, house.desk.session("user:olga")) == (409, "registry.restore")
    assert _restore(house, "st_forged") == (401, "identity.not_signed_in")


def test_an_answer_at_the_nodes_own_desk_restores_it_too(house: House) -> None:
    """The ticket was opened by the round that stored the firing; the next round sees the answer."""
    house.fail(60)
    service = house.agent.service
    service.tick()
    (ticket,) = house.desk.read(lambda unit: unit.review.tickets(TENANT, unsettled_only=True))
    now = service.clock.now()
    house.desk.answer(ticket, house.desk.session("user:olga"), "restore", at=now, follow_ups=ROOM_FOLLOW_UPS)
    service.tick()
    service.tick()
    assert not service.switch.is_fired


@pytest.mark.clause("forja", "kill-switch")
def test_a_person_fires_it_by_hand(house: House) -> None:
    session = {"authorization": f"Bearer {house.desk.session('user:olga')}"}
    path, body = f"{_FORJA}/trust/fire", {"reason": "strange bookings"}
    assert house.call("POST", path, json=body).status_code == 401
    assert house.call("POST", path, json=body, headers={"x-api-key": house.key}).status_code == 401
    assert house.call("POST", path, json=body, headers=session).json() == {"fired": True, "episode": 1}
    assert house.as_agent("POST", "/ack/a-1").json()["code"] == "registry.tier_closed"


@pytest.mark.clause("forja", "kill-switch")
def test_a_self_test_shows_that_it_would_fire_and_be_stored_and_fires_nothing(tmp_path: Path) -> None:
    memory = Failing(ServiceFile(tmp_path / "m.db"))
    with opened_house(tmp_path, "plain", memory=memory) as house:

        def ask(**headers: str) -> tuple[int, dict[str, object]]:
            answer = house.call("POST", f"{_FORJA}/trust/self-test", headers=headers)
            return answer.status_code, answer.json()

        key = {"x-api-key": house.key}
        assert ask(**key) == (200, {"passes": True, "enabled": True})
        assert ask()[0] == 401
        service = house.agent.service
        assert not service.switch.is_fired
        assert memory.read(lambda store: store.facts(service.tenant_id, "portwatch-backend")) == ()
        service.rule = ServiceRule(switch=SwitchRule(enabled=False))
        assert ask(**key) == (200, {"passes": False, "enabled": False})
        memory.is_gone = True
        assert ask(**key)[0] == 503
        memory.is_gone = False


@pytest.mark.clause("forja", "kill-switch")
def test_losing_the_shared_file_does_not_open_it(house: House, tmp_path: Path) -> None:
    """The node has the firing on record, and a worker that starts with an empty memory asks it."""
    house.fail(60)
    house.agent.service.tick()
    app, _ = make_app("plain", [])
    node = NodeDesk(tools=house.desk.tools, tenant_id=TENANT)
    other = assay.attach(app, tmp_path / "codex.json", node=node, memory=tmp_path / "new.db")
    assert other.service.switch == house.agent.service.switch
    assert other.service.switch.is_fired
    other.service.memory.close()


@pytest.mark.clause("forja", "kill-switch")
def test_a_worker_that_hears_late_of_a_restore_keeps_what_failed_after_it(tmp_path: Path) -> None:
    """One worker fires and a person restores; the other fails meanwhile, and knows of neither."""
    with opened_house(tmp_path, "plain") as house:
        node = NodeDesk(tools=house.desk.tools, tenant_id=TENANT)
        late, first = house.agent.service, assay.attach(make_app("plain", [])[0], tmp_path / "codex.json", node=node)
        _fail(first.service)
        first.service.tick()
        restored = node.restore(
            _firing(first.service), credential=house.desk.session("user:olga"), at=first.service.clock.now()
        )
        late.clock = MovedClock(Instant(restored.restored_at + timedelta(seconds=5)))
        _fail(late)
        late.tick()
        late.tick()
        assert (late.switch.episode, late.switch.is_fired) == (2, True)
        first.stop()
        first.service.memory.close()


def test_a_worker_that_is_long_gone_leaves_no_row_behind(tmp_path: Path) -> None:
    """Each start is a new worker, so that rows nobody drops would grow with every restart."""
    with opened_house(tmp_path, "plain") as house:
        gone, start = house.agent.service, house.agent.service.clock.now()
        gone.tick()
        node = NodeDesk(tools=house.desk.tools, tenant_id=TENANT)
        next_one = assay.attach(make_app("plain", [])[0], tmp_path / "codex.json", node=node)
        service = next_one.service
        service.clock = MovedClock(Instant(start + timedelta(days=2)))
        service.tick()
        rows = service.memory.read(lambda store: store.counts(service.tenant_id, "portwatch-backend", since=start))
        assert [one.worker_id for one in rows] == [service.worker_id]
        next_one.stop()
        service.memory.close()


@pytest.mark.clause("forja", "kill-switch")
def test_a_clock_that_was_put_back_does_not_blind_the_switch(tmp_path: Path) -> None:
    with opened_house(tmp_path, "plain") as house:
        service = house.agent.service
        now = service.clock.now()
        service.clock = MovedClock(Instant(now + timedelta(hours=1)))
        service.observe(Outcome.SERVED, is_agent=False)
        service.clock = MovedClock(now)
        _fail(service)
        assert service.switch.is_fired


@pytest.mark.clause("forja", "FRJ-005")
@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_routes_without_an_action_are_ruled_on_by_their_method_where_that_is_asked_for(
    tmp_path: Path, framework: str
) -> None:
    """Reading is tier 1 and writing tier 2, `/admin/` and other methods are off; for machines that the node knows."""
    with opened_house(tmp_path, framework, rule_routes=True) as house:

        def code(method: str, path: str, **headers: str) -> str | None:
            answer = house.call(method, path, headers=headers)
            return answer.json().get("code") if answer.headers.get("content-type") == _PROBLEM else None

        key, session = {"x-api-key": house.key}, {"authorization": f"Bearer {house.desk.session('user:olga')}"}
        assert [code(method, "/ping", **key) for method in ("GET", "POST", "DELETE")] == [None, None, "FRJ-005"]
        assert code("GET", "/Admin/users", **key) == "FRJ-005"
        house.fail(60)
        assert [code(method, "/ping", **key) for method in ("GET", "POST")] == [None, "registry.tier_closed"]
        for others in ({}, session, {"x-api-key": "somebody.else"}):
            assert code("POST", "/ping", **others) is None


def _fail(service: Service) -> None:
    for _ in range(60):
        service.observe(Outcome.FAILED, is_agent=False)


def _firing(service: Service) -> Fired:
    assert service.switch.fired is not None
    return service.switch.fired


class AgentRequests(RuleBasedStateMachine):
    """Whatever an agent sends, in whatever order: its power never grows, and a fired switch stays fired."""

    house: House
    was_fired = False

    @rule(
        path=st.sampled_from(["/trust", "/trust/restore", "/trust/fire", "/sense/emit", "/announce", "/state"]),
        body=st.one_of(
            st.fixed_dictionaries(
                {"action_id": st.sampled_from(["ALERT_ACK", "BERTH_ASSIGN"]), "requested_tier": st.integers(-1, 9)}
            ),
            st.fixed_dictionaries({"human_session_token": st.sampled_from(["", "st_x", "KEY"])}),
            st.fixed_dictionaries({"reason": st.text(max_size=5)}),
            st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
        ),
    )
    def send(self, path: str, body: dict[str, object]) -> None:
        said = {name: self.house.key if value == "KEY" else value for name, value in body.items()}
        self.house.call("POST", f"{_FORJA}{path}", json=said, headers={"x-api-key": self.house.key})

    @rule(tier=st.sampled_from(["0", "1", "2", "3", "x"]), mask=st.sampled_from(["0", "4", "0xffffffff"]))
    def act(self, tier: str, mask: str) -> None:
        self.house.as_agent("POST", "/ack/a", x_forja_tier=tier, x_forja_mask=mask)

    @rule(tier=st.integers(0, 3))
    def ask_for_a_tier(self, tier: int) -> None:
        """FRJ-015: a question that an agent cannot even ask."""
        desk = self.house.desk
        with refused("identity.session_required", "identity.role"):
            request_tier(
                desk.tools, PrincipalId(AGENT), tier, reason="more", credential=self.house.key, at=desk.at(minutes=1)
            )

    @rule()
    def fail(self) -> None:
        self.house.fail(50)

    @rule()
    def meet(self) -> None:
        self.house.agent.service.tick()

    @invariant()
    def power_never_grows(self) -> None:
        service = self.house.agent.service
        assert service.switch.is_fired or not self.was_fired
        self.was_fired = service.switch.is_fired
        assert service.power().active_tier <= (1 if self.was_fired else 3)
        own = self.house.as_agent("GET", f"{_FORJA}/trust/{AGENT}").json()
        assert own["trust_mask"] == self.house.mask
        found = self.house.desk.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId(AGENT)))
        assert found is not None
        assert (found.action_tier, found.version) == (2, 1)
        assert own["can_execute"] == ([] if self.was_fired else ["ALERT_ACK"])


@pytest.mark.clause("forja", "FRJ-011")
@pytest.mark.clause("forja", "FRJ-015")
@pytest.mark.clause("forja", "kill-switch")
def test_no_sequence_of_an_agents_requests_gives_it_power(tmp_path: Path) -> None:
    runs = itertools.count()

    class Machine(AgentRequests):
        def __init__(self) -> None:
            super().__init__()
            folder = tmp_path / str(next(runs))
            folder.mkdir()
            self.opened = opened_house(folder, "plain")
            self.house = self.opened.__enter__()

        def teardown(self) -> None:
            self.opened.__exit__(None, None, None)

    run_state_machine_as_test(Machine, settings=settings(max_examples=8, stateful_step_count=12, deadline=None))
