"""Commitments (SKI 7.5): what a model wrote, token by token, bound so that anyone with the weights can check it.

tokens + their best scores -> commit -> Commitment (a Merkle root); the same from another run -> compare -> Comparison
A leaf is the canonical JSON of [position, token, [[token, score], …]], best first; the tree is that of RFC 9162. Scores
are quantised to integers before anything is bound, so that a tolerance is a number of steps; an exact model has none.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from msgspec import Struct, json

from assay.kernel.digest import Digest, digest_from_raw
from assay.kernel.merkle import Frontier, leaf_hash
from assay.model.errors import JudgeError

SCHEME: Final = "assay-receipt-1"
# The best tokens of one position with their scores, best first.
TopScores: TypeAlias = tuple[tuple[int, int], ...]
_NUMBER = r"(?:0|-?[1-9]\d{0,14})"
_POSITION = rf"{_NUMBER}:{_NUMBER}(?: {_NUMBER}:{_NUMBER})*"
_SCORES = re.compile(rf"{_POSITION}(?:;{_POSITION})*", re.ASCII)


class Commitment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`root` binds every token and its scores; `tolerance` is by how much they may differ from one run to the next.

    `scores` are these scores as one text, `token:score` for each of the best, `;` between positions: a transcript is
    written and hashed for every verdict, and a text costs a tenth of what nested arrays do.
    """

    scheme: Literal["assay-receipt-1"] = SCHEME
    root: Digest
    tolerance: int
    scores: str

    @property
    def top(self) -> tuple[TopScores, ...]:
        return parse_scores(self.scores)


class Likeness(StrEnum):
    EXACT = "exact"
    WITHIN_TOLERANCE = "within_tolerance"
    DIVERGED = "diverged"


class Comparison(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`position` is the first at which two runs differ by more than they may, and `detail` how."""

    likeness: Likeness
    position: int | None = None
    detail: str = ""


def commit(tokens: Sequence[int], top: Sequence[TopScores], *, tolerance: int = 0) -> Commitment:
    return Commitment(root=root_of(tokens, top), tolerance=tolerance, scores=render_scores(top))


def render_scores(top: Sequence[TopScores]) -> str:
    return ";".join([" ".join([f"{token}:{score}" for token, score in scores]) for scores in top])


def parse_scores(text: str) -> tuple[TopScores, ...]:
    """Refuses every other text than the one that `render_scores` writes."""
    if not text:
        return ()
    if _SCORES.fullmatch(text) is None:
        raise JudgeError.scores(f"expected `token:score` pairs, got `{ascii(text)[1:-1][:40]}`")
    return tuple(tuple(_pair(pair) for pair in part.split(" ")) for part in text.split(";"))


def _pair(text: str) -> tuple[int, int]:
    token, _, score = text.partition(":")
    return int(token), int(score)


def root_of(tokens: Sequence[int], top: Sequence[TopScores]) -> Digest:
    places = enumerate(zip(tokens, top, strict=True))
    leaves = [leaf_hash(leaf_of(position, token, scores)) for position, (token, scores) in places]
    return digest_from_raw(Frontier().extend(leaves).root())


def leaf_of(position: int, token: int, scores: TopScores) -> bytes:
    return json.encode((position, token, scores))


def compare(recorded: Commitment, tokens: Sequence[int], again: Sequence[TopScores]) -> Comparison:
    """What was bound with what the weights give for the same tokens; every position must be the model's own choice."""
    bound = recorded.top
    if not len(bound) == len(tokens) == len(again):
        counts = f"expected {len(bound)} positions, got {len(tokens)} tokens and {len(again)} scores"
        return Comparison(likeness=Likeness.DIVERGED, detail=counts)
    likeness = Likeness.EXACT
    for position, (token, then, now) in enumerate(zip(tokens, bound, again, strict=True)):
        detail = _difference(token, then, now, recorded.tolerance)
        if detail:
            return Comparison(likeness=Likeness.DIVERGED, position=position, detail=detail)
        if then != now:
            likeness = Likeness.WITHIN_TOLERANCE
    return Comparison(likeness=likeness)


def _difference(token: int, then: TopScores, now: TopScores, tolerance: int) -> str:
    """Empty where there is none that counts. A score may move by the tolerance, so two may by twice as much."""
    if not now:
        return "expected scores, got none"
    best, known = now[0], dict(now)
    if token not in known or known[token] < best[1] - 2 * tolerance or (tolerance == 0 and token != best[0]):
        return f"expected token {best[0]}, got {token}"
    if then == now:
        return ""
    if tolerance == 0 or len(then) != len(now) or not _is_near(then, now, tolerance):
        return f"expected scores {_told(now)}, got {_told(then)}"
    return ""


def _is_near(then: TopScores, now: TopScores, tolerance: int) -> bool:
    """A token that only one of the two lists has was not among the best of the other, but may have been next."""
    before, after = dict(then), dict(now)
    shared = [abs(before[token] - after[token]) <= tolerance for token in before.keys() & after.keys()]
    fell = [score <= now[-1][1] + tolerance for token, score in then if token not in after]
    rose = [score <= then[-1][1] + tolerance for token, score in now if token not in before]
    return all((*shared, *fell, *rose))


def _told(scores: TopScores) -> str:
    return " ".join(f"{token}:{score}" for token, score in scores)
