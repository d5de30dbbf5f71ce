"""A commitment binds every token and every score; what differs by more than it may is found, at its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from assay.kernel.digest import digest_from_raw, digest_of
from assay.kernel.merkle import leaf_hash, node_hash
from assay.model.commit import (
    Likeness,
    TopScores,
    commit,
    compare,
    leaf_of,
    parse_scores,
    render_scores,
    root_of,
)
from assay.model.errors import JudgeError
from assay.model.judge import judge
from assay.model.score import score
from tests.model.networks import asked, shipped_engine, small_engine
from tests.raising import raises
from tests.verdicts.judging import docket_of, obligation, record

_TOKENS = (7, 3, 9)
_TOP: tuple[TopScores, ...] = (((7, 900), (2, 400)), ((3, 800), (1, 100), (4, -5)), ((9, 10), (8, 10)))

_score = st.integers(-50_000, 50_000)


@st.composite
def _runs(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[TopScores, ...]]:
    """Greedy runs: at each position the best is what was written."""
    top = []
    for _ in range(draw(st.integers(1, 9))):
        found = draw(st.dictionaries(st.integers(0, 248), _score, min_size=1, max_size=4))
        top.append(tuple(sorted(found.items(), key=lambda one: (-one[1], one[0]))))
    return tuple(one[0][0] for one in top), tuple(top)


@pytest.mark.clause("ski", "7.5")
def test_the_root_is_that_of_rfc_9162_over_readable_leaves() -> None:
    """Computed here by hand, so that anyone can in any language."""
    leaves = [b"[0,7,[[7,900],[2,400]]]", b"[1,3,[[3,800],[1,100],[4,-5]]]", b"[2,9,[[9,10],[8,10]]]"]
    hashes = [leaf_hash(leaf) for leaf in leaves]
    assert [leaf_of(at, token, top) for at, (token, top) in enumerate(zip(_TOKENS, _TOP, strict=True))] == leaves
    expected = digest_from_raw(node_hash(node_hash(hashes[0], hashes[1]), hashes[2]))
    assert root_of(_TOKENS, _TOP) == commit(_TOKENS, _TOP).root == expected
    assert root_of((), ()) == digest_of(b"")


@given(_runs())
def test_a_run_is_exactly_itself_and_nothing_else(run: tuple[tuple[int, ...], tuple[TopScores, ...]]) -> None:
    tokens, top = run
    bound = commit(tokens, top)
    assert compare(bound, tokens, top).likeness is Likeness.EXACT
    for position, scores in enumerate(top):
        for place, (token, value) in enumerate(scores):
            other = (*scores[:place], (token, value + 1), *scores[place + 1 :])
            changed = (*top[:position], other, *top[position + 1 :])
            assert root_of(tokens, changed) != bound.root
            found = compare(replace(bound, scores=render_scores(changed)), tokens, top)
            assert (found.likeness, found.position) == (Likeness.DIVERGED, position)
        wrong = (*tokens[:position], tokens[position] + 1, *tokens[position + 1 :])
        assert root_of(wrong, top) != bound.root
        assert compare(bound, wrong, top).likeness is Likeness.DIVERGED


@pytest.mark.clause("ski", "8.2")
@given(_runs(), st.integers(1, 50), st.data())
def test_scores_may_move_by_the_tolerance_and_no_further(
    run: tuple[tuple[int, ...], tuple[TopScores, ...]], tolerance: int, data: st.DataObject
) -> None:
    tokens, top = run
    bound = commit(tokens, top, tolerance=tolerance)

    def moved(scores: TopScores, most: int) -> TopScores:
        steps = [(token, value + data.draw(st.integers(-most, most))) for token, value in scores]
        return tuple(sorted(steps, key=lambda one: (-one[1], one[0])))

    near = tuple(moved(scores, tolerance) for scores in top)
    likeness = Likeness.EXACT if near == top else Likeness.WITHIN_TOLERANCE
    assert compare(bound, tokens, near).likeness is likeness
    far = ((*top[0][:-1], (top[0][-1][0], top[0][-1][1] - tolerance - 1)), *top[1:])
    assert compare(bound, tokens, far).likeness is Likeness.DIVERGED


def test_a_token_that_only_one_run_has_among_its_best_must_have_been_next() -> None:
    then, near, far = ((7, 900), (2, 400)), ((7, 900), (5, 402)), ((7, 900), (5, 404))
    bound = commit((7,), (then,), tolerance=2)
    assert compare(bound, (7,), (near,)).likeness is Likeness.WITHIN_TOLERANCE
    assert compare(bound, (7,), (far,)).likeness is Likeness.DIVERGED
    assert compare(commit((7,), (then,)), (7,), (near,)).likeness is Likeness.DIVERGED
    assert compare(bound, (7, 7), (then,)).detail == "expected 1 positions, got 2 tokens and 1 scores"
    assert compare(bound, (7,), ((),)).detail == "expected scores, got none"


@pytest.mark.clause("ski", "7.5")
def test_one_forced_pass_gives_what_writing_gave_token_by_token() -> None:
    """With trained and with untrained weights, and for a case without any obligation."""
    for docket in (
        docket_of(obligation("o-1", "must_be_within", "nox", [1, 50]), obligation("o-2", "must_equal", "fuel", "gas")),
        docket_of(obligation("o-1", "discretionary", "nox", 1), obligation("o-2", "must_not_exceed", "so2", 1)),
        docket_of(),
    ):
        question = asked(docket, record({"nox": 51, "fuel": "oil"}))
        for engine in (shipped_engine(), small_engine()):
            written = judge(engine, *question)
            assert score(engine, *question, [one.token for one in written.written]) == written


def test_tokens_that_no_answer_has_are_refused() -> None:
    question = asked(docket_of(obligation("o-1", "must_not_exceed", "nox", 50)), record({"nox": 51}))
    tokens = [one.token for one in judge(shipped_engine(), *question).written]
    for wrong in (tokens[:-1], [*tokens, tokens[-1]], [], [*tokens[:-1], 10_000], [*tokens[:-1], -1], [0, *tokens[1:]]):
        with raises(JudgeError.tokens):
            score(shipped_engine(), *question, wrong)


def test_a_commitment_is_plain_json_and_its_scores_a_text_of_one_form() -> None:
    bound = commit(_TOKENS, _TOP)
    assert json.decode(json.encode(bound), type=type(bound)) == bound
    assert bound.scores == "7:900 2:400;3:800 1:100 4:-5;9:10 8:10"
    for wrong in ("7", "7:", "7:1;", " 7:1", "7:1  2:3", "07:1", "7:-0", "7:1e3", "7:1\n", "٧:1", "7:1;;7:1"):
        with raises(JudgeError.scores):
            parse_scores(wrong)


@given(_runs())
def test_scores_come_back_as_they_were_written(run: tuple[tuple[int, ...], tuple[TopScores, ...]]) -> None:
    assert parse_scores(render_scores(run[1])) == run[1]
    assert parse_scores("") == ()
