"""Equivalence: whether two answers to a question mean the same, and who says so.

question + two answers -> facets -> vetoes (what surely differs) -> words that only one has -> similarity -> yes | no
A judge is anything that answers `entails`; a model or an operator's endpoint may stand behind the same vetoes. What the
built-in one cannot tell is said in `docs/claims.md`.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol
from unicodedata import normalize

from assay.claims.estimate._facets import Facets, Veto, facets_of, find_veto

__all__ = [
    "EquivalenceJudge",
    "ExactJudge",
    "RuleJudge",
    "Similarity",
    "Veto",
    "VetoedJudge",
    "normalised_text",
    "token_overlap",
]

Similarity = Callable[[str, str], float]

_FEW = 3
# Beyond that a text is no short answer: only the same text means the same.
_LONGEST = 4000
# A number as one writes it: thousands in groups of three or in none, and an exponent that can be written out.
_NUMBER = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d{1,300})?(?:\.(\d{1,300}))?(?:e([+-]?\d{1,3}))?", re.ASCII)
# The word after a number, if it is as short as a sign for a unit: there mW and MW are two.
_AFTER_NUMBER = re.compile(r"(?<=\d)( ?)([^\W\d_]{1,3})\b")


class EquivalenceJudge(Protocol):
    """Says whether, to a question, an answer follows from another; raises `JudgeUnavailableError` when it cannot.

    Answers are the same for the same words. With `is_symmetric`, one direction stands for both.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_symmetric(self) -> bool: ...

    def entails(self, question: str, premise: str, hypothesis: str) -> bool: ...


class ExactJudge:
    """The same text, but for case, white space and punctuation at the ends; or the same number."""

    name = "exact text 1"
    is_symmetric = True

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:  # noqa: ARG002  the question changes nothing here
        return normalised_text(premise) == normalised_text(hypothesis)


class RuleJudge:
    """Facets first, words then: whatever is vetoed is different, however alike it looks.

    `similarity` compares what only one answer says with what only the other says, as texts of stems; a static
    embedding may be given in place of the overlap of words. Very long answers mean the same only when they are it.
    """

    is_symmetric = True

    def __init__(
        self, similarity: Similarity | None = None, *, threshold: float = 0.6, name: str = "rules over word overlap 1"
    ) -> None:
        self.name = name
        self._similarity = similarity or token_overlap
        self._threshold = threshold

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        if normalised_text(premise) == normalised_text(hypothesis):
            return True
        if max(len(premise), len(hypothesis)) > _LONGEST:
            return False
        asked, one, other = facets_of(question), facets_of(premise), facets_of(hypothesis)
        if find_veto(asked, one, other) is not None:
            return False
        return self._are_alike(asked, one, other)

    def _are_alike(self, asked: Facets, one: Facets, other: Facets) -> bool:
        mine, theirs = _said(asked, one), _said(asked, other)
        if mine == theirs:
            # Nothing beyond the question: two different picks from it are two answers.
            return (
                bool(mine)
                or (_has_amount(one) and _has_amount(other))
                or not (one.content - other.content and other.content - one.content)
            )
        only_mine, only_theirs = mine - theirs, theirs - mine
        if only_mine and only_theirs:
            return self._similarity(_joined(only_mine), _joined(only_theirs)) >= self._threshold
        if _has_amount(one) and _has_amount(other) and len(only_mine | only_theirs) <= _FEW:
            return True
        return self._similarity(_joined(mine), _joined(theirs)) >= self._threshold


class VetoedJudge:
    """Another judge behind the same vetoes: it is asked only where no rule has answered, and not about long texts."""

    def __init__(self, inner: EquivalenceJudge) -> None:
        self._inner = inner
        self.name = f"rules, then {inner.name}"
        self.is_symmetric = inner.is_symmetric

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        if normalised_text(premise) == normalised_text(hypothesis):
            return True
        if max(len(premise), len(hypothesis)) > _LONGEST:
            return False
        if find_veto(facets_of(question), facets_of(premise), facets_of(hypothesis)) is not None:
            return False
        return self._inner.entails(question, premise, hypothesis)


def normalised_text(text: str) -> str:
    """NFKC, lower case, one blank between words, nothing but letters and digits at the ends; numbers in one form.

    The sign of a unit after a number keeps its case.
    """
    whole = " ".join(normalize("NFKC", text).replace("\u2212", "-").split())
    bare = whole.strip(" ,;:!?\"'()[]").rstrip(" .,;:!?\"'()[]")
    number = _exact(bare.casefold())
    if number is not None:
        return number
    kept = {found.start(2): found[2] for found in _AFTER_NUMBER.finditer(bare)}
    plain = bare.casefold()
    if kept and len(plain) == len(bare):
        for place, sign in kept.items():
            plain = plain[:place] + sign + plain[place + len(sign) :]
    return plain.lstrip(" .,;:!?\"'()[]")


def _exact(plain: str) -> str | None:
    """A number in one form, however it is written, with every digit; None where the text is none."""
    found = _NUMBER.fullmatch(plain)
    if found is None or (found[2] is None and found[3] is None):
        return None
    sign, whole, part, exponent = found.groups()
    digits = f"{(whole or '0').replace(',', '')}.{part or '0'}"
    return str(Fraction(digits) * (-1 if sign == "-" else 1) * Fraction(10) ** int(exponent or 0))


def token_overlap(one: str, other: str) -> float:
    """Twice the words in common over all words (Dice); 0 where either has none."""
    mine, theirs = set(one.split()), set(other.split())
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine and theirs else 0.0


def _has_amount(facets: Facets) -> bool:
    """Whether an answer says a number, a date or a time."""
    quantities = facets.quantities
    return bool(quantities.numbers or quantities.dates or quantities.times)


def _said(asked: Facets, answer: Facets) -> frozenset[str]:
    """What an answer says beyond its question; a failure that nobody asked about was a denial, and is told as one."""
    return answer.content - asked.content - ({"fail"} if "fail" not in asked.content else set())


def _joined(stems: frozenset[str]) -> str:
    return " ".join(sorted(stems))
