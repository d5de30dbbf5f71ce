"""Networks and cases that tests start from: small, untrained, and the same every time."""

from functools import cache
from pathlib import Path

import numpy as np

from assay.model.engine import Engine
from assay.model.vocabulary import VOCABULARY
from assay.model.weights import Shape, parse_weights, render_weights, tensors_of
from assay.verdicts.docket import Docket
from assay.verdicts.reason import build_request
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.window import window_facts

SMALL = Shape(vocabulary=len(VOCABULARY), width=32, layers=2, heads=4, inner=48)
ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "src" / "assay" / "model" / "weights" / "judge.bin"
EARLIER = WEIGHTS.with_name("judge-1.3.0.bin")


def untrained(shape: Shape = SMALL, seed: int = 1) -> bytes:
    """A weight file of random integers over their whole range, which must be exact though no training gives them."""
    rng = np.random.default_rng(seed)
    spans = {"int8": 128, "int16": 700, "int32": 4096}
    tensors = {
        one.name: rng.integers(1 - spans[one.type], spans[one.type], one.shape, dtype=np.int64)
        for one in tensors_of(shape)
    }
    return render_weights(shape, tensors)


@cache
def small_engine() -> Engine:
    return Engine(parse_weights(untrained()))


@cache
def shipped_engine() -> Engine:
    return Engine(parse_weights(WEIGHTS.read_bytes()))


@cache
def earlier_engine() -> Engine:
    """Return the judge of version 0.1.0."""
    return Engine(parse_weights(EARLIER.read_bytes()))


def asked(docket: Docket, telemetry: Telemetry) -> tuple[str, bytes]:
    """Prompt and grammar as a model gets them."""
    request = build_request(docket, telemetry, window_facts(docket.plans, telemetry, []), seed=0)
    return request.prompt, bytes(request.grammar)
