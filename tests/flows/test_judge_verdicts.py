"""The shipped judge through the whole journey: the examples as people judged them, and what it cannot read."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, shipped_weights
from assay.adapters.reasoning.judge_frames import Question, Reply
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.adapters.reasoning.judge_process import JudgeProcess
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.ports.model import ModelError
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.replay import summarise_replays
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, graph_document, opened_verdicts, rule
from tests.scale import scale
from tests.verdict_calls import evaluate_many, list_held, show_transcript

_EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeReasoner]:
    """One child for the whole file; it remembers nothing between questions."""
    reasoner = JudgeReasoner(JudgeProcess(shipped_weights()), SystemClock())
    yield reasoner
    reasoner.close()


@pytest.fixture
def desk(tmp_path: Path, judge: JudgeReasoner) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        # By its own name and hash: the operator tags nothing.
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False)
        opened.use(reasoner=judge)
        yield opened


def _load(desk: VerdictDesk, document: bytes) -> None:
    desk.load(desk.release(document).document)


@pytest.mark.clause("ski", "2.1.3")
@pytest.mark.clause("ski", "8.1")
@pytest.mark.parametrize("sector", ["energy", "finance", "manufacturing", "maritime"])
def test_the_judge_gives_each_record_the_verdict_that_was_written_for_it(desk: VerdictDesk, sector: str) -> None:
    """As soon as a person has attested what is held; and a replay finds the very same."""
    _load(desk, (_EXAMPLES / "graphs" / f"{sector}.json").read_bytes())
    lines = (_EXAMPLES / "telemetry" / f"{sector}.jsonl").read_bytes().splitlines()[: scale(8, 10_000)]
    results = list(evaluate_many(desk.tools, lines, credential=desk.sensor, workers=4))
    assert [one.message for one in results if one.code] == []
    for held in list_held(desk.tools, TENANT, at=desk.at(minutes=7)):
        desk.attest(held.ticket.id)
    judged = {one.decided.telemetry_id for one in results if one.decided is not None}
    for case in _expected(sector):
        if case["telemetry_id"] in judged:
            found = show_verdict(desk.tools, TENANT, case["telemetry_id"])
            rules = {one.rule_id: one.verdict for one in found.verdicts if one.rule_id}
            assert (found.overall.verdict, rules) == (case["verdict"], case.get("rules", {})), case["why"]
    summary = summarise_replays(replay_verdicts(desk.tools, TENANT))
    assert summary.is_clean, summary.counts


def _expected(sector: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((_EXAMPLES / "telemetry" / f"{sector}.expected.json").read_text())[
        "expected"
    ]
    return found


@pytest.mark.clause("ski", "5.2")
def test_a_rule_with_more_obligations_than_it_reads_is_left_to_a_person(desk: VerdictDesk) -> None:
    """Nothing is cut and nothing crashes: DISCRETIONARY, with the reason on record."""
    document = json.loads(graph_document(rule("wide")))
    many = [{**document["nodes"]["obligations"][0], "id": f"wide.{number}"} for number in range(65)]
    document["nodes"]["obligations"] = many
    document["edges"] = [edge for edge in document["edges"] if edge["type"] == "applies_to"]
    for one in many:
        document["edges"].append({"type": "consists_of", "from": "wide", "to": one["id"]})
        document["edges"].append({"type": "cited_by", "from": one["id"], "to": "cite"})
    _load(desk, json.dumps(stamp_versions(document)).encode())
    decided = desk.decide({"so2": 30})
    assert decided.overall.verdict == "DISCRETIONARY"
    envelope = decided.verdicts[0].envelope
    assert envelope is not None
    assert any("judge.case_size" in line for line in envelope.verifier_result.divergences)


@pytest.mark.clause("ski", "9.3")
def test_weights_that_are_replaced_while_the_node_runs_stop_evaluation(desk: VerdictDesk, tmp_path: Path) -> None:
    """The child that dies is not started from another file: there is no verdict, and nothing is recorded."""
    desk.judge_by(rule("so2"))
    file = tmp_path / "judge.bin"
    file.write_bytes(shipped_weights().file.read_bytes())
    bench = JudgeProcess(JudgeWeights(file=file, expected=shipped_weights().expected))
    desk.use(reasoner=JudgeReasoner(bench, SystemClock()))
    assert desk.decide({"so2": 30}).overall.verdict == "CLEAR"
    file.write_bytes(b"other weights")
    assert bench._child is not None
    bench._child.kill()
    bench._child.wait()
    with refused("model.weights"):
        desk.decide({"so2": 40}, name="t-2")
    bench.close()
    with refused("flow.not_found"):
        show_verdict(desk.tools, TENANT, "t-2")


def test_all_rules_of_a_record_are_put_to_the_judge_at_once(desk: VerdictDesk) -> None:
    """Which changes no verdict and no transcript: each is what it would be alone."""
    names = ("so2", "nox", "dust")
    desk.judge_by(*(rule(name, metric=name) for name in names))
    counting = _Counting(shipped_weights())
    desk.use(reasoner=JudgeReasoner(counting, SystemClock()))
    decided = desk.decide({"so2": 36, "nox": 35, "dust": 1e9})
    assert counting.batches == [3]
    assert {one.rule_id: one.verdict for one in decided.verdicts} == {"so2": "FLAG", "nox": "CLEAR", "dust": "FLAG"}
    alone = [counting.ask_many([one])[0] for one in counting.asked]
    texts = [one.text for one in alone if isinstance(one, Reply)]
    recorded = [
        json.loads(show_transcript(desk.tools, TENANT, one.envelope.transcript_ref).response_canonical)["text"]
        for one in decided.verdicts
        if one.envelope is not None
    ]
    assert sorted(recorded) == sorted(texts)


class _Counting(JudgeHere):
    """A bench that remembers what it was asked, and how much at once."""

    def __init__(self, weights: JudgeWeights) -> None:
        super().__init__(weights)
        self.batches: list[int] = []
        self.asked: list[Question] = []

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | ModelError]:
        self.batches.append(len(questions))
        self.asked = [*questions] if len(questions) > 1 else self.asked
        return super().ask_many(questions)
