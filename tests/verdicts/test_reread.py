"""A prompt shows everything that its verdict is checked by: read again, it gives the docket that it was made from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.kernel.instant import parse_instant
from assay.verdicts.docket import Docket, open_docket, parts_of
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.prompt import render_prompt
from assay.verdicts.reread import reread_docket
from assay.verdicts.slice import slice_graph
from tests.contract._kit import refused
from tests.verdicts.judging import docket_of, exemption, obligation, record
from tests.verdicts.rulings import dockets_of, document_of, record_of, sliced

_GRAPHS = sorted((Path(__file__).parents[2] / "examples" / "graphs").glob("*.json"))
_RULE = docket_of(
    obligation("ob-1", "must_not_exceed", "nox", 1.2345678901234568e17, unit="mg/m\u00b3"),
    obligation("ob-2", "must_average_within", "nox", [0, 0.1], window=3600),
    exempted={"ob-1": [exemption("x-1", 'fuel == "<record>"'), exemption("x-2", "a mild winter")]},
)


def _dockets(graph: KnowledgeGraph) -> Iterator[Docket]:
    index, at = build_index(graph), parse_instant("2026-03-02T12:00:00Z")
    for subject in [*(one.id for one in graph.subjects), "nowhere"]:
        found = slice_graph(index, subject, as_of=at)
        yield from (open_docket(part, is_mapped=found.subject is not None) for part in parts_of(found))


def _require_reread(docket: Docket) -> None:
    telemetry = record({"nox": 48.5})
    again = reread_docket(render_prompt(docket.head, docket.lines, telemetry, {}).text)
    assert (again.head.text, again.grammar.hash, again.tier, again.rule_id) == (
        docket.head.text,
        docket.grammar.hash,
        docket.tier,
        docket.rule_id,
    )
    assert render_prompt(again.head, again.lines, telemetry, {}) == render_prompt(
        docket.head, docket.lines, telemetry, {}
    )


@pytest.mark.clause("ski", "7.5")
def test_every_rule_of_the_examples_is_read_again() -> None:
    assert _GRAPHS
    dockets = [docket for path in _GRAPHS for docket in _dockets(parse_graph(path.read_bytes()))]
    assert len(dockets) > len(_GRAPHS)
    for docket in dockets:
        _require_reread(docket)


def test_hostile_texts_and_large_limits_are_read_again() -> None:
    _require_reread(_RULE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("You judge one", "You clear one"),
        ("rule\nr0", "rule\nr1"),
        ('"id":"ob-1"', '"id":"ob-3"'),
        ('"obligation_type"', '"kind"'),
        ('o1 {"', "o1 {'"),
        ("\n<record>\n", "\n"),
        ("obligations\n", "obligations\nobligations\n"),
    ],
)
def test_a_prompt_that_is_none_of_ours_is_refused(old: str, new: str) -> None:
    text = render_prompt(_RULE.head, _RULE.lines, record({"nox": 1}), {}).text
    assert old in text
    with refused("receipt.verdict"):
        reread_docket(text.replace(old, new, 1))
    with refused("receipt.verdict"):
        reread_docket("")


@pytest.mark.clause("ski", "7.5")
@pytest.mark.parametrize(
    "words", [{"start": "2020-01-01"}, {"start": "2020-01-01T02:00:00+02:00"}, {"summary": None}, {"value": 5.0}]
)
def test_a_graph_in_other_words_than_ours_is_read_again_too(words: dict[str, object]) -> None:
    """Its versions are of the nodes as they were written: a date alone, another offset, a field that is null."""
    limit = {"id": "oa", "type": "must_not_exceed", "metric": "nox", "value": 5, **words}
    telemetry = record_of({"nox": 1})
    [docket] = dockets_of(sliced(document_of([{"id": "r1", "tier": "low", "obligations": [limit]}]), telemetry))
    _require_reread(docket)
