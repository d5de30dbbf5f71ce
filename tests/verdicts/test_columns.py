"""Columns judge as the verifier does, record by record: the same verdicts, whatever the rules and the records."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.instant import Instant, render_instant
from assay.verdicts.columns import ColumnGatherer, Columns, Vocabulary, instant_at, moment_of
from assay.verdicts.columns_change import PastVerdicts, find_changes
from assay.verdicts.columns_groups import metrics_of
from assay.verdicts.columns_judge import NO_RULE, VERDICTS, ColumnJudge
from assay.verdicts.docket import open_docket, parts_of
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.hash import versioned
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.node import Exemption, Jurisdiction, NodeId, Rule, Subject
from assay.verdicts.graph.obligation import Obligation, PredicateName
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry, recorded_readings
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import BufferedRecord, buffer_record
from tests.scale import scale
from tests.verdicts.judging import NOON, exemption, flat, obligation, vector_cases

Judged = dict[tuple[str, str], Verdict]


def graph_of(
    rules: Mapping[tuple[str, str], Sequence[Obligation]],
    *,
    exempted: Mapping[str, Sequence[Exemption]] | None = None,
    scoped: Mapping[str, str] | None = None,
) -> KnowledgeGraph:
    """Rules by subject and id."""
    exempted, scoped = exempted or {}, scoped or {}
    subjects = {subject for subject, _ in rules}
    places = set(scoped.values())
    edges = [Edge(type=EdgeType.APPLIES_TO, source=NodeId(rule), target=NodeId(subject)) for subject, rule in rules]
    edges += [
        Edge(type=EdgeType.CONSISTS_OF, source=NodeId(rule), target=one.id)
        for (_, rule), group in rules.items()
        for one in group
    ]
    edges += [
        Edge(type=EdgeType.EXEMPTED_BY, source=NodeId(name), target=one.id)
        for name, group in exempted.items()
        for one in group
    ]
    edges += [Edge(type=EdgeType.SCOPED_TO, source=NodeId(name), target=NodeId(to)) for name, to in scoped.items()]
    return KnowledgeGraph(
        subjects=tuple(versioned(Subject(id=NodeId(one), name=f"the {one}")) for one in sorted(subjects)),
        rules=tuple(versioned(Rule(id=NodeId(one), name=one, risk_tier="medium")) for _, one in sorted(rules)),
        obligations=tuple(one for group in rules.values() for one in group),
        exemptions=tuple(one for group in exempted.values() for one in group),
        jurisdictions=tuple(versioned(Jurisdiction(id=NodeId(one), name=one)) for one in sorted(places)),
        edges=tuple(edges),
    )


def changed(past: Judged, now: Judged) -> list[tuple[str, str, Verdict | None, Verdict | None]]:
    """By record and rule, what differs."""
    keys = sorted(past.keys() | now.keys())
    return [(*key, past.get(key), now.get(key)) for key in keys if past.get(key) is not now.get(key)]


def sent(name: str, subject: str, seconds: float, measurement: Mapping[str, object], place: str | None) -> Telemetry:
    moment = render_instant(Instant(NOON + timedelta(seconds=seconds)))
    told = {"telemetry_id": name, "timestamp": moment, "subject": subject, "measurement": dict(measurement)}
    # As text, since a value goes through its canonical text, where a large float looks like an integer.
    return parse_telemetry(json.dumps(told if place is None else {**told, "jurisdiction": place}))


def one_by_one(graph: KnowledgeGraph, records: Sequence[Telemetry]) -> Judged:
    """What the verifier makes of each record, with those before it to look back at."""
    index, found = build_index(graph), Judged()
    earlier: defaultdict[str, list[BufferedRecord]] = defaultdict(list)
    for one in records:
        part = slice_graph(index, one.subject, as_of=one.timestamp, jurisdiction=one.jurisdiction)
        for docket in (open_docket(part_, is_mapped=part.subject is not None) for part_ in parts_of(part)):
            facts = window_facts(docket.plans, one, earlier[one.subject])
            judgements = judge_all(docket, one, facts)
            verdict = expected_verdict(judgements, is_mapped=docket.is_mapped, doubt=docket.doubt)
            found[one.telemetry_id, docket.rule_id] = verdict
        earlier[one.subject].append(buffer_record(one))
    return found


def gathered(graph: KnowledgeGraph, records: Sequence[Telemetry], vocabulary: Vocabulary) -> Columns:
    gatherer = ColumnGatherer(metrics_of(graph), vocabulary)
    for one in records:
        gatherer.add(one.telemetry_id, one.timestamp, one.subject, one.jurisdiction, one.readings)
    return gatherer.take()


def by_columns(graph: KnowledgeGraph, *batches: Sequence[Telemetry]) -> Judged:
    vocabulary, found = Vocabulary.empty(), Judged()
    judge = ColumnJudge(build_index(graph), vocabulary)
    for records in batches:
        columns = gathered(graph, records, vocabulary)
        judged = judge.judge(columns)
        for row, group in enumerate(judged.groups.tolist()):
            for place, rule in enumerate(judged.rules[group]):
                found[columns.names[row], rule] = VERDICTS[judged.verdicts[place][row]]
            assert all(told[row] == NO_RULE for told in judged.verdicts[len(judged.rules[group]) :])
    return found


OPS = st.sampled_from([PredicateName[one] for one in ("LTE", "GTE", "LT", "GT", "EQ")])
METRICS = st.sampled_from(["a", "b.c", "b.c.value", "d"])
UNITS = st.sampled_from([None, None, "kg", "g"])
NUMBERS = st.sampled_from(
    [0, -0.0, 1, 1.5, 2, 2.25, 3, 0.1, 0.2, 0.3, 1e17, 5e-324, 2**53 - 1, -1e300, 7.123456789012345]
)
VALUES = NUMBERS | NUMBERS | st.sampled_from([None, True, False, "x", "y", "e\u0301", "2026-03-02T11:59:30Z"])
OPERANDS = NUMBERS | st.sampled_from([None, True, False, "x", "\u00e9", [1, 2], [0.1, 3], [True, "x", 1], [2, 1], []])
TYPES = st.sampled_from(
    [
        "must", "must_not", "should", "must_not_exceed", "must_be_at_least", "must_be_below", "must_be_above",
        "must_be_within", "must_be_one_of", "must_not_be_one_of", "must_equal", "must_not_equal", "discretionary",
        "must_levitate", "must_be_recorded_within",
    ]
)  # fmt: skip
DATES = st.sampled_from([None, None, NOON, Instant(NOON + timedelta(seconds=60))])
SECONDS = st.sampled_from([0, 0.000001, 1, 10, 59.999999, 60, 600])
CONDITIONS = st.sampled_from(
    ["d == true", "a <= 2", "a >= 1 and d == true", "b.c < 2", "a == 1.5 kg", "d == 'x'", "the engineer agrees"]
)


@st.composite
def plain_obligations(draw: st.DrawFn, name: str) -> Obligation:
    found = obligation(name, draw(TYPES), draw(METRICS), draw(OPERANDS), unit=draw(UNITS))
    return replace(found, effective_date_start=draw(DATES), effective_date_end=draw(DATES))


@st.composite
def windows(draw: st.DrawFn, name: str) -> Obligation:
    """Every way of looking back."""
    metric, seconds, value = draw(METRICS), draw(SECONDS), draw(NUMBERS | st.sampled_from(["x", True]))
    kind = draw(st.sampled_from(["average", "maximum", "fresh", "count", "sum", "avg", "since", "debounce"]))
    if kind == "average":
        ends = sorted([draw(NUMBERS), draw(NUMBERS)])
        return obligation(name, "must_average_within", metric, ends, window=seconds, unit=draw(UNITS))
    if kind == "maximum":
        return obligation(name, "must_not_exceed_in_window", metric, value, window=seconds, unit=draw(UNITS))
    if kind == "fresh":
        return obligation(name, "must_be_recorded_within", metric, draw(SECONDS))
    op = draw(OPS)
    if kind == "since":
        return flat(name, PredicateName.SINCE_LAST, metric, op=op, value_seconds=seconds)
    names = {"count": "WINDOW_COUNT", "sum": "WINDOW_SUM", "avg": "WINDOW_AVG", "debounce": "DEBOUNCE"}
    return flat(name, PredicateName[names[kind]], metric, seconds=seconds, op=op, value=value)


@st.composite
def graphs(draw: st.DrawFn, *, is_windowed: bool) -> KnowledgeGraph:
    rules: dict[tuple[str, str], list[Obligation]] = {}
    exempted: dict[str, list[Exemption]] = {}
    scoped: dict[str, str] = {}
    for number in range(draw(st.integers(1, 4))):
        names = [f"o{number}.{part}" for part in range(draw(st.integers(1, 2)))]
        rules[draw(st.sampled_from(["s", "t"])), f"r{number}"] = [
            draw(windows(name) if is_windowed and draw(st.booleans()) else plain_obligations(name)) for name in names
        ]
        if draw(st.booleans()):
            exempted[names[0]] = [exemption(f"x{number}", draw(CONDITIONS))]
        if draw(st.booleans()):
            scoped[names[0]] = draw(st.sampled_from(["eu", "de"]))
    return graph_of(rules, exempted=exempted, scoped=scoped)


@st.composite
def histories(draw: st.DrawFn, size: int) -> list[Telemetry]:
    """In order of time; several may be at one moment."""
    count = draw(st.integers(1, size))
    moments = sorted(
        draw(st.lists(st.sampled_from([0, 1, 1.5, 30, 59.999999, 60, 90, 120]), min_size=count, max_size=count))
    )
    return [sent(f"t{n:02}", draw(st.sampled_from(["s", "s", "t", "u"])), moment, draw(measurements()), draw(PLACES))
            for n, moment in enumerate(moments)]  # fmt: skip


PLACES = st.sampled_from([None, None, "eu", "de", "us", "universal"])


@st.composite
def measurements(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for metric in ("a", "d"):
        if draw(st.integers(0, 3)):
            unit = draw(UNITS)
            found[metric] = draw(VALUES) if unit is None else {"value": draw(VALUES), "unit": unit}
    if draw(st.booleans()):
        found["b"] = {"c": {"value": draw(NUMBERS)}}
    return found


@pytest.mark.clause("ski", "5.3")
def test_columns_do_not_hide_a_breach_behind_a_text_either() -> None:
    """One number above the limit is enough; a text beside one that is not above leaves it to a person."""
    graph = graph_of({("s", "r"): [obligation("o", "must_not_exceed_in_window", "a", 2, window=60)]})
    records = [sent(f"t{at}", "s", at, {"a": value}, None) for at, value in enumerate([1, "x", 3, True])]
    found = by_columns(graph, records)
    assert found == one_by_one(graph, records)
    assert sorted(map(str, found.values())) == ["CLEAR", "DISCRETIONARY", "FLAG", "FLAG"]


@pytest.mark.clause("ski", "5.3")
def test_columns_do_not_hide_a_breach_behind_another_unit_either() -> None:
    """A number of the graph's own unit that is too much stays so; one of another unit is a person's by itself."""
    graph = graph_of({("s", "r"): [obligation("o", "must_not_exceed_in_window", "a", 2, window=60, unit="kg")]})
    given = [
        {"value": 9, "unit": "g"},
        {"value": 1, "unit": "kg"},
        {"value": 3, "unit": "kg"},
        {"value": 1, "unit": "g"},
    ]
    records = [sent(f"t{at}", "s", at, {"a": value}, None) for at, value in enumerate(given)]
    found = by_columns(graph, records)
    assert found == one_by_one(graph, records)
    assert [str(one) for _, one in sorted(found.items())] == ["DISCRETIONARY", "DISCRETIONARY", "FLAG", "FLAG"]


@pytest.mark.clause("ski", "5.3")
@pytest.mark.parametrize("name", [PredicateName.WINDOW_SUM, PredicateName.WINDOW_AVG])
def test_a_sum_beyond_every_number_is_no_number_in_columns_either(name: PredicateName) -> None:
    """A sum that no record could hold is a person's; an average of the same numbers is one of them again."""
    graph = graph_of({("s", "r"): [flat("o", name, "a", seconds=60, op=PredicateName.LTE, value=2)]})
    records = [sent(f"t{at}", "s", at, {"a": value}, None) for at, value in enumerate([1, 1.7e308, 1.7e308, -1.7e308])]
    found = by_columns(graph, records)
    assert found == one_by_one(graph, records)
    third = "DISCRETIONARY" if name is PredicateName.WINDOW_SUM else "FLAG"
    assert [str(one) for _, one in sorted(found.items())] == ["CLEAR", "FLAG", third, "FLAG"]


@settings(max_examples=scale(80, 4000))
@given(graphs(is_windowed=False), histories(8), histories(4))
def test_columns_come_to_the_verdicts_of_the_verifier(
    graph: KnowledgeGraph, first: list[Telemetry], second: list[Telemetry]
) -> None:
    """Every type of obligation, units, exemptions and jurisdictions; also where later columns bring new subjects."""
    assert by_columns(graph, first) == one_by_one(graph, first)
    assert by_columns(graph, second, first) == one_by_one(graph, second) | one_by_one(graph, first)


@settings(max_examples=scale(80, 4000))
@given(graphs(is_windowed=True), histories(10))
def test_columns_look_back_as_the_verifier_does(graph: KnowledgeGraph, history: list[Telemetry]) -> None:
    """Windows, ages and runs, with values of any kind; where arrays are not exact, rows are judged one by one."""
    assert by_columns(graph, history) == one_by_one(graph, history)


@settings(max_examples=scale(30, 1000))
@given(graphs(is_windowed=False), graphs(is_windowed=False), histories(6))
def test_what_changes_is_what_is_not_as_it_was(
    before: KnowledgeGraph, after: KnowledgeGraph, history: list[Telemetry]
) -> None:
    """Each rule of each record that has another verdict, has one no more, or has one now."""
    past, vocabulary = one_by_one(before, history), Vocabulary.empty()
    columns = gathered(after, history, vocabulary)
    judged = ColumnJudge(build_index(after), vocabulary).judge(columns)
    told = [
        (columns.names.index(name), vocabulary.rules[rule], VERDICTS.index(past[name, rule])) for name, rule in past
    ]
    rows, rules, verdicts = np.array(told).T
    found = find_changes(PastVerdicts(rows, rules, verdicts.astype(np.uint8)), judged, vocabulary.rules)
    assert [
        (columns.names[row], vocabulary.rules.names[rule], _verdict(old), _verdict(new))
        for row, rule, old, new in zip(found.rows, found.rules, found.before, found.after, strict=True)
    ] == changed(past, one_by_one(after, history))


def _verdict(number: int) -> Verdict | None:
    return None if number == NO_RULE else VERDICTS[number]


@given(measurements())
def test_a_record_is_read_back_from_its_entry_as_it_was(measurement: dict[str, Any]) -> None:
    """Also a number that canonical JSON writes without a point, though it is no integer."""
    record = sent("t", "s", 0, {**measurement, "e\u0301": 1e17}, None)
    assert recorded_readings(msgspec.json.decode(record.canonical)["measurement"]) == record.readings


def test_an_obligation_is_in_force_from_its_first_moment_to_its_last() -> None:
    """SKI 3.4: both dates are inclusive, to the microsecond."""
    dated = replace(
        obligation("o", "must_not_exceed", "a", 1),
        effective_date_start=NOON,
        effective_date_end=Instant(NOON + timedelta(seconds=1)),
    )
    moments = (-0.000001, 0, 1, 1.000001)
    history = [sent(f"t{place}", "s", moment, {"a": 2}, None) for place, moment in enumerate(moments)]
    told = list(by_columns(graph_of({("s", "r"): [dated]}), history).values())
    assert told == [Verdict.CLEAR, Verdict.FLAG, Verdict.FLAG, Verdict.CLEAR]


@pytest.mark.parametrize("case", vector_cases("window/predicates"), ids=lambda case: case["name"])
def test_a_window_of_columns_decides_as_written(case: dict[str, Any]) -> None:
    """The vectors of windows, record by record: the last of each says what the vector says."""
    if "flat" in case:
        fields = {key: PredicateName(part) if key == "op" else part for key, part in case["fields"].items()}
        one = flat("o", PredicateName(case["flat"]), "m", **fields)
    else:
        one = obligation("o", case["type"], "m", case["value"], window=case.get("window_seconds"))
    history = [
        parse_telemetry(
            {"telemetry_id": f"t{n}", "timestamp": f"2026-03-02T{time}Z", "subject": "s", "measurement": {"m": value}}
        )
        for n, (time, value) in enumerate(case["records"])
    ]
    history.sort(key=lambda record: (record.timestamp, record.telemetry_id))
    graph = graph_of({("s", "r"): [one]})
    told = by_columns(graph, history)
    assert told == one_by_one(graph, history)
    last = f"t{len(history) - 1}"
    assert (told[last, "r"] is Verdict.CLEAR) == (case["outcome"] == "satisfied")


@given(st.lists(st.sampled_from([1, 2, 3, 4.5, None]), min_size=1, max_size=40), st.integers(1, 45))
def test_a_maximum_is_that_of_its_window(values: list[float | None], seconds: int) -> None:
    """However many records a window holds; one a second."""
    peak = obligation("o", "must_not_exceed_in_window", "a", 3, window=seconds)
    history = [sent(f"t{n:02}", "s", n, {"a": value}, None) for n, value in enumerate(values)]
    told = by_columns(graph_of({("s", "r"): [peak]}), history)
    for place in range(len(values)):
        inside = [one for one in values[max(0, place - seconds + 1) : place + 1] if one is not None]
        expected = Verdict.DISCRETIONARY if not inside else Verdict.FLAG if max(inside) > 3 else Verdict.CLEAR
        assert told[f"t{place:02}", "r"] is expected


def test_sums_are_exact() -> None:
    """0.1 + 0.2 is 0.3, and a tenth more than that is more; binary64 says otherwise of the first."""
    total = flat("o", PredicateName.WINDOW_SUM, "a", seconds=10, op=PredicateName.LTE, value=0.3)
    history = [sent(f"t{place}", "s", place, {"a": value}, None) for place, value in enumerate((0.1, 0.2, 1e-7))]
    told = list(by_columns(graph_of({("s", "r"): [total]}), history).values())
    assert told == [Verdict.CLEAR, Verdict.CLEAR, Verdict.FLAG]


def test_subjects_with_rules_of_their_own_are_judged_by_these() -> None:
    """So many shapes of rules that rows are sorted by them first; and one rule that most subjects have."""
    count = 70
    rules = {(f"s{n}", f"r{n}"): [obligation(f"o{n}", "must_not_exceed", f"m{n}", n)] for n in range(count)}
    rules |= {(f"s{n}", f"q{n}"): [obligation(f"p{n}", "must_be_at_least", "a", n)] for n in range(count)}
    graph = graph_of(rules)
    history = [
        sent(f"t{n}.{more}", f"s{n}", n, {f"m{n}": n + more, "a": 2 * n * more}, None)
        for n in range(count)
        for more in (0, 1)
    ]
    told = by_columns(graph, history)
    assert told == one_by_one(graph, history)
    assert {told["t5.0", "r5"], told["t5.1", "q5"]} == {Verdict.CLEAR}
    assert {told["t5.1", "r5"], told["t5.0", "q5"]} == {Verdict.FLAG}


def test_a_graph_too_wide_for_a_table_is_judged_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {("s", "r"): [obligation("o", "must_not_exceed", "a", 1)], ("t", "q"): [obligation("p", "must", "d")]}
    graph = graph_of(rules, scoped={"o": "eu"})
    history = [
        sent(f"t{n}", subject, n, {"a": n, "d": n != 1}, place)
        for n, (subject, place) in enumerate([("s", "eu"), ("t", None), ("s", "eu"), ("u", "eu"), ("s", None)])
    ]
    expected = one_by_one(graph, history)
    monkeypatch.setattr("assay.verdicts.columns_groups._WIDEST", 0)
    assert by_columns(graph, history[:3], history) == expected
    assert expected["t2", "r"] is Verdict.FLAG


def test_a_moment_is_kept_to_the_microsecond() -> None:
    for moment in (NOON, Instant(NOON + timedelta(microseconds=1)), Instant(datetime(1, 1, 1, tzinfo=UTC))):
        assert instant_at(moment_of(moment)) == moment
