"""Cases, pairs and weights that tests of models start from."""

from collections.abc import Callable
from functools import cache

import numpy as np

from assay.flows.model.case_file import (
    CaseFile,
    LabelledCase,
    RightAnswer,
    load_sealed_cases,
    parse_case_file,
    render_case_file,
)
from assay.flows.model.known_model import shipped_bytes
from assay.model.cases.draw import Draw, SeededDraw
from assay.model.vocabulary import IDS
from assay.model.weights import Weights, parse_weights, render_weights
from assay.verdicts.case import Case, expected_of, open_case, parse_case

__all__ = [
    "a_few_sealed",
    "broken_weights",
    "forgetful",
    "labelled",
    "long_exemption",
    "pairs_of",
    "same_weights",
    "shipped",
]

_CONDITIONS = 5


@cache
def shipped() -> Weights:
    return parse_weights(shipped_bytes())


def same_weights() -> bytes:
    """Other bytes that answer every case alike: the embedding of the padding symbol is read by nobody."""
    return _changed("token", lambda part: np.where(np.arange(len(part))[:, None] == IDS["pad"], 1, part))


@cache
def forgetful() -> Weights:
    """Weights that lost the sign which joins conditions: they are wrong on long exemptions."""
    lost = IDS["&"]
    return parse_weights(_changed("token", lambda part: np.where((np.arange(len(part)) == lost)[:, None], 0, part)))


def broken_weights() -> bytes:
    """Sound in form, and wrong about nearly everything."""
    return _changed("head.weight", np.zeros_like)


def _changed(name: str, change: "Callable[[np.ndarray], np.ndarray]") -> bytes:
    tensors = dict(shipped().tensors)
    return render_weights(shipped().shape, tensors | {name: change(tensors[name])})


@cache
def a_few_sealed(count: int) -> CaseFile:
    """The first of the sealed cases, as a file of their own."""
    return parse_case_file(render_case_file(load_sealed_cases().cases[:count]))


def labelled(case: Case) -> LabelledCase:
    return LabelledCase(case=case, expected=RightAnswer(verdict=expected_of(open_case(case)).verdict))


def long_exemption(rng: Draw) -> Case:
    """An exemption of five conditions; at most one of them does not hold."""
    measurement: dict[str, int] = {"m": rng.choice((6, 7))}
    failing = rng.choice((None, rng.randint(0, _CONDITIONS - 1)))
    conditions = []
    for place in range(_CONDITIONS):
        limit = rng.randint(2, 8)
        measurement[f"c{place}"] = limit + 1 if place == failing else limit - rng.randint(0, 2)
        conditions.append(f"c{place} <= {limit}")
    return parse_case(
        {
            "obligations": [{"id": "ob-0", "type": "must_not_exceed", "metric": "m", "value": 5}],
            "measurement": measurement,
            "exemptions": {"ob-0": [" and ".join(conditions)]},
        }
    )


@cache
def pairs_of(count: int, seed: str = "p14") -> CaseFile:
    rng = SeededDraw(seed)
    return parse_case_file(render_case_file(tuple(labelled(long_exemption(rng)) for _ in range(count))))
