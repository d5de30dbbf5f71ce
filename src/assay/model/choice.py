"""Choices: how one of the allowed symbols follows from integer scores.

scores + choices -> greedy | sampler(seed, temperature) -> token; token -> weigh -> Written
Greedy is what judges. Sampling is for asking how sure the model is: the same seed gives the same answer, everywhere.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from hashlib import sha256
from itertools import accumulate
from typing import TypeAlias

from msgspec import Struct

from assay.model.engine import SCORE_UNIT
from assay.model.errors import JudgeError

# Scores of all symbols, numbers of the allowed ones, and which step of which row it is.
Pick: TypeAlias = Callable[[Sequence[int], Sequence[int], tuple[int, int]], int]
_BEST = 4
_EXACT = Context(prec=30)
_PARTS = 2**32


class Written(Struct, frozen=True, kw_only=True, gc=False):
    """One token that was decided: its number, its score, and the best choices with their scores.

    `logprob` is its log-probability among the choices, to six decimals; the scores are exact.
    """

    token: int
    score: int
    logprob: float
    best: tuple[tuple[int, int], ...]


def greedy(scores: Sequence[int], choices: Sequence[int], _place: tuple[int, int]) -> int:
    """The choice with the highest score; of equal ones that with the lowest number."""
    return max(choices, key=lambda token: (scores[token], -token))


def sampler(seed: int, temperature: Decimal) -> Pick:
    """Draws by score at a temperature, in decimal arithmetic and from a hash, so that no machine draws otherwise."""
    if not (temperature.is_finite() and temperature > 0):
        raise JudgeError.temperature(f"expected a temperature above 0, got {temperature}")
    unit = SCORE_UNIT * temperature

    def pick(scores: Sequence[int], choices: Sequence[int], place: tuple[int, int]) -> int:
        ordered = sorted(choices)
        highest = max(scores[token] for token in ordered)
        shares = [int(_PARTS * _EXACT.exp(Decimal(scores[token] - highest) / unit)) for token in ordered]
        drawn = sha256(f"{seed}:{place[0]}:{place[1]}".encode()).digest()
        at = int.from_bytes(drawn[:16], "big") * sum(shares) >> 128
        return next(token for token, end in zip(ordered, accumulate(shares), strict=True) if at < end)

    return pick


def weigh(token: int, scores: Sequence[int], choices: Sequence[int]) -> Written:
    """A decided token with what stood against it."""
    best = sorted(choices, key=lambda choice: (-scores[choice], choice))[:_BEST]
    highest = scores[best[0]]
    total = math.fsum(math.exp((scores[choice] - highest) / SCORE_UNIT) for choice in choices)
    return Written(
        token=token,
        score=scores[token],
        logprob=round((scores[token] - highest) / SCORE_UNIT - math.log(total), 6) + 0.0,
        best=tuple((choice, scores[choice]) for choice in best),
    )
