"""Among the allowed symbols the scores decide, and chance decides only by its seed."""

from collections import Counter
from decimal import Decimal

import pytest

from assay.model.choice import greedy, sampler, weigh
from assay.model.errors import JudgeError
from tests.raising import raises

SCORES = [5, 9, 9, 100, 1]


def test_the_highest_score_wins_among_the_allowed_and_the_lower_number_among_equals() -> None:
    assert greedy(SCORES, (0, 1, 2), (0, 0)) == 1
    assert greedy(SCORES, (2, 1, 0), (0, 0)) == 1
    assert greedy(SCORES, (0, 4), (0, 0)) == 0


def test_the_same_seed_draws_the_same_and_another_row_draws_for_itself() -> None:
    scores = [0] * 64
    choices = tuple(range(64))
    pick = sampler(7, Decimal("0.8"))
    drawn = [pick(scores, choices, (row, step)) for row in range(4) for step in range(4)]
    assert drawn == [sampler(7, Decimal("0.8"))(scores, choices, (row, step)) for row in range(4) for step in range(4)]
    assert len(set(drawn)) > 4
    assert drawn != [sampler(8, Decimal("0.8"))(scores, choices, (row, step)) for row in range(4) for step in range(4)]


def test_draws_follow_the_scores_and_the_temperature() -> None:
    """The natural logarithm of 3 is 4500 4096ths: three to one at temperature 1, nine to one at a half."""
    scores = [4500, 0]
    for temperature, share in ((Decimal(1), 0.75), (Decimal("0.5"), 0.9)):
        drawn = Counter(sampler(seed, temperature)(scores, (0, 1), (0, 0)) for seed in range(3000))
        assert abs(drawn[0] / 3000 - share) < 0.03


@pytest.mark.parametrize("temperature", [Decimal(0), Decimal(-1), Decimal("NaN")])
def test_a_temperature_that_is_none_is_refused(temperature: Decimal) -> None:
    with raises(JudgeError.temperature):
        sampler(1, temperature)


def test_a_decided_token_carries_its_exact_score_and_its_probability_among_the_choices() -> None:
    written = weigh(1, [0, 0, 4096], (0, 1))
    assert (written.token, written.score, written.best) == (1, 0, ((0, 0), (1, 0)))
    assert written.logprob == -0.693147
    assert weigh(2, [0, 0, 4096], (2,)).logprob == 0.0
