"""A learner gets better at what it is shown, and goes on from a checkpoint as if it had never stopped."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from assay.kernel.digest import digest_of
from assay.model.cases.draw import SeededDraw
from assay.model.errors import CheckpointError
from assay.model.learn.batch import collate, split_rows
from assay.model.learn.learner import Learner, parse_checkpoint, render_checkpoint
from assay.model.learn.plan import Plan
from assay.model.learn.row import Row, draw_closing
from assay.model.weights import Shape, parse_weights
from tests.model.networks import SMALL, untrained

WEIGHTS = parse_weights(untrained(SMALL))


def plan(**changes: object) -> Plan:
    given = Plan(
        parent_hash=WEIGHTS.hash,
        pairs_hash=digest_of(b"pairs"),
        replay_seed=1,
        steps=12,
        rate=0.01,
        tokens=500,
        pair_share=0.5,
    )
    return msgspec.structs.replace(given, **changes)


def rows(count: int = 6) -> list[Row]:
    rng = SeededDraw("learner")
    return [draw_closing(rng) for _ in range(count)]


def learnt(learner: Learner, steps: int) -> list[float]:
    return [learner.learn(split_rows(rows())) for _ in range(steps)]


def test_the_loss_falls_on_what_is_shown_again_and_again() -> None:
    losses = learnt(Learner(WEIGHTS, plan()), 12)
    assert losses[-1] < losses[0] / 2


def test_a_training_that_was_stopped_comes_to_the_same_weights() -> None:
    """Parameters, their mean, the optimiser's memory and the place in the schedule are all in the checkpoint."""
    whole, parted = Learner(WEIGHTS, plan()), Learner(WEIGHTS, plan())
    learnt(whole, 6)
    learnt(parted, 3)
    resumed = parse_checkpoint(render_checkpoint(parted), WEIGHTS, plan())
    assert resumed.step == 3
    learnt(resumed, 3)
    assert resumed.weights() == whole.weights()
    assert resumed.weights() != untrained(SMALL)
    assert parse_weights(whole.weights()).shape == SMALL


@pytest.mark.parametrize("damage", [lambda text: text[:-9], lambda _: b"", lambda _: b"PK\x03\x04", lambda _: b"\x80"])
def test_a_damaged_checkpoint_is_refused(damage: Callable[[bytes], bytes]) -> None:
    content = render_checkpoint(Learner(WEIGHTS, plan()))
    with pytest.raises(CheckpointError):
        parse_checkpoint(damage(content), WEIGHTS, plan())


def test_a_checkpoint_of_another_training_is_refused() -> None:
    """Going on with other pairs, another seed or another length would be neither training."""
    content = render_checkpoint(Learner(WEIGHTS, plan()))
    for changes in ({"steps": 13}, {"replay_seed": 2}, {"pairs_hash": digest_of(b"others")}):
        with pytest.raises(CheckpointError, match="of this training"):
            parse_checkpoint(content, WEIGHTS, plan(**changes))
    small = parse_weights(untrained(Shape(vocabulary=SMALL.vocabulary, width=16, layers=1, heads=2, inner=8)))
    with pytest.raises(CheckpointError):
        parse_checkpoint(content, small, plan())


def test_rows_of_all_lengths_are_all_in_some_batch() -> None:
    given = rows(9)
    batches = split_rows(given)
    assert sum(len(batch.tokens) for batch in batches) == 9
    assert sum(int((batch.targets > 0).sum()) for batch in batches) == sum(
        sum(target > 0 for target in row.targets) for row in given
    )
    padded = collate(given).tokens
    assert padded.shape == (9, max(len(row.tokens) for row in given))
    assert np.all(padded[0, len(given[0].tokens) :] == 0)
