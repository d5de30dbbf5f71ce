"""What an observation says that could stand in the claim: a value that no claim may hold does not speak.

read values + derivations + output schema -> the same without those that the schema of their field refuses
One report of a hundred million metres must not keep a key from being compiled, nor move its mean.
"""

from collections.abc import Mapping
from functools import lru_cache

import orjson

from assay.truth._contract_outcome import Derivation, DerivationStrategy
from assay.truth.number import MILLION, rounded_ratio
from assay.truth.reading import Read, ReadingPlan
from assay.truth.validation import is_field_valid

__all__ = ["fit_reading"]

_ROUNDED = frozenset({DerivationStrategy.WEIGHTED_MEAN, DerivationStrategy.MEDIAN})
_EXACT = frozenset({DerivationStrategy.MIN, DerivationStrategy.MAX})
_BOOLEANS = frozenset({DerivationStrategy.ALL_OF, DerivationStrategy.ANY_OF, DerivationStrategy.BOOLEAN_MAJORITY})
_EXACT_PLACES = 6


def fit_reading(plan: ReadingPlan, rules: Mapping[str, Derivation], schema_text: str, read: Read) -> tuple[Read, bool]:
    """What was read, without values that could not stand in a field derived from their path; and whether there were.

    Asked is what the claim would say if this observation spoke alone.
    """
    texts, numbers = (
        dict(zip(plan.text_paths, read.texts, strict=True)),
        dict(zip(plan.number_paths, read.numbers, strict=True)),
    )
    unfit = [rule for name, rule in rules.items() if not _fits(name, rule, schema_text, texts, numbers)]
    if not unfit:
        return read, False
    for rule in unfit:
        (numbers if rule.strategy in _ROUNDED | _EXACT else texts)[rule.path] = None
    return Read(tuple(texts.values()), tuple(numbers.values())), True


def _fits(
    name: str,
    rule: Derivation,
    schema_text: str,
    texts: Mapping[str, str | None],
    numbers: Mapping[str, int | None],
) -> bool:
    if rule.strategy in _ROUNDED | _EXACT:
        number = numbers[rule.path]
        places = (rule.places or 0) if rule.strategy in _ROUNDED else _EXACT_PLACES
        return number is None or _number_fits(schema_text, name, number, places)
    text = texts[rule.path]
    # A count keeps no value, and who says something else than true or false says nothing about what is one of them.
    if text is None or rule.strategy is DerivationStrategy.COUNT:
        return True
    if rule.strategy in _BOOLEANS and text not in ("true", "false"):
        return True
    return _text_fits(schema_text, name, text)


# Reports repeat the same few readings.
@lru_cache(maxsize=1 << 14)
def _number_fits(schema_text: str, name: str, number: int, places: int) -> bool:
    return is_field_valid(schema_text, name, rounded_ratio(number, MILLION, places))


@lru_cache(maxsize=1 << 14)
def _text_fits(schema_text: str, name: str, text: str) -> bool:
    return is_field_valid(schema_text, name, orjson.loads(text))
