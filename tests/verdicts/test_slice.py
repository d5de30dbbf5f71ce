"""The slice: exactly what the filter of SKI 3.4 lets through, whatever the graph."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.instant import Instant
from assay.verdicts.graph.edge import ENDS, Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph, Node, node_type
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.node import (
    Citation,
    Definition,
    Exemption,
    Jurisdiction,
    NodeId,
    Precedent,
    PrecedentRelation,
    RiskTier,
    Rule,
    Subject,
)
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.slice import RuleSlice, Slice, Slicer, slice_graph
from tests.verdicts.graph.graphs import Document, at, edge, obligation, read, sound

_NOW = at("2024-06-01T00:00:00+00:00")


def _ids(nodes: Sequence[Node]) -> list[str]:
    return [node.id for node in nodes]


def _slice(document: Document, subject: str = "stack", jurisdiction: str | None = "de", now: Instant = _NOW) -> Slice:
    return slice_graph(build_index(read(document)), subject, as_of=now, jurisdiction=jurisdiction)


def _rule(document: Document, jurisdiction: str | None = "de", now: Instant = _NOW) -> RuleSlice:
    [rule] = _slice(document, jurisdiction=jurisdiction, now=now).rules
    return rule


@pytest.mark.clause("ski", "5.1")
def test_a_slice_holds_the_rule_its_obligations_and_what_hangs_on_them() -> None:
    """Definitions, exemptions, precedents, the matched jurisdiction, and the citations of all of them."""
    found = _slice(sound())
    assert found.subject is not None
    assert (found.subject.id, found.jurisdiction, found.declared, found.as_of) == ("stack", "de", "de", _NOW)
    [rule] = found.rules
    assert rule.rule.id == "rule"
    assert rule.tier is RiskTier.MEDIUM
    assert _ids(rule.obligations) == ["limit"]
    assert _ids(rule.definitions) == ["def"]
    assert _ids(rule.exemptions) == ["exempt"]
    assert _ids(rule.precedents) == ["before"]
    assert _ids(rule.jurisdictions) == ["eu"]
    assert _ids(rule.citations) == ["cite"]
    assert len(rule.edges) == 10


@pytest.mark.clause("ski", "5.1")
def test_citations_of_the_rule_the_subject_and_the_jurisdiction_belong_to_it() -> None:
    """Of every surviving node, and of no other."""
    document = sound()
    for number, node in enumerate(("rule", "stack", "eu", "de")):
        document["nodes"]["citations"].append(
            {"id": f"c{number}", "type": "citation", "source_document": "x", "source_clause": "y"}
        )
        edge(document, "cited_by", node, f"c{number}")
    # Germany is where the record is from, but the obligation applies through the Union.
    assert _ids(_rule(document).citations) == ["c0", "c1", "c2", "cite"]


def test_an_unmapped_subject_is_an_ordinary_answer() -> None:
    """Nothing of the graph is in it."""
    found = _slice(sound(), subject="chimney")
    assert found.subject is None
    assert found.rules == ()
    assert found.asked == "chimney"


@pytest.mark.clause("ski", "3.4")
@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2015-12-31T23:59:59+00:00", []),
        ("2016-01-01T00:00:00+00:00", ["limit"]),
        ("2020-12-31T23:59:59+00:00", ["limit"]),
        ("2021-01-01T00:00:00+00:00", ["limit"]),
        ("2021-01-01T00:00:00.000001+00:00", []),
    ],
)
def test_only_obligations_in_force_survive(now: str, expected: list[str]) -> None:
    """A rule none of whose obligations applies keeps nothing that hangs on them."""
    document = sound()
    document["nodes"]["obligations"][0]["effective_date_end"] = "2021-01-01T00:00:00Z"
    rule = _rule(document, now=at(now))
    assert _ids(rule.obligations) == expected
    if not expected:
        hanging = (rule.definitions, rule.exemptions, rule.precedents, rule.jurisdictions, rule.citations)
        assert hanging == ((), (), (), (), ())
        assert [(each.type, each.target) for each in rule.edges] == [(EdgeType.APPLIES_TO, "stack")]


@pytest.mark.clause("ski", "3.4")
@pytest.mark.clause("ski", "9.2")
@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("de", ["everywhere", "limit"]),
        ("eu", ["everywhere", "limit"]),
        ("European Union", ["everywhere", "limit"]),
        ("by", ["bavarian", "everywhere", "limit"]),
        ("us", ["everywhere"]),
        ("mars", ["everywhere"]),
        ("", ["everywhere"]),
        ("*", ["everywhere"]),
        ("Global", ["everywhere"]),
        (None, ["everywhere"]),
    ],
)
def test_a_jurisdiction_is_covered_by_its_own_obligations_and_those_above(
    declared: str | None, expected: list[str]
) -> None:
    """Without a declared jurisdiction, or with one that the graph does not know, only unscoped obligations apply."""
    document = sound()
    document["nodes"]["jurisdictions"] += [
        {"id": "us", "type": "jurisdiction"},
        {"id": "by", "type": "jurisdiction", "name": "Bavaria", "parent": "de"},
    ]
    obligation(document, "everywhere", "must_be_at_least", 0)
    obligation(document, "bavarian", "must_be_at_least", 1)
    edge(document, "scoped_to", "bavarian", "by")
    assert _ids(_rule(document, declared).obligations) == expected


def test_only_the_matched_jurisdictions_and_edges_to_them_are_shown() -> None:
    """An obligation scoped to two places shows the one that it applies through."""
    document = sound()
    document["nodes"]["jurisdictions"].append({"id": "us", "type": "jurisdiction"})
    edge(document, "scoped_to", "limit", "us")
    rule = _rule(document, "us")
    assert _ids(rule.jurisdictions) == ["us"]
    assert [each.target for each in rule.edges if each.type is EdgeType.SCOPED_TO] == ["us"]


def test_parents_in_a_loop_end() -> None:
    """The validator rejects such a graph; the index must not hang on it."""
    document = sound()
    document["nodes"]["jurisdictions"][0]["parent"] = "de"
    assert _ids(_rule(document, "de").obligations) == ["limit"]


def test_subjects_and_jurisdictions_are_found_by_a_name_that_is_theirs_alone() -> None:
    """An id comes first, and a name that two nodes have finds neither."""
    document = sound()
    document["nodes"]["subjects"] += [
        {"id": "Stack 1", "type": "subject", "name": "twin"},
        {"id": "other", "type": "subject", "name": "twin"},
        {"id": "cafe", "type": "subject", "name": "Caf\u00e9"},
    ]
    found = _slice(document, subject="Stack 1").subject
    assert found is not None
    assert found.id == "Stack 1"
    assert _slice(document, subject="twin").subject is None
    assert _slice(sound(), subject="Stack 1").subject is not None
    assert _slice(document, subject="Cafe\u0301").subject is not None


def test_of_two_nodes_with_one_id_the_first_counts() -> None:
    """The validator rejects such a graph too."""
    document = sound()
    document["nodes"]["subjects"].append({"id": "stack", "type": "subject", "name": "another"})
    found = _slice(document).subject
    assert found is not None
    assert found.name == "Stack 1"


class _Case(NamedTuple):
    graph: KnowledgeGraph
    subject: str
    now: Instant
    declared: str | None


_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_SMALL = st.integers(0, 3)
_DAYS = st.none() | st.integers(0, 4)


def _instant(day: int) -> Instant:
    return Instant(_DAY + timedelta(days=day))


@st.composite
def _cases(draw: st.DrawFn) -> _Case:
    """Small graphs with edges of all kinds between any nodes, also wrong ones."""
    obligations = tuple(
        Obligation(
            id=NodeId(f"obligation{number}"),
            obligation_type="must",
            effective_date_start=None if start is None else _instant(start),
            effective_date_end=None if end is None else _instant(end),
        )
        for number, (start, end) in enumerate(draw(st.lists(st.tuples(_DAYS, _DAYS), min_size=4, max_size=4)))
    )
    parents = draw(st.lists(st.none() | _SMALL, min_size=4, max_size=4))
    kinds = ("subject", "rule", "obligation", "definition", "exemption", "precedent", "jurisdiction", "citation")
    anything = st.builds("{}{}".format, st.sampled_from(kinds), st.integers(0, 4)).map(NodeId)
    wild = st.builds(_edge, st.sampled_from(EdgeType), anything, anything)
    sane = st.sampled_from(EdgeType).flatmap(
        lambda kind: st.builds(
            lambda source, target: _edge(kind, NodeId(source), NodeId(target)),
            st.builds("{}{}".format, st.just(ENDS[kind][0]) if ENDS[kind][0] else st.sampled_from(kinds), _SMALL),
            st.builds("{}{}".format, st.just(ENDS[kind][1]), _SMALL),
        )
    )
    edges = draw(st.lists(st.one_of(sane, sane, sane, wild), max_size=40))
    four = range(4)
    graph = KnowledgeGraph(
        subjects=tuple(Subject(id=NodeId(f"subject{n}")) for n in four),
        rules=tuple(Rule(id=NodeId(f"rule{n}"), risk_tier="low") for n in four),
        obligations=obligations,
        definitions=tuple(Definition(id=NodeId(f"definition{n}"), term="t", definition_text="d") for n in four),
        exemptions=tuple(Exemption(id=NodeId(f"exemption{n}"), condition="c") for n in four),
        precedents=tuple(
            Precedent(id=NodeId(f"precedent{n}"), summary="s", relation=PrecedentRelation.AMENDS) for n in four
        ),
        jurisdictions=tuple(
            Jurisdiction(id=NodeId(f"jurisdiction{n}"), parent=None if p is None else NodeId(f"jurisdiction{p}"))
            for n, p in enumerate(parents)
        ),
        citations=tuple(Citation(id=NodeId(f"citation{n}"), source_document="d", source_clause="c") for n in four),
        edges=tuple(edges),
    )
    declared = draw(st.none() | st.builds("jurisdiction{}".format, st.integers(0, 4)))
    return _Case(graph, f"subject{draw(st.integers(0, 4))}", _instant(draw(st.integers(-1, 5))), declared)


def _edge(kind: EdgeType, source: NodeId, target: NodeId) -> Edge:
    return Edge(type=kind, source=source, target=target)


def _reference(case: _Case) -> dict[str, set[str]]:
    """SKI 3.4 and 5.1 read aloud, looking at everything: for each rule, the ids that belong to its slice."""
    graph, nodes = case.graph, {node.id: node for node in case.graph.nodes()}

    def out(kind: EdgeType, *sources: str) -> set[str]:
        source_type, target_type = ENDS[kind]
        return {
            each.target
            for each in graph.edges
            if each.type is kind
            and each.source in sources
            and each.source in nodes
            and each.target in nodes
            and node_type(nodes[each.target]) is target_type
            and source_type in (None, node_type(nodes[each.source]))
        }

    places, place = set(), case.declared
    while place in nodes and place not in places and place is not None:
        places.add(place)
        node = nodes[NodeId(place)]
        assert isinstance(node, Jurisdiction)
        place = node.parent
    slices = {}
    for rule in graph.rules:
        if case.subject not in out(EdgeType.APPLIES_TO, rule.id):
            continue
        surviving = set()
        for name in out(EdgeType.CONSISTS_OF, rule.id):
            node = nodes[NodeId(name)]
            assert isinstance(node, Obligation)
            scoped = any(each.type is EdgeType.SCOPED_TO and each.source == name for each in graph.edges)
            if node.is_in_force(case.now) and (not scoped or out(EdgeType.SCOPED_TO, name) & places):
                surviving.add(name)
        kept = surviving | {case.subject, rule.id} | (out(EdgeType.SCOPED_TO, *surviving) & places)
        for kind in (EdgeType.DEFINED_BY, EdgeType.EXEMPTED_BY, EdgeType.INTERPRETED_BY):
            kept |= out(kind, *surviving)
        slices[rule.id] = kept | out(EdgeType.CITED_BY, *kept)
    return {str(rule): {str(name) for name in kept} for rule, kept in slices.items()}


@pytest.mark.clause("ski", "3.4")
@pytest.mark.clause("ski", "5.1")
@given(_cases())
def test_nothing_outside_the_filter_reaches_a_slice_and_nothing_inside_is_missing(case: _Case) -> None:
    """Over random graphs, against a reading of the specification that looks at every edge."""
    found = slice_graph(build_index(case.graph), case.subject, as_of=case.now, jurisdiction=case.declared)
    shown = {}
    for rule in found.rules:
        assert found.subject is not None
        nodes: tuple[Node, ...] = (
            rule.rule,
            found.subject,
            *rule.obligations,
            *rule.definitions,
            *rule.exemptions,
            *rule.precedents,
            *rule.jurisdictions,
            *rule.citations,
        )
        ids = _ids(nodes)
        assert len(ids) == len(set(ids))
        shown[rule.rule.id] = set(ids)
        assert all({each.source, each.target} <= set(ids) for each in rule.edges)
        assert len(rule.edges) == len(set(rule.edges))
    assert shown == _reference(case)


@given(_cases(), st.randoms(use_true_random=False))
def test_a_slice_does_not_depend_on_the_order_of_the_document(case: _Case, chance: object) -> None:
    """Nodes come by id; so do rules and what hangs on them."""
    edges = list(case.graph.edges)
    chance.shuffle(edges)  # type: ignore[attr-defined]  # a `random.Random`
    nodes = {name: tuple(reversed(getattr(case.graph, name))) for name in ("rules", "obligations", "citations")}
    parts = {name: getattr(case.graph, name) for name in case.graph.__struct_fields__}
    other = KnowledgeGraph(**{**parts, **nodes, "edges": tuple(edges)})
    one, two = (
        slice_graph(build_index(graph), case.subject, as_of=case.now, jurisdiction=case.declared)
        for graph in (case.graph, other)
    )
    assert one == two


@given(_cases())
def test_a_slicer_remembers_no_more_than_it_may(case: _Case) -> None:
    """At every moment around which something comes into force or ends, and in any order, as if nothing was known."""
    index = build_index(case.graph)
    slicer, dates = Slicer(index), {case.now}
    for one in case.graph.obligations:
        for date in (one.effective_date_start, one.effective_date_end):
            dates.update(Instant(date + timedelta(microseconds=step)) for step in (-1, 0, 1) if date is not None)
    for now in [*sorted(dates), *sorted(dates)]:
        for declared in (case.declared, None):
            expected = slice_graph(index, case.subject, as_of=now, jurisdiction=declared)
            assert slicer.slice(case.subject, as_of=now, jurisdiction=declared) == expected
