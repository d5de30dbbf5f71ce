"""A condition of an exemption that a machine can evaluate.

    startup == true and load_percent < 15
    fuel in ["hydrogen", "biogas"]
    window.hours_used <= 500
    größe == "salt and pepper"

Conditions joined by `and` hold together; an `and` inside quotes is part of the text. A metric is a name of letters,
digits and marks of any script, not of digits alone, read in NFC. A text that is not wholly of this form is informal,
and a person decides; so is `null`, since a metric without a value is one that is missing.
"""

import re
from decimal import Decimal
from typing import TypeAlias
from unicodedata import category, normalize

from msgspec import Struct

from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, Limits, parse_json
from assay.verdicts.graph.obligation_type import ObligationType

Scalar: TypeAlias = Decimal | str | bool
# A value to compare with, a set or the two ends of a range, or nothing.
Operand: TypeAlias = Scalar | tuple[Scalar, ...] | None

_EXACT = Limits(exact_numbers=True)
# Both are linear in the text: no blank is tried as the start of more than one match, and no quote as that of two texts.
_CLAUSE = re.compile(
    r"((?=\d*[A-Za-z_\x80-\U0010ffff])[\w.\x80-\U0010ffff-]*)\s*(==|!=|<=|>=|<|>|not in\b|in\b)\s*(\S.*)",
    re.ASCII | re.DOTALL,
)
_QUOTED_OR_AND = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(?<=\S)\s+and\s+(?=\S)', re.DOTALL)
# Letters, marks and numbers, by the first letter of their Unicode category.
_IN_NAMES = frozenset("LMN")
_TYPES = {
    "==": ObligationType.MUST_EQUAL,
    "!=": ObligationType.MUST_NOT_EQUAL,
    "<=": ObligationType.MUST_NOT_EXCEED,
    ">=": ObligationType.MUST_BE_AT_LEAST,
    "<": ObligationType.MUST_BE_BELOW,
    ">": ObligationType.MUST_BE_ABOVE,
    "in": ObligationType.MUST_BE_ONE_OF,
    "not in": ObligationType.MUST_NOT_BE_ONE_OF,
}
_SETS = frozenset({ObligationType.MUST_BE_ONE_OF, ObligationType.MUST_NOT_BE_ONE_OF})
_NUMERIC = frozenset({"<=", ">=", "<", ">"})


class Condition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The metric meets the predicate; written with the obligation types, since they are the predicates we can judge."""

    metric: str
    predicate: ObligationType
    value: Operand
    unit: str | None = None


def parse_conditions(text: str) -> tuple[Condition, ...] | None:
    """The conditions of a text, or None where any part of it is informal."""
    conditions = []
    for clause in _clauses(text):
        condition = _condition(clause)
        if condition is None:
            return None
        conditions.append(condition)
    return tuple(conditions)


def scalar_of(value: JsonValue) -> Scalar | None:
    """A JSON scalar as we compare it, numbers by their exact decimal; None for null, lists and objects."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return Decimal(value)
    return Decimal(repr(value)) if isinstance(value, float) else None


def _clauses(text: str) -> list[str]:
    """The parts between one `and` and the next, of which those inside a quoted text are none."""
    clauses, start = [], 0
    for match in _QUOTED_OR_AND.finditer(text):
        if not match.group().startswith('"'):
            clauses.append(text[start : match.start()])
            start = match.end()
    return [*clauses, text[start:]]


def _is_name(metric: str) -> bool:
    return metric.isascii() or all(mark.isascii() or category(mark)[0] in _IN_NAMES for mark in metric)


def _condition(clause: str) -> Condition | None:
    match = _CLAUSE.fullmatch(clause.strip())
    if match is None:
        return None
    metric, operator, literal = match.groups()
    if not _is_name(metric):
        return None
    operand = _operand(literal)
    predicate = _TYPES[operator]
    fits = isinstance(operand, tuple) if predicate in _SETS else operand is not None and not isinstance(operand, tuple)
    if not fits or (operator in _NUMERIC and not isinstance(operand, Decimal)):
        return None
    return Condition(metric=normalize("NFC", metric), predicate=predicate, value=operand)


def _operand(literal: str) -> Operand:
    try:
        value = parse_json(literal, limits=_EXACT)
    except JsonError:
        return None
    if not isinstance(value, list):
        return scalar_of(value)
    members = tuple(scalar_of(part) for part in value)
    return tuple(part for part in members if part is not None) if None not in members else None
