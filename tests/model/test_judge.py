"""The shipped judge is right about cases that training never saw, and says the same every time.

What is asserted here is what the shipped weights reach; `assay model eval` prints the figures themselves.
"""

import gzip
import json
from collections import defaultdict
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.digest import digest_of
from assay.model.card import ModelCard, parse_card
from assay.model.cases.measurement import HOSTILE
from assay.model.choice import sampler
from assay.model.errors import CaseSizeError, WeightFormError
from assay.model.form import SECOND
from assay.model.judge import judge, judge_many
from assay.model.tokenizer import read_case
from assay.model.vocabulary import VOCABULARY
from assay.model.weights import parse_weights, tensors_of
from assay.verdicts.case import OpenCase, open_case, parse_case
from assay.verdicts.docket import open_docket, parts_of
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.prompt import TEMPLATE_ID
from assay.verdicts.reason import build_request
from assay.verdicts.reply import parse_reply
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.verify import verify
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import BufferedRecord, buffer_record
from tests.model.networks import ROOT, WEIGHTS, asked, shipped_engine
from tests.scale import scale
from tests.verdicts.judging import docket_of, obligation, record

SECTORS = ("energy", "finance", "manufacturing", "maritime")
SEALED = WEIGHTS.parent / "sealed.jsonl.gz"
SCORES = Path(__file__).parents[1] / "vectors" / "model" / "scores.json"
UNSURE = ("obligation.unknown_type", "obligation.undetermined", "rule.not_formalizable", "jurisdiction.undeclared")


@cache
def card() -> ModelCard:
    return parse_card((WEIGHTS.parent / "judge.json").read_bytes())


def judged_all(cases: list[OpenCase]) -> list[tuple[str, list[str]]]:
    """The verdicts of the shipped judge, and what the verifier has against each."""
    found = []
    for opened, answer in zip(cases, judge_many(shipped_engine(), [question(one) for one in cases]), strict=True):
        parsed = parse_reply(answer.text, opened.docket.choices).answer
        assert parsed is not None
        result = verify(opened.docket, opened.telemetry, opened.facts, parsed).result
        against = [line for line in result.divergences if not line.startswith(UNSURE)]
        found.append((parsed.verdict.value, against))
    return found


def question(opened: OpenCase) -> tuple[str, bytes]:
    request = build_request(opened.docket, opened.telemetry, opened.facts, seed=0)
    return request.prompt, bytes(request.grammar)


def is_read(case: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether a case is within the judge's limits."""
    try:
        read_case(open_case(parse_case(case)).prompt)
    except CaseSizeError:
        return False
    return True


def sealed(first: int, count: int) -> list[Any]:
    with gzip.open(SEALED, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in islice(file, first, first + count)]


def test_the_card_names_the_shipped_weights_and_the_cases_they_were_measured_on() -> None:
    content = WEIGHTS.read_bytes()
    weights = parse_weights(content, expected=card().weight_hash)
    assert card().shape == weights.shape
    assert card().prompt_template_id == TEMPLATE_ID == SECOND.template_id
    assert card().limits == SECOND.limits
    assert card().sealed_hash == digest_of(SEALED.read_bytes())
    sizes = [len(weights.tensors[one.name].ravel()) for one in tensors_of(weights.shape)]
    assert card().parameters == sum(sizes)
    assert len(content) < 20 * 1024 * 1024


def test_other_weights_are_refused_under_the_card() -> None:
    content = bytearray(WEIGHTS.read_bytes())
    content[-1] ^= 1
    with pytest.raises(WeightFormError):
        parse_weights(bytes(content), expected=card().weight_hash)
    with pytest.raises(WeightFormError):
        parse_card(b"{}")


@pytest.mark.timeout(300)
def test_the_judge_is_right_on_sealed_cases() -> None:
    """A part of the sealed file: the whole is what the card's figures were taken on."""
    cases = [case for case in sealed(0, 120) if is_read(case["case"])]
    assert len(cases) >= 100
    opened = [open_case(parse_case(case["case"])) for case in cases]
    wrong = {
        number: (case["expected"]["verdict"], verdict, findings)
        for number, (case, (verdict, findings)) in enumerate(zip(cases, judged_all(opened), strict=True))
        if verdict != case["expected"]["verdict"] or findings
    }
    assert len(wrong) <= len(cases) // 100, wrong
    assert not [number for number, (expected, got, _) in wrong.items() if (expected, got) == ("FLAG", "CLEAR")]


def test_the_card_claims_what_the_judge_must_reach() -> None:
    found = card()
    assert found.cases >= 2000
    assert found.verdict_accuracy >= 0.99
    assert found.assertion_accuracy >= 0.995
    assert found.flag_recall >= 0.995
    assert found.silent_clear <= 0.001
    assert found.agreement >= 0.995
    assert found.unparsable == 0


@pytest.mark.parametrize("sector", SECTORS)
def test_the_example_telemetry_is_judged_as_a_person_judged_it(sector: str) -> None:
    examples = ROOT / "examples"
    expected = json.loads((examples / "telemetry" / f"{sector}.expected.json").read_text())["expected"]
    wanted = {case["telemetry_id"]: case.get("rules", {}) for case in expected}
    index = build_index(parse_graph((examples / "graphs" / f"{sector}.json").read_bytes()))
    buffers: defaultdict[str, list[BufferedRecord]] = defaultdict(list)
    cases: list[OpenCase] = []
    for line in (examples / "telemetry" / f"{sector}.jsonl").read_text().splitlines():
        telemetry = parse_telemetry(line)
        found = slice_graph(index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction)
        for part in parts_of(found):
            docket = open_docket(part, is_mapped=found.subject is not None)
            facts = window_facts(docket.plans, telemetry, buffers[telemetry.subject])
            cases.append(OpenCase(docket, telemetry, facts))
        buffers[telemetry.subject].append(buffer_record(telemetry))
    for opened, (verdict, findings) in zip(cases, judged_all(cases), strict=True):
        name, rule = opened.telemetry.telemetry_id, opened.docket.rule_id
        assert not findings, (name, findings)
        assert not rule or verdict == wanted[name][rule], name


@pytest.mark.clause("ski", "5.2")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_changes_no_verdict(text: str) -> None:
    docket = docket_of(
        obligation("ob-1", "must_not_exceed", "nox", 50), obligation("ob-2", "must_be_one_of", "fuel", ["gas", "oil"])
    )
    for measurement, status, verdict in (
        ({"nox": 51, "fuel": "gas", "note": text}, VerifierStatus.AGREED, "FLAG"),
        ({"nox": 49, "fuel": text, "note": text}, VerifierStatus.AGREED, "FLAG"),
        ({"nox": 49, "fuel": "oil", "note": text}, VerifierStatus.AGREED, "CLEAR"),
        ({"nox": text, "fuel": "oil"}, VerifierStatus.UNVERIFIABLE, "DISCRETIONARY"),
    ):
        telemetry = record(measurement)
        answer = parse_reply(judge(shipped_engine(), *asked(docket, telemetry)).text, docket.choices).answer
        assert answer is not None
        assert answer.verdict == verdict
        assert verify(docket, telemetry, {}, answer).result.status is status


@pytest.mark.parametrize(
    ("limit", "observed", "verdict"),
    [
        (50, 50, "CLEAR"),
        (50, 50.000001, "FLAG"),
        (50, 49.999999, "CLEAR"),
        (-5, -4.9, "FLAG"),
        (-5, -5.1, "CLEAR"),
        (0, -0.0, "CLEAR"),
        (0.1, 0.30000000000000004, "FLAG"),
        (1e300, 1, "CLEAR"),
        (1, 1e300, "FLAG"),
        (1e-300, 0, "CLEAR"),
        (0, 1e-300, "FLAG"),
        (9007199254740991, 9007199254740990, "CLEAR"),
        (9007199254740990, 9007199254740991, "FLAG"),
        (99, 100, "FLAG"),
        (100, 99, "CLEAR"),
    ],
)
def test_a_limit_is_compared_digit_by_digit(limit: float, observed: float, verdict: str) -> None:
    docket = docket_of(obligation("ob-1", "must_not_exceed", "nox", limit))
    telemetry = record({"nox": observed})
    answer = parse_reply(judge(shipped_engine(), *asked(docket, telemetry)).text, docket.choices).answer
    assert answer is not None
    assert answer.verdict == verdict
    assert verify(docket, telemetry, {}, answer).result.status is VerifierStatus.AGREED


def test_answers_are_the_same_alone_and_beside_others_and_every_word_is_accounted_for() -> None:
    questions = [question(open_case(parse_case(case["case"]))) for case in sealed(50, scale(3, 6))]
    alone = [judge(shipped_engine(), *one) for one in questions]
    assert judge_many(shipped_engine(), questions) == alone
    for answer in alone:
        assert VOCABULARY[answer.written[-1].token] == json.loads(answer.text)["verdict"]
        assert all(one.score == dict(one.best)[one.token] for one in answer.written)


def test_a_drawn_answer_is_fixed_by_its_seed() -> None:
    opened = open_case(parse_case(sealed(50, 1)[0]["case"]))
    drawn = [judge(shipped_engine(), *question(opened), pick=sampler(seed, Decimal(40))) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert parse_reply(drawn[2].text, opened.docket.choices).answer is not None


def test_the_engine_computes_what_the_trained_network_computes() -> None:
    """Not nearly: every score of every symbol, in another library."""
    document = json.loads(SCORES.read_text())
    engine = shipped_engine()
    assert document["weight_hash"] == engine.weight_hash
    for case in document["cases"]:
        session = engine.open(1, len(case["read"]))
        assert engine.extend(session, [0], [case["read"]])[0].tolist() == case["scores"]
