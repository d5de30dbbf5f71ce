"""Comparisons that training draws: each line can be read, and its label is what arithmetic says."""

import random

from assay.model.learn.label import label_line
from assay.model.tokenizer import read_line
from assay.verdicts._digits import interleaved, spell
from train.comparisons import _draw_pair, draw_comparison, draw_comparison_rows

_COUNT = 400


def _draws(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311  cases are drawn, no secrets


def test_a_label_is_what_arithmetic_says() -> None:
    rng = _draws("labels")
    for _ in range(_COUNT):
        limit, observed = _draw_pair(rng)
        line = read_line(f"o0 must_not_exceed u u {interleaved(spell(limit), spell(observed))}", 0)
        assert (label_line(line).outcome == "breached") is (observed > limit)


def test_both_ends_of_ranges_are_drawn_met_and_breached() -> None:
    """A range with one end near and the other far was what training had lacked."""
    rng = _draws("ends")
    seen = set()
    for _ in range(_COUNT):
        line = read_line(f"o0 {draw_comparison(rng)}", 0)
        if line.symbols[0] == "must_be_within":
            seen.add(tuple(words[2] for words in label_line(line).comparisons))
    assert seen == {("holds", "holds"), ("holds", "fails"), ("fails", "holds")}


def test_a_line_of_a_sealed_case_is_not_trained_on() -> None:
    drawn = draw_comparison(_draws("sealed"))
    assert list(draw_comparison_rows(_draws("sealed"), 1, frozenset({drawn}))) == []
    assert len(list(draw_comparison_rows(_draws("sealed"), 1, frozenset()))) == 1
