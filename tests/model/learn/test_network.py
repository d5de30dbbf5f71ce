"""The network with gradients is the engine forwards, and the slope of the loss backwards."""

from functools import cache

import numpy as np
import pytest

from assay.model.cases.draw import SeededDraw
from assay.model.engine import Engine
from assay.model.learn.batch import collate
from assay.model.learn.network import Batch, Network, Parameters, integers_of, parameters_of
from assay.model.learn.row import Row, draw_closing
from assay.model.vocabulary import VOCABULARY
from assay.model.weights import Shape, parse_weights, render_weights, tensors_of
from tests.model.networks import SMALL, WEIGHTS, untrained

TINY = Shape(vocabulary=len(VOCABULARY), width=8, layers=2, heads=2, inner=12)


def rows(count: int) -> list[Row]:
    """Short ones of several lengths."""
    rng, found = SeededDraw("rows"), list[Row]()
    while len(found) < count:
        row = draw_closing(rng)
        found += [row] if len(row.tokens) < 24 else []
    return found


@cache
def tiny() -> Parameters:
    """Away from every limit, so that a small difference changes no case of a formula."""
    rng = np.random.default_rng(5)
    spans = {"int8": 0.25, "int16": 1.5, "int32": 0.2}
    return {one.name: rng.normal(0, spans[one.type], one.shape) for one in tensors_of(TINY)}


def loss_of(parameters: Parameters, batch: Batch) -> float:
    return Network(TINY, smooth=True).learn(parameters, batch, 1.0)[0]


@pytest.mark.parametrize("name", [one.name for one in tensors_of(TINY)])
def test_gradients_are_the_slopes_of_the_loss(name: str) -> None:
    """Central differences in double precision, along a random direction and at the steepest place of every array."""
    batch, parameters = collate(rows(3)), tiny()
    grad = Network(TINY, smooth=True).learn(parameters, batch, 1.0)[1][name]
    steepest = np.zeros(grad.shape)
    steepest[np.unravel_index(np.abs(grad).argmax(), grad.shape)] = 1
    for direction in (steepest, np.random.default_rng(7).normal(0, 1, grad.shape)):
        step = 1e-6
        high, low = (parameters | {name: parameters[name] + sign * step * direction} for sign in (1, -1))
        slope = (loss_of(high, batch) - loss_of(low, batch)) / (2 * step)
        told = float((grad * direction).sum())
        assert slope == pytest.approx(told, rel=2e-4, abs=1e-6)
        assert told != 0


@pytest.mark.parametrize("content", [untrained(), WEIGHTS.read_bytes()], ids=["untrained", "shipped"])
def test_the_network_that_learns_computes_the_scores_of_the_engine(content: bytes) -> None:
    """Not nearly: every score of every symbol, so that nothing changes when a model leaves training."""
    weights = parse_weights(content)
    engine, network = Engine(weights), Network(weights.shape)
    parameters = parameters_of(weights.shape, weights.tensors)
    assert render_weights(weights.shape, integers_of(weights.shape, parameters)) == content
    batch = collate(rows(5))
    scores = iter(network.scores(parameters, batch))
    for row in rows(5):
        read = list(zip(row.tokens, row.comparisons, row.places, strict=True))
        for place in (at for at, target in enumerate(row.targets) if target):
            session = engine.open(1, len(read))
            assert (engine.extend(session, [0], [read[: place + 1]])[0] == next(scores)).all()


def test_a_gradient_passes_the_rounding_and_stops_where_a_value_was_cut() -> None:
    """Straight through: an integer step has no slope, and a value beyond its range none that leads back."""
    network = Network(SMALL)
    value, back = network._cut(np.array([0.2, 0.8, 3.0], np.float32), 1.0, -2.0, 2.0)
    assert value.tolist() == [0, 1, 2]
    assert back(np.ones(3, np.float32)).tolist() == [1, 1, 0]
