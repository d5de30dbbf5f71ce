"""The flat form: rules with predicates, converted into nodes and edges and marked so."""

import json
from decimal import Decimal

import pytest

from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import GraphForm, KnowledgeGraph, NoticeCode
from assay.verdicts.graph.hash import versioned
from assay.verdicts.graph.obligation import Basis, Obligation, PredicateName, window_of
from assay.verdicts.graph.parse import check_form, parse_graph
from assay.verdicts.rulings import Rulings
from tests.verdicts.graph.graphs import at


def _read(*rules: dict[str, object], **top: object) -> KnowledgeGraph:
    return parse_graph(json.dumps({"metadata": {"version": "2.1"}, "rules": rules, **top}).encode())


def _obligation(**fields: object) -> Obligation:
    [node] = _read({"id": "r", "metric": "m", **fields}).obligations
    return node


def _targets(graph: KnowledgeGraph, kind: EdgeType) -> list[str]:
    return [edge.target for edge in graph.edges if edge.type is kind]


@pytest.mark.clause("ski", "11.2")
@pytest.mark.parametrize(
    ("fields", "kind", "value"),
    [
        ({"predicate": "lte", "value": 5}, "must_not_exceed", Decimal(5)),
        ({"predicate": "<=", "value": 5}, "must_not_exceed", Decimal(5)),
        ({"predicate": "gte", "value": 5.5}, "must_be_at_least", Decimal("5.5")),
        ({"predicate": "lt", "value": 5}, "must_be_below", Decimal(5)),
        ({"predicate": "gt", "value": 5}, "must_be_above", Decimal(5)),
        ({"predicate": "eq", "value": "on"}, "must_equal", "on"),
        ({"predicate": "eq", "value": True}, "must_equal", True),
        ({"predicate": "range", "value": [1, 2]}, "must_be_within", (Decimal(1), Decimal(2))),
        ({"predicate": "between", "min": 1, "max": 2}, "must_be_within", (Decimal(1), Decimal(2))),
        ({"predicate": "range", "min": 1}, "must_be_at_least", Decimal(1)),
        ({"predicate": "range", "max": 2}, "must_not_exceed", Decimal(2)),
        ({"predicate": "in_set", "value": ["a", "b"]}, "must_be_one_of", ("a", "b")),
        ({"predicate": "not_in_set", "value": ["a"]}, "must_not_be_one_of", ("a",)),
        ({"predicate": "exists"}, "must", None),
        ({"predicate": "window_count", "op": "lte", "value": 3, "seconds": 60}, "must", None),
        ({"predicate": "window_sum", "max": 3, "seconds": 60}, "must", None),
        ({"predicate": "window_avg", "min": 3, "seconds": 60}, "must", None),
        ({"predicate": "since_last", "op": "gte", "value_seconds": 60}, "must", None),
        ({"predicate": "since_last", "op": "gte", "seconds": 60}, "must", None),
        ({"predicate": "debounce", "op": "gt", "value": 5, "seconds": 60}, "must", None),
        ({"predicate": "requires_recent_within_seconds", "seconds": 60}, "must_be_recorded_within", Decimal(60)),
        ({"predicate": "requires_recent_within_seconds", "value": 60}, "must_be_recorded_within", Decimal(60)),
        ({"predicate": {"name": "lte", "value": 5}}, "must_not_exceed", Decimal(5)),
        ({"predicate": {"type": "gt", "value": 5}}, "must_be_above", Decimal(5)),
    ],
)
def test_a_predicate_becomes_the_obligation_that_says_the_same(
    fields: dict[str, object], kind: str, value: object
) -> None:
    """It is marked as converted, and keeps the predicate as it was written."""
    node = _obligation(**fields)
    assert (node.obligation_type, node.value, node.basis) == (kind, value, Basis.CONVERTED)
    assert node.predicate is not None
    assert node.metric == "m"


@pytest.mark.clause("ski", "11.2")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"predicate": "lte"},
        {"predicate": "lte", "value": [1]},
        {"predicate": "in_set", "value": "a"},
        {"predicate": "range"},
        {"predicate": "range", "value": [1]},
        {"predicate": "window_count", "value": 3, "seconds": 60},
        {"predicate": "window_count", "op": "lte", "value": 3},
        {"predicate": "window_count", "op": "lte", "value": "3", "seconds": 60},
        {"predicate": "since_last", "value_seconds": 60},
        {"predicate": "since_last", "op": "lte"},
        {"predicate": "requires_recent_within_seconds"},
        {"predicate": {}},
    ],
)
def test_a_rule_without_a_usable_predicate_is_discretionary_only(fields: dict[str, object]) -> None:
    """Nothing is guessed; the graph says which rules are meant."""
    graph = _read({"id": "r", "metric": "m", **fields})
    [node] = graph.obligations
    assert (node.obligation_type, node.basis, node.predicate) == ("discretionary", Basis.UNTYPED, None)
    assert (NoticeCode.UNTYPED_OBLIGATION, "obligation:r") in [(each.code, each.node) for each in graph.notices]


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize("written", ["as the inspector sees fit", {"name": "as the inspector sees fit"}])
def test_a_predicate_that_nobody_knows_is_an_unknown_type(written: object) -> None:
    """So that every verdict on it names it; the first rulings made it `discretionary`, and forgot what it said."""
    [node] = _read({"id": "r", "metric": "m", "predicate": written}).obligations
    assert (node.obligation_type, node.basis, node.kind) == ("as the inspector sees fit", Basis.UNTYPED, None)
    document = {"metadata": {}, "rules": [{"id": "r", "metric": "m", "predicate": written}]}
    [before] = parse_graph(json.dumps(document).encode(), rulings=Rulings.FIRST).obligations
    assert (before.obligation_type, before.basis) == ("discretionary", Basis.UNTYPED)


def test_a_flat_rule_may_name_an_obligation_type_itself() -> None:
    """Then it is typed already."""
    node = _obligation(predicate="must_average_within", value=[1, 2], window_seconds=60)
    assert (node.obligation_type, node.basis) == ("must_average_within", Basis.TYPED)
    assert window_of(node) == 60


def test_the_graph_says_that_it_was_converted() -> None:
    """In its form, and as a notice to be logged."""
    graph = _read({"id": "r", "predicate": "lte", "value": 5})
    assert graph.form is GraphForm.FLAT
    assert graph.notices[0].code is NoticeCode.CONVERTED


def test_subjects_come_from_the_rule_else_from_the_registry_and_the_metric() -> None:
    """A registry entry names one rule or several; where it names a metric, it is the registry that says whose it is."""
    graph = _read(
        {"id": "a", "metric": "m", "subject": ["s1", "s2"]},
        {"id": "b", "metric": "m"},
        {"id": "c", "metric": "m"},
        {"id": "d"},
        tag_registry={"t1": "b", "t2": ["b", "a"]},
    )
    applied = [(edge.source, edge.target) for edge in graph.edges if edge.type is EdgeType.APPLIES_TO]
    assert applied == [
        ("a", "subject:s1"),
        ("a", "subject:s2"),
        ("b", "subject:t1"),
        ("b", "subject:t2"),
        ("b", "subject:m"),
        ("c", "subject:m"),
    ]
    assert [node.name for node in graph.subjects] == ["s1", "s2", "t1", "t2", "m"]


@pytest.mark.clause("ski", "3.4")
@pytest.mark.parametrize("universal", ["", "*", "global", "GLOBAL", ["eu", "*"], None, []])
def test_universal_forms_of_a_jurisdiction_leave_the_obligation_unscoped(universal: object) -> None:
    """An absent one too."""
    assert _targets(_read({"id": "r", "jurisdiction": universal}), EdgeType.SCOPED_TO) == []


def test_named_jurisdictions_scope_the_obligation() -> None:
    """A text or several."""
    graph = _read({"id": "r", "jurisdiction": "eu"}, {"id": "s", "jurisdiction": ["eu", "uk"]})
    assert _targets(graph, EdgeType.SCOPED_TO) == ["jurisdiction:eu", "jurisdiction:eu", "jurisdiction:uk"]
    assert [node.name for node in graph.jurisdictions] == ["eu", "uk"]


def test_dates_are_inclusive_at_both_ends() -> None:
    """A sunset date is in force until its last moment."""
    node = _obligation(effective_date="2020-01-01", sunset_date="2020-12-31")
    assert node.is_in_force(at("2020-01-01T00:00:00+00:00"))
    assert node.is_in_force(at("2020-12-31T23:59:59.999999+00:00"))
    assert not node.is_in_force(at("2021-01-01T00:00:00+00:00"))


@pytest.mark.clause("ski", "11.3")
def test_track_and_fields_that_we_do_not_know_are_noted() -> None:
    """Older graphs are read, and nothing in them is dropped in silence."""
    graph = _read({"id": "r", "track": "A", "colour": 1}, comment="x")
    told = [(notice.code.value, notice.node) for notice in graph.notices]
    assert ("track_deprecated", "r") in told
    assert ("ignored_field", "r") in told
    assert ("ignored_field", None) in told


def test_every_converted_node_has_the_version_of_its_content() -> None:
    """Envelopes cite versions, of converted nodes too."""
    graph = _read({"id": "r", "metric": "m", "predicate": "window_sum", "max": 3, "seconds": 60, "jurisdiction": "eu"})
    assert all(versioned(node) == node for node in graph.nodes())
    assert len({node.version for node in graph.nodes()}) == 4


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({}, "rules[0].id"),
        ("r", "rules[0]"),
        ({"id": "r", "predicate": "lte", "value": [[1]]}, "rules[0].value[0]"),
        ({"id": "r", "predicate": {"name": "lte", "value": {"about": 5}}}, "rules[0].predicate.value.about"),
        ({"id": "r", "predicate": 5}, "rules[0].predicate"),
        ({"id": "r", "jurisdiction": 5}, "rules[0].jurisdiction"),
        ({"id": "r", "effective_date": "soon"}, "rules[0].effective_date"),
        ({"id": "r", "predicate": "window_sum", "seconds": -1}, "rules[0].seconds"),
    ],
)
def test_mistakes_in_flat_rules_have_a_path_too(rule: object, path: str) -> None:
    """Only what has no meaning is refused."""
    finding = check_form(json.dumps({"rules": [rule]}).encode())
    assert path in [problem.path for problem in finding.problems]


def test_a_registry_of_something_else_is_refused() -> None:
    """It is an object from subjects to rules."""
    finding = check_form(b'{"rules": [], "tag_registry": []}')
    assert [problem.path for problem in finding.problems] == ["tag_registry"]


def test_the_predicates_are_those_that_users_of_flat_graphs_know() -> None:
    """No more and no fewer."""
    names = "lte gte lt gt eq range between in_set not_in_set exists window_count window_sum window_avg since_last"
    assert [name.value for name in PredicateName] == [*names.split(), "debounce", "requires_recent_within_seconds"]
