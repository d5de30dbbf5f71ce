"""Whether a passage says what a claim says: by numbers, dates, units, names, denials and roles.

claim + sentences -> the sentence closest to the claim -> what differs -> SUPPORTED | CONTRADICTED | UNCLEAR
Rules only: a claim in other words than its passage is UNCLEAR, never SUPPORTED.
"""

from collections.abc import Iterator
from operator import ge, gt, le, lt
from typing import NamedTuple

from assay.claims.estimate._facets import Facets, facets_of, is_denying, is_turned
from assay.claims.estimate._quantities import Quantity, are_same_quantities
from assay.claims.estimate._words import has_opposite, shared_denials
from assay.claims.passage import SupportResult

# So much of the claim's words has to be in the passage before a difference between them is about the same thing.
_SAME_MATTER = 0.5
# And so much before nothing that differs is enough.
_ENOUGH = 0.6
_LONGEST = 4000
_HOLDS = {"at_least": ge, "more": gt, "at_most": le, "less": lt}


class Following(NamedTuple):
    """`why` completes the sentence "the passage …"."""

    result: SupportResult
    why: str


_NO_QUESTION = facets_of("")


def follows(claim: str, sentences: tuple[str, ...]) -> Following:
    """What the closest sentence says about the claim; one contradiction is enough."""
    if not sentences or max(len(claim), *map(len, sentences)) > _LONGEST:
        return Following(SupportResult.UNCLEAR, "is too long to compare")
    if any(_bare(claim) == _bare(one) for one in sentences):
        return Following(SupportResult.SUPPORTED, "says so")
    return _compared(facets_of(claim), sentences)


def _compared(said: Facets, sentences: tuple[str, ...]) -> Following:
    whole = facets_of(" ".join(sentences))
    best = max((facets_of(one) for one in sentences), key=lambda one: _share(said, one))
    share = max(_share(said, best), _share(said, whole))
    if share < _SAME_MATTER:
        return Following(SupportResult.UNCLEAR, "is about something else, or in other words")
    differs = next(_differences(said, best, whole), None)
    if differs is not None:
        return Following(SupportResult.CONTRADICTED, differs)
    missing = next(_missing(said, best, whole), None)
    if missing is None and (share < _ENOUGH or _is_reworded(said, best, whole)):
        missing = "says only part of it, or says it in other words"
    return (
        Following(SupportResult.SUPPORTED, "says so") if missing is None else Following(SupportResult.UNCLEAR, missing)
    )


def _bare(sentence: str) -> str:
    """A sentence but for its white space and full stop; a question stays one."""
    return " ".join(sentence.split()).rstrip(".")


def _is_reworded(claim: Facets, best: Facets, whole: Facets) -> bool:
    """Whether the claim has a word of its own where the sentence has another: it may mean the same, or not."""
    denied, denying = shared_denials(claim.content - best.content, best.content - claim.content)
    return bool(claim.content - whole.content - denied) and bool(best.content - claim.content - denying)


def _share(claim: Facets, passage: Facets) -> float:
    """How much of the claim's words, names aside, the passage has; a word and its denial are one word."""
    denied, _ = shared_denials(claim.content - passage.content, passage.content - claim.content)
    words = claim.content - claim.names or claim.content
    if not words:
        return 1.0
    return len(words & (passage.content | denied)) / len(words)


def _differences(claim: Facets, best: Facets, whole: Facets) -> Iterator[str]:
    """What the passage says otherwise."""
    yield from _amount_differences(claim, whole)
    yield from _word_differences(claim, best)
    if (claim.names & claim.content) - whole.content and (best.names & best.content) - claim.content:
        yield "names somebody or something else"


def _amount_differences(claim: Facets, whole: Facets) -> Iterator[str]:
    mine, theirs = claim.quantities, whole.quantities
    if _dates_differ(mine.dates, theirs.dates):
        yield "names another date"
    if mine.times and theirs.times and not mine.times <= theirs.times:
        yield "names another time"
    if mine.names and theirs.names and not mine.names <= theirs.names:
        yield "names another version"
    kept = _kept(claim, whole)
    if kept is False or (not kept and any(_is_replaced(one, theirs.numbers) for one in mine.numbers)):
        yield "has another number or unit"


def _word_differences(claim: Facets, best: Facets) -> Iterator[str]:
    if is_denying(_NO_QUESTION, claim, best) is not is_denying(_NO_QUESTION, best, claim):
        yield "denies it"
    if claim.quantifiers and best.quantifiers and claim.quantifiers.isdisjoint(best.quantifiers):
        yield "says it of another number of them"
    if claim.bounds and best.bounds and claim.bounds.isdisjoint(best.bounds):
        yield "sets another bound"
    denied, denying = shared_denials(claim.content - best.content, best.content - claim.content)
    mine_only, theirs_only = claim.content - best.content - denied, best.content - claim.content - denying
    if has_opposite(mine_only, theirs_only) or has_opposite(claim.places, best.places):
        yield "says the opposite"
    if is_turned(claim, best):
        yield "exchanges who and whom"


def _missing(claim: Facets, best: Facets, whole: Facets) -> Iterator[str]:
    """What the claim says and the passage does not."""
    mine, theirs = claim.quantities, whole.quantities
    lacking = (one for one in mine.numbers if not any(are_same_quantities((one,), (it,)) for it in theirs.numbers))
    if not _kept(claim, whole) and any(lacking):
        yield "does not have the number"
    if not all(any(_fits_date(one, it) for it in theirs.dates) for one in mine.dates):
        yield "does not have the date"
    if not mine.times <= theirs.times or not mine.names <= theirs.names:
        yield "does not have the time or version"
    if (claim.names & claim.content) - whole.content:
        yield "does not have the name"
    if best.is_hedged and not claim.is_hedged:
        yield "says only that it may be so"
    if best.bounds - claim.bounds and mine.numbers:
        yield "sets only a bound"
    if claim.quantifiers - best.quantifiers:
        yield "does not say it of so many"


def _is_replaced(number: Quantity, others: tuple[Quantity, ...]) -> bool:
    """Whether the passage has another number in the place of this one: none that is the same, and one of its kind."""
    if any(are_same_quantities((number,), (it,)) for it in others):
        return False
    return any(it.kind == number.kind or it.amount == number.amount or None in (it.kind, number.kind) for it in others)


def _kept(claim: Facets, whole: Facets) -> bool | None:
    """Whether the numbers of the passage keep the bound that the claim sets: 0.79 is at least 0.78.

    None where the claim sets no single bound, or the passage sets one itself, or only some of its numbers keep it.
    """
    mine = claim.quantities.numbers
    if len(claim.bounds) != 1 or whole.bounds or len(mine) != 1:
        return None
    holds = _HOLDS.get(next(iter(claim.bounds)))
    found = [one for one in whole.quantities.numbers if one.kind == mine[0].kind]
    if holds is None or not found:
        return None
    kept = {holds(one.base, mine[0].base) for one in found}
    return kept.pop() if len(kept) == 1 else None


def _dates_differ(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return bool(theirs) and any(not any(_fits_date(one, it) for it in theirs) for one in mine)


def _fits_date(claimed: str, said: str) -> bool:
    """A date may be told with less: the year, or the month."""
    return said.startswith(claimed) or (claimed.startswith("----") and said.endswith(claimed[4:])) or claimed == said
