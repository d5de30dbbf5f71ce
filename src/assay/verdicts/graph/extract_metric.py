"""Words that compare, and what is compared: the name of the metric that a sentence is about."""

import re

from assay.verdicts.graph.extract_terms import NUMBER, slug
from assay.verdicts.graph.obligation_type import ObligationType

__all__ = [
    "ACTORS",
    "RANGE",
    "Comparison",
    "comparisons_of",
    "counted_metric",
    "measured_metric",
    "named_metric",
    "strip_amount",
    "timed_metric",
]

_NUMBER = rf"(?:[€$]\s?)?{NUMBER}"
RANGE = re.compile(rf"\b(?:between|in the range(?: of)?|from)\s+(?={_NUMBER})", re.IGNORECASE)
# In the order in which they are tried: the longer words first.
_COMPARISONS: tuple[tuple[re.Pattern[str], ObligationType, ObligationType], ...] = tuple(
    (re.compile(rf"\b(?:{words})\s+(?={_NUMBER})", re.IGNORECASE), plain, negated)
    for words, plain, negated in (
        (
            r"(?:no|not) more than|at (?:most|or below)|a maximum of|up to|no (?:high|great)er than|limited to",
            ObligationType.MUST_NOT_EXCEED,
            ObligationType.MUST_BE_ABOVE,
        ),
        (r"less than or equal to", ObligationType.MUST_NOT_EXCEED, ObligationType.MUST_BE_ABOVE),
        (
            r"at (?:least|or above)|(?:no|not) less than|no (?:fewer|lower) than|a minimum of|greater than or equal to",
            ObligationType.MUST_BE_AT_LEAST,
            ObligationType.MUST_BE_BELOW,
        ),
        (
            r"exceed(?:s|ing)?|(?:be )?(?:more|greater|higher) than|(?:rise |be |stay |remain )?above|be over",
            ObligationType.MUST_BE_ABOVE,
            ObligationType.MUST_NOT_EXCEED,
        ),
        (
            r"(?:fall |drop |be |stay |remain )?below|(?:be )?(?:less|lower|fewer) than|(?:be |stay |remain )?under",
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
    r",| (?:at|from|to the|into|in|on|by|per|for|during|when|where|which|as)\b"
    r"| (?:measured|released|emitted|discharged|used)\b"
    rf"| of (?:a|an|each|every|any|the (?:{'|'.join(sorted(ACTORS))}))\b"
)
_AMOUNT = re.compile(
    r"^(?:the |a |an |any |each )?(?:mass )?(?:concentration|level|content|value|amount|number)s? of ", re.IGNORECASE
)
# `contain fewer than 10 organisms`: what is counted stands behind the number.
_CONTAINS = re.compile(r"^(?:hold|contain|have|carry|include|employ)s?\b")
_COUNTED = re.compile(r"\s*(?P<thing>[a-z][a-z-]*(?: [a-z][a-z-]*){0,2}?)(?= per | in | on | at | of |,|$)")
_BE = re.compile(r"^(?:be|have|not|never)\b ?")
_LONG_NAME = 5
# Where a comparison begins and ends, what it says, and what it says after a negation.
Comparison = tuple[int, int, ObligationType, ObligationType]


def comparisons_of(text: str) -> tuple[Comparison, ...]:
    """Every comparison with a number, in the order of the text; where two patterns meet, the longer one counts."""
    found = [
        (one.start(), one.end(), plain, negated)
        for pattern, plain, negated in _COMPARISONS
        for one in pattern.finditer(text)
    ]
    kept: list[Comparison] = []
    for one in sorted(found, key=lambda each: (each[0], -each[1])):
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    return tuple(kept)


def measured_metric(before: str, after: str) -> tuple[str | None, tuple[str, ...]]:
    """What is measured: what the sentence is about, or what its actor is to keep."""
    words = before.lower().split()
    held = _HOLD.match(after)
    if held is not None and (not words or words[-1] in ACTORS or ACTORS.intersection(words[:3])):
        return named_metric(held["thing"])
    named = named_metric(before)
    found = comparisons_of(after)
    if found and (named[0] or "").rpartition("_")[2] in ACTORS:
        # `a ship shall not discharge more than 5 tonnes`: what is limited is what it does.
        done = slug(_BE.sub("", after[: found[0][0]]))
        return (done, ("the metric is named after what is done",)) if done else named
    return named


def counted_metric(after: str, end: int) -> str | None:
    """What a number counts, where the verb says that something holds it."""
    counted = _COUNTED.match(after, end) if _CONTAINS.match(after) else None
    return None if counted is None else slug(counted["thing"]) or None


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
    if found := comparisons_of(text):
        text = text[: found[0][0]]
    if between := RANGE.search(text):
        text = text[: between.start()]
    cut = _CUT.search(text)
    name = slug(text[: cut.start()] if cut is not None else text)
    if not name:
        return None, ("no words that could name the metric",)
    is_long = name.count("_") >= _LONG_NAME
    return name, ("the name of the metric is long: look what is measured",) if is_long else ()
