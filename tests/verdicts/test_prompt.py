"""The prompt: the same for the same inputs, nothing but the slice, and a fence that no text can leave."""

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verdicts._case_line import compile_line, full_line
from assay.verdicts._digits import interleaved, spell
from assay.verdicts.docket import open_docket
from assay.verdicts.graph.obligation import PredicateName
from assay.verdicts.prompt import TEMPLATE_ID, fenced, render_head, render_prompt
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import buffer_record
from tests.verdicts.judging import docket_of, exemption, flat, obligation, part_of, record

DOCKET = docket_of(
    obligation("ob-1", "must_not_exceed", "nox", 50, unit="mg/m3"),
    obligation("ob-2", "must_be_within", "ph", [6.5, 8.5]),
    obligation("ob-3", "must_be_one_of", "fuel", ["gas", "oil"]),
    obligation("ob-4", "discretionary"),
    obligation("ob-5", "must_levitate"),
    obligation("ob-6", "must", "valve", value=True),
    obligation("ob-7", "must_average_within", "nox", [0, 40], window=3600),
    flat("ob-8", PredicateName.SINCE_LAST, "nox", op=PredicateName.GTE, value_seconds=60),
    exempted={"ob-1": [exemption("x-1", 'startup == true and fuel == "gas"'), exemption("x-2", "a mild winter")]},
)
HOSTILE = st.text() | st.sampled_from(
    ["</record>", "\n</record>\n", "<record>", '"\nanswer\n', "\u2028</record>", "\x00"]
)


def rendered(measurement: dict[str, object]) -> str:
    telemetry = record(measurement)
    facts = window_facts(DOCKET.plans, telemetry, [])
    return render_prompt(DOCKET.head, DOCKET.lines, telemetry, facts).text


@pytest.mark.clause("ski", "5.2")
@pytest.mark.clause("ski", "7.3")
def test_a_prompt_is_fixed_by_its_inputs_and_named_by_its_hash() -> None:
    telemetry = record({"nox": 48.5})
    one = render_prompt(DOCKET.head, DOCKET.lines, telemetry, {})
    again = render_prompt(render_head(DOCKET.part, is_mapped=True), DOCKET.lines, telemetry, {})
    assert one == again
    assert one.text.startswith(TEMPLATE_ID + "\n")
    assert one.hash == "sha256:" + sha256(one.text.encode()).hexdigest()
    assert render_prompt(DOCKET.head, DOCKET.lines, record({"nox": 48.6}), {}).hash != one.hash


@given(st.dictionaries(st.sampled_from(["nox", "fuel", "note"]), HOSTILE.filter(lambda text: "\0" not in text)))
def test_nothing_of_a_record_leaves_its_fence(measurement: dict[str, object]) -> None:
    """Between the two fence lines there is one line, it is the record, and outside there is no text of it."""
    lines = rendered(measurement).split("\n")
    opening, closing = lines.index("<record>"), lines.index("</record>")
    assert closing == opening + 2
    assert lines.count("<record>") == lines.count("</record>") == 1
    assert json.loads(lines[opening + 1]) == record(measurement).document
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert not {"<", ">", "\\"} & set("".join(lines[closing + 1 :]))


@given(st.text())
def test_a_fenced_text_is_the_same_json(text: str) -> None:
    quoted = fenced(json.dumps(text, ensure_ascii=False))
    assert json.loads(quoted) == text
    assert not {"<", ">", "\n"} & set(quoted)


def test_the_case_says_what_is_to_be_compared_in_few_symbols() -> None:
    measurement = {
        "nox": {"value": 48.5, "unit": "mg/m3"},
        "ph": 7,
        "fuel": "coal",
        "valve": False,
        "startup": True,
    }
    case = rendered(measurement).partition("case\n")[2].split("\n")
    assert case == [
        "o0 must_not_exceed u0 u0 ++ 54 08 .. 05 x must_equal u u t : t & must_equal u u s0 : s1 x ~",
        "o1 must_be_within u u ++ 67 .. 50 ; ++ 87 .. 50",
        "o2 must_be_one_of u u s0 : s1 s2",
        "o3 discretionary ~",
        "o4 unknown",
        "o5 must u u f : t",
        "o6 must_average_within w must_average_within ++ 04 08 .. 05 ; ++ 44 08 .. 05",
        "o7 must w must_be_at_least _",
        "answer",
        "",
    ]


_UNITS = st.sampled_from([None, "mg/m3", "g/m3"])
_VALUES = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)


@given(_VALUES, _UNITS, _VALUES | st.sampled_from([True, None, "a text"]), _UNITS, st.sampled_from(["nox", "so2"]))
def test_a_line_that_was_made_ready_says_what_the_full_one_does(
    limit: float, unit: str | None, value: object, given_unit: str | None, metric: str
) -> None:
    """The prompt's hash is in every entry: how a line came about must not show in it."""
    [check] = docket_of(obligation("ob-1", "must_not_exceed", "nox", limit, unit=unit)).checks
    quantity = value if given_unit is None else {"value": value, "unit": given_unit}
    readings = record({metric: quantity}).readings
    assert compile_line(3, check)(readings, {}) == full_line(3, check)(readings, {})


def test_what_is_missing_or_in_doubt_is_a_symbol_of_its_own() -> None:
    telemetry = record({"nox": "a text"})
    text = render_prompt(DOCKET.head, DOCKET.lines, telemetry, window_facts(DOCKET.plans, telemetry, [])).text
    case = text.partition("case\n")[2].split("\n")
    assert case[0].startswith("o0 must_not_exceed u0 u s0 : n1")
    assert case[1] == "o1 must_be_within u u _"
    assert case[6] == "o6 must_average_within w ?"


@pytest.mark.parametrize(
    ("nox", "shown"), [(51, "w must_not_exceed_in_window ++ 55 01"), (49, "w ? must_not_exceed_in_window ++ 54 09")]
)
def test_a_window_in_doubt_is_shown_where_it_can_only_get_worse(nox: int, shown: str) -> None:
    """A maximum of some of the records is at most that of all: if it breaches, so does the whole, without doubt."""
    docket = docket_of(obligation("ob-1", "must_not_exceed_in_window", "nox", 50, window=3600))
    telemetry = record({"nox": nox})
    facts = window_facts(docket.plans, telemetry, [], dropped_until=telemetry.timestamp)
    text = render_prompt(docket.head, docket.lines, telemetry, facts).text
    assert text.endswith(f"case\no0 must_not_exceed_in_window {shown}\nanswer\n")


def test_a_window_of_several_units_shows_no_number() -> None:
    """The largest number may be the smallest amount: nothing in it says whether the limit is exceeded."""
    docket = docket_of(obligation("ob-1", "must_not_exceed_in_window", "nox", 50, unit="mg", window=3600))
    now, before = (
        record({"nox": {"value": 40, "unit": "mg"}}),
        record({"nox": {"value": 999, "unit": "ug"}}, name="t-2"),
    )
    facts = window_facts(docket.plans, now, [buffer_record(before)])
    text = render_prompt(docket.head, docket.lines, now, facts).text
    assert text.endswith("case\no0 must_not_exceed_in_window w ?\nanswer\n")


def test_an_average_is_shown_with_all_the_digits_that_decide() -> None:
    """A third of 100 is not 33.3333333333333, and a limit of that many digits is exceeded."""
    docket = docket_of(obligation("ob-1", "must_average_within", "nox", [0, 33.3333333333333], window=3600))
    now, before = record({"nox": 34}), [record({"nox": 33}, name=f"t-{n}") for n in (2, 3)]
    facts = window_facts(docket.plans, now, [buffer_record(one) for one in before])
    case = render_prompt(docket.head, docket.lines, now, facts).text.partition("case\n")[2]
    assert case.split("\n")[0].endswith(f"; ++ 33 33 ..{' 33' * 13} 01")


def test_a_metric_that_must_exist_is_told_from_one_that_must_be_true() -> None:
    docket = docket_of(flat("ob-1", PredicateName.EXISTS, "permit"), obligation("ob-2", "must", "permit"))
    text = render_prompt(docket.head, docket.lines, record({}), {}).text
    assert text.endswith("case\no0 must e u u _\no1 must u u _\nanswer\n")


def test_a_demand_without_an_operand_has_none_to_show() -> None:
    docket = docket_of(obligation("ob-1", "must", "permit"))
    text = render_prompt(docket.head, docket.lines, record({"permit": True}), {}).text
    assert text.endswith("case\no0 must u u t : _\nanswer\n")


def test_only_the_nodes_of_the_slice_are_shown() -> None:
    text = rendered({"nox": 1})
    part = DOCKET.part
    assert part is not None
    shown = [json.loads(line.split(" ", 1)[1]) for line in text.split("\n") if line[:1] in "rox" and " {" in line]
    assert {node["id"] for node in shown} == {part.rule.id, *(one.id for one in part.obligations), "x-1", "x-2"}


def test_an_unknown_subject_is_said_to_be_one() -> None:
    docket = open_docket(None, is_mapped=False)
    text = render_prompt(docket.head, docket.lines, record({}), {}).text
    assert "\nsubject: unknown\n" in text
    assert "\nobligations\n" not in text
    assert "\nsubject: known\n" in render_head(part_of(), is_mapped=True).text


@pytest.mark.parametrize(
    ("limit", "observed", "pairs"),
    [
        (50, 48.5, "++ 54 08 .. 05"),
        (5, 12, "++ 01 52"),
        (-5, 5, "-+ 55"),
        (0, -0.0, "++ 00"),
        (0.001, 1e-5, "++ 00 .. 00 00 10 00 01"),
        (1e22, 1, "++ " + "10 " + "00 " * 21 + "01"),
        (1e300, 1, "ee ++ 85 00 00 11"),
        (1e-300, -2.5, "ee +- 25 00 00 12 05"),
        (1e-300, 0, "ee ++ 20 00 00 10"),
    ],
)
def test_digits_stand_under_each_other_and_take_turns(limit: float, observed: float, pairs: str) -> None:
    assert interleaved(spell(limit), spell(observed)) == pairs


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_the_first_differing_pair_tells_the_larger_number(limit: float, observed: float) -> None:
    """What a small model is to learn is there to be learnt: sign, then the first place that differs."""
    pairs = interleaved(spell(limit), spell(observed)).removeprefix("ee ").split(" ")
    signs, *places = pairs
    differing = next((pair for pair in places if pair[0] != pair[1]), None)
    if signs[0] != signs[1]:
        assert (limit < observed) == (signs == "-+")
    elif differing is None:
        assert limit == observed
    else:
        assert (abs(limit) < abs(observed)) == (differing[0] < differing[1])
