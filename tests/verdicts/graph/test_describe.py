"""What changed between two graphs, in sentences."""

from collections.abc import Callable
from typing import Any

import pytest

from assay.verdicts.graph.describe import describe_diff
from assay.verdicts.graph.graph import KnowledgeGraph
from tests.verdicts.graph.graphs import Document, obligation, read, sound


def _described(change: Callable[[Document], object]) -> tuple[str, ...]:
    document = sound()
    change(document)
    return describe_diff(read(sound()), read(document))


def _first(array: str, **fields: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        node: dict[str, Any] = document["nodes"][array][0]
        node.update(fields)

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            _first("obligations", value=30),
            "so2 must not exceed 35 mg/Nm3 became so2 must not exceed 30 mg/Nm3 (stricter).",
        ),
        (
            _first("obligations", value=40.5),
            "so2 must not exceed 35 mg/Nm3 became so2 must not exceed 40.5 mg/Nm3 (less strict).",
        ),
        (_first("obligations", unit="ppm"), "so2 must not exceed 35 mg/Nm3 became so2 must not exceed 35 ppm."),
        (
            _first("obligations", obligation_type="must_be_below"),
            "so2 must not exceed 35 mg/Nm3 became so2 must be below 35 mg/Nm3.",
        ),
        (
            _first("obligations", effective_date_end="2030-01-01T00:00:00Z"),
            "in force until nothing became `2030-01-01T00:00:00Z`.",
        ),
        (_first("rules", risk_tier="low"), "risk tier `medium` became `low`."),
        (_first("exemptions", condition="x == true"), "condition "),
        (lambda document: document["metadata"].update(sector="steel"), "Metadata `sector`: "),
    ],
)
def test_a_change_is_a_sentence(change: Callable[[Document], object], sentence: str) -> None:
    told = _described(change)
    assert len(told) == 1, told
    assert sentence in told[0], told


def test_an_obligation_is_named_by_its_rule() -> None:
    [told] = _described(_first("obligations", value=30))
    rule = sound()["nodes"]["rules"][0]
    assert told.startswith(f'Obligation limit of Rule "{rule["name"]}" ({rule["id"]}): ')


def test_what_comes_and_goes_is_told_with_what_it_is_about() -> None:
    """Edges of a node that is new as a whole are part of its sentence."""
    told = _described(lambda document: obligation(document, "other", "must_be_at_least", 5, metric="o2"))
    assert any("was added: o2 must be at least 5" in line and "in force from" in line for line in told), told
    everything = describe_diff(KnowledgeGraph(), read(sound()))
    assert any(line.startswith("Rule ") and "was added; it applies to" in line for line in everything)
    nothing = describe_diff(read(sound()), KnowledgeGraph())
    assert any(line.startswith("Rule ") and "was removed; it applied to" in line for line in nothing)


def test_edges_alone_are_told_too() -> None:
    def unscope(document: Document) -> None:
        document["edges"] = [one for one in document["edges"] if one["type"] not in ("scoped_to", "exempted_by")]

    told = _described(unscope)
    assert any("no longer applies in" in line for line in told), told
    assert any("is no longer exempted by the exemption `" in line for line in told), told


def test_graphs_that_say_the_same_have_nothing_to_tell() -> None:
    assert describe_diff(read(sound()), read(sound())) == ()
