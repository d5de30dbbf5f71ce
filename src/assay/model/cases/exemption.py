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
    count = rng.choice(extent.conditions)
    # Of many conditions drawn freely one would nearly always fail: in a deep exemption at most one is left to chance.
    free = range(count) if not extent.is_deep else rng.choice(((), (rng.randint(0, count - 1),)))
    return " and ".join(
        _draw_condition(rng, case, f"{name}_{n}") if n in free else _draw_holding(rng, case, f"{name}_{n}")
        for n in range(count)
    )


def _draw_holding(rng: Draw, case: dict[str, Any], metric: str) -> str:
    """A condition that the record meets."""
    style = rng.random()
    observed: Any
    if style < 0.4:
        observed, is_same = rng.random() < 0.5, rng.random() < 0.5
        text = f"{metric} {'==' if is_same else '!='} {str(observed == is_same).lower()}"
    elif style < 0.8:
        observed = draw_number(rng)
        other = draw_beside(rng, observed)
        signs = ("<", "<=", "!=") if observed < other else (">", ">=", "!=") if observed > other else ("<=", ">=", "==")
        text = f"{metric} {rng.choice(signs)} {_literal(other)}"
    else:
        observed = rng.choice(("gas", "oil", "coal"))
        word = rng.choice(("gas", "oil"))
        text = f'{metric} {"==" if observed == word else "!="} "{word}"'
    case["measurement"][metric] = observed
    return text


def _draw_condition(rng: Draw, case: dict[str, Any], metric: str) -> str:
    style, present = rng.random(), rng.random() < 0.88
    observed: Any
    if style < 0.35:
        wanted, observed = rng.random() < 0.7, rng.random() < 0.6
        text = f"{metric} {rng.choice(('==', '!='))} {str(wanted).lower()}"
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
