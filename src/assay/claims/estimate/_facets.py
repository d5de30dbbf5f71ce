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

from assay.claims.estimate._order import canonical_order
from assay.claims.estimate._quantities import (
    Quantities,
    Quantity,
    are_same_quantities,
    place_marks,
    take_quantities,
)
from assay.claims.estimate._rewrite import NOT_ALL, rewritten
from assay.claims.estimate._words import (
    FILLER,
    NEGATIONS,
    PRONOUNS,
    has_opposite,
    plain_text,
    shared_denials,
    stem,
    tokens_of,
    word_set,
)

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
        "either": "either",
        NOT_ALL: NOT_ALL,
    }.items()
    for word in words.split()
}
_BOUNDS = (
    (re.compile(r"\b(?:at least|no (?:less|fewer) than|not (?:less|fewer) than)\b"), "at_least"),
    (re.compile(r"\b(?:at most|no more than|not more than|up to)\b"), "at_most"),
    (re.compile(r"\bmore than\b"), "more"),
    (re.compile(r"\b(?:less|fewer) than\b"), "less"),
    (re.compile(r"\buntil\b"), "until"),
)
_MUST = word_set("must shall should required requires obliged mandatory")
_MAY = word_set("may might could can optional optionally")
_HEDGES = word_set("may might could possibly perhaps maybe probably likely presumably")
_LIGHT = word_set("any anymore more longer still yet other now time fold") | _MUST | _MAY | _HEDGES
# Between two things, these say which is which.
_RELATIONS = word_set("than to then before after from into over under above below")
# They tell two things apart that have one name, and add nothing to one of them.
_ORDER_ONLY = word_set("main old first")
_NO_CONTENT = _RELATIONS | _ORDER_ONLY | PRONOUNS.keys()
# Small words that say which way; of each pair an answer has one.
_PLACES = word_set(
    """into out up down clockwise counterclockwise anticlockwise forward back before after above below north south east
    west left right"""
)
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
_WRITTEN = re.compile(r"[^\W_]+(?:[._'-]+[^\W_]+)*")
_FEW_WORDS = 3


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

    `denials` are how many words deny, `places` the small words of direction. `roles` are the numbers in their order,
    each with the word that it stands at; `spoken` is each stem of the content with its word. `names` are stems of what
    looks like a name: of these none stands for another, however alike they are.
    """

    quantities: Quantities
    denials: int
    places: frozenset[str]
    quantifiers: frozenset[str]
    bounds: frozenset[str]
    is_must: bool
    is_may: bool
    is_hedged: bool
    content: frozenset[str]
    sequence: tuple[str, ...]
    roles: tuple[tuple[str, Fraction], ...]
    spoken: tuple[tuple[str, str], ...]
    names: frozenset[str]

    def words(self, stems: frozenset[str]) -> str:
        """These stems as the words that the answer has for them, in its order."""
        return " ".join(word for base, word in self.spoken if base in stems)


@lru_cache(maxsize=4096)
def facets_of(answer: str) -> Facets:
    named = _UNIT_SIGN.sub(lambda found: f"{found[1]} {_BY_CASE[found[2]]}", answer)
    if " A" in named or " I" in named:
        named = _LETTER.sub(r"\1\1", named)
    if " May" in named:
        named = _MAY_MONTH.sub("month-of-may", named)
    plain = rewritten(plain_text(named))
    bounds, rest = _take_bounds(plain)
    quantities = take_quantities(rest)
    words = tokens_of(quantities.rest)
    ordered = canonical_order(words)
    sequence = tuple(_sequence(ordered))
    content = frozenset(word for word in sequence if word not in _NO_CONTENT)
    return Facets(
        quantities=quantities,
        denials=sum(word in NEGATIONS for word in words),
        places=frozenset(word for word in ordered if word in _PLACES),
        quantifiers=frozenset(_QUANTIFIERS[word] for word in words if word in _QUANTIFIERS),
        bounds=bounds,
        is_must=not _MUST.isdisjoint(words),
        is_may=not _MAY.isdisjoint(words),
        is_hedged=not _HEDGES.isdisjoint(words),
        content=content,
        sequence=sequence,
        roles=_roles(quantities),
        spoken=tuple({stem(word): (stem(word), word) for word in words if stem(word) in content}.values()),
        names=_names(answer),
    )


def _names(answer: str) -> frozenset[str]:
    """Stems of words with a capital inside the text, and of words with a digit or a hyphen; of few words, of all."""
    written = _WRITTEN.findall(answer)
    found = (
        word
        for place, word in enumerate(written)
        if (word[0].isupper() and (place or len(written) <= _FEW_WORDS)) or not word.replace("'", "").isalpha()
    )
    return frozenset(stem(word) for name in found for word in _tokens_of_name(name))


@lru_cache(maxsize=4096)
def _tokens_of_name(name: str) -> tuple[str, ...]:
    return tuple(tokens_of(rewritten(plain_text(name))))


def find_veto(question: Facets, one: Facets, other: Facets) -> Veto | None:
    """The first reason why two answers differ for certain; None where nothing was found."""
    return next(_vetoes(question, one, other), None)


def _take_bounds(plain: str) -> tuple[frozenset[str], str]:
    found: set[str] = set()
    for form, name in _BOUNDS:
        if form.search(plain):
            found.add(name)
            plain = form.sub(" ", plain)
    return frozenset(found), plain


def _sequence(words: list[str]) -> Iterator[str]:
    for word in words:
        if word in _RELATIONS:
            yield word
        elif word in PRONOUNS or word in _ORDER_ONLY:
            yield PRONOUNS.get(word, word)
        elif not (word in FILLER or word in NEGATIONS or word in _QUANTIFIERS or word in _LIGHT):
            yield stem(word)


def _vetoes(question: Facets, one: Facets, other: Facets) -> Iterator[Veto]:
    yield from _amount_vetoes(question.quantities, one.quantities, other.quantities)
    if is_denying(question, one, other) is not is_denying(question, other, one):
        yield Veto.NEGATION
    if _differ(question.quantifiers, one.quantifiers, other.quantifiers):
        yield Veto.QUANTIFIER
    if _differ(question.bounds, one.bounds, other.bounds):
        yield Veto.BOUND
    if _modals_differ(question, one, other):
        yield Veto.MODAL
    mine, theirs = one.content - other.content, other.content - one.content
    denying, denied = shared_denials(mine, theirs)
    if has_opposite(mine - denying, theirs - denied) or has_opposite(one.places, other.places):
        yield Veto.OPPOSITE
    if is_turned(one, other) or _are_exchanged(one, other):
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
    """Must against may, or a thing that is so against one that may be so, where that was not the question.

    What must not be and what cannot be are one.
    """
    if one.denials % _TWO and other.denials % _TWO and not (one.is_hedged or other.is_hedged):
        return False
    if not question.is_hedged and one.is_hedged is not other.is_hedged:
        return True
    return (one.is_must and other.is_may and not one.is_may) or (other.is_must and one.is_may and not other.is_may)


def is_denying(question: Facets, answer: Facets, other: Facets) -> bool:
    """Whether an answer denies what the other says or leaves open: an even number of denials is none.

    A word that is the denial of one of the other's counts once, on the side that sorts last, so that both agree.
    """
    mine, theirs = shared_denials(answer.content - other.content, other.content - answer.content)
    is_counted = bool(mine) and max(mine) > max(theirs)
    failing = "fail" in answer.content and "fail" not in question.content and "fail" not in mine
    return (answer.denials + failing + is_counted) % 2 == 1


def are_same_but_denied(one: frozenset[str], other: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Both sets of stems without those that deny each other: a veto has counted these."""
    mine, theirs = shared_denials(one - other, other - one)
    return one - mine, other - theirs


def is_turned(one: Facets, other: Facets) -> bool:
    """The same two things stand on other sides of the same relation."""
    shared = [
        word
        for word in {*one.sequence} & {*other.sequence} - _RELATIONS
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
    return bool(between)
