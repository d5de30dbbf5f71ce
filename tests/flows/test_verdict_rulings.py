"""Replay tells what was tampered with from what is gone, and what the first rulings decided stays as it was."""

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, shipped_weights
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.adapters.weight_folder import WeightFolder
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.flows.verdicts.replay_verdict import replay_verdict, replay_verdicts
from assay.kernel.digest import Digest
from assay.kernel.ids import TicketId
from assay.verdicts.envelope import Verdict, VerifierStatus
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.reason import build_request
from assay.verdicts.replay import Replay, ReplayResult, ReplayStep, StepFinding, StepResult, summarise_replays
from assay.verdicts.rulings import Rulings
from assay.verdicts.window import window_facts
from tests.contract._kit import refused
from tests.flows._node import TENANT, damage
from tests.flows._verdicts import HonestModel, VerdictDesk, graph_document, opened_verdicts, rule
from tests.verdict_calls import graph_impact
from tests.verdicts.judging import vector_cases
from tests.verdicts.rulings import dockets_of, document_of, judge_reply, record_of, sliced

_FIRST = Path(__file__).parents[1] / "vectors" / "verdicts" / "rulings" / "first-node.tar.gz"
_HASHES = re.compile(r"`sha256:[0-9a-f]{64}`")
_STATEMENTS = {
    "edit transcript response": "UPDATE transcript SET record = replace(record, 'as computed', 'as computes')",
    "edit transcript request": "UPDATE transcript SET record = replace(record, 'You judge one', 'You judge any')",
    "edit graph": "UPDATE graph_version SET document = replace(document, '35', '36')",
    "edit entry": "UPDATE ledger SET text = CAST(replace(text, 'FLAG', 'CLAR') AS BLOB) WHERE kind = 'verdict'",
    "remove transcript": "DELETE FROM transcript",
    "remove graph": "DELETE FROM graph_version",
}


def _step(replay: Replay, name: str) -> StepFinding:
    return next(one for one in replay.steps if one.step.value.endswith(name))


def _change(folder: Path, do: str | None, weights: WeightFolder, weight_hash: Digest) -> None:
    if do in _STATEMENTS:
        damage(folder / "node", _STATEMENTS[do])
    elif do == "edit weights":
        weights.path_of(weight_hash).write_bytes(b"other weights")
    elif do == "remove weights":
        weights.path_of(weight_hash).unlink()


@pytest.mark.clause("ski", "8.1")
@pytest.mark.clause("ski", "8.2")
@pytest.mark.parametrize("case", vector_cases("rulings/replay"), ids=lambda case: case["name"])
def test_tampering_is_told_from_absence(tmp_path: Path, case: dict[str, Any]) -> None:
    """What is there and differs has its step and both hashes; what is gone leaves the replay incomplete."""
    with opened_verdicts(tmp_path) as desk:
        weights = WeightFolder(tmp_path)
        weight_hash = weights.put(b"weights that judged")
        desk.settings(weights=(weight_hash,))
        desk.judge_by(rule("limit"))
        assert desk.model is not None
        desk.thinks(desk.model, weights=weight_hash)
        number = desk.decide({"so2": 40}).verdicts[0].sequence_number
        desk.use(weights=weights)
        if "weights" in (case["do"] or ""):
            desk.use(reasoner=None)
        _change(tmp_path, case["do"], weights, weight_hash)
        replay = replay_verdict(desk.tools, TENANT, number)
        assert replay.result == case["status"], replay
        if "step" not in case:
            return
        found = _step(replay, case["step"])
        is_altered = case["status"] == ReplayResult.REPLAY_DIVERGENCE
        assert found.result is (StepResult.DIVERGED if is_altered else StepResult.NOT_CHECKED)
        if is_altered and case["step"] != "chain":
            assert len(set(_HASHES.findall(found.detail))) == 2, found.detail
        diverged = [one.step for one in replay.steps if one.result is StepResult.DIVERGED]
        assert diverged == ([found.step] if is_altered else [])


@pytest.mark.clause("ski", "8.1")
def test_other_weights_still_give_a_complete_report(tmp_path: Path) -> None:
    """Six steps for every entry; those that the present model cannot redo say which weights they need."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("limit"), rule("high", "high"))
        desk.decide({"so2": 40})
        other = WeightFolder(tmp_path).put(b"others")
        desk.thinks(lambda _: "{}", weights=other)
        replays = list(replay_verdicts(desk.tools, TENANT))
        assert [(one.result, len(one.steps)) for one in replays] == [(ReplayResult.INCOMPLETE, 6)] * 2
        for one in replays:
            told = _step(one, "weights").detail
            assert other in told
            assert [found.step for found in one.steps if found.result is StepResult.NOT_CHECKED] == [
                ReplayStep.WEIGHTS,
                ReplayStep.TRANSCRIPT,
            ]


@pytest.mark.clause("ski", "8.1")
def test_a_node_of_the_first_rulings_replays(tmp_path: Path) -> None:
    """Recorded by 0.1.0: a missing metric beside a breach, jurisdictions in doubt, flat rules without date and tier."""
    with tarfile.open(_FIRST) as packed:
        packed.extractall(tmp_path, filter="data")
    replies = json.loads((tmp_path / "replies.json").read_text())
    with opened_verdicts(tmp_path, is_new=False) as desk:
        desk.settings(mode=SovereigntyMode.ADVISORY)
        desk.thinks(lambda request: str(replies[request.prompt_hash]))
        replays = list(replay_verdicts(desk.tools, TENANT))
        summary = summarise_replays(replays)
        assert (summary.counts[ReplayResult.MATCH], summary.is_clean) == (9, True), replays
        assert audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).holds


def _doubtful(desk: VerdictDesk, tier: str) -> None:
    obligations = [
        {"id": "oa", "type": "must_not_exceed", "metric": "a", "value": 100},
        {"id": "ob", "type": "must_not_exceed", "metric": "b", "value": 100},
        {"id": "od", "type": "must_not_exceed", "metric": "a", "value": 10, "scope": ["de"]},
    ]
    places = [{"id": "de", "name": "Germany"}]
    document = json.dumps(document_of([{"id": "r1", "tier": tier, "obligations": obligations}], places)).encode()
    desk.load(desk.release(document).document)
    desk.model = HonestModel(document)
    desk.thinks(desk.model)


@pytest.mark.clause("ski", "3.4")
@pytest.mark.parametrize("declared", [None, "Germny"])
def test_a_record_without_a_place_is_recorded_as_a_persons_and_replays(tmp_path: Path, declared: str | None) -> None:
    with opened_verdicts(tmp_path) as desk:
        _doubtful(desk, "low")
        more = {} if declared is None else {"jurisdiction": declared}
        decided = desk.decide({"a": 11, "b": 1}, subject="plant-1", **more)
        [verdict] = decided.verdicts
        assert verdict.verdict is Verdict.DISCRETIONARY
        assert verdict.envelope is not None
        assert any(note.startswith("jurisdiction.doubt: ") for note in verdict.envelope.notes)
        [entry] = [row for row in desk.read(lambda unit: list(unit.ledger.entries(TENANT))) if row.kind == "verdict"]
        body = json.loads(entry.text)["body"]
        assert (body["rulings"], body["doubt"]) == (Rulings.SECOND, "not declared" if declared is None else "unknown")
        assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean
        assert (
            desk.decide({"a": 11, "b": 1}, subject="plant-1", name="t-2", jurisdiction="GERMANY").verdicts[0].verdict
            is Verdict.FLAG
        )


@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.3")
def test_a_high_breach_is_attested_although_another_metric_is_missing(tmp_path: Path) -> None:
    """The ticket lists what was not checked, apart from what the verifier disagrees with."""
    with opened_verdicts(tmp_path) as desk:
        _doubtful(desk, "high")
        [held] = desk.decide({"a": 11}, subject="plant-1", jurisdiction="de").verdicts
        assert held.ticket_id is not None
        ticket = desk.read(lambda unit: unit.review.find_ticket(TENANT, TicketId(held.ticket_id or "")))
        assert ticket is not None
        lines = ticket.shown.splitlines()
        assert "what it disagrees with:" not in lines
        assert lines[lines.index("not checked:") + 1] == "  obligation.undetermined: `ob`: missing"
        desk.attest(held.ticket_id)
        [final] = show_verdict(desk.tools, TENANT, "t-1").verdicts
        assert final.verdict is Verdict.FLAG
        assert final.envelope is not None
        assert final.envelope.verifier_result.status is VerifierStatus.AGREED
        assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean


@pytest.mark.clause("ski", "8.1")
def test_a_converted_measurement_is_recorded_with_both_numbers_and_replays(tmp_path: Path) -> None:
    with opened_verdicts(tmp_path) as desk:
        obligations = [{"id": "oa", "type": "must_not_exceed", "metric": "a", "value": 100, "unit": "degC"}]
        units = [{"from": "degF", "to": "degC", "factor": "5/9", "offset": "-160/9"}]
        rules = [{"id": "r1", "tier": "medium", "obligations": obligations}]
        document = json.dumps(document_of(rules, unit_conversions=units)).encode()
        desk.load(desk.release(document).document)
        desk.thinks(HonestModel(document))
        [flagged] = desk.decide({"a": {"value": 213, "unit": "degF"}}, subject="plant-1").verdicts
        assert flagged.verdict is Verdict.FLAG
        assert flagged.envelope is not None
        assert [one.observed for one in flagged.envelope.formalizable_assertions] == [100.555555555556]
        told = "unit.converted: `oa`: `213` degF is `100.555555555556` degC, exactly 905/9"
        assert told in flagged.envelope.notes
        assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean


@pytest.mark.clause("ski", "3.3")
def test_a_typed_graph_with_an_unknown_predicate_loads_in_advisory_mode_alone(tmp_path: Path) -> None:
    """Its verdicts are a person's, and say which predicate nobody knows."""
    predicate = {"name": "levitate"}
    with opened_verdicts(tmp_path) as desk:
        document = graph_document(rule("limit", kind="must", value=None, predicate=predicate))
        with refused("graph.invalid"):
            desk.review(document)
        desk.settings(mode=SovereigntyMode.ADVISORY)
        desk.load(document)
        desk.thinks(HonestModel(document))
        [verdict] = desk.decide({"so2": 1}).verdicts
        assert verdict.verdict is Verdict.DISCRETIONARY
        assert verdict.envelope is not None
        assert any("`must levitate`" in line for line in verdict.envelope.verifier_result.divergences)


@pytest.mark.clause("ski", "2.1.3")
@pytest.mark.parametrize("path", ["agreed", "jurisdiction", "units"])
def test_the_shipped_judge_says_what_the_rulings_ask(path: str) -> None:
    """A jurisdiction in doubt is a line that only a person can judge, and a converted number is one like any other."""
    reasoner = JudgeReasoner(JudgeHere(shipped_weights()), SystemClock())
    places = json.loads((_FIRST.parent / "jurisdiction.json").read_text())["jurisdictions"]
    for case in vector_cases(f"rulings/{path}"):
        if case.get("reply", "honest") != "honest":
            continue
        one = {"id": "r1", "tier": case["tier"], "obligations": case["obligations"]}
        telemetry = record_of(case["measurement"], case.get("jurisdiction"))
        [docket] = dockets_of(sliced(document_of([one], places, **case.get("metadata", {})), telemetry))
        request = build_request(docket, telemetry, window_facts(docket.plans, telemetry, ()), seed=0)
        found = judge_reply(docket, telemetry, reasoner.complete(request).text)
        status = found.verification.result.status
        assert (found.envelope.verdict, status) == (case["expected"], case["status"]), case["name"]


@pytest.mark.clause("ski", "9.2")
def test_two_subjects_of_one_flat_metric_have_windows_of_their_own(tmp_path: Path) -> None:
    """`north.nox` and `south.nox` are judged by the rule of `nox`, each by its own records."""
    average = {"id": "r1", "metric": "nox", "predicate": "window_avg", "op": "lte", "value": 50, "seconds": 3600}
    document = json.dumps({"metadata": {"version": "1"}, "rules": [average]}).encode()
    with opened_verdicts(tmp_path) as desk:
        desk.settings(mode=SovereigntyMode.ADVISORY)
        desk.load(document)
        desk.thinks(HonestModel(document))
        found = [
            desk.decide({"nox": nox}, subject=subject, name=f"t-{n}", at=desk.at(minutes=5, seconds=n)).overall.verdict
            for n, (subject, nox) in enumerate([("north.nox", 90), ("south.nox", 40), ("north.nox", 40), ("nox", 10)])
        ]
        assert found == [Verdict.FLAG, Verdict.CLEAR, Verdict.FLAG, Verdict.CLEAR]
        assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean
        rows = desk.read(lambda unit: [unit.verdicts.of_telemetry(TENANT, f"t-{n}")[0].subject for n in range(4)])
        assert rows == ["north.nox", "south.nox", "north.nox", "subject:nox"]
        stricter = json.dumps({"metadata": {}, "rules": [{**average, "value": 45}]}).encode()
        impact = graph_impact(desk.tools, stricter, credential=desk.operator, at=desk.at(minutes=7))
        assert (impact.records, impact.changed) == (4, 0)
        looser = json.dumps({"metadata": {}, "rules": [{**average, "value": 70}]}).encode()
        changed = graph_impact(desk.tools, looser, credential=desk.operator, at=desk.at(minutes=7))
        assert [one.telemetry_id for one in changed.changes] == ["t-2"]
