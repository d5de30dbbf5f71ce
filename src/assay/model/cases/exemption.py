"""Exemptions: conditions that hold, that do not, or that only a person can judge."""

import json
from typing import Any

from assay.model.cases.draw import Draw
from assay.model.cases.extent import Extent
from assay.model.cases.measurement import UNITS, draw_scalar
from assay.model.cases.number import draw_beside, draw_number

_WORDS = ("gas", "oil", "coal", "wind")


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
    if style < 0.3:
        observed, is_same = rng.random() < 0.5, rng.random() < 0.5
        text = f"{metric} {'==' if is_same else '!='} {str(observed == is_same).lower()}"
    elif style < 0.6:
        observed = draw_number(rng)
        other = draw_beside(rng, observed)
        signs = ("<", "<=", "!=") if observed < other else (">", ">=", "!=") if observed > other else ("<=", ">=", "==")
        text = f"{metric} {rng.choice(signs)} {_literal(other)}"
    elif style < 0.75:
        observed = rng.choice(_WORDS)
        word = rng.choice(_WORDS)
        text = f'{metric} {"==" if observed == word else "!="} "{word}"'
    else:
        members, observed = _draw_members(rng)
        text = f"{metric} {'in' if _is_among(observed, members) else 'not in'} {json.dumps(members)}"
    _store(rng, case, metric, observed)
    return text


def _draw_condition(rng: Draw, case: dict[str, Any], metric: str) -> str:
    style, present = rng.random(), rng.random() < 0.88
    observed: Any
    if style < 0.3:
        wanted, observed = rng.random() < 0.7, rng.random() < 0.6
        text = f"{metric} {rng.choice(('==', '!='))} {str(wanted).lower()}"
    elif style < 0.6:
        observed = draw_number(rng)
        text = f"{metric} {rng.choice(('<', '<=', '>', '>=', '==', '!='))} {_literal(draw_beside(rng, observed))}"
    elif style < 0.75:
        observed = rng.choice(_WORDS)
        text = f'{metric} {rng.choice(("==", "!="))} "{rng.choice(_WORDS)}"'
    else:
        members, observed = _draw_members(rng)
        text = f"{metric} {rng.choice(('in', 'not in'))} {json.dumps(members)}"
    if present:
        _store(rng, case, metric, draw_scalar(rng) if rng.random() < 0.06 else observed)
    return text


def _draw_members(rng: Draw) -> tuple[list[Any], Any]:
    """A set of one kind or of several, and a value: one of them, or a stranger of a kind that is among them."""
    draw = rng.choice((_draw_member, _draw_member, lambda source: source.choice(_WORDS), draw_number))
    members: list[Any] = []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 5, 6))):
        value = draw(rng)
        if not _is_among(value, members):
            members.append(value)
    if rng.random() < 0.5:
        return members, rng.choice(members)
    stranger = draw(rng)
    return members, stranger if any(_kind(stranger) is _kind(one) for one in members) else members[0]


def _draw_member(rng: Draw) -> Any:  # noqa: ANN401  a plain JSON value
    return rng.choice((rng.choice(_WORDS), rng.choice(_WORDS), draw_number(rng), rng.random() < 0.5))


def _is_among(value: Any, members: list[Any]) -> bool:  # noqa: ANN401  a plain JSON value
    return any(_kind(value) is _kind(one) and value == one for one in members)


def _kind(value: Any) -> type:  # noqa: ANN401  a plain JSON value
    return float if type(value) is int else type(value)


def _store(rng: Draw, case: dict[str, Any], metric: str, observed: Any) -> None:  # noqa: ANN401  a plain JSON value
    """A condition names no unit, so one that the record gives decides nothing."""
    has_unit = rng.random() < 0.2
    case["measurement"][metric] = {"value": observed, "unit": rng.choice(UNITS)} if has_unit else observed


def _literal(number: float) -> str:
    return repr(number)
