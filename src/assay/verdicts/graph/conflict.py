"""Obligations that cannot be met together at some instant.

demands on one metric -> by start, keeping the tightest bounds in force -> conflicts
Near linear in the number of demands: bounds are kept in heaps, lists in counters, and nothing is compared pairwise but
to name the other half of a conflict that was found.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from heapq import heappop, heappush

from msgspec import Struct

from assay.verdicts.graph.constraint import Constraint, Member, Number, Span, is_empty, meet, member_of
from assay.verdicts.graph.obligation import Obligation

_EVER = datetime.min.replace(tzinfo=UTC)
_NEVER = datetime.max.replace(tzinfo=UTC)
# One obligation against thousands is one mistake; the author is told of so many, and then looks.
NAMED = 100


class Demand(Struct, frozen=True):
    """An obligation, and what it allows its metric to be."""

    obligation: Obligation
    constraint: Constraint

    @property
    def start(self) -> datetime:
        return self.obligation.effective_date_start or _EVER

    @property
    def end(self) -> datetime:
        return self.obligation.effective_date_end or _NEVER


class Conflict(Struct, frozen=True):
    """`second` begins while `others` are in force: one of them, or all where it takes more than two to contradict."""

    others: tuple[Demand, ...]
    second: Demand

    @property
    def first(self) -> Demand | None:
        """The one that contradicts by itself."""
        return self.others[0] if len(self.others) == 1 else None


def find_conflicts(demands: Iterable[Demand]) -> list[Conflict]:
    """Each demand that cannot be met together with those in force when it begins; itself left out from then on."""
    active, found = _Active(), []
    for demand in sorted(demands, key=lambda each: (each.start, each.end, each.obligation.id)):
        active.expire(demand.start)
        if not active.admits(demand):
            found.append(Conflict(active.opponents(demand), demand))
            if len(found) == NAMED:
                break
    return found


class _Active:
    """The demands in force at one instant, and the tightest of their bounds."""

    def __init__(self) -> None:
        self._alive: dict[int, Demand] = {}
        self._ends: list[tuple[datetime, int]] = []
        self._lows: list[tuple[Number, bool, int]] = []
        self._highs: list[tuple[Number, bool, int]] = []
        self._lists: dict[int, frozenset[Member]] = {}
        self._listed: Counter[Member] = Counter()
        self._excluded: Counter[Member] = Counter()
        self._next = 0

    def expire(self, now: datetime) -> None:
        """Ends are inclusive: what ends at this instant is still in force."""
        while self._ends and self._ends[0][0] < now:
            self._remove(heappop(self._ends)[1])

    def admits(self, demand: Demand) -> bool:
        """Put it among the others, unless nothing would then satisfy them all."""
        number = self._add(demand)
        if self._is_feasible():
            return True
        self._remove(number)
        return False

    def opponents(self, demand: Demand) -> tuple[Demand, ...]:
        alone = next((other for other in self._alive.values() if _exclude(other, demand)), None)
        return tuple(self._alive.values()) if alone is None else (alone,)

    def _add(self, demand: Demand) -> int:
        self._next = number = self._next + 1
        span, constraint = demand.constraint.span, demand.constraint
        self._alive[number] = demand
        heappush(self._ends, (demand.end, number))
        if span.low is not None:
            heappush(self._lows, (-span.low, not span.low_open, number))
        if span.high is not None:
            heappush(self._highs, (span.high, not span.high_open, number))
        if constraint.allowed is not None:
            self._lists[number] = constraint.allowed
            self._listed.update(constraint.allowed)
        self._excluded.update(constraint.excluded)
        return number

    def _remove(self, number: int) -> None:
        demand = self._alive.pop(number, None)
        if demand is None:
            return  # It was left out when it conflicted; only its end was still noted.
        self._excluded.subtract(demand.constraint.excluded)
        if self._lists.pop(number, None) is not None:
            self._listed.subtract(demand.constraint.allowed or ())

    def _is_feasible(self) -> bool:
        span = self._span()
        if self._lists:
            # Whatever is in all lists is in any of them.
            common = (m for m in next(iter(self._lists.values())) if self._listed[m] == len(self._lists))
            return any(not self._excluded[member] and Constraint(span).has(member) for member in common)
        is_point = span.low is not None and span.low == span.high
        return not span.is_empty and not (is_point and self._excluded[member_of(span.low or Decimal(0))])

    def _span(self) -> Span:
        low, high = self._tightest(self._lows), self._tightest(self._highs)
        return Span(
            None if low is None else -low[0],
            low is not None and not low[1],
            None if high is None else high[0],
            high is not None and not high[1],
        )

    def _tightest(self, bounds: list[tuple[Number, bool, int]]) -> tuple[Number, bool, int] | None:
        while bounds and bounds[0][2] not in self._alive:
            heappop(bounds)
        return bounds[0] if bounds else None


def _exclude(one: Demand, other: Demand) -> bool:
    return is_empty(meet(one.constraint, other.constraint))
