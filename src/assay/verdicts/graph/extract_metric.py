"""Words that compare, and what is compared: the name of the metric that a sentence is about."""

import re

from assay.verdicts.graph.extract_terms import NUMBER, slug
from assay.verdicts.graph.obligation_type import ObligationType

__all__ = ["ACTORS", "COMPARISONS", "RANGE", "measured_metric", "named_metric", "strip_amount", "timed_metric"]

_NUMBER = rf"(?:[€$]\s?)?{NUMBER}"
RANGE = re.compile(rf"\b(?:between|in the range(?: of)?|from)\s+(?={_NUMBER})", re.IGNORECASE)
# In the order in which they are tried: the longer words first.
COMPARISONS: tuple[tuple[re.Pattern[str], ObligationType, ObligationType], ...] = tuple(
    (re.compile(rf"\b(?:{words})\s+(?={_NUMBER})", re.IGNORECASE), plain, negated)
    for words, plain, negated in (
        (
            r"no more than|not more than|at most|a maximum of|up to|no higher than|no greater than|limited to",
            ObligationType.MUST_NOT_EXCEED,
            ObligationType.MUST_BE_ABOVE,
        ),
        (
            r"at least|no less than|not less than|no fewer than|a minimum of|no lower than",
            ObligationType.MUST_BE_AT_LEAST,
            ObligationType.MUST_BE_BELOW,
        ),
        (
            r"exceed(?:s|ing)?|(?:be )?(?:more|greater|higher) than|(?:rise |be )?above|be over",
            ObligationType.MUST_BE_ABOVE,
            ObligationType.MUST_NOT_EXCEED,
        ),
        (
            r"(?:fall |drop |be )?below|(?:be )?(?:less|lower) than|be under",
            ObligationType.MUST_BE_BELOW,
            ObligationType.MUST_BE_AT_LEAST,
        ),
    )
)
# Who acts, as against what is measured.
ACTORS = frozenset(
    {
        *("operator", "operators", "master", "owner", "owners", "employer", "employers", "company", "companies"),
        *("institution", "institutions", "person", "persons", "manufacturer", "manufacturers", "undertaking"),
        *("undertakings", "ship", "ships", "vessel", "vessels", "plant", "plants"),
    }
)
_HOLD = re.compile(
    r"^(?:(?:keep|maintain|hold|ensure(?: that)?|limit|restrict|measure|record|report|submit|monitor|sample|notify"
    r"|calibrate|inspect|test|log)s?) (?P<thing>\S.*)",
)
_CUT = re.compile(
    r",| (?:at|from|to the|into|in|on|by|per|for|during|when|where|which|measured|released|emitted|discharged|as)\b"
    r"| of (?:a|an|each|every|any)\b"
)
_AMOUNT = re.compile(
    r"^(?:the |a |an |any |each )?(?:mass )?(?:concentration|level|content|value|amount|number)s? of ", re.IGNORECASE
)
_LONG_NAME = 5


def measured_metric(before: str, after: str) -> tuple[str | None, tuple[str, ...]]:
    """What is measured: what the sentence is about, or what its actor is to keep."""
    words = before.lower().split()
    held = _HOLD.match(after)
    if held is not None and (not words or words[-1] in ACTORS or ACTORS.intersection(words[:3])):
        return named_metric(held["thing"])
    return named_metric(before)


def timed_metric(before: str, act: str) -> tuple[str | None, tuple[str, ...]]:
    """What is to be recorded: the object of the verb, or the subject of a passive."""
    held = _HOLD.match(act)
    if held is not None:
        return named_metric(held["thing"])
    return named_metric(before)


def strip_amount(phrase: str) -> str:
    """`the concentration of dust` is about dust."""
    return _AMOUNT.sub("", phrase.strip())


def named_metric(phrase: str) -> tuple[str | None, tuple[str, ...]]:
    """The words that carry meaning, up to where the sentence goes on about place, time or owner."""
    text = strip_amount(phrase)
    for pattern, _, _ in COMPARISONS:
        if compared := pattern.search(text):
            text = text[: compared.start()]
    if between := RANGE.search(text):
        text = text[: between.start()]
    cut = _CUT.search(text)
    name = slug(text[: cut.start()] if cut is not None else text)
    if not name:
        return None, ("no words that could name the metric",)
    is_long = name.count("_") >= _LONG_NAME
    return name, ("the name of the metric is long: look what is measured",) if is_long else ()
