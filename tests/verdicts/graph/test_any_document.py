"""Whatever is given as a graph is read, or refused with its problems; nothing crashes on it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.verdicts.graph.diff import diff_graphs
from assay.verdicts.graph.hash import render_graph, stamp_versions
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.parse import check_form
from assay.verdicts.graph.upgrade import suggest_upgrades, upgrade_graph
from assay.verdicts.graph.validate import validate_graph
from assay.verdicts.slice import slice_graph
from tests.verdicts.graph.graphs import at, sound

_WORDS = [
    "id",
    "type",
    "version",
    "name",
    "risk_tier",
    "obligation_type",
    "metric",
    "value",
    "unit",
    "effective_date_start",
    "effective_date_end",
    "scope",
    "parent",
    "condition",
    "relation",
    "summary",
    "term",
    "definition_text",
    "source_document",
    "source_clause",
    "window_seconds",
    "predicate",
    "track",
    "from",
    "to",
    "rules",
    "nodes",
    "edges",
    "metadata",
    "tag_registry",
    "jurisdiction",
    "subject",
    "min",
    "max",
    "seconds",
    "op",
    "value_seconds",
    "sunset_date",
]
_TEXTS = st.sampled_from(
    [
        "stack",
        "rule",
        "limit",
        "eu",
        "de",
        "cite",
        "must",
        "must_be_within",
        "must_be_one_of",
        "must_be_recorded_within",
        "should",
        "lte",
        "window_sum",
        "range",
        "2020-01-01",
        "2020-01-01T00:00:00Z",
        "PT1H",
        "low",
        "eq",
        "applies_to",
        "*",
        "so2",
        "",
    ]
) | st.text(max_size=3)
_SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=4),
    max_leaves=8,
)
_PATHS = st.lists(st.integers(0, 9), min_size=1, max_size=5)


def _changed(value: object, path: list[int], new: object) -> object:
    """The value with something else at the place where the path ends, wherever that is."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    keys: list[Any] = sorted(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    result: Any = value.copy()
    result[key] = _changed(value[key], path[1:], new)
    return result


def _use(document: object) -> None:
    finding = check_form(json.dumps(document).encode())
    assert (finding.graph is None) is bool(finding.problems)
    graph = finding.graph
    if graph is None:
        return
    validate_graph(graph)
    suggest_upgrades(graph)
    assert diff_graphs(graph, graph).is_empty
    for subject in ("stack", "subject:stack", "so2"):
        slice_graph(build_index(graph), subject, as_of=at("2024-01-01T00:00:00+00:00"), jurisdiction="de")
    again = check_form(json.dumps(stamp_versions(upgrade_graph(graph))).encode())
    assert again.problems == ()
    assert again.graph is not None
    assert render_graph(again.graph)["edges"] == render_graph(graph)["edges"]


@given(st.lists(st.tuples(_PATHS, _VALUES), min_size=1, max_size=3))
def test_a_damaged_typed_graph_is_read_or_refused(changes: list[tuple[list[int], object]]) -> None:
    """Anything anywhere in it."""
    document: object = sound()
    for path, value in changes:
        document = _changed(document, path, value)
    _use(document)


@given(st.lists(st.dictionaries(st.sampled_from(_WORDS), _VALUES, max_size=8), max_size=3), _VALUES)
def test_a_damaged_flat_graph_is_read_or_refused(rules: list[dict[str, object]], registry: object) -> None:
    """Rules of anything."""
    _use({"rules": [{"id": f"r{number}", **rule} for number, rule in enumerate(rules)], "tag_registry": registry})


@given(_VALUES)
def test_anything_at_all_is_read_or_refused(value: object) -> None:
    """Also what is no graph."""
    _use(value)
