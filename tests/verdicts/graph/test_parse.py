"""Reading a graph: both forms, every mistake at once, nothing guessed."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from assay.kernel.errors import Error
from assay.verdicts.errors import GraphFormError
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import GraphForm, NoticeCode
from assay.verdicts.graph.node import NodeId, NodeType, RiskTier
from assay.verdicts.graph.obligation import FlatPredicate, PredicateName
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.graph.parse import check_form, parse_graph
from assay.verdicts.graph.problem import Problem, ProblemCode, render_problems
from tests.verdicts.graph.graphs import Document, at, changed, read, sound, written


def _first(array: str, **fields: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        node = document["nodes"][array][0]
        node.update(fields)
        for name in [name for name, value in node.items() if value is ...]:
            del node[name]

    return change


def _problems(change: Callable[[Document], object]) -> list[tuple[str, str]]:
    document = sound()
    change(document)
    finding = check_form(json.dumps(document).encode())
    assert finding.graph is None
    return [(problem.path, problem.code.value) for problem in finding.problems]


@pytest.mark.clause("ski", "3.1")
@pytest.mark.clause("ski", "3.2")
def test_every_kind_of_node_and_edge_is_read() -> None:
    """The eight kinds of nodes, each with its fields, and edges with their ends."""
    graph = changed(lambda d: d["edges"].append({"type": "amended_by", "from": "before", "to": "limit"}))
    kinds = {type(node).__name__.lower() for node in graph.nodes()}
    assert kinds == {kind.value for kind in NodeType}
    assert {each.type for each in graph.edges} == set(EdgeType)
    assert graph.edges[0] == Edge(type=EdgeType.APPLIES_TO, source=NodeId("rule"), target=NodeId("stack"))
    assert graph.form is GraphForm.TYPED
    assert graph.notices == ()
    [limit] = graph.obligations
    assert (limit.kind, limit.value, limit.unit) == (ObligationType.MUST_NOT_EXCEED, Decimal(35), "mg/Nm3")
    assert limit.effective_date_start == at("2016-01-01T00:00:00+00:00")
    assert graph.rules[0].tier is RiskTier.MEDIUM
    assert graph.jurisdictions[1].parent == "eu"


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize("kind", [each.value for each in ObligationType])
def test_the_obligation_type_stands_in_either_field(kind: str) -> None:
    """`type` says it, or `obligation_type`, or both alike."""
    for fields in (
        {"type": kind, "obligation_type": ...},
        {"type": "Obligation", "obligation_type": kind},
        {"type": ..., "obligation_type": kind},
        {"type": kind, "obligation_type": kind},
    ):
        [limit] = changed(_first("obligations", **fields)).obligations
        assert limit.kind is ObligationType(kind)


@pytest.mark.clause("ski", "3.3")
def test_four_types_are_marked_as_extensions() -> None:
    """The twelve of the specification are not."""
    assert [kind.value for kind in ObligationType if kind.is_extension] == [
        "must_equal",
        "must_not_equal",
        "must_average_within",
        "must_not_exceed_in_window",
    ]
    assert len(ObligationType) == 16


@pytest.mark.clause("ski", "3.3")
def test_an_unknown_type_is_read_and_known_to_be_unknown() -> None:
    """It is for the verdict to be DISCRETIONARY, not for the reader to refuse."""
    [limit] = changed(_first("obligations", obligation_type="must_sparkle")).obligations
    assert limit.obligation_type == "must_sparkle"
    assert limit.kind is None


@pytest.mark.clause("ski", "5.4")
@pytest.mark.parametrize(
    ("written_tier", "tier"),
    [
        ("low", RiskTier.LOW),
        ("medium", RiskTier.MEDIUM),
        ("high", RiskTier.HIGH),
        ("LOW", RiskTier.HIGH),
        (..., "high"),
    ],
)
def test_an_absent_or_unknown_tier_counts_as_high(written_tier: object, tier: str) -> None:
    """The stricter answer."""
    assert changed(_first("rules", risk_tier=written_tier)).rules[0].tier == tier


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d.pop("nodes") and d.pop("edges"), ("", "required")),
        (lambda d: d.update(rules=[]), ("", "required")),
        (lambda d: d.update(surprise=1), ("surprise", "unknown_field")),
        (lambda d: d.update(nodes=[]), ("nodes", "type")),
        (lambda d: d.update(edges={}), ("edges", "type")),
        (lambda d: d.update(metadata=[]), ("metadata", "type")),
        (lambda d: d["metadata"].update(schema_version="2.1"), ("metadata.schema_version", "choice")),
        (lambda d: d["metadata"].update(compiled_at="today"), ("metadata.compiled_at", "form")),
        (lambda d: d["nodes"].update(wishes=[]), ("nodes.wishes", "unknown_field")),
        (lambda d: d["nodes"].update(rules={}), ("nodes.rules", "type")),
        (lambda d: d["nodes"].update(rules=["rule"]), ("nodes.rules[0]", "type")),
        (_first("subjects", id=...), ("nodes.subjects[0].id", "required")),
        (_first("subjects", id=""), ("nodes.subjects[0].id", "required")),
        (_first("subjects", id=7), ("nodes.subjects[0].id", "type")),
        (_first("subjects", type="rule"), ("nodes.subjects[0].type", "choice")),
        (_first("subjects", colour="red"), ("nodes.subjects[0].colour", "unknown_field")),
        (_first("rules", risk_tier=1), ("nodes.rules[0].risk_tier", "type")),
        (_first("obligations", type=..., obligation_type=...), ("nodes.obligations[0].obligation_type", "required")),
        (_first("obligations", type="must"), ("nodes.obligations[0].type", "choice")),
        (_first("obligations", value=[1, None]), ("nodes.obligations[0].value[1]", "type")),
        (_first("obligations", value={"min": 1}), ("nodes.obligations[0].value[1]", "type")),
        (
            _first("obligations", value={"min": 1, "max": 2, "by": 3}),
            ("nodes.obligations[0].value.by", "unknown_field"),
        ),
        (_first("obligations", window_seconds=0), ("nodes.obligations[0].window_seconds", "number")),
        (_first("obligations", window_seconds="1"), ("nodes.obligations[0].window_seconds", "type")),
        (_first("obligations", effective_date_start="soon"), ("nodes.obligations[0].effective_date_start", "form")),
        (
            _first("obligations", effective_date_start="2020-01-01T00:00:00"),
            ("nodes.obligations[0].effective_date_start", "form"),
        ),
        (_first("obligations", effective_date_end="2020-02-30"), ("nodes.obligations[0].effective_date_end", "form")),
        (_first("obligations", predicate={"name": "lte"}), ("nodes.obligations[0].predicate.name", "choice")),
        (_first("obligations", predicate={}), ("nodes.obligations[0].predicate.name", "required")),
        (
            _first("obligations", predicate={"name": "since_last", "op": "exists"}),
            ("nodes.obligations[0].predicate.op", "choice"),
        ),
        (
            _first("obligations", predicate={"name": "since_last", "min": []}),
            ("nodes.obligations[0].predicate.min", "type"),
        ),
        (_first("definitions", scope=[1]), ("nodes.definitions[0].scope[0]", "type")),
        (_first("definitions", scope={}), ("nodes.definitions[0].scope", "type")),
        (_first("exemptions", condition=...), ("nodes.exemptions[0].condition", "required")),
        (_first("precedents", relation="ignores"), ("nodes.precedents[0].relation", "choice")),
        (_first("precedents", relation=...), ("nodes.precedents[0].relation", "required")),
        (_first("citations", source_clause=...), ("nodes.citations[0].source_clause", "required")),
        (
            lambda d: d["edges"].append({"type": "hates", "from": "a", "to": "b"}),
            ("edges[10].type", "unknown_edge_type"),
        ),
        (lambda d: d["edges"].append({"from": "a", "to": "b"}), ("edges[10].type", "required")),
        (lambda d: d["edges"].append({"type": "cited_by", "from": "a"}), ("edges[10].to", "required")),
        (lambda d: d["edges"].append("cited_by"), ("edges[10]", "type")),
    ],
)
def test_each_mistake_of_form_has_a_place_and_a_code(
    change: Callable[[Document], object], problem: tuple[str, str]
) -> None:
    """Editors and the command line show the path; scripts rely on the code."""
    assert problem in _problems(change)


def test_all_mistakes_are_told_at_once() -> None:
    """Nobody repairs a graph one mistake at a time."""

    def change(document: Document) -> None:
        document["nodes"]["subjects"][0]["id"] = 7
        document["nodes"]["rules"][0]["colour"] = "red"
        document["nodes"]["obligations"] += [{"id": "x", "type": "must", "effective_date_start": "soon"}] * 2
        document["edges"][3] = {}

    found = _problems(change)
    assert len(found) == 7
    document = sound()
    change(document)
    with pytest.raises(GraphFormError, match=r"nodes\.subjects\[0\]\.id") as refused:
        parse_graph(json.dumps(document).encode())
    assert len(refused.value.problems) == 7


def test_a_document_of_something_else_is_told_briefly() -> None:
    """The message is one line, however many problems there are."""
    many = [Problem(path=f"p{number}", code=ProblemCode.TYPE, message="no") for number in range(30)]
    assert render_problems(many).endswith("p19: no; and 10 more")
    assert render_problems([Problem(path="", code=ProblemCode.TYPE, message="no")]) == "no"


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"{", "json.malformed"),
        (b'{"nodes": {}, "nodes": {}}', "json.duplicate_key"),
        (b'{"nodes": {}, "value": NaN}', "json.non_finite"),
        (b'{"nodes": {}, "value": 0.12345678901234567890}', "json.inexact_number"),
        (b'{"nodes": {}, "value": 9007199254740993}', "json.number_range"),
        (b"\xff", "json.encoding"),
        ('{"nodes": {}, "metadata": {"\u00e9": 1, "e\u0301": 2}}'.encode(), "canonical.key_collision"),
    ],
)
def test_what_is_no_strict_json_is_refused_with_the_kernels_code(document: bytes, code: str) -> None:
    """A number that binary64 would change decides nothing here."""
    with pytest.raises(Error) as refused:
        parse_graph(document)
    assert refused.value.code == code
    [problem] = check_form(document).problems
    assert problem.code is ProblemCode.SYNTAX
    assert problem.message.startswith(code)


def test_a_document_that_is_no_object_is_refused() -> None:
    """An array is no graph."""
    assert check_form(b"[]").problems[0].code is ProblemCode.TYPE


def test_numbers_keep_their_exact_decimal() -> None:
    """0.1 is a tenth, and not what binary64 makes of it."""
    [limit] = changed(_first("obligations", value=0.1)).obligations
    assert limit.value == Decimal("0.1")
    [limit] = changed(_first("obligations", value={"min": 6.5, "max": 1e21})).obligations
    assert limit.value == (Decimal("6.5"), Decimal("1E+21"))


@pytest.mark.clause("ski", "7.3")
def test_texts_that_are_signed_alike_are_read_alike() -> None:
    """Canonical bytes are over NFC, so another spelling of a name cannot hide a subject from a valid signature."""
    composed, apart = sound(), sound()
    composed["nodes"]["subjects"][0]["name"] = "Caf\u00e9"
    apart["nodes"]["subjects"][0]["name"] = "Cafe\u0301"
    one, other = read(composed), read(apart)
    assert one == other
    escaped = written(apart)
    assert escaped.isascii()
    assert parse_graph(json.dumps(json.loads(escaped), ensure_ascii=False).encode()) == one


@pytest.mark.clause("ski", "3.4")
def test_a_date_without_a_time_is_the_whole_day_and_noted() -> None:
    """Inclusive at both ends."""
    change = _first("obligations", effective_date_start="2020-01-01", effective_date_end="2020-12-31")
    graph = changed(change)
    [limit] = graph.obligations
    assert limit.effective_date_start == at("2020-01-01T00:00:00+00:00")
    assert limit.effective_date_end == at("2020-12-31T23:59:59.999999+00:00")
    assert [notice.code for notice in graph.notices] == [NoticeCode.DATE_ONLY]


@pytest.mark.clause("ski", "3.4")
def test_an_effective_date_may_be_finer_than_a_microsecond() -> None:
    """RFC 3339 limits no fraction."""
    [limit] = changed(_first("obligations", effective_date_start="2020-01-01T00:00:00.1234567Z")).obligations
    assert limit.effective_date_start == at("2020-01-01T00:00:00.123456+00:00")


@pytest.mark.clause("ski", "3.4")
def test_an_obligation_is_in_force_from_its_first_to_its_last_instant() -> None:
    """Both belong; an absent end is no end."""
    [limit] = changed(
        _first(
            "obligations", effective_date_start="2020-01-01T01:00:00+01:00", effective_date_end="2020-12-31T00:00:00Z"
        )
    ).obligations
    assert [
        limit.is_in_force(at(text))
        for text in ("2019-12-31T23:59:59+00:00", "2020-01-01T00:00:00+00:00", "2020-12-31T00:00:00+00:00")
    ] == [False, True, True]
    assert not limit.is_in_force(at("2020-12-31T00:00:01+00:00"))
    [endless] = read(sound()).obligations
    assert endless.is_in_force(at("9999-01-01T00:00:00+00:00"))


@pytest.mark.clause("ski", "11.3")
def test_track_is_ignored_and_noted() -> None:
    """The rule means the same without it; only its version differs."""
    graph = changed(_first("rules", track="B"))
    [notice] = graph.notices
    assert (notice.code, notice.node) == (NoticeCode.TRACK_DEPRECATED, "rule")
    assert "deprecated" in notice.message


def test_a_typed_obligation_may_carry_a_predicate_over_time() -> None:
    """So that a stateful flat rule can be written in the typed form."""
    predicate: dict[str, Any] = {"name": "window_sum", "op": "lte", "value": 10, "seconds": 3600}
    [limit] = changed(_first("obligations", obligation_type="must", value=..., predicate=predicate)).obligations
    assert limit.predicate == FlatPredicate(
        name=PredicateName.WINDOW_SUM, op=PredicateName.LTE, value=Decimal(10), seconds=Decimal(3600)
    )


def test_a_version_that_is_not_the_contents_is_noted_and_the_true_one_kept() -> None:
    """Bare hex digits are the same version without its prefix."""
    document = json.loads(written(sound()))
    subject = document["nodes"]["subjects"][0]
    true = subject["version"]
    for declared, notices in (
        (true, []),
        (true.removeprefix("sha256:"), []),
        ("1", [NoticeCode.VERSION_MISMATCH]),
        ("f" * 64, [NoticeCode.VERSION_MISMATCH]),
        (None, [NoticeCode.MISSING_VERSION]),
    ):
        subject["version"] = declared
        graph = parse_graph(json.dumps(document).encode())
        assert [notice.code for notice in graph.notices] == notices
        assert graph.subjects[0].version == true
