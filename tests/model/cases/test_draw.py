"""Draws are the same everywhere, even, and cover what the generator promises."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.cases.draw import SeededDraw
from assay.model.cases.draw_case import draw_case
from assay.model.cases.extent import MIXED, USUAL, WIDE, Extent


def test_a_seed_always_gives_the_same_draws() -> None:
    """Written down, so that another version or machine is found out."""
    rng = SeededDraw("seed")
    drawn = [rng.randint(0, 999), rng.choice("abcdef"), round(rng.random(), 6), *rng.sample(range(9), 3)]
    drawn += rng.choices("xyz", [1, 1, 8], k=4)
    assert drawn == [347, "c", 0.118226, 6, 4, 5, "z", "z", "z", "z"]


@given(st.text(max_size=8), st.integers(-(10**18), 10**18), st.integers(0, 10**30))
def test_a_drawn_number_lies_between_both_ends(seed: str, low: int, span: int) -> None:
    rng = SeededDraw(seed)
    assert low <= rng.randint(low, low + span) <= low + span
    assert 0 <= rng.random() < 1
    assert len(set(rng.sample(range(7), 7))) == 7


def test_draws_are_even_and_follow_their_weights() -> None:
    rng = SeededDraw("even")
    counts = Counter(rng.randint(0, 9) for _ in range(5000))
    assert all(400 < counts[digit] < 600 for digit in range(10))
    weighted = Counter(rng.choices("ab", [1, 9], k=2000))
    assert 120 < weighted["a"] < 280


@pytest.mark.parametrize("extent", [USUAL, WIDE, MIXED])
def test_the_same_seed_draws_the_same_case(extent: Extent) -> None:
    assert draw_case(SeededDraw("1"), extent) == draw_case(SeededDraw("1"), extent)
    assert draw_case(SeededDraw("1"), extent) != draw_case(SeededDraw("2"), extent)


def test_every_type_is_drawn_with_and_without_exemptions() -> None:
    rng, types, counts = SeededDraw("types"), Counter[str](), Counter[int]()
    for _ in range(400):
        case = draw_case(rng)
        counts[len(case["obligations"])] += 1
        types.update(one["type"] for one in case["obligations"])
        types.update(["exempted"] * bool(case["exemptions"]))
    assert set(counts) == set(range(1, 9))
    expected = {
        "must",
        "must_not",
        "should",
        "must_be_within",
        "must_be_one_of",
        "must_average_within",
        "discretionary",
    }
    assert expected | {"must_levitate", "ought", "exempted", "must_be_recorded_within"} <= set(types)
