"""The guess of a category: learnt from conclusions, measured on pairs it had not seen, and the same everywhere."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.categorise import LEAST_PAIRS, CategoryModel, measure_pairs
from assay.delivery.outcome import Outcome
from assay.delivery.pair import PairInput, PairLabel, TrainingPair
from assay.delivery.plugin import Category, PluginSignal, PurvaPaksha
from assay.delivery.rule import RuleId
from assay.kernel.ids import PrincipalId
from tests.contract._kit import AT

_SPEECH = {
    Category.ROUTING: "question about tariffs went to the depth service, wrong desk, misrouted intent",
    Category.APPLICATION: "draught taken in feet, wrong unit, stale tide table, parameter missing",
    Category.RULE: "rule outdated since the dredging, margin too small in swell, ambiguous text",
}


def _pair(category: Category, words: str, number: int = 0, *, hypothesis: Category | None = None) -> TrainingPair:
    signal = PluginSignal(outcome=Outcome.FAILURE, query_context=words, timestamp="2026-01-01T00:00:00Z")
    given_ = PairInput(query="is there water", original_response="clear", phala_signals=(signal,))
    if hypothesis is not None:
        thought = PurvaPaksha(
            failure_category=hypothesis, hypothesis=str(hypothesis), proposed_correction="", confidence=1.0
        )
        given_ = PairInput(
            query="is there water", original_response="clear", phala_signals=(signal,), purva_paksha=thought
        )
    return TrainingPair(
        training_pair_id=f"p{number}",
        rule_id=RuleId("MAR-1"),
        input=given_,
        label=PairLabel(failure_category=category, siddhanta=f"it is {category}"),
        captured_by=PrincipalId("user:rita"),
        captured_at=AT,
    )


def _pairs(count: int, seed: int = 7) -> list[TrainingPair]:
    """Contexts of five words out of what people say of each category, and two of what they say of all."""
    chance = random.Random(seed)  # noqa: S311  a sample, not a secret
    common = " ".join(_SPEECH.values()).split()
    found = []
    for number in range(count):
        category = chance.choice(list(Category))
        words = chance.sample(_SPEECH[category].split(), 5) + chance.sample(common, 2)
        found.append(_pair(category, " ".join(words), number))
    return found


def test_guesses_on_pairs_it_had_not_seen_beat_the_commonest_category() -> None:
    """Each is guessed from those before it, and from nothing of its own label."""
    held_out = measure_pairs(_pairs(150))
    assert held_out.pairs == 150 - LEAST_PAIRS
    assert held_out.right > held_out.pairs * 0.85
    assert held_out.right > held_out.commonest_right * 1.5


def test_words_that_mean_nothing_are_guessed_no_better_than_chance() -> None:
    """The measure is honest: labels that have nothing to do with the words are not guessed."""
    chance = random.Random(3)  # noqa: S311  a sample, not a secret
    noise = [_pair(chance.choice(list(Category)), f"word{chance.randrange(9)}", number) for number in range(200)]
    found = measure_pairs(noise)
    assert found.right < found.pairs * 0.5


@pytest.mark.clause("pramana", "10.2")
def test_it_says_nothing_before_people_have_concluded_enough() -> None:
    model = CategoryModel()
    for number in range(LEAST_PAIRS - 1):
        model.learn(_pair(list(Category)[number % 3], "swell", number))
    assert model.suggest(RuleId("MAR-1"), ["swell"]) is None
    one = CategoryModel()
    for number in range(LEAST_PAIRS + 5):
        one.learn(_pair(Category.RULE, "swell", number))
    assert one.suggest(RuleId("MAR-1"), ["swell"]) is None
    assert one.held_out.pairs == 0


def test_a_hypothesis_and_the_label_teach_it_nothing_of_the_words() -> None:
    """It learns from what was known before: a plugin that is always wrong does not move it."""
    plain, misled = CategoryModel(), CategoryModel()
    for number, category in enumerate([*Category] * 6):
        plain.learn(_pair(category, _SPEECH[category], number))
        misled.learn(_pair(category, _SPEECH[category], number, hypothesis=Category.ROUTING))
    for words in _SPEECH.values():
        assert plain.suggest(RuleId("MAR-1"), [words]) == misled.suggest(RuleId("MAR-1"), [words])


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter_to_what_it_says_next(chance: random.Random) -> None:
    pairs = _pairs(30)
    shuffled = list(pairs)
    chance.shuffle(shuffled)
    first, second = CategoryModel(), CategoryModel()
    for one, other in zip(pairs, shuffled, strict=True):
        first.learn(one)
        second.learn(other)
    for words in _SPEECH.values():
        one_, other_ = first.suggest(RuleId("MAR-1"), [words]), second.suggest(RuleId("MAR-1"), [words])
        assert one_ is not None
        assert other_ is not None
        assert (one_.ranking, one_.learnt_from) == (other_.ranking, other_.learnt_from)
