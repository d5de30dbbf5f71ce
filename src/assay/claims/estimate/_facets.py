"""Facets of an answer: what in it must agree before two answers can mean the same.

answer -> dates, times, numbers -> negation, quantifiers, bounds, modals -> content words in order
A veto is found by comparing facets; what the question itself says counts for both answers.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from assay.claims.estimate._quantities import (
    Quantities,
    Quantity,
    are_same_quantities,
    place_marks,
    take_quantities,
)
from assay.claims.estimate._words import FILLER, NEGATIONS, has_opposite, plain_text, stem, tokens_of, word_set

__all__ = ["Facets", "Veto", "facets_of", "find_veto"]

_QUANTIFIERS = {
    word: name
    for name, words in {
        "all": "all every each everyone everybody everything always whole entire",
        "some": "some someone somebody something sometimes",
        "most": "most mostly",
        "many": "many often",
        "few": "few rarely seldom",
        "only": "only solely",
        "both": "both",
    }.items()
    for word in words.split()
}
_BOUNDS = (
    (re.compile(r"\b(?:at least|no (?:less|fewer) than|not (?:less|fewer) than)\b"), "at_least"),
    (re.compile(r"\b(?:at most|no more than|not more than|up to)\b"), "at_most"),
    (re.compile(r"\bmore than\b"), "more"),
    (re.compile(r"\b(?:less|fewer) than\b"), "less"),
    (re.compile(r"\b(?:before|until)\b"), "before"),
    (re.compile(r"\b(?:after)\b"), "after"),
)
_MUST = word_set("must shall should required requires obliged mandatory")
_MAY = word_set("may might could can optional optionally")
_HEDGES = word_set("may might could possibly perhaps maybe probably likely presumably")
_LIGHT = word_set("any anymore more longer still yet other now time fold") | _MUST | _MAY | _HEDGES
# Between two things, these say which is which.
_RELATIONS = word_set("than to then before after from into over under above below")
_COPULA = word_set("is are was were")
_AUXILIARIES = _COPULA | word_set("be been being get gets got")
# More things than that in both answers are a text, whose order says little.
_MOST_SHARED = 60
# An upper-case A or I inside a text is a name, not an article or a person.
_LETTER = re.compile(r"(?<=\w )([AI])\b(?!')")
# An upper-case May inside a text is a month; with a day or a year it is read as a date.
_MAY_MONTH = re.compile(r"(?<=[a-z] )May\b(?!,? \d)")


# Signs of units that are told apart by their case, which is lost later.
_BY_CASE = {
    "mW": "milliwatt", "MW": "megawatt", "MV": "megavolt", "Mg": "megagram", "kb": "kilobit", "Kb": "kilobit",
    "Mb": "megabit", "Gb": "gigabit",
}  # fmt: skip
_UNIT_SIGN = re.compile(rf"(\d)\s?({'|'.join(_BY_CASE)})\b")
_JOINED = re.compile(r"[\s,;&]*(?:and|or)?\s*")
_TWO = 2


class Veto(StrEnum):
    """Why two answers cannot mean the same."""

    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    NAME = "name"
    NEGATION = "negation"
    QUANTIFIER = "quantifier"
    BOUND = "bound"
    MODAL = "modal"
    OPPOSITE = "opposite"
    ORDER = "order"


class Facets(NamedTuple):
    """`content` are the stems that carry meaning; `sequence` the same in order, with the words of relation.

    `roles` are the numbers in their order, each with the word that it stands at.
    """

    quantities: Quantities
    is_negative: bool
    quantifiers: frozenset[str]
    bounds: frozenset[str]
    is_must: bool
    is_may: bool
    is_hedged: bool
    content: frozenset[str]
    sequence: tuple[str, ...]
    is_passive: bool
    is_copular: bool
    roles: tuple[tuple[str, Fraction], ...]


@lru_cache(maxsize=4096)
def facets_of(answer: str) -> Facets:
    named = _UNIT_SIGN.sub(lambda found: f"{found[1]} {_BY_CASE[found[2]]}", answer)
    plain = plain_text(_MAY_MONTH.sub("month-of-may", _LETTER.sub(r"\1\1", named)))
    bounds, rest = _take_bounds(plain)
    quantities = take_quantities(rest)
    words = tokens_of(quantities.rest)
    sequence = tuple(_sequence(words))
    content = frozenset(word for word in sequence if word not in _RELATIONS)
    is_passive = _is_passive(words)
    return Facets(
        quantities=quantities,
        is_negative=not NEGATIONS.isdisjoint(words),
        quantifiers=frozenset(_QUANTIFIERS[word] for word in words if word in _QUANTIFIERS),
        bounds=bounds,
        is_must=not _MUST.isdisjoint(words),
        is_may=not _MAY.isdisjoint(words),
        is_hedged=not _HEDGES.isdisjoint(words),
        content=content,
        sequence=sequence,
        is_passive=is_passive,
        is_copular=not is_passive and not _COPULA.isdisjoint(words),
        roles=_roles(quantities),
    )


def find_veto(question: Facets, one: Facets, other: Facets) -> Veto | None:
    """The first reason why two answers differ for certain; None where nothing was found."""
    return next(_vetoes(question, one, other), None)


def _is_passive(words: list[str]) -> bool:
    """An auxiliary, and `by` somewhere after it."""
    first = next((place for place, word in enumerate(words) if word in _AUXILIARIES), len(words))
    return "by" in words[first:]


def _take_bounds(plain: str) -> tuple[frozenset[str], str]:
    found: set[str] = set()
    for form, name in _BOUNDS:
        if form.search(plain):
            found.add(name)
            # The order of what stands around them still matters.
            plain = plain if name in ("before", "after") else form.sub(" ", plain)
    return frozenset(found), plain


def _sequence(words: list[str]) -> Iterator[str]:
    for word in words:
        if word in _RELATIONS:
            yield word
        elif not (word in FILLER or word in NEGATIONS or word in _QUANTIFIERS or word in _LIGHT):
            yield stem(word)


def _vetoes(question: Facets, one: Facets, other: Facets) -> Iterator[Veto]:
    yield from _amount_vetoes(question.quantities, one.quantities, other.quantities)
    if _is_denying(question, one) is not _is_denying(question, other):
        yield Veto.NEGATION
    if _differ(question.quantifiers, one.quantifiers, other.quantifiers):
        yield Veto.QUANTIFIER
    if _differ(question.bounds, one.bounds, other.bounds):
        yield Veto.BOUND
    if _modals_differ(question, one, other):
        yield Veto.MODAL
    if has_opposite(one.content - other.content, other.content - one.content):
        yield Veto.OPPOSITE
    if _is_turned(one, other) or _are_exchanged(one, other):
        yield Veto.ORDER


def _amount_vetoes(asked: Quantities, one: Quantities, other: Quantities) -> Iterator[Veto]:
    if _differ(asked.dates, one.dates, other.dates):
        yield Veto.DATE
    if _differ(asked.times, one.times, other.times):
        yield Veto.TIME
    if _differ(asked.names, one.names, other.names):
        yield Veto.NAME
    if _numbers_differ(asked.numbers, one.numbers, other.numbers):
        yield Veto.NUMBER


def _differ(asked: frozenset[str], one: frozenset[str], other: frozenset[str]) -> bool:
    """What the question says may be left out by one of them, but two different picks from it differ."""
    if one == other:
        return False
    return bool((one ^ other) - asked) or bool(one - other and other - one)


def _numbers_differ(asked: tuple[Quantity, ...], one: tuple[Quantity, ...], other: tuple[Quantity, ...]) -> bool:
    if are_same_quantities(one, other):
        return False
    left, right = _without(one, asked), _without(other, asked)
    return not are_same_quantities(left, right) or bool(one and other and not left and not right)


def _without(numbers: tuple[Quantity, ...], asked: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    return tuple(one for one in numbers if not any(are_same_quantities((one,), (it,)) for it in asked))


def _modals_differ(question: Facets, one: Facets, other: Facets) -> bool:
    """Must against may, or a thing that is so against one that may be so, where that was not the question."""
    if not question.is_hedged and one.is_hedged is not other.is_hedged:
        return True
    return (one.is_must and other.is_may and not one.is_may) or (other.is_must and one.is_may and not other.is_may)


def _is_denying(question: Facets, answer: Facets) -> bool:
    """A failure denies too, unless it is what was asked about."""
    return answer.is_negative or ("fail" in answer.content and "fail" not in question.content)


def _is_turned(one: Facets, other: Facets) -> bool:
    """The same two things stand on other sides of the same relation; an active and a passive voice may do so."""
    if one.is_passive is not other.is_passive:
        return False
    shared = [
        word
        for word in one.content & other.content
        if one.sequence.count(word) == 1 and other.sequence.count(word) == 1
    ]
    if len(shared) > _MOST_SHARED:
        return False
    pairs = ((first, last) for first in shared for last in shared if first < last)
    return any(_is_turned_around(one, other, first, last) for first, last in pairs)


def _are_exchanged(one: Facets, other: Facets) -> bool:
    """The same numbers in other roles: by the words they stand at where both have the same, else by their order."""
    mine, theirs = one.roles, other.roles
    if len(set(_amounts(mine))) < _TWO or sorted(_amounts(mine)) != sorted(_amounts(theirs)):
        return False
    words = {word for word, _ in mine}
    if "" not in words and len(words) == len(mine) == len(theirs) and words == {word for word, _ in theirs}:
        return set(mine) != set(theirs)
    return not (_is_list(one) and _is_list(other)) and _amounts(mine) != _amounts(theirs)


def _is_list(answer: Facets) -> bool:
    """Numbers joined by "and" at one word at most: there is nothing that each of them could be of."""
    between = (before for _, before, _ in place_marks(answer.quantities.marked)[1:])
    return len(answer.content) < _TWO and all(_JOINED.fullmatch(text) for text in between)


def _amounts(roles: tuple[tuple[str, Fraction], ...]) -> list[Fraction]:
    return [amount for _, amount in roles]


def _roles(quantities: Quantities) -> tuple[tuple[str, Fraction], ...]:
    """Each number in its order, with the last word of meaning before it; where there is none, the first after it."""
    return tuple(
        (_last_word(before) or _first_word(after), quantities.numbers[place].base)
        for place, before, after in place_marks(quantities.marked)
    )


def _last_word(text: str) -> str:
    return next((word for word in reversed(list(_sequence(tokens_of(text)))) if word not in _RELATIONS), "")


def _first_word(text: str) -> str:
    return next((word for word in _sequence(tokens_of(text)) if word not in _RELATIONS), "")


def _is_turned_around(one: Facets, other: Facets, first: str, last: str) -> bool:
    a, b = one.sequence.index(first), one.sequence.index(last)
    c, d = other.sequence.index(first), other.sequence.index(last)
    if (a < b) is (c < d):
        return False
    between = set(one.sequence[min(a, b) + 1 : max(a, b)]) & set(other.sequence[min(c, d) + 1 : max(c, d)])
    # "Au is the symbol of gold" and "the symbol of gold is Au" say the same: there only a word of relation counts.
    return bool(between & _RELATIONS if one.is_copular or other.is_copular else between)
