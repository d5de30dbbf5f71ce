"""Contrast pairs in six styles, written before the rules were read: three to tune by, three sealed.

The figures of the sealed set are those of docs/claims.md; a change that makes them worse fails here.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from assay.claims.estimate.cluster import SampledAnswer, cluster_answers
from assay.claims.estimate.entropy import estimate_entropy, normalised_entropy
from assay.claims.estimate.equivalence import ExactJudge, ExplainingJudge, RuleJudge, VetoedJudge
from tests.claims.making import VECTORS

_JUDGE = RuleJudge()
_SWAPS = ("role", "converse", "direction")


def _pairs(which: str) -> Iterator[dict[str, Any]]:
    for path in sorted((VECTORS / "equivalence").glob("*.json")):
        found = json.loads(path.read_text())
        if found["set"] == which:
            yield from found["items"]


def _is_joined(pair: dict[str, Any]) -> bool:
    return _JUDGE.entails(pair["question"], pair["one"], pair["other"])


def test_there_are_enough_pairs_of_every_kind_in_several_hands() -> None:
    pairs = [*_pairs("tuning"), *_pairs("sealed")]
    assert len(pairs) >= 400
    assert len(list((VECTORS / "equivalence").glob("*.json"))) >= 4
    assert len({(one["kind"], one["same"]) for one in pairs}) == 2 * len({one["kind"] for one in pairs})


@pytest.mark.parametrize("which", ["tuning", "sealed"])
def test_few_pairs_are_joined_wrongly_and_most_that_mean_the_same_are_joined(which: str) -> None:
    """Wrong merges at most 0.05, recall at least 0.75."""
    pairs = [(one["same"], _is_joined(one)) for one in _pairs(which)]
    apart = [joined for same, joined in pairs if not same]
    alike = [joined for same, joined in pairs if same]
    assert sum(apart) / len(apart) <= 0.05
    assert sum(alike) / len(alike) >= 0.75


@pytest.mark.parametrize("which", ["tuning", "sealed"])
def test_who_did_what_to_whom_is_kept_apart(which: str) -> None:
    """At least nine of twelve exchanged roles, converses and directions; it is nearly all of them."""
    swaps = [_is_joined(one) for one in _pairs(which) if one["kind"] in _SWAPS and not one["same"]]
    assert len(swaps) >= 12
    assert sum(not joined for joined in swaps) >= 0.9 * len(swaps)


@pytest.mark.parametrize("which", ["tuning", "sealed"])
def test_the_judge_is_symmetric_and_agrees_with_itself(which: str) -> None:
    for pair in _pairs(which):
        assert _is_joined(pair) is _JUDGE.entails(pair["question"], pair["other"], pair["one"]), pair
        assert _JUDGE.entails(pair["question"], pair["one"], pair["one"])


@pytest.mark.parametrize(
    ("question", "one", "other", "decided_by"),
    [
        ("Who sued whom?", "Acme sued Globex.", "Acme was sued by Globex.", "veto: order"),
        ("Who sued whom?", "Acme sued Globex.", "acme sued globex", "the same text"),
        ("Who sued whom?", "Acme sued Globex.", "Globex was sued by Acme.", "the same words"),
        ("How fast?", "50 km/h", "50 mph", "veto: number"),
        ("Which one?", "in 2.10", "in 2.1", "veto: number"),
        ("How cold?", "5 °C", "minus five", "veto: number"),
        ("Did they agree?", "Not all of them agreed.", "None of them agreed.", "veto: negation"),
        ("Is it on?", "It is not enabled.", "It is disabled.", "the same words"),
        ("What is it?", "a red house", "an old boat", "other words"),
    ],
)
def test_the_result_names_what_decided(question: str, one: str, other: str, decided_by: str) -> None:
    assert isinstance(_JUDGE, ExplainingJudge)
    assert _JUDGE.judge(question, one, other).decided_by == decided_by


def test_a_judge_behind_the_vetoes_is_named_where_it_decided() -> None:
    judge = VetoedJudge(ExactJudge())
    assert judge.judge("?", "a red house", "an old boat").decided_by == "exact text 1"
    assert judge.judge("?", "two boats", "three boats").decided_by == "veto: number"


def test_an_estimate_says_what_decided_how_often() -> None:
    texts = ["Acme sued Globex.", "Globex was sued by Acme.", "Acme was sued by Globex."]
    found = estimate_entropy("Who sued whom?", [SampledAnswer(text=one) for one in texts], _JUDGE)
    assert "decided by" in found.interpretation
    assert "veto: order" in found.interpretation
    sizes = cluster_answers("Who sued whom?", texts, _JUDGE).sizes
    assert sizes == (2, 1)
    assert found.value == pytest.approx(normalised_entropy(sizes))
