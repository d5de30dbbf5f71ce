"""The reasoning in sentences: each word follows from a token that the model wrote, each number from what it read.

line + finding + names -> tell_line -> `ob-1`: observed 1800 s is less than the limit 3600 s: satisfied
Nothing is compared here: where the model wrote `more`, the sentence says more, right or wrong.
"""

import re
from collections.abc import Sequence
from json import dumps

from msgspec import Struct

from assay.model.program import Finding
from assay.model.tokenizer import Line

_CLASSES = {"unfollowed": "not followed", "judgement": "left to a person"}
_RELATIONS = {"less": "less than", "more": "more than", "equal": "equal to"}
_TRUTHS = {"holds": "holds", "fails": "does not hold", "open": "cannot be determined"}
_EXEMPTING = {
    "exempting": "an exemption holds",
    "not_exempting": "no exemption holds",
    "exempting_perhaps": "whether an exemption holds cannot be determined",
}
_BIAS = 500
_EXPONENT_DIGITS = 3
_SHOWN = 60
_DIGITS = re.compile(r"[0-9.+-]{2}")


class Named(Struct, frozen=True, kw_only=True):
    """What a sentence says of an obligation besides the model's words; `value` is the JSON of the observed value."""

    name: str
    unit: str
    value: str | None


def tell_line(line: Line, finding: Finding, named: Named) -> str:
    """Tell one obligation: how the observed value stands to each limit, its exemptions, and what follows."""
    parts = _parts(line)
    demands = next((at for at, start in enumerate(line.starts) if start == "x"), len(line.starts))
    told = [_compared(parts[at], finding.comparisons[at], named, _limit(at, demands)) for at in range(demands)]
    text = f"`{named.name}`: {' and '.join(told)}"
    if finding.exempting in _EXEMPTING:
        text += f"; {_EXEMPTING[finding.exempting]}{_exemptions(line, finding, demands)}"
    return f"{text}: {_CLASSES.get(finding.outcome, finding.outcome)}"


def _parts(line: Line) -> list[list[str]]:
    parts: list[list[str]] = [[] for _ in line.starts]
    for symbol, place in zip(line.symbols, line.comparisons, strict=True):
        parts[place].append(symbol)
    return parts


def _limit(at: int, demands: int) -> str:
    if demands == 1:
        return "limit"
    return "upper limit" if at else "lower limit"


def _compared(part: Sequence[str], words: tuple[str, str, str, str], named: Named, limit: str) -> str:
    difference, relation = words[:2]
    pairs = [symbol for symbol in part if _DIGITS.fullmatch(symbol)]
    if relation in _RELATIONS and pairs:
        wanted, seen = (_number(side, is_scientific="ee" in part) for side in _sides(pairs))
        unit = f" {named.unit}" if named.unit else ""
        return f"observed {seen}{unit} is {_RELATIONS[relation]} the {limit} {wanted}{unit}"
    observed = "the observed value" if named.value is None else f"observed {_short(named.value)}"
    members = len(part) - part.index(":") - 1 if ":" in part else 0
    listed = "the one that is named" if members == 1 else f"one of the {members} that are named"
    return {
        "member": f"{observed} is {listed}",
        "stranger": f"{observed} is not {listed}",
        "present": f"{observed} is given",
        "denied": f"{observed} is false",
        "kind": f"{observed} is of another kind than what it is compared with",
        "missing": "no value is given",
        "foreign": f"{observed} is in another unit",
        "doubt": "what the window holds is in doubt",
        "person": "a person must judge",
    }.get(difference, f"{observed} was compared")


def _sides(pairs: Sequence[str]) -> tuple[str, str]:
    return "".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs)


def _number(text: str, *, is_scientific: bool) -> str:
    """Write the digits as the model read them, without padding."""
    sign, digits = text[0].replace("+", ""), text[1:]
    if is_scientific:
        exponent, mantissa = int(digits[:_EXPONENT_DIGITS]) - _BIAS, digits[_EXPONENT_DIGITS:].rstrip("0")
        return f"{sign}{mantissa[0]}.{mantissa[1:] or '0'}e{exponent}" if mantissa else "0"
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    return f"{sign}{whole.lstrip('0') or '0'}{'.' if fraction else ''}{fraction}"


def _exemptions(line: Line, finding: Finding, demands: int) -> str:
    """Say of each condition what the model concluded, by the number of its exemption."""
    told: list[str] = []
    number = condition = 0
    for at in range(demands, len(line.starts)):
        number, condition = (number + 1, 1) if line.starts[at] == "x" else (number, condition + 1)
        told.append(f"condition {number}.{condition} {_TRUTHS[finding.comparisons[at][2]]}")
    return f" ({', '.join(told)})" if told else ""


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else dumps(text[:_SHOWN] + "...")
