"""What an observation says that could stand in the claim: a value that no claim may hold does not speak.

read values + derivations + output schema -> the same without those that the schema of their field refuses
One report of a hundred million metres must not keep a key from being compiled, nor move its mean.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

import orjson

from assay.truth._contract_outcome import CENTRES, Derivation, DerivationStrategy
from assay.truth.number import MILLION, rounded_ratio
from assay.truth.reading import Read, ReadingPlan
from assay.truth.validation import is_field_valid

_ROUNDED = frozenset(CENTRES)
_NUMBERS = _ROUNDED | {DerivationStrategy.MIN, DerivationStrategy.MAX}
_BOOLEANS = frozenset({DerivationStrategy.ALL_OF, DerivationStrategy.ANY_OF, DerivationStrategy.BOOLEAN_MAJORITY})
_EXACT_PLACES = 6
_KEPT = 1 << 14

# What was read, without values that could not stand in a field derived from their path; and whether there were any.
Fit = Callable[[Read], tuple[Read, bool]]


def fit_readings(plan: ReadingPlan, rules: Mapping[str, Derivation], schema_text: str) -> Fit:
    """For one contract. Asked is what the claim would say if this observation spoke alone."""
    texts = [_text_check(plan, name, rule, schema_text) for name, rule in rules.items() if _keeps_text(rule)]
    numbers = [
        _number_check(plan, name, rule, schema_text) for name, rule in rules.items() if rule.strategy in _NUMBERS
    ]

    # Reports repeat the same few readings, as a whole and one by one.
    @lru_cache(maxsize=_KEPT)
    def fit(read: Read) -> tuple[Read, bool]:
        mute_texts = {place for place, fits in texts if not fits(read.texts[place])}
        mute_numbers = {place for place, fits in numbers if not fits(read.numbers[place])}
        if not mute_texts and not mute_numbers:
            return read, False
        heard = tuple(None if place in mute_texts else text for place, text in enumerate(read.texts))
        counted = tuple(None if place in mute_numbers else number for place, number in enumerate(read.numbers))
        return Read(heard, counted), True

    return fit


def _keeps_text(rule: Derivation) -> bool:
    """A count keeps no value of those it counts, and an interval holds none of the numbers that it is made from."""
    return rule.strategy not in _NUMBERS and rule.strategy not in (
        DerivationStrategy.COUNT,
        DerivationStrategy.INTERVAL,
    )


def _number_check(
    plan: ReadingPlan, name: str, rule: Derivation, schema_text: str
) -> tuple[int, Callable[[int | None], bool]]:
    places = (rule.places or 0) if rule.strategy in _ROUNDED else _EXACT_PLACES

    @lru_cache(maxsize=_KEPT)
    def fits(number: int | None) -> bool:
        return number is None or is_field_valid(schema_text, name, rounded_ratio(number, MILLION, places))

    return plan.number_paths.index(rule.path), fits


def _text_check(
    plan: ReadingPlan, name: str, rule: Derivation, schema_text: str
) -> tuple[int, Callable[[str | None], bool]]:
    is_boolean = rule.strategy in _BOOLEANS

    @lru_cache(maxsize=_KEPT)
    def fits(text: str | None) -> bool:
        # Who says something else than true or false says nothing about what is one of them.
        if text is None or (is_boolean and text not in ("true", "false")):
            return True
        return is_field_valid(schema_text, name, orjson.loads(text))

    return plan.text_paths.index(rule.path), fits
