"""Sentences that except another provision, and which provision they mean.

`Paragraph 2 does not apply to …`, `… is exempt from section 5`, `Nothing in this regulation requires …`
"""

import re
from collections.abc import Iterable

from msgspec import Struct

_NOT_APPLY = re.compile(
    r"^(?P<what>\S.*?) (?:does|do|shall|will) not apply(?:,)?(?: (?P<condition>\S.*))?$|^(?P<what2>\S.*?) (?:is"
    r"|are) not applicable (?P<condition2>\S.*)$"
)
_EXEMPT = re.compile(
    r"^(?P<condition>\S.*?) (?:is|are|shall be) (?:exempt(?:ed)?|excluded|excepted|released) from (?P<what>\S.*)$"
)
_NOTHING = re.compile(
    r"^Nothing in (?P<what>(?:this |the |these )?[\w .()§-]+?) (?:requires?|applies to|prevents?|prohibits?|shall"
    r"|affects?) (?P<condition>\S.*)$"
)
_MAY_EXCEED = re.compile(r"^(?P<what>(?:The|This|That) limits?\b.*?) may be exceeded (?P<condition>\S.*)$")
_NOT_MANDATORY = re.compile(
    r"^(?P<what>\S.*?) shall not be (?:mandatory|required|compulsory) (?P<condition>(?:for|where|when|if|in)\b.*)$"
)
_NEED_NOT = re.compile(
    r"^\S.*? (?:need not|(?:is|are) not required to) (?:comply with|meet|apply|observe|satisfy) (?P<what>\S.*?) "
    r"(?P<condition>(?:if|where|when|provided|during|for)\b.*)$"
)
_REFERENCE = re.compile(
    r"\b(?P<word>[Aa]rticles?|[Ss]ections?|[Ss]ec\.|[Ss]ubsections?|[Pp]aragraphs?|[Ss]ub-?paragraphs?|[Rr]egulations?"
    r"|[Rr]ules?|[Cc]lauses?|[Cc]onditions?|[Pp]oints?|[Bb]ye?-?laws?|[Ss]teps?|[Ii]tems?|[Rr]equirements?"
    r"|[Tt]able|[Aa]nnex|[Ss]chedule|§+)\s*(?P<number>\(?[0-9A-Za-z]{1,4}\)?(?:[.-][0-9]+)*(?:\s?\(?[0-9a-z]{1,4}\))*)"
)
_MORE = re.compile(
    r"\s*(?:,|and|or|to)\s+(?P<number>\(?[0-9]{1,3}[a-z]?\)?(?:\.[0-9]+)*(?:\([0-9a-z]{1,4}\))*|\([a-z]{1,3}\))(?![\w])"
)
_WHOLE = re.compile(
    r"^(?:This|These|The present) (?:\w+ )?(?:Regulations?|Directive|Act|Rules|Order|Standard|Code|Policy|Permit"
    r"|Licence|Instruction|Plan"
    r"|Subpart|Part|Chapter|text|document|Ordinance|Law|Procedure)$|^It$|^They$",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?:^|\bin |\bof )this (?:article|section|rule|regulation|clause|condition)$", re.IGNORECASE)
_HERE = re.compile(r"^(?:this|that|these|the (?:above|foregoing|preceding))\b", re.IGNORECASE)
_ABSOLUTE = re.compile(
    r"article|sec|rule|regulation|condition|clause|law|step|item|requirement|table|annex|schedule|§", re.IGNORECASE
)
_KEYWORDS = frozenset(
    {
        "article",
        "section",
        "rule",
        "regulation",
        "paragraph",
        "clause",
        "condition",
        "sec",
        "subsection",
        "sub",
        "point",
    }
)


class Exempting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The condition, and the words that name the provision."""

    condition: str
    what: str


def read_exempting(text: str) -> Exempting | None:
    for pattern in (_NOTHING, _NEED_NOT, _NOT_MANDATORY, _MAY_EXCEED, _NOT_APPLY, _EXEMPT):
        found = pattern.match(text)
        if found is None:
            continue
        named = found.groupdict()
        what, condition = named.get("what") or named.get("what2"), named.get("condition") or named.get("condition2")
        if what and condition:
            return Exempting(condition=condition.rstrip(" .;"), what=what)
    return None


def clause_words(label: str) -> tuple[str, ...]:
    """The numbers and letters of a label: `Article 3(1)(a)` is 3, 1, a."""
    words = re.findall(r"[0-9]+[a-z]?(?:[.-][0-9]+)*|[a-z]+(?:\.[0-9]+)*", label.lower())
    return tuple(word for word in words if word.rstrip("s") not in _KEYWORDS)


def find_targets(what: str, clause: str, labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of the provisions that words name, as seen from a clause."""
    known = {label: clause_words(label) for label in labels}
    here = clause_words(clause)
    if _WHOLE.match(what) and not (what in {"It", "They"} and clause in known):
        return tuple(known)
    if _UNIT.search(what):
        return _below(here[:1], known)
    if re.match(r"this paragraph$|this subsection$|this point$", what, re.IGNORECASE):
        return _below(here, known)
    found: list[str] = []
    for words, is_absolute in _named(what):
        starts = [()] if is_absolute else [here[:keep] for keep in range(len(here) - 1, -1, -1)]
        targets = next((below for start in starts if (below := _below((*start, *words), known))), ())
        if is_absolute and not targets:
            # `paragraph 2` and `section 2` are not always told apart.
            targets = next(
                (below for keep in range(len(here) - 1, 0, -1) if (below := _below((*here[:keep], *words), known))), ()
            )
        found += targets
    if not found and (
        _HERE.match(what)
        or re.search(r"\b(?:limit|requirement|obligation|duty|prohibition|restriction|provision|ban)\b", what)
    ):
        return _below(here, known) or _below(here[:-1], known) if len(here) > 1 else _below(here, known)
    return tuple(dict.fromkeys(found))


def _named(what: str) -> list[tuple[tuple[str, ...], bool]]:
    found: list[tuple[tuple[str, ...], bool]] = []
    for reference in _REFERENCE.finditer(what):
        word = reference["word"].lower().rstrip("s")
        prefix = (word,) if word in {"table", "annex", "schedule"} else ()
        is_absolute = _ABSOLUTE.search(word) is not None and not word.startswith("sub")
        first = clause_words(reference["number"])
        found.append(((*prefix, *first), is_absolute))
        end = reference.end()
        while (more := _MORE.match(what, end)) is not None:
            following = clause_words(more["number"])
            # `Article 3(1) and (2)`: the second is a paragraph of the same article.
            is_inner = more["number"].startswith("(") and len(first) > 1
            found.append(((*prefix, *((*first[:-1], *following) if is_inner else following)), is_absolute))
            end = more.end()
    if not found:
        found = [(clause_words(bare), True) for bare in re.findall(r"\b(?:[A-Z]{1,4}-)?[0-9A-Z]+(?:\.[0-9]+)+\b", what)]
    return found


def _below(start: tuple[str, ...], known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(label for label, words in known.items() if start and words[: len(start)] == start)
