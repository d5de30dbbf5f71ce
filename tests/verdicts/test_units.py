"""Units that a graph declares convertible: exact, shown twice, and the same for model, verifier, columns and replay."""

import json
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.instant import Instant
from assay.verdicts.columns import ColumnGatherer, Vocabulary
from assay.verdicts.columns_groups import metrics_of
from assay.verdicts.columns_judge import VERDICTS, ColumnJudge
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.parse import check_form, parse_graph
from assay.verdicts.graph.unit import Conversion
from assay.verdicts.reason import build_request
from assay.verdicts.reread import reread_docket
from assay.verdicts.rulings import Rulings
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.unit_note import unit_notes
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import buffer_record
from tests.verdicts.judging import vector_cases
from tests.verdicts.rulings import dockets_of, document_of, judge_reply, record_of, reply_to, sliced

_FRACTIONS = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6)


def _document(case: dict[str, Any]) -> dict[str, Any]:
    rule = {"id": "r1", "tier": case["tier"], "obligations": case["obligations"]}
    return document_of([rule], **case["metadata"])


def _by_columns(document: dict[str, Any], *history: Telemetry) -> str:
    """The verdict on the last of these records, as bulk evaluation comes to it."""
    graph, vocabulary = parse_graph(json.dumps(document).encode()), Vocabulary.empty()
    gatherer = ColumnGatherer(metrics_of(graph), vocabulary)
    for one in history:
        gatherer.add(one.telemetry_id, one.timestamp, one.subject, None, one.readings)
    judged = ColumnJudge(build_index(graph), vocabulary).judge(gatherer.take())
    return VERDICTS[int(judged.verdicts[0][-1])].value


@pytest.mark.clause("ski", "5.3")
@pytest.mark.parametrize("case", vector_cases("rulings/units"), ids=lambda case: case["name"])
def test_a_declared_unit_is_converted_exactly(case: dict[str, Any]) -> None:
    """And no other; what was read and what it became are both in the notes."""
    document, telemetry = _document(case), record_of(case["measurement"])
    [docket] = dockets_of(sliced(document, telemetry))
    found = judge_reply(docket, telemetry, reply_to(docket, telemetry, "honest"))
    assert (found.verification.expected, found.verification.result.status) == (case["expected"], case["status"])
    [assertion] = found.envelope.formalizable_assertions
    assert assertion.observed == case["observed"]
    notes = "\n".join(unit_notes(docket, telemetry))
    assert bool(notes) is bool(case["notes"]) or "unit.converted" in notes
    assert all(part in notes for part in case["notes"]), notes
    assert _by_columns(document, telemetry) == case["expected"]


@pytest.mark.clause("ski", "7.5")
@pytest.mark.parametrize("case", vector_cases("rulings/units"), ids=lambda case: case["name"])
def test_a_prompt_shows_the_conversions_that_it_rests_on(case: dict[str, Any]) -> None:
    """So that a third party with the prompt alone converts the same."""
    telemetry = record_of(case["measurement"])
    [docket] = dockets_of(sliced(_document(case), telemetry))
    request = build_request(docket, telemetry, {}, seed=0)
    again = reread_docket(request.prompt)
    assert build_request(again, telemetry, {}, seed=0) == request
    assert [check.conversions for check in again.checks] == [check.conversions for check in docket.checks]


def test_the_first_rulings_convert_nothing() -> None:
    [case] = [one for one in vector_cases("rulings/units") if one["name"] == "a declared unit is converted and met"]
    telemetry = record_of(case["measurement"])
    [docket] = dockets_of(sliced(_document(case), telemetry, Rulings.FIRST), Rulings.FIRST)
    found = judge_reply(docket, telemetry, reply_to(docket, telemetry, "honest"))
    assert (found.verification.expected, unit_notes(docket, telemetry)) == ("DISCRETIONARY", ())


@pytest.mark.parametrize(
    ("declared", "path"),
    [
        ("all", "metadata.unit_conversions"),
        ([1], "metadata.unit_conversions[0]"),
        ([{"from": "a", "to": "b"}], "metadata.unit_conversions[0].factor"),
        ([{"from": "a", "to": "b", "factor": "a half"}], "metadata.unit_conversions[0].factor"),
        ([{"from": "a", "to": "b", "factor": "1/0"}], "metadata.unit_conversions[0].factor"),
        ([{"from": "a", "to": "b", "factor": 0}], "metadata.unit_conversions[0].factor"),
        ([{"from": "a", "to": "b", "factor": "-2"}], "metadata.unit_conversions[0].factor"),
        ([{"from": "a", "to": "b", "factor": True}], "metadata.unit_conversions[0].factor"),
        ([{"from": "a", "to": "a", "factor": 1}], "metadata.unit_conversions[0].to"),
        ([{"from": "", "to": "a", "factor": 1}], "metadata.unit_conversions[0].from"),
        ([{"from": "a", "to": "b", "factor": 1, "offset": []}], "metadata.unit_conversions[0].offset"),
        ([{"from": "a", "to": "b", "factor": 1, "factors": 2}], "metadata.unit_conversions[0].factors"),
        (
            [{"from": "a", "to": "b", "factor": 2}, {"from": "b", "to": "a", "factor": 2}],
            "metadata.unit_conversions[1]",
        ),
        ([{"from": str(n), "to": "a", "factor": 1} for n in range(1001)], "metadata.unit_conversions"),
    ],
)
def test_a_declaration_that_is_none_is_refused(declared: object, path: str) -> None:
    finding = check_form(json.dumps(document_of([], unit_conversions=declared)).encode())
    assert [problem.path for problem in finding.problems] == [path]


def test_that_units_are_required_is_true_or_false() -> None:
    [problem] = check_form(json.dumps(document_of([], require_units="yes")).encode()).problems
    assert problem.path == "metadata.require_units"


def test_the_same_declaration_twice_is_one() -> None:
    twice = [{"from": "a", "to": "b", "factor": "1/2"}, {"from": "b", "to": "a", "factor": 2}]
    graph = parse_graph(json.dumps(document_of([], unit_conversions=twice)).encode())
    assert sorted(graph.units.by_target) == ["a", "b"]


@given(factor=_FRACTIONS, offset=_FRACTIONS, number=st.floats(-(10**9), 10**9))
def test_there_and_back_is_the_same_number(factor: Fraction, offset: Fraction, number: float) -> None:
    there = Conversion(source="a", target="b", factor=factor, offset=offset)
    back = there.inverted()
    assert there.convert(number) * back.factor + back.offset == Fraction(Decimal(repr(number)))
    assert back.inverted() == there


_G, _MG, _NONE = ("g", "mg", None)
_UNITS = [{"from": "g", "to": "mg", "factor": 1000}, {"from": "third", "to": "mg", "factor": "1/3"}]


def _window(
    demand: dict[str, Any], *records: tuple[float, str | None], **metadata: object
) -> tuple[str, Any, list[str]]:
    """What a window comes to by records a minute apart, the last one now: outcome, what is shown, and notes."""
    obligation = {"id": "oa", "metric": "a", "unit": "mg", **demand}
    rule = {"id": "r1", "tier": "low", "obligations": [obligation]}
    document = document_of([rule], (), **{"unit_conversions": _UNITS, **metadata})
    telemetry = [
        replace(
            record_of({"a": {"value": value} if unit is None else {"value": value, "unit": unit}}),
            telemetry_id=f"t-{number}",
            timestamp=Instant(record_of({}).timestamp - timedelta(minutes=len(records) - number - 1)),
        )
        for number, (value, unit) in enumerate(records)
    ]
    *earlier, now = telemetry
    [docket] = dockets_of(sliced(document, now))
    facts = window_facts(docket.plans, now, [buffer_record(one) for one in earlier])
    [judgement] = judge_all(docket, now, facts)
    assert _by_columns(document, *telemetry) == expected_verdict([judgement], is_mapped=True).value
    again = reread_docket(build_request(docket, now, facts, seed=0).prompt)
    assert judge_all(again, now, facts) == (judgement,)
    return judgement.outcome.value, facts["oa"].shown, list(unit_notes(docket, now))


_AVERAGE = {"type": "must_average_within", "value": [0, 200], "window_seconds": 3600}
_PEAK = {"type": "must_not_exceed_in_window", "value": 200, "window_seconds": 3600}


@pytest.mark.clause("ski", "5.3")
def test_a_window_converts_each_record() -> None:
    """Exactly: an average that is above by less than is shown is above."""
    assert _window(_AVERAGE, (0.25, _G), (150, _MG))[:2] == ("satisfied", 200)
    assert _window(_AVERAGE, (0.25, _G), (150.0000000001, _MG))[:2] == ("breached", 200.00000000005)
    assert _window(_AVERAGE, (300, "third"), (0.3, _G), (200, _MG))[:2] == ("satisfied", 200)
    assert _window(_AVERAGE, (301, "third"), (0.3, _G), (200, _MG))[:2] == ("breached", 200.111111111111)
    assert _window(_PEAK, (0.2001, _G), (1, _MG))[:2] == ("breached", 200.1)
    assert _window(_PEAK, (0.2, _G), (1, _MG))[:2] == ("satisfied", 200)
    assert _window(_PEAK, (601, "third"), (1, _MG))[:2] == ("breached", 200.333333333333)
    assert _window(_AVERAGE, (1, "kg"), (150, _MG))[0] == "undetermined"
    assert _window(_AVERAGE, (0.25, _G), (150, _MG), unit_conversions=[])[0] == "undetermined"


def test_the_notes_of_a_window_tell_of_the_record_itself() -> None:
    [note] = _window(_PEAK, (1, _MG), (0.25, _G))[2]
    assert note == "unit.converted: `oa`: `0.25` g is `250` mg"
    [absent] = _window(_PEAK, (1, _MG), (5, _NONE))[2]
    assert absent.endswith("names no unit, and is taken as mg")


def test_units_are_required_of_every_record_of_a_window() -> None:
    outcome, _, [note] = _window(_AVERAGE, (1, _MG), (5, _NONE), require_units=True)
    assert (outcome, note.endswith("names no unit, and is not compared")) == ("undetermined", True)
    assert _window(_AVERAGE, (1, _NONE), (5, _MG), require_units=True)[0] == "undetermined"
    assert _window(_PEAK, (1, _NONE), (0.3, _G), require_units=True)[0] == "breached"


def test_a_run_converts_each_record() -> None:
    """How long a limit has been failed without a break, whatever unit each record is in."""
    predicate = {"name": "debounce", "op": "lte", "value": 200, "seconds": 90}
    demand = {"type": "must", "predicate": predicate}
    assert _window(demand, (0.3, _G), (601, "third"), (201, _MG))[:2] == ("breached", 120)
    assert _window(demand, (0.3, _G), (600, "third"), (201, _MG))[:2] == ("satisfied", 0)
