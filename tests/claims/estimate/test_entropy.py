"""Semantic entropy lies in [0, 1], does not depend on the order, and its clusters are a partition."""

from collections.abc import Iterator
from itertools import combinations
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.claims.bundle import Recommendation, UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.cluster import SampledAnswer, cluster_answers
from assay.claims.estimate.disagree import TEMPERATURES, estimate_disagreement, pair_disagreement
from assay.claims.estimate.entropy import (
    GATING_ANSWERS,
    Correction,
    Weighting,
    estimate_entropy,
    likelihood_entropy,
    normalised_entropy,
)
from assay.claims.estimate.equivalence import ExactJudge, RuleJudge
from assay.claims.estimate.estimate import Cost, Estimate
from tests.raising import raises


class _Edges:
    """A judge that says yes to given pairs, in given directions: what a partition must survive."""

    name = "edges"
    is_symmetric = False

    def __init__(self, edges: frozenset[tuple[str, str]]) -> None:
        self._edges = edges
        self.asked: list[tuple[str, str]] = []

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        assert question == "?"
        self.asked.append((premise, hypothesis))
        return (premise, hypothesis) in self._edges


_LETTERS = st.sampled_from("abcdef")
_SAMPLES = st.lists(_LETTERS, min_size=2, max_size=10)
_EDGES = st.frozensets(st.tuples(_LETTERS, _LETTERS), max_size=20)


def _components(texts: list[str], edges: frozenset[tuple[str, str]]) -> set[frozenset[int]]:
    """Worked out plainly: places that two-way edges connect, over any number of steps."""
    reach = {text: {text} for text in texts}
    for _ in texts:
        for one, other in combinations(sorted(set(texts)), 2):
            if {(one, other), (other, one)} <= edges:
                joined = reach[one] | reach[other]
                for text in joined:
                    reach[text] = reach[text] | joined
    closed = {text: frozenset(reach[text]) for text in texts}
    return {frozenset(place for place, it in enumerate(texts) if it in group) for group in closed.values()}


def _value(texts: list[str], **options: Correction) -> float:
    return normalised_entropy(cluster_answers("?", texts, ExactJudge()).sizes, **options)


@given(_SAMPLES, _EDGES)
def test_clusters_are_the_connected_components_of_two_way_equivalence(
    texts: list[str], edges: frozenset[tuple[str, str]]
) -> None:
    """A true partition: every answer in exactly one cluster, whatever the judge says."""
    clusters = cluster_answers("?", texts, _Edges(edges))
    places = [place for members in clusters.members for place in members]
    assert sorted(places) == list(range(len(texts)))
    assert {frozenset(members) for members in clusters.members} == _components(texts, edges)


@given(st.permutations(["a", "b", "c", "d", "e", "a"]), _EDGES)
def test_the_order_of_the_answers_does_not_matter(texts: list[str], edges: frozenset[tuple[str, str]]) -> None:
    """The same meanings, and the same entropy to the last bit."""
    ordered = sorted(texts)
    shuffled = cluster_answers("?", texts, _Edges(edges))
    straight = cluster_answers("?", ordered, _Edges(edges))
    as_texts = [sorted(texts[place] for place in members) for members in shuffled.members]
    assert as_texts == [sorted(ordered[place] for place in members) for members in straight.members]
    assert normalised_entropy(shuffled.sizes) == normalised_entropy(straight.sizes)


@given(_SAMPLES, _EDGES)
def test_no_pair_is_asked_twice_and_identical_answers_never(
    texts: list[str], edges: frozenset[tuple[str, str]]
) -> None:
    """At most a question in each direction for each pair of different texts; a no spares the other direction."""
    judge = _Edges(edges)
    clusters = cluster_answers("?", texts, judge)
    assert len(judge.asked) == len(set(judge.asked)) == len(clusters.asked)
    assert all(premise != hypothesis for premise, hypothesis in judge.asked)
    different = len(set(texts))
    assert len(judge.asked) <= different * (different - 1)


def test_a_judge_is_asked_less_often_than_there_are_pairs() -> None:
    """Twenty answers in four meanings: 190 pairs, and each pair both ways would be 380 questions."""
    texts = [f"{meaning}{number}" for meaning in "abcd" for number in range(5)]
    edges = frozenset((one, other) for one in texts for other in texts if one[0] == other[0])
    judge = _Edges(edges)
    clusters = cluster_answers("?", texts, judge)
    assert clusters.sizes == (5, 5, 5, 5)
    assert len(judge.asked) < 190


@pytest.mark.clause("claimbundle", "semantic-entropy")
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a"] * 5, 0.0),
        (["a", "b", "c", "d", "e"], 1.0),
        (["a", "a", "a", "a", "b"], -(0.8 * log(0.8) + 0.2 * log(0.2)) / log(5)),
        (["a", "a", "b", "b"], log(2) / log(4)),
    ],
)
def test_entropy_is_shannons_over_ln_k(texts: list[str], expected: float) -> None:
    """All one is 0, all different is 1."""
    assert _value(texts) == pytest.approx(expected, abs=1e-12)


@given(_SAMPLES, st.sampled_from(list(Correction)))
def test_entropy_stays_in_range_and_duplicating_the_sample_never_raises_it(
    texts: list[str], correction: Correction
) -> None:
    """With or without the correction for small samples."""
    once, twice = _value(texts, correction=correction), _value(texts * 2, correction=correction)
    assert 0.0 <= once <= 1.0
    assert twice <= once + 1e-12


@given(_SAMPLES)
def test_the_correction_for_small_samples_never_lowers_it(texts: list[str]) -> None:
    """A small sample shows less scatter than there is."""
    assert _value(texts, correction=Correction.MILLER_MADOW) >= _value(texts)


def test_the_correction_is_that_of_miller_and_madow() -> None:
    texts = ["a"] * 8 + ["b"] * 2
    plain = -(0.8 * log(0.8) + 0.2 * log(0.2))
    assert _value(texts, correction=Correction.MILLER_MADOW) == pytest.approx((plain + 1 / 20) / log(10))


def test_likelihoods_weigh_meanings_where_the_model_gives_them() -> None:
    """Each text once, however often it was drawn: 0.6 and 0.2 + 0.2 here."""
    drawn = [
        SampledAnswer(text=text, logprob=log(share)) for text, share in [("a", 0.6), ("a", 0.6), ("b", 0.2), ("B", 0.2)]
    ]
    clusters = cluster_answers("?", [one.text for one in drawn], ExactJudge())
    expected = -(0.6 * log(0.6) + 0.4 * log(0.4)) / log(4)
    assert likelihood_entropy(clusters, drawn) == pytest.approx(expected)


@given(st.lists(st.tuples(_LETTERS, st.floats(min_value=-700, max_value=0)), min_size=2, max_size=8))
def test_the_likelihood_variant_keeps_the_same_promises(pairs: list[tuple[str, float]]) -> None:
    """In [0, 1], the same backwards, not raised by duplication; also where likelihoods underflow."""

    def value(some: list[tuple[str, float]]) -> float:
        answers = [SampledAnswer(text=text, logprob=logprob) for text, logprob in some]
        return likelihood_entropy(cluster_answers("?", [one.text for one in answers], ExactJudge()), answers)

    once = value(pairs)
    assert 0.0 <= once <= 1.0
    assert value(pairs[::-1]) == once
    assert value(pairs * 2) <= once + 1e-12


@pytest.mark.parametrize("logprob", [None, float("nan"), float("-inf"), 0.1])
def test_an_answer_without_a_likelihood_is_refused_where_one_is_needed(logprob: float | None) -> None:
    answers = [SampledAnswer(text="a", logprob=-1.0), SampledAnswer(text="b", logprob=logprob)]
    with raises(ClaimsError.sample):
        estimate_entropy("?", answers, ExactJudge(), weighting=Weighting.LIKELIHOOD)


@pytest.mark.clause("claimbundle", "semantic-entropy")
def test_an_estimate_names_method_judge_cost_and_recommendation() -> None:
    assert GATING_ANSWERS == 5
    answers = [SampledAnswer(text=text) for text in ("Paris", "It is Paris.", "Rome", "Oslo", "Bern")]
    found = estimate_entropy("What is the capital?", answers, RuleJudge())
    assert found.method is UncertaintyMethod.SEMANTIC_ENTROPY
    assert found.recommendation is Recommendation.DEFER
    assert found.judge == "rules over word overlap 2"
    assert found.cost.answers == 5
    assert found.cost.judge_calls > 0
    assert (
        found.interpretation
        == "4 meanings in 5 answers, the largest of 2; by counts; decided by other words (9), the same words (1)"
    )


def test_sampling_stops_early_when_the_first_answers_agree() -> None:
    """The rest is never drawn; where they disagree, all of them are."""
    drawn: list[str] = []

    def sampling(texts: list[str]) -> Iterator[SampledAnswer]:
        for text in texts:
            drawn.append(text)
            yield SampledAnswer(text=text)

    found = estimate_entropy("?", sampling(["a", "A", "a.", "b", "c"]), ExactJudge(), stop_after=3)
    assert (found.value, found.cost.answers, len(drawn)) == (0.0, 3, 3)
    assert "stopped early" in found.interpretation
    drawn.clear()
    full = estimate_entropy("?", sampling(["a", "b", "a", "a", "a"]), ExactJudge(), stop_after=2)
    assert (full.cost.answers, len(drawn)) == (5, 5)
    assert "stopped" not in full.interpretation
    corrected = estimate_entropy("?", sampling(["a", "b"]), ExactJudge(), correction=Correction.MILLER_MADOW)
    assert "corrected by miller_madow" in corrected.interpretation


def test_one_answer_says_nothing() -> None:
    """Refused, not called certain."""
    with raises(ClaimsError.sample):
        estimate_entropy("?", [SampledAnswer(text="a")], ExactJudge())
    with raises(ClaimsError.sample):
        likelihood_entropy(cluster_answers("?", ["a"], ExactJudge()), [SampledAnswer(text="a", logprob=0.0)])
    with raises(ClaimsError.sample):
        estimate_entropy("?", [], ExactJudge(), stop_after=1)
    with raises(ClaimsError.sample):
        cluster_answers("?", [], ExactJudge())


def test_a_mass_that_vanishes_does_not_break_the_sum() -> None:
    answers = [SampledAnswer(text="a", logprob=0.0), SampledAnswer(text="b", logprob=-1e6)]
    clusters = cluster_answers("?", ["a", "b"], ExactJudge())
    assert exp(-1e6) == 0.0
    assert likelihood_entropy(clusters, answers) == 0.0


@pytest.mark.clause("claimbundle", "model-disagreement")
@pytest.mark.parametrize(
    ("texts", "expected"), [(["a", "a", "a"], 0.0), (["a", "b", "a"], 2 / 3), (["a", "b", "c"], 1.0)]
)
def test_disagreement_is_the_share_of_pairs_that_differ(texts: list[str], expected: float) -> None:
    """Three answers, at 0.8, 1.0 and 1.2."""
    assert TEMPERATURES == (0.8, 1.0, 1.2)
    found = estimate_disagreement("?", texts, ExactJudge())
    assert found.value == pytest.approx(expected)
    assert found.method is UncertaintyMethod.MODEL_DISAGREEMENT
    assert found.cost.answers == 3
    assert found.judge == "exact text 1"


def test_disagreement_wants_an_answer_for_each_temperature() -> None:
    with raises(ClaimsError.sample):
        estimate_disagreement("?", ["a", "b"], ExactJudge())
    with raises(ClaimsError.sample):
        pair_disagreement([1])


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_no_estimate_leaves_its_range(value: float) -> None:
    with raises(ClaimsError.scores):
        Estimate(
            method=UncertaintyMethod.CONFIDENCE_SCORE,
            value=value,
            interpretation="",
            recommendation=Recommendation.EXECUTE,
            cost=Cost(answers=1),
        )
