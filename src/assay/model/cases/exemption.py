"""Exemptions: conditions that hold, that do not, or that only a person can judge."""

from typing import Any

from assay.model.cases.draw import Draw
from assay.model.cases.extent import Extent
from assay.model.cases.measurement import draw_scalar
from assay.model.cases.number import draw_beside, draw_number

__all__ = ["draw_exemption"]


def draw_exemption(rng: Draw, case: dict[str, Any], name: str, extent: Extent) -> str:
    if rng.random() < 0.15:
        return "a mild winter"
    return " and ".join(_draw_condition(rng, case, f"{name}_{n}") for n in range(rng.choice(extent.conditions)))


def _draw_condition(rng: Draw, case: dict[str, Any], metric: str) -> str:
    style, present = rng.random(), rng.random() < 0.88
    observed: Any
    if style < 0.35:
        wanted, observed = rng.random() < 0.7, rng.random() < 0.6
        text = f"{metric} {rng.choice(('==', '=='))} {str(wanted).lower()}"
    elif style < 0.7:
        observed = draw_number(rng)
        text = f"{metric} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {_literal(draw_beside(rng, observed))}"
    elif style < 0.85:
        observed = rng.choice(("gas", "oil", "coal"))
        text = f'{metric} {rng.choice(("==", "!="))} "{rng.choice(("gas", "oil"))}"'
    else:
        observed = rng.choice(("gas", "oil", "coal", 5))
        text = f'{metric} {rng.choice(("in", "not in"))} ["gas", "oil"{rng.choice(("", ", 5"))}]'
    if present:
        case["measurement"][metric] = draw_scalar(rng) if rng.random() < 0.06 else observed
    return text


def _literal(number: float) -> str:
    return repr(number)
