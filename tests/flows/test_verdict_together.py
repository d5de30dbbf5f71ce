"""Records that come together share one unit of work, and nothing about any of them is different for it."""

import json
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.adapters.reasoning.scripted import ScriptedReasoner
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts import evaluate as evaluating
from assay.flows.verdicts.evaluate import Evaluated, evaluate_all
from assay.flows.verdicts.intake import Submission
from assay.flows.verdicts.judge_records import judge_records
from assay.flows.verdicts.shelves import SubjectLocks
from assay.identity.credential import parse_api_key
from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.ledger import EntryKind
from assay.ports.model import ModelError, ModelWeightsError
from assay.verdicts.envelope import ModelAnswer, Verdict, VerdictPath
from assay.verdicts.reason import RawReply, ReasonRequest
from tests.acting import add_principal, caller_of, issue_api_key, revoke_api_key
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._people import ADMIN, FailingAtTheEnd, LostError, at_once
from tests.flows._together import together
from tests.flows._verdicts import WEIGHTS, HonestModel, VerdictDesk, graph_document, opened_verdicts, rule
from tests.scale import scale
from tests.verdict_calls import evaluate_many

_RULES = (
    rule("low", "low"),
    rule("medium", value=30),
    rule("high", "high", value=40),
    rule("average", kind="must_average_within", value=[0, 20], window_seconds=60),
    rule("quiet", "low", subject="plain"),
    rule(
        "often",
        kind="must",
        value=None,
        subject="counted",
        predicate={"name": "window_count", "op": "lte", "value": 4, "seconds": 90},
    ),
)
_SUBJECTS = ("stack", "plain", "counted", "nobody")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


@dataclass
class _Still:
    """A clock that stands, and ids that count: two nodes that do the same write the same."""

    instant: Instant
    count: int = 0

    def now(self) -> Instant:
        return self.instant

    def token(self, size: int) -> bytes:
        self.count += 1
        return self.count.to_bytes(size, "big")


@dataclass
class _BatchModel:
    """Implements `BatchReasoner`, and remembers how much it was asked at once."""

    one: ScriptedReasoner
    batches: list[int] = field(default_factory=list)

    def identify(self) -> Any:  # noqa: ANN401 - whatever the other says
        return self.one.identify()

    def complete(self, request: ReasonRequest) -> RawReply:
        return self.one.complete(request)

    def complete_many(self, requests: Sequence[ReasonRequest]) -> list[RawReply | ModelError]:
        self.batches.append(len(requests))
        return [self.one.complete(request) for request in requests]


def _lie(answer: ModelAnswer) -> ModelAnswer:
    return replace(answer, verdict=Verdict.FLAG if answer.verdict is Verdict.CLEAR else Verdict.CLEAR)


def _script(request: ReasonRequest) -> str:
    """Tells the truth, but for records that are marked."""
    return HonestModel(graph_document(*_RULES), lie=_lie if '"liar"' in request.prompt else None)(request)


def _lines(start: Instant, seed: int, count: int) -> list[str]:
    """Records of several subjects, some late, some a second time, some that are refused."""
    chance, lines = random.Random(seed), list[str]()  # noqa: S311 - which records, not secrets
    for number in range(count):
        second = number * 10 - chance.choice((0, 0, 0, 25, 120))
        measurement: dict[str, object] = {"so2": chance.choice((5, 5, 25, 33, 50))}
        if chance.random() < 0.1:
            measurement["liar"] = True
        record = {
            "telemetry_id": f"t-{number}",
            "timestamp": render_instant(Instant(start + timedelta(seconds=second))),
            "subject": chance.choice(_SUBJECTS),
            "measurement": measurement,
        }
        lines.append(json.dumps(record))
        if number % 7 == 6:
            odd = (lines[-1], "{not json", json.dumps({**record, "measurement": {"so2": 1}}))
            lines.append(odd[number // 7 % 3])
    return lines


def _judged_copy(home: Path, name: str, run: Callable[[VerdictDesk], list[Evaluated]], model: str) -> tuple[Any, ...]:
    """What a copy of the node answers, and every row that its database has afterwards."""
    shutil.copytree(home / "node", home / name / "node")
    with opened_verdicts(home / name, is_new=False) as desk:
        desk.sensor = (home / "credential").read_text()
        still = _Still(parse_instant((home / "now").read_text()))
        desk.use(clock=still, entropy=still)
        desk.settings(fast_path_n=3, keep_seconds=150, agreement_window=10)
        scripted = ScriptedReasoner(_script, still, weight_hash=WEIGHTS)
        desk.use(reasoner=_BatchModel(scripted) if model == "batch" else scripted)
        answers = run(desk)
    with closing(sqlite3.connect(home / name / "node" / "assay.db")) as connection:
        rows = [line for line in connection.iterdump() if "INSERT INTO" in line]
    return answers, rows


@pytest.mark.clause("ski", "7.1")
@pytest.mark.parametrize("model", ["scripted", "batch"])
@pytest.mark.parametrize("seed", range(scale(2, 12)))
def test_what_is_recorded_together_is_byte_for_byte_what_is_recorded_one_by_one(
    tmp_path: Path, seed: int, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows, drops, counts of the fast path, the agreement rate, holds, tickets, refusals: all in the same order."""
    monkeypatch.setattr(evaluating, "_BRIEF_SECONDS", 3600.0)
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(*_RULES)
        (tmp_path / "credential").write_text(desk.sensor)
        count = scale(40, 120)
        # No record is of the future, however many there are.
        (tmp_path / "now").write_text(render_instant(Instant(desk.at(minutes=1) + timedelta(seconds=count * 10))))
        lines = _lines(desk.at(minutes=1), seed, count)

    def alone(opened: VerdictDesk) -> list[Evaluated]:
        return list(evaluate_many(opened.tools, lines, credential=opened.sensor))

    def in_blocks(opened: VerdictDesk) -> list[Evaluated]:
        return list(evaluate_many(opened.tools, lines, credential=opened.sensor, together=64))

    answers, rows = _judged_copy(tmp_path, "alone", alone, model)
    together_answers, together_rows = _judged_copy(tmp_path, "together", in_blocks, model)
    assert together_answers == answers
    assert together_rows == rows
    verdicts = [one for answer in answers if answer.decided for one in answer.decided.verdicts]
    assert {VerdictPath.FAST, None} == {one.envelope.verdict_path for one in verdicts if one.envelope is not None}
    assert any(one.ticket_id for one in verdicts)
    told = "".join(rows)
    assert all(name in told for name in ("telemetry.dropped", "agreement.degraded", "ticket.opened"))
    assert {answer.code for answer in answers} == {None, "json.malformed", "telemetry.conflict"}


def _all_lines(desk: VerdictDesk, lines: list[str]) -> list[Evaluated]:
    return list(evaluate_all(desk.tools, caller_of(desk.tools, desk.sensor, at=desk.tools.clock.now()), lines))


def test_lines_share_commits_and_questions(desk: VerdictDesk) -> None:
    """Of sixty lines most go into one unit of work, and a model that can is asked about them at once."""
    desk.judge_by(*_RULES)
    desk.settings(fast_path_n=0)
    asked = _BatchModel(ScriptedReasoner(_script, desk.tools.clock, weight_hash=WEIGHTS))
    desk.use(reasoner=asked)
    lines = [json.dumps(desk.record({"so2": 10}, name=f"t-{n}", subject="plain")) for n in range(60)]
    before = desk.tools.database.facts().commits
    answers = _all_lines(desk, lines)
    assert all(one.decided is not None and one.decided.is_new for one in answers)
    assert desk.tools.database.facts().commits - before < 20
    assert max(asked.batches) > 4


def test_callers_at_the_same_time_share_a_commit_and_each_has_its_own_answer(desk: VerdictDesk) -> None:
    """The same record twice is one verdict; another content under its id is refused, and costs nobody anything."""
    desk.judge_by(rule("limit"))
    jobs: list[Callable[[], object]] = [
        lambda n=n: desk.decide({"so2": n}, name=f"t-{min(n, 6)}")  # type: ignore[misc]  # bound at once
        for n in (0, 1, 2, 3, 4, 5, 6, 7)
    ]
    before = desk.tools.database.facts().commits
    done = together(desk.tools.database, None, jobs)
    # One is the test's own, which keeps the writer busy until all have come.
    assert desk.tools.database.facts().commits - before == 2
    assert sorted(str(getattr(one, "code", "")) for one in done) == [""] * 7 + ["telemetry.conflict"]
    assert len(desk.entries(EntryKind.VERDICT)) == 7
    numbers = {one.verdicts[0].sequence_number for one in done if hasattr(one, "verdicts")}
    assert len(numbers) == 7
    assert audit_ledger(desk.tools, TENANT, full=True).holds


def test_who_rests_on_a_count_that_others_began_anew_asks_the_model(desk: VerdictDesk) -> None:
    """Two at once by the fast path, after one that is no longer as stable: none of them stands on the old count."""
    desk.judge_by(rule("limit", "low"))
    desk.settings(fast_path_n=2)
    assert desk.model is not None
    for number in range(3):
        desk.decide({"so2": 10}, name=f"first-{number}")
    asked = len(desk.model.asked)
    jobs: list[Callable[[], object]] = [
        lambda: desk.decide({"so2": 99}, name="other"),
        lambda: desk.decide({"so2": 10}, name="fast"),
    ]
    together(desk.tools.database, None, jobs)
    paths = {body["telemetry"]["telemetry_id"]: n for n, body in enumerate(desk.entries(EntryKind.VERDICT))}
    (fast,) = desk.read(lambda unit: unit.verdicts.of_telemetry(TENANT, "fast"))
    # Whoever was first in the unit decides: after the other one, nothing is stable any more.
    assert fast.path == (VerdictPath.FAST if paths["fast"] < paths["other"] else None)
    assert len(desk.model.asked) == asked + (1 if fast.path else 2)


def test_a_commit_that_fails_leaves_nothing_of_any_line(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    lines = [json.dumps(desk.record({"so2": n}, name=f"t-{n}")) for n in range(9)]
    head = desk.head()
    failing = FailingAtTheEnd(desk.tools.database)
    working = desk.tools
    desk.use(database=failing)
    with pytest.raises(LostError):
        list(evaluate_many(desk.tools, lines, credential=desk.sensor, together=64))
    assert desk.head() == head
    desk.tools = working
    answers = list(evaluate_many(desk.tools, lines, credential=desk.sensor, together=64))
    assert all(one.decided is not None and one.decided.is_new for one in answers)


def test_with_a_slow_model_each_line_is_told_before_the_next_is_read(
    desk: VerdictDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "_BRIEF_SECONDS", 0.0)
    desk.judge_by(rule("limit"))
    taken: list[int] = []

    def lines() -> Iterator[str]:
        for number in range(6):
            taken.append(number)
            yield json.dumps(desk.record({"so2": 1}, name=f"t-{number}"))

    for number, _ in enumerate(evaluate_many(desk.tools, lines(), credential=desk.sensor, together=64), 1):
        assert len(taken) == number


def test_what_refuses_every_record_is_raised_after_the_answers_before_it(desk: VerdictDesk) -> None:
    """Lines that were judged before it are told, and on record; nothing after it was begun."""
    desk.judge_by(rule("limit"))
    model = desk.model
    assert model is not None

    def script(request: ReasonRequest) -> str:
        if "t-9" in request.prompt:
            desk.thinks(model, weights=WEIGHTS)
            raise ModelWeightsError("not the pinned file")
        return model(request)

    desk.thinks(script)
    lines = ["{", *(json.dumps(desk.record({"so2": 1}, name=f"t-{n}")) for n in range(20))]
    told: list[Evaluated] = []
    with refused("model.weights"):
        for one in evaluate_many(desk.tools, lines, credential=desk.sensor, together=64):
            told.append(one)  # noqa: PERF402 - what was told before it is raised
    assert [one.line for one in told] == list(range(1, 11))
    assert len(desk.entries(EntryKind.VERDICT)) == 9


def test_subjects_are_held_in_one_order_by_everybody() -> None:
    """Two who want the same subjects the other way round do not wait for each other for ever."""
    locks, turns = SubjectLocks(), list[str]()
    names = [f"s-{n}" for n in range(40)]

    def hold(wanted: list[str]) -> object:
        for _ in range(50):
            with locks.hold(TENANT, wanted):
                turns.append(wanted[0])
        return None

    at_once([lambda: hold(names), lambda: hold(names[::-1]), lambda: hold(names[::3])])
    assert len(turns) == 150
    assert threading.active_count() < 50


def test_senders_of_a_tenant_are_told_apart_and_tenants_are_judged_apart(desk: VerdictDesk) -> None:
    """A credential that is none refuses its own record alone, and so does a tenant that has no graph."""
    desk.judge_by(rule("limit"))
    other = desk.join("service:other", kind=PrincipalKind.SERVICE)
    elsewhere, name = TenantId("globex"), PrincipalId("service:globex")
    service = PrincipalKind.SERVICE
    add_principal(desk.tools, elsewhere, name, kind=service, name="Globex", by=ADMIN, at=desk.start)
    foreign, _ = issue_api_key(desk.tools, elsewhere, name, by=ADMIN, at=desk.start)

    def sent(number: int, credential: str) -> Submission:
        caller = caller_of(desk.tools, credential, at=desk.at(minutes=6))
        return Submission(desk.record({"so2": number}, name=f"t-{number}", tenant_id=str(TENANT)), caller)

    with refused("identity.not_signed_in"):
        sent(3, "ak_none.secret")
    told = judge_records(desk.tools, [sent(1, desk.sensor), sent(2, foreign), sent(4, other)])
    codes = [getattr(one, "code", None) for one in told]
    assert codes == [None, "identity.other_tenant", None]
    elsewhere_itself = caller_of(desk.tools, foreign, at=desk.at(minutes=6))
    [bare] = judge_records(desk.tools, [Submission(desk.record({"so2": 5}, name="t-5"), elsewhere_itself)])
    assert getattr(bare, "code", None) == "verdict.no_graph"
    assert [row.telemetry_id for row in desk.read(lambda unit: list(unit.verdicts.all(TENANT)))] == ["t-1", "t-4"]
    assert desk.read(lambda unit: list(unit.verdicts.all(elsewhere))) == []


def test_a_credential_that_is_revoked_while_others_wait_is_refused_alone(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    other = desk.join("service:other", kind=PrincipalKind.SERVICE)
    callers = [caller_of(desk.tools, one, at=desk.at(minutes=6)) for one in (desk.sensor, other)]
    prefix, _ = parse_api_key(other)
    revoke_api_key(desk.tools, TENANT, prefix, by=ADMIN, reason="lost", at=desk.at(minutes=5))
    sent = [Submission(desk.record({"so2": n}, name=f"t-{n}"), callers[n % 2]) for n in range(6)]
    told = judge_records(desk.tools, sent)
    assert [getattr(one, "code", None) for one in told] == [None, "identity.not_signed_in"] * 3
