"""Whether scores still come from where the thresholds were fitted: a bet against exchangeability that should not pay.

certified scores, then new ones in order -> conformal p-values -> simple jumper martingale -> wealth -> alarm
While scores are exchangeable the wealth reaches 100 with a chance of at most one in a hundred (Ville), however long one
watches. The random tie-breaks are given, so that a stream can be replayed.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from math import isfinite

from assay.claims.errors import ClaimsError

ALARM_WEALTH = 100.0
# The bettor changes between betting on high, on low and on no p-values once in a hundred scores.
_JUMP = 0.01
_BETS = (-1.0, 0.0, 1.0)


class KeptWatches:
    """The watches of this process with how far each has read; one that is lost is made again from the ledger."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[ExchangeWatch, int]] = {}

    def find(self, key: object) -> "tuple[ExchangeWatch, int] | None":
        return self._kept.get(key)

    def keep(self, key: object, watch: "ExchangeWatch", read: int) -> None:
        self._kept[key] = (watch, read)


class ExchangeWatch:
    """The martingale, score by score; `certified` are the scores that the thresholds in force were fitted on."""

    def __init__(self, certified: Iterable[float] = ()) -> None:
        self._seen = sorted(_checked(one) for one in certified)
        self._stakes = [1.0 / len(_BETS)] * len(_BETS)
        self.scores = 0
        self.highest = 1.0
        self.alarm_at: int | None = None

    @property
    def wealth(self) -> float:
        return sum(self._stakes)

    def see(self, score: float, tie_break: float) -> float:
        """Take one score, with a number of [0, 1) that was drawn for it; the wealth after it."""
        value = _p_value(self._seen, _checked(score), tie_break)
        insort(self._seen, score)
        self.scores += 1
        total = self.wealth
        shared = [(1.0 - _JUMP) * stake + _JUMP * total / len(_BETS) for stake in self._stakes]
        self._stakes = [stake * (1.0 + bet * (value - 0.5)) for stake, bet in zip(shared, _BETS, strict=True)]
        self.highest = max(self.highest, self.wealth)
        if self.alarm_at is None and self.wealth >= ALARM_WEALTH:
            self.alarm_at = self.scores
        return self.wealth


def _p_value(seen: list[float], score: float, tie_break: float) -> float:
    """The share of scores, this one among them, that are above it; ties count by the drawn number."""
    above = len(seen) - bisect_right(seen, score)
    equal = bisect_right(seen, score) - bisect_left(seen, score) + 1
    return (above + tie_break * equal) / (len(seen) + 1)


def _checked(score: float) -> float:
    if not isfinite(score):
        raise ClaimsError.scores(f"expected a finite score, got `{score!r}`")
    return score
