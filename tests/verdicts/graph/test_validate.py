"""The validator: each class of defect, named, placed, and with what to do about it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from assay.verdicts.graph.conflict import Demand
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.issue import Issue, IssueCode, Severity, is_rejected
from assay.verdicts.graph.node import NodeId
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.validate import validate_graph
from tests.verdicts.graph.graphs import Document, changed, edge, obligation, read, sound, written


def _first(array: str, **fields: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        node = document["nodes"][array][0]
        node.update(fields)
        for name in [name for name, value in node.items() if value is ...]:
            del node[name]

    return change


def _add(array: str, **node: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["nodes"][array].append(node)
        if array in ("definitions", "exemptions", "precedents"):
            edge(document, "cited_by", str(node["id"]), "cite")

    return change


def _edge(kind: str, source: str, target: str) -> Callable[[Document], None]:
    return lambda document: edge(document, kind, source, target)


def _without(kind: str, source: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["edges"] = [e for e in document["edges"] if (e["type"], e["from"]) != (kind, source)]

    return change


def _obligation(*arguments: Any, **fields: Any) -> Callable[[Document], None]:  # noqa: ANN401  passed on
    return lambda document: obligation(document, *arguments, **fields)


def _all(*changes: Callable[[Document], object]) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for each in changes:
            each(document)

    return change


def _issues(change: Callable[[Document], object]) -> tuple[Issue, ...]:
    return validate_graph(changed(change))


def _found(change: Callable[[Document], object]) -> list[tuple[str, str, str | None, str | None]]:
    return [(issue.code, issue.severity, issue.node, issue.other) for issue in _issues(change)]


@pytest.mark.clause("ski", "3.6")
def test_a_sound_graph_has_no_issues() -> None:
    """The defects below are not found everywhere."""
    assert validate_graph(read(sound())) == ()


@pytest.mark.clause("ski", "2.1.2")
@pytest.mark.parametrize("text", [b'{"nodes":{},"edges":[]}', b'{"rules":[]}'])
def test_a_graph_without_a_rule_may_not_be_signed(text: bytes) -> None:
    """It would call every record unmapped or clear; in the typed form as in the flat one."""
    issues = validate_graph(parse_graph(text))
    assert IssueCode.EMPTY_GRAPH in {issue.code for issue in issues}
    assert is_rejected(issues)


_COUNT = {"name": "window_count", "op": "gte", "value": 3, "seconds": 60}
_PRECEDENT = {"type": "precedent", "summary": "x", "relation": "supersedes"}
_DEFECTS: dict[str, tuple[Callable[[Document], object], tuple[str, str, str | None, str | None]]] = {
    "same id, other content": (
        _add("subjects", id="stack", type="subject", name="Stack 2"),
        ("DUPLICATE_NODE_ID", "critical", "stack", None),
    ),
    "same id, other kind": (
        _add("subjects", id="eu", type="subject"),
        ("DUPLICATE_NODE_ID", "critical", "eu", None),
    ),
    "same id, same content": (
        lambda d: d["nodes"]["subjects"].append(d["nodes"]["subjects"][0]),
        ("DUPLICATE_NODE_ID", "low", "stack", None),
    ),
    "unknown type": (
        _first("obligations", obligation_type="must_sparkle"),
        ("UNKNOWN_OBLIGATION_TYPE", "high", "limit", None),
    ),
    "a demand of nothing in particular": (
        _first("obligations", obligation_type="must", value=..., unit=...),
        ("MISSING_OPERAND", "medium", "limit", None),
    ),
    "no start": (
        _first("obligations", effective_date_start=...),
        ("MISSING_EFFECTIVE_DATE", "high", "limit", None),
    ),
    "end before start": (
        _first("obligations", effective_date_end="2015-01-01T00:00:00Z"),
        ("INVERTED_DATES", "high", "limit", None),
    ),
    "edge to nowhere": (_edge("scoped_to", "limit", "mars"), ("DANGLING_EDGE", "high", "limit", None)),
    "edge from nowhere": (_edge("applies_to", "nobody", "stack"), ("DANGLING_EDGE", "high", "nobody", None)),
    "undefined subject": (_edge("applies_to", "rule", "chimney"), ("UNDEFINED_SUBJECT", "high", "rule", None)),
    "wrong target": (_edge("consists_of", "rule", "stack"), ("INVALID_EDGE_TARGET_TYPE", "high", "rule", None)),
    "wrong source": (_edge("scoped_to", "rule", "eu"), ("INVALID_EDGE_SOURCE_TYPE", "high", "rule", None)),
    "edge twice": (_edge("scoped_to", "limit", "eu"), ("DUPLICATE_EDGE", "low", "limit", None)),
    "rule of nothing": (_without("consists_of", "rule"), ("RULE_WITHOUT_OBLIGATION", "high", "rule", None)),
    "obligation of no rule": (_without("consists_of", "rule"), ("OBLIGATION_WITHOUT_RULE", "medium", "limit", None)),
    "rule for nobody": (_without("applies_to", "rule"), ("RULE_WITHOUT_SUBJECT", "medium", "rule", None)),
    "unknown tier": (_first("rules", risk_tier="extreme"), ("UNKNOWN_RISK_TIER", "high", "rule", None)),
    "no tier": (_first("rules", risk_tier=...), ("UNKNOWN_RISK_TIER", "high", "rule", None)),
    "obligation without citation": (_without("cited_by", "limit"), ("MISSING_CITATION", "high", "limit", None)),
    "definition without citation": (_without("cited_by", "def"), ("MISSING_CITATION", "high", "def", None)),
    "exemption without citation": (_without("cited_by", "exempt"), ("MISSING_CITATION", "high", "exempt", None)),
    "precedent without citation": (_without("cited_by", "before"), ("MISSING_CITATION", "high", "before", None)),
    "informal exemption": (
        _first("exemptions", condition="in an emergency"),
        ("INFORMAL_EXEMPTION", "low", "exempt", None),
    ),
    "bounds that exclude each other": (
        _obligation("least", "must_be_at_least", 36),
        ("CONTRADICTORY_OBLIGATIONS", "high", "limit", "least"),
    ),
    "two values at once": (
        _all(_obligation("a", "must_equal", 5), _obligation("b", "must_equal", 6)),
        ("CONTRADICTORY_OBLIGATIONS", "high", "b", "a"),
    ),
    "ranges apart": (
        _all(_obligation("a", "must_be_within", [0, 10]), _obligation("b", "must_be_within", [20, 30])),
        ("CONTRADICTORY_OBLIGATIONS", "high", "b", "a"),
    ),
    "lists apart": (
        _all(
            _obligation("a", "must_be_one_of", ["x"], metric="fuel", unit=None),
            _obligation("b", "must_be_one_of", ["y"], metric="fuel", unit=None),
        ),
        ("CONTRADICTORY_OBLIGATIONS", "high", "b", "a"),
    ),
    "averages apart": (
        _all(
            _obligation("a", "must_average_within", [0, 10], window_seconds=60),
            _obligation("b", "must_average_within", [20, 30], window_seconds=60),
        ),
        ("CONTRADICTORY_OBLIGATIONS", "high", "b", "a"),
    ),
    "three together": (
        _all(
            _obligation("a", "must_be_one_of", [1, 2], metric="n"),
            _obligation("b", "must_be_one_of", [2, 3], metric="n"),
            _obligation("c", "must_be_one_of", [1, 3], metric="n"),
        ),
        ("CONTRADICTORY_OBLIGATIONS", "high", "c", None),
    ),
    "must and must not": (
        _all(
            _obligation("a", "must", True, metric="running", unit=None),
            _obligation("b", "must_not", True, metric="running", unit=None),
        ),
        ("DATE_OVERLAP", "high", "b", "a"),
    ),
    "two operands of one rule": (
        _all(
            _obligation("tighter", "must_not_exceed", 30, effective_date_start="2020-01-01T00:00:00Z"),
            _edge("exempted_by", "tighter", "exempt"),
            _edge("scoped_to", "tighter", "eu"),
        ),
        ("DATE_OVERLAP", "medium", "limit", "tighter"),
    ),
    "a later operand beside the longest one": (
        _all(
            _obligation("long", "must_be_at_least", 1, metric="h"),
            _obligation(
                "short",
                "must_be_at_least",
                2,
                metric="h",
                effective_date_start="2017-01-01T00:00:00Z",
                effective_date_end="2018-01-01T00:00:00Z",
            ),
            _obligation("late", "must_be_at_least", 3, metric="h", effective_date_start="2020-01-01T00:00:00Z"),
        ),
        ("DATE_OVERLAP", "medium", "long", "late"),
    ),
    "superseded and still in force": (
        _all(
            _add("precedents", id="old", **_PRECEDENT),
            _obligation("past", "must_be_at_least", 1, metric="height", unit="m"),
            _obligation("present", "must_be_at_least", 2, metric="height", unit="m"),
            _edge("interpreted_by", "past", "old"),
            _edge("amended_by", "old", "present"),
        ),
        ("DATE_OVERLAP", "high", "past", "present"),
    ),
    "precedents in a loop": (_edge("amended_by", "before", "limit"), ("PRECEDENT_CYCLE", "high", "before", "limit")),
    "definition for another place": (
        _all(_first("definitions", scope=["de"])),
        ("DEFINITION_OUT_OF_SCOPE", "high", "limit", None),
    ),
    "definition for another rule": (
        _all(
            _first("definitions", scope="other"),
            _add("rules", id="other", type="rule", risk_tier="low"),
            _edge("consists_of", "other", "more"),
            _edge("applies_to", "other", "stack"),
            _obligation("more", "must_not_exceed", 1, metric="x"),
        ),
        ("DEFINITION_OUT_OF_SCOPE", "high", "limit", None),
    ),
    "definition for another subject": (
        _all(_first("definitions", scope="other"), _add("subjects", id="other", type="subject")),
        ("DEFINITION_OUT_OF_SCOPE", "high", "limit", None),
    ),
    "definition for another obligation": (
        _all(_first("definitions", scope="more"), _obligation("more", "must_not_exceed", 1, metric="x")),
        ("DEFINITION_OUT_OF_SCOPE", "high", "limit", None),
    ),
    "scope that names nothing": (
        _first("definitions", scope="large combustion plants"),
        ("UNRESOLVED_SCOPE", "low", "def", None),
    ),
    "unknown parent": (_first("jurisdictions", parent="earth"), ("UNKNOWN_PARENT", "high", "eu", None)),
    "parents in a loop": (_first("jurisdictions", parent="de"), ("JURISDICTION_CYCLE", "high", "de", None)),
    "one name for two": (
        _add("subjects", id="stack2", type="subject", name="Stack 1"),
        ("AMBIGUOUS_NAME", "low", "stack", "stack2"),
    ),
    "units that differ": (
        _obligation("other", "must_not_exceed", 1, unit="ppm"),
        ("UNIT_CONFLICT", "medium", "limit", "other"),
    ),
    "a unit in another letter case": (
        _obligation("other", "must_be_at_least", 900, unit="MG/Nm3"),
        ("CONTRADICTORY_OBLIGATIONS", "high", "other", "limit"),
    ),
    "limits in units that the graph converts": (
        _all(
            lambda document: document["metadata"].update(
                unit_conversions=[{"from": "g/Nm3", "to": "mg/Nm3", "factor": 1000}]
            ),
            _obligation("other", "must_be_at_least", 0.036, unit="g/Nm3"),
        ),
        ("CONTRADICTORY_OBLIGATIONS", "high", "other", "limit"),
    ),
    "a list under must that nothing satisfies with another": (
        _all(
            _obligation("one", "must", ["a", "b"], metric="fuel", unit=None),
            _obligation("two", "must", ["c"], metric="fuel", unit=None),
        ),
        ("CONTRADICTORY_OBLIGATIONS", "high", "two", "one"),
    ),
    "a list under must_not beside one under must": (
        _all(
            _obligation("one", "must", ["a", "b"], metric="fuel", unit=None),
            _obligation("two", "must_not", ["b", "a"], metric="fuel", unit=None),
        ),
        ("DATE_OVERLAP", "high", "two", "one"),
    ),
    "no unit beside one": (
        _obligation("other", "must_not_exceed", 1, unit=None),
        ("UNIT_CONFLICT", "medium", "limit", "other"),
    ),
    "operand of another kind": (_first("obligations", value="35"), ("INVALID_OPERAND", "high", "limit", None)),
    "no operand": (_first("obligations", value=...), ("INVALID_OPERAND", "high", "limit", None)),
    "no window": (
        _obligation("w", "must_not_exceed_in_window", 5),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a window longer than a hundred years": (
        _obligation("w", "must_not_exceed_in_window", 5, window_seconds=10**14),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a freshness longer than that": (
        _obligation("w", "must_be_recorded_within", "P99999999W"),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a window that the type does not use": (
        _first("obligations", window_seconds=60),
        ("INVALID_OPERAND", "high", "limit", None),
    ),
    "no time to be recorded within": (
        _obligation("w", "must_be_recorded_within", "soon"),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a count that is forbidden": (
        _obligation("w", "must_not", predicate=_COUNT),
        ("MISPLACED_PREDICATE", "high", "w", None),
    ),
    "a limit of something that is there": (
        _obligation("w", "must_not_exceed", 5, predicate={"name": "exists"}),
        ("MISPLACED_PREDICATE", "high", "w", None),
    ),
    "evidence that must be recent": (
        _obligation("w", "must", predicate={"name": "requires_recent_within_seconds", "seconds": 60}),
        ("MISPLACED_PREDICATE", "high", "w", None),
    ),
    "two windows for one freshness": (
        _obligation(
            "w",
            "must_be_recorded_within",
            60,
            unit=None,
            predicate={"name": "requires_recent_within_seconds", "seconds": 61},
        ),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a text that must not last": (
        _obligation("w", "must", predicate={"name": "debounce", "op": "eq", "value": "on", "seconds": 60}),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a sum within texts": (
        _obligation("w", "must", predicate={"name": "window_sum", "min": 1, "max": "b", "seconds": 60}),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a count of no time": (
        _obligation("w", "must", predicate={"name": "window_count", "op": "gte", "value": 3}),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a count of more than a hundred years": (
        _obligation("w", "must", predicate={**_COUNT, "seconds": 10**14}),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "a time since the last that is compared with nothing": (
        _obligation("w", "must", predicate={"name": "since_last", "value_seconds": 60}),
        ("INVALID_OPERAND", "high", "w", None),
    ),
    "no metric": (_first("obligations", metric=...), ("MISSING_METRIC", "high", "limit", None)),
    "range the wrong way round": (
        _first("obligations", obligation_type="must_be_within", value=[9, 6]),
        ("UNSATISFIABLE_OBLIGATION", "high", "limit", None),
    ),
    "one of nothing": (
        _first("obligations", obligation_type="must_be_one_of", value=[]),
        ("UNSATISFIABLE_OBLIGATION", "high", "limit", None),
    ),
    "none of nothing": (
        _first("obligations", obligation_type="must_not_be_one_of", value=[]),
        ("VACUOUS_OBLIGATION", "medium", "limit", None),
    ),
    "exempt whenever breached": (
        _first("exemptions", condition="so2 > 35"),
        ("VACUOUS_OBLIGATION", "medium", "limit", "exempt"),
    ),
    "extension": (
        _obligation("w", "must_not_equal", 5, metric="x"),
        ("EXTENSION_TYPE", "low", "w", None),
    ),
    "date only": (_first("obligations", effective_date_start="2016-01-01"), ("DATE_ONLY", "low", "limit", None)),
    "track": (_first("rules", track="A"), ("TRACK_DEPRECATED", "low", "rule", None)),
}


@pytest.mark.clause("ski", "3.6")
@pytest.mark.parametrize("name", _DEFECTS)
def test_each_class_of_defect_is_found(name: str) -> None:
    """With its code, its severity and the nodes that take part."""
    change, expected = _DEFECTS[name]
    assert expected in _found(change)


@pytest.mark.clause("ski", "3.6")
@pytest.mark.parametrize("name", _DEFECTS)
def test_every_issue_says_what_is_wrong_and_what_to_do(name: str) -> None:
    """One line each; a graph with a grave one is rejected."""
    issues = _issues(_DEFECTS[name][0])
    for issue in issues:
        assert issue.message
        assert issue.action
        assert "\n" not in issue.message
        assert issue.node is not None
    assert is_rejected(issues) is any(issue.severity in ("critical", "high") for issue in issues)


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize(
    ("kind", "predicate", "suggested"),
    [
        ("must_not", _COUNT, "negated comparison under `must`"),
        ("must_not", {"name": "exists"}, "`window_count` with `lte` 0"),
        ("must", {"name": "requires_recent_within_seconds", "seconds": 60}, "`must_be_recorded_within`"),
    ],
)
def test_a_predicate_in_the_wrong_place_is_told_the_right_one(
    kind: str, predicate: dict[str, object], suggested: str
) -> None:
    """Before the graph is signed, and instead of a verdict that nobody meant."""
    (issue,) = [one for one in _issues(_obligation("w", kind, predicate=predicate)) if one.node == "w"]
    assert issue.code is IssueCode.MISPLACED_PREDICATE
    assert suggested in issue.action


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize(
    ("kind", "value", "predicate"),
    [
        ("must", None, _COUNT),
        ("should", None, {"name": "window_avg", "min": 1, "max": 2, "seconds": 60}),
        ("must", None, {"name": "debounce", "max": 2, "seconds": 60}),
        ("must", None, {"name": "since_last", "op": "gte", "seconds": 60}),
        ("must", None, {"name": "exists"}),
        ("must_be_recorded_within", 60, {"name": "requires_recent_within_seconds", "value": 60}),
        ("discretionary", None, _COUNT),
    ],
)
def test_a_predicate_in_its_place_has_no_issue(kind: str, value: object, predicate: dict[str, object]) -> None:
    """A person judges what is discretionary, whatever else it says."""
    assert not _issues(_obligation("w", kind, value, unit=None, metric="n", predicate=predicate))


@pytest.mark.clause("ski", "3.6")
def test_every_code_has_a_defect_that_shows_it() -> None:
    """Those of versions and of flat graphs are shown below."""
    # An empty graph has no node to name; it has its test above.
    shown = {"EMPTY_GRAPH", *(expected[0] for _, expected in _DEFECTS.values())}
    elsewhere = {"VERSION_MISMATCH", "MISSING_VERSION", "CONVERTED_OBLIGATION", "UNTYPED_OBLIGATION", "IGNORED_FIELD"}
    assert shown | elsewhere == {code.value for code in IssueCode}


@pytest.mark.parametrize(
    ("change", "kind", "target"),
    [
        (_first("obligations", obligation_type="must_sparkle"), EdgeType.CONSISTS_OF, "limit"),
        (_edge("applies_to", "rule", "chimney"), EdgeType.APPLIES_TO, "chimney"),
        (_first("definitions", scope=["de"]), EdgeType.DEFINED_BY, "def"),
    ],
)
def test_an_issue_of_an_edge_carries_the_edge(
    change: Callable[[Document], object], kind: EdgeType, target: str
) -> None:
    """So that an editor can show it."""
    edges = [issue.edge for issue in _issues(change) if issue.edge is not None]
    assert [(each.type, each.target) for each in edges] == [(kind, target)]
    assert isinstance(edges[0], Edge)


@pytest.mark.clause("ski", "3.1")
def test_a_version_that_is_not_the_contents_rejects_the_graph() -> None:
    """An absent one too: every node carries its version."""
    document = json.loads(written(sound()))
    document["nodes"]["rules"][0]["version"] = "1"
    del document["nodes"]["subjects"][0]["version"]
    issues = validate_graph(parse_graph(json.dumps(document).encode()))
    assert [(issue.code, issue.severity, issue.node) for issue in issues] == [
        ("MISSING_VERSION", "high", "stack"),
        ("VERSION_MISMATCH", "high", "rule"),
    ]


@pytest.mark.clause("ski", "11.2")
def test_a_flat_graph_is_told_what_it_lacks_and_not_rejected_for_its_form() -> None:
    """Converted and untyped obligations are reported."""
    rules = [
        {"id": "a", "metric": "m", "predicate": "eq", "value": 5, "risk_tier": "low", "effective_date": "2020-01-01"},
        {"id": "b", "metric": "m", "colour": "red"},
    ]
    issues = validate_graph(parse_graph(json.dumps({"rules": rules}).encode()))
    assert {issue.code.value for issue in issues} == {
        "CONVERTED_OBLIGATION",
        "IGNORED_FIELD",
        "MISSING_CITATION",
        "MISSING_EFFECTIVE_DATE",
        "UNKNOWN_RISK_TIER",
        "UNTYPED_OBLIGATION",
    }
    assert not is_rejected(issues)


_FINE: dict[str, Callable[[Document], object]] = {
    "a looser bound of another rule is no contradiction": _all(
        _add("rules", id="other", type="rule", risk_tier="low"),
        _edge("applies_to", "other", "stack"),
        _edge("consists_of", "other", "looser"),
        lambda d: d["nodes"]["obligations"].append({**d["nodes"]["obligations"][0], "id": "looser", "value": 50}),
        _edge("cited_by", "looser", "cite"),
    ),
    "a bound that begins after the other has ended": _all(
        _first("obligations", effective_date_end="2019-12-31T23:59:59Z"),
        _obligation("later", "must_be_above", 90, effective_date_start="2020-01-01T00:00:00Z"),
    ),
    "bounds of places that do not meet": _all(
        _add("jurisdictions", id="us", type="jurisdiction"),
        _obligation("there", "must_be_above", 90),
        _edge("scoped_to", "there", "us"),
    ),
    "bounds of another subject": _all(
        _add("subjects", id="other", type="subject"),
        _add("rules", id="rule2", type="rule", risk_tier="low"),
        _edge("applies_to", "rule2", "other"),
        _edge("consists_of", "rule2", "there"),
        lambda d: d["nodes"]["obligations"].append(
            {**d["nodes"]["obligations"][0], "id": "there", "obligation_type": "must_be_above", "value": 90}
        ),
        _edge("cited_by", "there", "cite"),
    ),
    "averages over other windows": _all(
        _obligation("a", "must_be_within", [0, 10], metric="x"),
        _obligation("b", "must_be_recorded_within", 60, metric="x", unit="s"),
    ),
    "a recommendation": _obligation("wish", "should", 5),
    "a matter of judgment": _obligation("judge", "discretionary", metric=None, unit=None),
    "a predicate over time": _obligation(
        "sum", "must", metric="x", predicate={"name": "window_sum", "max": 5, "seconds": 60}
    ),
    "a definition for a place above": _first("definitions", scope=["eu"]),
    "a definition for a place by its name": _first("definitions", scope="European Union"),
    "a definition for this rule": _first("definitions", scope=["rule"]),
    "a definition for this subject": _first("definitions", scope=["stack"]),
    "a definition for this obligation": _first("definitions", scope=["limit"]),
    "a definition for everyone": _first("definitions", scope=["*"]),
    "a definition for the sector": _first("definitions", scope=["energy"]),
    "an exemption that leaves some breaches": _first("exemptions", condition="so2 > 100"),
    "an exemption on two metrics": _first("exemptions", condition="so2 > 35 and startup == true"),
    "a precedent that is superseded in time": _all(
        _add("precedents", id="old", **_PRECEDENT),
        _obligation("past", "must_be_at_least", 1, metric="h", effective_date_end="2019-12-31T00:00:00Z"),
        _obligation("present", "must_be_at_least", 2, metric="h", effective_date_start="2020-01-01T00:00:00Z"),
        _obligation("aside", "must_be_at_least", 3, metric="i"),
        _obligation("abroad", "must_not_exceed", 9, metric="h"),
        _edge("scoped_to", "abroad", "de"),
        _edge("interpreted_by", "past", "old"),
        _edge("interpreted_by", "aside", "old"),
        _edge("interpreted_by", "abroad", "old"),
        _edge("amended_by", "old", "present"),
    ),
    "equal operands of one rule": _all(
        _obligation("again", "must_not_exceed", 35),
        _edge("exempted_by", "again", "exempt"),
        _edge("scoped_to", "again", "eu"),
    ),
}


@pytest.mark.parametrize("name", _FINE)
def test_what_is_not_wrong_is_not_told(name: str) -> None:
    """A validator that cries wolf is switched off."""
    assert _found(_FINE[name]) == []


def test_places_meet_along_their_parents() -> None:
    """What holds in Germany and what holds in the Union hold together in Germany."""
    change = _all(_obligation("there", "must_be_above", 90), _edge("scoped_to", "there", "de"))
    assert ("CONTRADICTORY_OBLIGATIONS", "high", "there", "limit") in _found(change)
    universal = _obligation("everywhere", "must_be_above", 90)
    assert ("CONTRADICTORY_OBLIGATIONS", "high", "limit", "everywhere") in _found(universal)


def test_a_contradiction_is_told_once_however_many_places_and_subjects_it_concerns() -> None:
    """Two obligations, one mistake."""
    change = _all(
        _add("subjects", id="stack2", type="subject"),
        _edge("applies_to", "rule", "stack2"),
        _obligation("everywhere", "must_be_above", 90),
        _obligation("there", "must_not_exceed", 95),
        _edge("scoped_to", "there", "de"),
    )
    contradictions = [issue for issue in _issues(change) if issue.code is IssueCode.CONTRADICTORY_OBLIGATIONS]
    assert [(issue.node, issue.other) for issue in contradictions] == [("limit", "everywhere")]


def test_what_nothing_satisfies_is_not_told_to_contradict_everything() -> None:
    """It is one mistake."""
    change = _obligation("odd", "must_be_within", [9, 6])
    assert [code for code, *_ in _found(change)] == ["UNSATISFIABLE_OBLIGATION"]


def test_a_scope_that_leads_nowhere_does_not_make_an_obligation_universal() -> None:
    """It applies nowhere, so it contradicts nothing; the edge itself is told."""
    change = _all(_obligation("lost", "must_be_above", 90), _edge("scoped_to", "lost", "mars"))
    assert [code for code, *_ in _found(change)] == ["DANGLING_EDGE"]


def test_the_second_of_two_obligations_with_one_id_is_looked_at_too() -> None:
    """And does not hide what is wrong with the first."""
    first = _first("obligations", value="35")
    second = _add("obligations", id="limit", type="must_be_within", metric="so2", value=[9, 6])
    found = [(code, node) for code, _, node, _ in _found(_all(first, second))]
    assert ("INVALID_OPERAND", "limit") in found
    assert ("UNSATISFIABLE_OBLIGATION", "limit") in found


def test_issues_come_with_the_worst_first() -> None:
    """And in the same order every time."""
    document = sound()
    for change, _ in _DEFECTS.values():
        if change is not _DEFECTS["rule of nothing"][0]:
            change(document)
    issues = validate_graph(read(document))
    ranks = [list(Severity).index(issue.severity) for issue in issues]
    assert ranks == sorted(ranks)
    assert issues == validate_graph(read(document))


class _Solver:
    """Explains by the ids it was given."""

    def explain(self, demands: tuple[Demand, ...]) -> str | None:
        return " ".join(sorted(demand.obligation.id for demand in demands))


def test_with_a_prover_contradictions_carry_its_proof() -> None:
    """Of the two that contradict, or of all where it takes more."""
    change = _obligation("least", "must_be_at_least", 36)
    [issue] = validate_graph(changed(change), prover=_Solver())
    assert issue.proof == "least limit"
    together, _ = _DEFECTS["three together"]
    proofs = [issue.proof for issue in validate_graph(changed(together), prover=_Solver()) if issue.proof]
    assert proofs == ["a b c"]


def test_a_long_loop_of_parents_is_found_without_recursion() -> None:
    """Ten thousand jurisdictions deep."""
    document = sound()
    places = [
        {"id": f"j{number}", "type": "jurisdiction", "parent": f"j{(number + 1) % 10_000}"} for number in range(10_000)
    ]
    document["nodes"]["jurisdictions"] += places
    codes = [issue.code for issue in validate_graph(read(document))]
    assert codes == [IssueCode.JURISDICTION_CYCLE]
    assert NodeId("j0") in {issue.node for issue in validate_graph(read(document))}


def test_limits_in_convertible_units_are_compared_exactly() -> None:
    """35 mg and 0.035 g are the same limit, which is no contradiction, and no conflict of units either."""
    units = [{"from": "g/Nm3", "to": "mg/Nm3", "factor": 1000}, {"from": "third", "to": "mg/Nm3", "factor": "1/3"}]

    def declare(document: Document) -> None:
        document["metadata"]["unit_conversions"] = units

    for value, unit in ((0.035, "g/Nm3"), (105, "third")):
        same = _all(declare, _obligation("other", "must_be_at_least", value, unit=unit))
        assert not [one for one in _found(same) if one[0] in ("CONTRADICTORY_OBLIGATIONS", "UNIT_CONFLICT")]
    above = _all(declare, _obligation("other", "must_be_at_least", 105.001, unit="third"))
    assert ("CONTRADICTORY_OBLIGATIONS", "high", "other", "limit") in _found(above)
