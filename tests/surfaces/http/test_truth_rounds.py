"""The house keeps truth: what was recorded is compiled, windows end, states expire, and failures are told."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assay.flows.truth.compile_all import CompiledAll
from assay.flows.truth.compile_truth import StuckKey
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.surfaces.http.rounds import age_truth, compile_stale, score_new
from tests.flows._node import TENANT, append_notes
from tests.flows._questions import rows_of
from tests.flows._truth import Says, critical_flood
from tests.surfaces.http._house import OTHER, House, opened_house, refused


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path) as one:
        yield one


def _stale(house: House) -> list[str]:
    return house.truth.read(lambda unit: list(unit.truth.keys(TENANT, stale_only=True)))


def _scores(house: House) -> list[str]:
    return sorted(body["record"]["stage"] for body in house.truth.entries(EntryKind.AI_SCORE_RECORDED))


def _status(house: House) -> str:
    answer = house.get(f"/truthstates/{house.truth.truthkey}", key=house.relay)
    return str(answer.json()["status"])


def test_what_was_recorded_is_compiled_without_anybody_asking(house: House) -> None:
    """One round leaves no stale key; the next finds nothing to do and appends nothing."""
    assert house.post("/observations", house.truth.report("user:ann"), key=house.relay).status_code == 201
    refused(house.get(f"/truthstates/{house.truth.truthkey}", key=house.relay), 404, "flow.not_found")
    assert _stale(house) == [house.truth.truthkey]
    compile_stale(house.desk)
    assert _stale(house) == []
    assert _status(house) != "UNVERIFIED"
    head = house.truth.head()
    compile_stale(house.desk)
    assert house.truth.head() == head
    assert house.sample("assay_truth_states_total", tenant="default", cause="record") == 1
    assert house.sample("assay_truth_stuck_keys", tenant="default", round="compile_stale") == 0


def test_a_quiet_round_looks_at_no_key(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server looks at all keys once; then at those with new records, however many there ever were."""

    def round_() -> int:
        return rows_of(monkeypatch, lambda: compile_stale(house.desk))

    def observe(name: str, lat: float) -> None:
        report = {**house.truth.report(name), "geo": {"lat": lat, "lon": 73.5}}
        assert house.post("/observations", report, key=house.relay).status_code == 201

    observe("user:ann", 4.0)
    compile_stale(house.desk)
    few = round_()
    for place in range(1, 5):
        observe(f"user:n{place}", 4.0 + place)
    assert len(_stale(house)) == 4
    compile_stale(house.desk)
    assert _stale(house) == []
    assert round_() == few


def test_a_key_that_could_not_be_compiled_is_tried_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each round, also when nothing new was recorded about it."""
    assert house.post("/observations", house.truth.report("user:ann"), key=house.relay).status_code == 201
    stuck = StuckKey(truthkey=house.truth.truthkey, code="x.y", problem="not now")
    with monkeypatch.context() as patched:
        done = CompiledAll(compiled=0, unchanged=0, trust_through=0, stuck=(stuck,))
        patched.setattr("assay.surfaces.http.rounds.compile_all", lambda *_args, **_named: done)
        for _ in range(2):
            compile_stale(house.desk)
            assert house.sample("assay_truth_stuck_keys", tenant="default", round="compile_stale") == 1
    compile_stale(house.desk)
    assert _stale(house) == []
    assert house.sample("assay_truth_stuck_keys", tenant="default", round="compile_stale") == 0


def test_a_window_that_is_over_gets_its_final_state(tmp_path: Path) -> None:
    """Nobody voted: the contract's default decides when time is up, and the ticket is closed."""
    with opened_house(tmp_path, contract=critical_flood()) as house:
        for name in ("user:ann", "user:ben", "user:cem"):
            house.truth.observe(name, claim_type="earth.flood.v2")
        house.truth.score(local_vision=0.95)
        compile_stale(house.desk)
        assert _status(house) == "PENDING_HUMAN_REVIEW"
        due = house.truth.validation("12:45").due_at
        assert due is not None
        age_truth(house.desk)
        assert _status(house) == "PENDING_HUMAN_REVIEW"
        house.clock.at = due
        age_truth(house.desk)
        assert _status(house) in {"INCONCLUSIVE", "VERIFIED_FALSE", "VERIFIED_TRUE", "EXPIRED"}
        path = f"/api/v1/states/{house.truth.truthkey}/question"
        refused(house.get(path, key=house.truth.operator), 404, "flow.not_found")
        assert house.sample("assay_truth_states_total", tenant="default", cause="time") == 1


def test_a_state_expires_when_its_validity_ends(house: House) -> None:
    house.truth.observe("user:ann")
    compile_stale(house.desk)
    house.at("400T12:00")
    assert _status(house) != "EXPIRED"
    age_truth(house.desk)
    assert _status(house) == "EXPIRED"
    head = house.truth.head()
    age_truth(house.desk)
    assert house.truth.head() == head


def test_a_tenant_that_cannot_compile_holds_up_no_other(tmp_path: Path) -> None:
    """Without a policy nothing can be compiled: that is counted, and a tenant with nothing to compile is not asked."""
    with opened_house(tmp_path, policy=None) as house:
        append_notes(house.tools, 1, tenant=OTHER)
        house.truth.observe("user:ann")
        compile_stale(house.desk)
        labels = {"round": "compile_stale", "code": "trust.no_policy"}
        assert house.sample("assay_round_failures_total", **labels) == 1
        assert _stale(house) == [house.truth.truthkey]


@dataclass
class _Passing:
    """A clock of which each look is at a later time."""

    times: Iterator[Instant]

    def now(self) -> Instant:
        return next(self.times)


def test_a_key_that_somebody_compiled_meanwhile_is_compiled_again_and_is_no_failure(house: House) -> None:
    """The instant of a round is that of its beginning; only a clock that stays behind is something to tell."""
    house.truth.observe("user:ann")
    house.at("12:35")
    compile_stale(house.desk)
    house.truth.observe("user:ben")
    house.at("12:31")
    compile_stale(house.desk)
    assert house.sample("assay_truth_stuck_keys", tenant="default", round="compile_stale") == 1
    passing = _Passing(house.truth.now(time) for time in ("12:31", "12:36"))
    compile_stale(replace(house.desk, tools=replace(house.desk.tools, clock=passing)))
    assert _stale(house) == []
    assert house.sample("assay_truth_stuck_keys", tenant="default", round="compile_stale") == 0
    labels = {"round": "compile_stale", "code": "truth.compile_time"}
    assert house.sample("assay_round_failures_total", **labels) == 1


def test_a_node_without_a_truth_key_and_without_truth_keeps_house_quietly(house: House) -> None:
    """It was founded before there was one; as long as nothing is to be compiled, nothing is wrong."""
    desk = replace(house.desk, tools=replace(house.desk.tools, truth_signer=None))
    compile_stale(desk)
    age_truth(desk)
    text = [sample for metric in house.registry.collect() for sample in metric.samples]
    assert not [sample for sample in text if sample.name == "assay_round_failures_total"]


def test_machines_judge_each_new_observation_once(house: House) -> None:
    """As far as engines answer; what they said makes the key stale, and the next state counts it."""
    desk = replace(house.desk, engines=Says({"local_vision": 0.95}))
    house.truth.observe("user:ann")
    compile_stale(desk)
    assert _scores(house) == []
    score_new(desk)
    assert _scores(house) == ["bouncer", "generalist"]
    assert _stale(house) == [house.truth.truthkey]
    score_new(desk)
    assert len(_scores(house)) == 2
    house.truth.observe("user:ben")
    score_new(desk)
    assert len(_scores(house)) == 4
    labels = {"tenant": "default", "stage": "generalist", "code": ""}
    assert house.sample("assay_ai_scores_total", **labels) == 2


def test_an_engine_that_is_away_leaves_the_ladder_unfinished_and_is_counted(house: House) -> None:
    """Not asked again in every round, but by the next server; without any engines nobody is asked."""
    house.truth.observe("user:ann")
    score_new(house.desk)
    assert _scores(house) == []
    desk = replace(house.desk, engines=Says({}), asked={})
    score_new(desk)
    score_new(desk)
    assert _scores(house) == ["bouncer"]
    labels = {"tenant": "default", "stage": "generalist", "code": "validator.unavailable"}
    assert house.sample("assay_ai_scores_total", **labels) == 1
    score_new(replace(house.desk, engines=Says({"local_vision": 0.95}), asked={}))
    assert _scores(house) == ["bouncer", "generalist"]


def test_a_round_stops_when_the_server_does(house: House) -> None:
    house.truth.observe("user:ann")
    desk = replace(house.desk)
    desk.stopping.set()
    compile_stale(desk)
    score_new(replace(desk, engines=Says({})))
    assert (_stale(house), _scores(house)) == ([house.truth.truthkey], [])
