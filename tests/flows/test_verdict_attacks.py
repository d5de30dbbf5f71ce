"""The attack corpus against the real flow: no breach becomes CLEAR, no lie stays unseen, nothing crashes (SKI 9.3).

Injection through telemetry, hostile records and lies of the model here; graphs and weights in `test_verdict_poison`.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from assay.adapters.reasoning.judge import JudgeReasoner, shipped_weights
from assay.adapters.reasoning.scripted import ScriptedReasoner
from assay.flows.verdicts.verdict_entry import get_verdict_entry
from assay.ports.reasoner import LocalReasoner
from assay.verdicts.envelope import Envelope, Verdict, VerifierStatus
from assay.verdicts.telemetry import SkewLimits
from tests.flows._attacks import (
    GRAPH,
    IncompleteReasoner,
    attack_vectors,
    breach,
    judged_by,
    outcome,
    running_judge,
    stamped,
    under_attack,
    versions,
    with_text,
)
from tests.flows._node import TENANT
from tests.flows._verdicts import WEIGHTS, VerdictDesk
from tests.scale import scale

TELEMETRY = attack_vectors("telemetry")
PLACES, TEXTS = TELEMETRY["places"], TELEMETRY["texts"]
RECORDS = attack_vectors("records")["cases"]
LIES = [case for name in ("assertions", "citations", "replies") for case in attack_vectors(name)["cases"]]
TIERS = ("low", "medium", "high")
# The second: nothing could be computed, so that there was nothing to agree on.
_CONTENT = {VerifierStatus.AGREED, VerifierStatus.UNVERIFIABLE}


def _name(case: dict[str, Any]) -> str:
    return str(case["name"])


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerdictDesk]:
    with under_attack(tmp_path_factory.mktemp("attacked")) as opened:
        yield opened


def _text(case: dict[str, Any]) -> str:
    return str(case["text"]) * int(case.get("repeat", 1))


def _is_accepted(place: dict[str, Any], text: dict[str, Any]) -> bool:
    return {"text": bool(text["is_text"]), "name": bool(text["is_name"]), "nothing": False}[place["accepts"]]


@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("place", PLACES, ids=_name)
def test_no_text_in_a_record_changes_its_verdict(desk: VerdictDesk, place: dict[str, Any]) -> None:
    """Each text at this place: exactly the verdict without it, or a coded refusal that is the sender's to mend."""
    record = json.dumps(place["record"])
    for text in TEXTS:
        given = with_text(desk, record, _text(text))
        decided, code = outcome(lambda given=given: desk.decide_given(given))  # type: ignore[misc]  # bound at once
        if _is_accepted(place, text):
            assert decided is not None, (text["name"], code)
            assert decided.overall.verdict == Verdict(place["verdict"]), text["name"]
        else:
            assert decided is None, text["name"]
            assert code.startswith(tuple(TELEMETRY["refused"])), (text["name"], code)


@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("case", RECORDS, ids=_name)
def test_a_record_that_lies_about_its_numbers_gets_the_specified_answer(
    desk: VerdictDesk, case: dict[str, Any]
) -> None:
    given = with_text(desk, case["record"]) + " " * case.get("pad", 0)
    decided, code = outcome(lambda: desk.decide_given(given))
    told = code if decided is None else decided.overall.verdict
    assert told == case.get("verdict", case.get("code"))


def _lie_text(case: dict[str, Any]) -> str:
    if "text" in case:
        return str(case["text"])
    known = versions(stamped(GRAPH))
    text = json.dumps(case["reply"])
    for citation in case["reply"].get("kg_citations", []):
        old = json.dumps({**citation})
        text = text.replace(old, old.replace("$version", known.get(citation["node_id"], "$version")), 1)
    return text


def _liar(desk: VerdictDesk, case: dict[str, Any]) -> LocalReasoner:
    text = _lie_text(case)
    kind = ScriptedReasoner if case.get("is_complete", True) else IncompleteReasoner
    return kind(lambda _request: text, desk.tools.clock, weight_hash=WEIGHTS)


def _recorded(desk: VerdictDesk, number: int) -> Envelope:
    """As the ledger has it: of a held verdict nothing is served."""
    return desk.read(lambda unit: get_verdict_entry(unit, TENANT, number)).envelope


@pytest.mark.clause("ski", "5.3")
@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("case", LIES, ids=_name)
def test_no_lie_of_the_model_turns_a_breach_into_clear_and_every_one_is_seen(
    desk: VerdictDesk, case: dict[str, Any]
) -> None:
    """At each tier: what the corpus says, in what is served and in the envelope that is recorded."""
    honest = desk.tools.reasoner
    desk.use(reasoner=_liar(desk, case))
    try:
        for tier in TIERS:
            given = with_text(desk, json.dumps(breach(f"stack-{tier}")))
            (one,) = desk.decide_given(given).verdicts
            wanted = case["governed"][tier]
            assert (one.verdict and one.verdict.value) == wanted, tier
            assert tier == "low" or one.verdict is not Verdict.CLEAR
            envelope = _recorded(desk, one.sequence_number)
            assert envelope.verifier_result.status.value == case["status"]
            told = {line.partition(":")[0] for line in envelope.verifier_result.divergences}
            assert set(case["codes"]) <= told
    finally:
        desk.use(reasoner=honest)


def test_a_record_dated_before_its_rule_says_so_and_may_be_refused(desk: VerdictDesk) -> None:
    """The sender's clock chooses the rules (SKI 3.4): the envelope tells, and an operator can set a limit."""
    record = {**breach("stack-medium"), "timestamp": "2010-01-01T00:00:00Z"}
    (one,) = desk.decide_given(with_text(desk, json.dumps(record))).verdicts
    assert one.envelope is not None
    assert any("no obligation applies" in line for line in one.envelope.verifier_result.divergences)
    before = desk.tools
    desk.settings(skew=SkewLimits(behind_seconds=3600))
    assert outcome(lambda: desk.decide_given(with_text(desk, json.dumps(record))))[1] == "telemetry.skew"
    desk.use(ski=before.ski)


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeReasoner]:
    with running_judge(shipped_weights()) as opened:
        yield opened


@pytest.mark.clause("ski", "9.3")
@pytest.mark.parametrize("place", [one for one in PLACES if one["accepts"] == "text"], ids=_name)
def test_the_real_judge_is_not_talked_round(desk: VerdictDesk, judge: JudgeReasoner, place: dict[str, Any]) -> None:
    """Every text that a record may carry, read by the shipped weights: the verdict without it, and agreed."""
    before = desk.tools
    judged_by(desk, judge)
    try:
        # A short run takes every other text, and the others at the next place.
        step = scale(2, 1)
        for text in [one for one in TEXTS if one["is_text"]][PLACES.index(place) % step :: step]:
            given = with_text(desk, json.dumps(place["record"]), _text(text))
            (one,) = desk.decide_given(given).verdicts
            assert one.envelope is not None
            assert (one.verdict and one.verdict.value) == place["verdict"], text["name"]
            assert one.envelope.verifier_result.status in _CONTENT
    finally:
        desk.use(reasoner=before.reasoner, ski=before.ski)


@pytest.mark.clause("ski", "9.3")
def test_the_real_judge_reads_no_lie_about_a_number_as_kept(desk: VerdictDesk, judge: JudgeReasoner) -> None:
    """Numbers as texts, look-alikes, near misses: what the corpus says, and nothing for the verifier to contradict."""
    before = desk.tools
    judged_by(desk, judge)
    try:
        for case in (one for one in RECORDS if "verdict" in one):
            (one,) = desk.decide_given(with_text(desk, case["record"])).verdicts
            assert one.envelope is not None
            assert one.verdict == Verdict(case["verdict"]), case["name"]
            assert one.envelope.verifier_result.status in _CONTENT, case["name"]
    finally:
        desk.use(reasoner=before.reasoner, ski=before.ski)
