"""Equivalence: whether two answers to a question mean the same, and who says so.

question + two answers -> facets -> vetoes (what surely differs) -> words that only one has -> similarity -> yes | no
A judge is anything that answers `entails`; a model or an operator's endpoint may stand behind the same vetoes. What the
built-in one cannot tell is said in `docs/claims.md`.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, Protocol, runtime_checkable
from unicodedata import normalize

from assay.claims.estimate._facets import Facets, Veto, are_same_but_denied, facets_of, find_veto

__all__ = [
    "EquivalenceJudge",
    "ExactJudge",
    "ExplainingJudge",
    "Judgement",
    "RuleJudge",
    "Similarity",
    "Veto",
    "VetoedJudge",
    "normalised_text",
    "token_overlap",
]

Similarity = Callable[[str, str], float]

_FEW = 3
# Where only one answer says more, this much of both has to be the same.
_SHARED = 0.6
# Beyond that a text is no short answer: only the same text means the same.
_LONGEST = 4000
# A number as one writes it: thousands in groups of three or in none, and an exponent that can be written out.
_NUMBER = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d{1,300})?(?:\.(\d{1,300}))?(?:e([+-]?\d{1,3}))?", re.ASCII)
# The word after a number, if it is as short as a sign for a unit: there mW and MW are two.
_AFTER_NUMBER = re.compile(r"(?<=\d)( ?)([^\W\d_]{1,3})\b")


class EquivalenceJudge(Protocol):
    """Decides if one answer to a question follows from another; raises `ClaimsError.judge_unavailable` if it cannot.

    Answers are the same for the same words. With `is_symmetric`, one direction stands for both.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_symmetric(self) -> bool: ...

    def entails(self, question: str, premise: str, hypothesis: str) -> bool: ...


class Judgement(NamedTuple):
    """`decided_by` is the rule, the veto or the judge behind them that the answer comes from."""

    is_same: bool
    decided_by: str


@runtime_checkable
class ExplainingJudge(EquivalenceJudge, Protocol):
    """A judge that also says what decided."""

    def judge(self, question: str, premise: str, hypothesis: str) -> Judgement: ...


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
        self, similarity: Similarity | None = None, *, threshold: float = 0.6, name: str = "rules over word overlap 2"
    ) -> None:
        self.name = name
        self._similarity = similarity or token_overlap
        self._threshold = threshold

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        return self.judge(question, premise, hypothesis).is_same

    def judge(self, question: str, premise: str, hypothesis: str) -> Judgement:
        """As `entails`, with what decided."""
        known = _known(question, premise, hypothesis)
        if known is not None:
            return known
        found = self._alike(facets_of(question), facets_of(premise), facets_of(hypothesis))
        return Judgement(is_same=found is not None, decided_by=found or "other words")

    def _alike(self, asked: Facets, one: Facets, other: Facets) -> str | None:
        """Which rule takes them for the same; None where none does."""
        whole, rest = are_same_but_denied(one.content, other.content)
        mine, theirs = _said(asked, whole), _said(asked, rest)
        is_counted = _has_amount(one) and _has_amount(other)
        if mine == theirs:
            # Nothing beyond the question: two different picks from it are two answers.
            is_same = bool(mine) or is_counted or not (whole - rest and rest - whole)
            return "the same words" if is_same else None
        only_mine, only_theirs = mine - theirs, theirs - mine
        if only_mine and only_theirs:
            return self._compared(one, other, only_mine, only_theirs)
        names = one.names | other.names
        if (only_mine | only_theirs) & names and (is_counted or whole & rest & names):
            # A name more beside a name or number that both have: another edition of the same thing.
            return None
        if is_counted and len(only_mine | only_theirs) <= _FEW:
            return "the same amounts"
        return "shared words" if token_overlap(_joined(mine), _joined(theirs)) >= _SHARED else None

    def _compared(
        self, one: Facets, other: Facets, only_mine: frozenset[str], only_theirs: frozenset[str]
    ) -> str | None:
        """Words of one for words of the other; a name stands for nothing but itself."""
        if (only_mine & one.names) or (only_theirs & other.names):
            return None
        alike = self._similarity(one.words(only_mine), other.words(only_theirs))
        return self.name if alike >= self._threshold else None


class VetoedJudge:
    """Another judge behind the same vetoes: it is asked only where no rule has answered, and not about long texts."""

    def __init__(self, inner: EquivalenceJudge) -> None:
        self._inner = inner
        self.name = f"rules, then {inner.name}"
        self.is_symmetric = inner.is_symmetric

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        return self.judge(question, premise, hypothesis).is_same

    def judge(self, question: str, premise: str, hypothesis: str) -> Judgement:
        """As `entails`, with what decided."""
        known = _known(question, premise, hypothesis)
        if known is not None:
            return known
        return Judgement(is_same=self._inner.entails(question, premise, hypothesis), decided_by=self._inner.name)


def _known(question: str, premise: str, hypothesis: str) -> Judgement | None:
    """What the text alone, or a veto, decides; None where that is for a judge to say."""
    if normalised_text(premise) == normalised_text(hypothesis):
        return Judgement(is_same=True, decided_by="the same text")
    if max(len(premise), len(hypothesis)) > _LONGEST:
        return Judgement(is_same=False, decided_by="too long to compare")
    veto = find_veto(facets_of(question), facets_of(premise), facets_of(hypothesis))
    return None if veto is None else Judgement(is_same=False, decided_by=f"veto: {veto}")


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


def _said(asked: Facets, content: frozenset[str]) -> frozenset[str]:
    """What an answer says beyond its question; a failure that nobody asked about was a denial, and is told as one."""
    return content - asked.content - ({"fail"} if "fail" not in asked.content else set())


def _joined(stems: frozenset[str]) -> str:
    return " ".join(sorted(stems))
