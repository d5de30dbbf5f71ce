"""Numbers from 2^53 up to 10^21: canonical JSON writes them as integers, and every reader takes them for binary64."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, shipped_weights
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.flows.verdicts.explain_verdict import VerdictExplainer
from assay.flows.verdicts.receipts import export_receipt
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.flows.verdicts.runtime_v2 import replay_v2
from assay.flows.verdicts.verify_receipt import check_receipt
from assay.kernel.key import TrustAnchors
from assay.verdicts.envelope import Verdict, VerifierStatus
from assay.verdicts.graph.open import sign_graph
from assay.verdicts.replay import ReplayResult
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import GRAPH_KEY, VerdictDesk, opened_verdicts, rule
from tests.verdict_calls import judge

_LARGE = 1.2345678901234568e17


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    """Its graph has such a limit, and was reviewed, signed and loaded with it."""
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("so2", value=_LARGE))
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False)
        opened.use(reasoner=JudgeReasoner(JudgeHere(shipped_weights()), SystemClock()))
        yield opened


@pytest.mark.clause("ski", "7.3")
@pytest.mark.clause("ski", "8.1")
@pytest.mark.parametrize(("value", "verdict"), [(_LARGE, Verdict.CLEAR), (1e20, Verdict.FLAG), (2**53, Verdict.CLEAR)])
def test_a_large_number_is_judged_shown_replayed_and_vouched_for(
    desk: VerdictDesk, value: float, verdict: Verdict
) -> None:
    decided = desk.decide_given(json.dumps(desk.record({"so2": value})))
    (one,) = decided.verdicts
    assert one.envelope is not None
    assert (one.verdict, one.envelope.verifier_result.status) == (verdict, VerifierStatus.AGREED)
    ((told,),) = (rule.obligations for rule in VerdictExplainer(desk.tools, TENANT).explain(decided))
    assert (told.observed, told.limit) == (value, _LARGE)
    assert [found.result for found in replay_verdicts(desk.tools, TENANT)] == [ReplayResult.MATCH]
    receipt = export_receipt(desk.tools, TENANT, one.sequence_number)
    scorer = JudgeReasoner(JudgeHere(shipped_weights()), SystemClock())
    anchors = TrustAnchors(key_ids=frozenset({desk.tools.founder}))
    assert check_receipt(receipt, scorer, anchors).result == "EXACT"
    assert desk.decide_given(json.dumps(desk.record({"so2": value}))).is_new is False


def test_both_spellings_are_one_record_and_a_number_that_binary64_changes_is_none(desk: VerdictDesk) -> None:
    written = json.dumps(desk.record({"so2": _LARGE}))
    first = desk.decide_given(written)
    again = desk.decide_given(written.replace("1.2345678901234568e+17", "123456789012345680"))
    assert (again.is_new, again.telemetry_hash) == (False, first.telemetry_hash)
    with refused("json.number_range"):
        desk.decide_given(written.replace("1.2345678901234568e+17", "123456789012345678"))


def test_the_second_runtime_replays_large_numbers(tmp_path: Path) -> None:
    flat = {
        "metadata": {"version": "2.1"},
        "rules": [{"id": "so2-limit", "metric": "so2", "predicate": "lte", "value": _LARGE}],
        "tag_registry": {"stack": "so2-limit"},
    }
    with opened_verdicts(tmp_path) as opened:
        opened.settings(is_v2=True, require_review=False)
        opened.load(sign_graph(json.dumps(flat).encode(), GRAPH_KEY.public_key, GRAPH_KEY.sign))
        given = json.dumps(opened.record({"so2": 1e18}))
        decided = judge(opened.tools, given, credential=opened.sensor, at=opened.at(minutes=6))
        assert decided.overall.verdict is Verdict.FLAG
        (told,) = VerdictExplainer(opened.tools, TENANT).explain(decided)
        assert told.obligations[0].observed == 1e18
        assert [one.is_match for one in replay_v2(opened.tools, TENANT)] == [True]
