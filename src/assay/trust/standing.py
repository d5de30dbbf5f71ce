"""Standing: the one number that is stored about an agent, in [0,1000], as whole millionths.

wanted change -> limits -> clamp -> AgentStanding;  AgentStanding + day -> what age left of it
Whole numbers add up to the same on every machine; ln and exp are correctly rounded decimals in one fixed context, cut
to a stated number of places before they meet them.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct

from assay.trust.policy import HIGHEST_STANDING, Parameters
from assay.truth._moment import span_of
from assay.truth.number import ARITHMETIC, quantised

# The scale of every stored number: six places, as canonical bytes keep.
MICRO = 1_000_000
HIGHEST = int(HIGHEST_STANDING) * MICRO
_DAY_SECONDS = 86_400
# The share that is left after some days is cut to this many parts of one before it is used.
_PARTS = 10**18
_LN_HALF = ARITHMETIC.ln(Decimal("0.5"))


class AgentStanding(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """As of the last change, on `day` (counted from the year 1, UTC) and within the limits' `window`.

    The four sums are what outcomes moved the standing, up and down, in that window and on that day.
    """

    standing: Annotated[int, Meta(ge=0, le=1_000_000_000)]
    day: int
    window: int = 0
    window_gain: int = 0
    window_loss: int = 0
    day_gain: int = 0
    day_loss: int = 0


class Moment(Struct, frozen=True, gc=False):
    """An instant as days and as seconds from the year 1."""

    day: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the standing of some agents may move, and how it decays, in whole millionths."""

    window_seconds: int
    per_window: int
    per_day: int
    half_life: int
    floor: int


class StandingChange(Struct, frozen=True, gc=False):
    """One agent's standing in millionths, before a signal (with decay up to it) and after."""

    agent_id: str
    before_micro: int
    after_micro: int

    @property
    def before(self) -> Decimal:
        return as_number(self.before_micro)

    @property
    def after(self) -> Decimal:
        return as_number(self.after_micro)


def moment_of(at: datetime) -> Moment:
    day = at.toordinal()
    return Moment(day, ((day * 24 + at.hour) * 60 + at.minute) * 60 + at.second)


def pace_of(parameters: Parameters) -> Pace:
    limits, decay = parameters.limits, parameters.decay
    return Pace(
        window_seconds=int(span_of(limits.window).total_seconds()),
        per_window=in_micro(limits.per_window),
        per_day=in_micro(limits.per_day),
        half_life=int(span_of(decay.half_life).total_seconds()),
        floor=in_micro(decay.floor),
    )


def in_micro(number: Decimal) -> int:
    return int(ARITHMETIC.multiply(quantised(number), MICRO))


def as_number(micro: int) -> Decimal:
    return ARITHMETIC.divide(Decimal(micro), MICRO)


@lru_cache(maxsize=1 << 12)
def learned(factor: Decimal, quality: Decimal) -> int:
    """What is learnt from a quality: factor x ln(1 + quality), at six places."""
    return in_micro(ARITHMETIC.multiply(factor, ARITHMETIC.ln(ARITHMETIC.add(1, quality))))


def rested(standing: AgentStanding, day: int, pace: Pace) -> int:
    """The standing on a later day, in closed form from the last change: looking at it in between changes nothing.

    It falls toward the floor at midnight (UTC); below the floor it stays, so that waiting heals no bad record.
    """
    excess, days = standing.standing - pace.floor, day - standing.day
    if excess <= 0 or days <= 0:
        return standing.standing
    return pace.floor + (excess * _share_left(pace.half_life, days) + _PARTS // 2) // _PARTS


@lru_cache(maxsize=1 << 14)
def _share_left(half_life: int, days: int) -> int:
    """0.5 to the power of days over half-life, in parts of one."""
    exponent = ARITHMETIC.divide(ARITHMETIC.multiply(_LN_HALF, days * _DAY_SECONDS), half_life)
    return int(ARITHMETIC.multiply(ARITHMETIC.exp(exponent), _PARTS))


def moved(standing: AgentStanding, wanted: int, moment: Moment, pace: Pace) -> tuple[AgentStanding, int]:
    """The standing moved as far as limits and the ends of the scale allow, and how far that was."""
    now = _brought_to(standing, moment, pace)
    if wanted >= 0:
        room = min(pace.per_window - now.window_gain, pace.per_day - now.day_gain, HIGHEST - now.standing)
        applied = min(wanted, max(0, room))
    else:
        room = min(pace.per_window - now.window_loss, pace.per_day - now.day_loss, now.standing)
        applied = max(wanted, -max(0, room))
    return _changed(now, applied, in_window=applied, in_day=applied), applied


def taken_back(
    standing: AgentStanding, applied: int, *, day: int, window: int, moment: Moment, pace: Pace
) -> AgentStanding:
    """Without what outcomes applied in that window of that day; the room it took under the limits is free again."""
    now = _brought_to(standing, moment, pace)
    change = min(HIGHEST, max(0, now.standing - applied)) - now.standing
    in_window = applied if window == now.window else 0
    return _changed(now, change, in_window=in_window, in_day=applied if day == now.day else 0, sign=-1)


def penalised(standing: AgentStanding, points: int, moment: Moment, pace: Pace) -> AgentStanding:
    """The standing after a penalty, which people decided: no limit holds it back, and it takes no room under them."""
    now = _brought_to(standing, moment, pace)
    return _changed(now, -min(points, now.standing), in_window=0, in_day=0)


def _brought_to(standing: AgentStanding, moment: Moment, pace: Pace) -> AgentStanding:
    """The standing decayed up to that day, with the sums of another window or day forgotten."""
    window = moment.seconds // pace.window_seconds
    in_window, in_day = window == standing.window, moment.day == standing.day
    if in_window and in_day:
        return standing
    return AgentStanding(
        rested(standing, moment.day, pace),
        moment.day,
        window,
        standing.window_gain if in_window else 0,
        standing.window_loss if in_window else 0,
        standing.day_gain if in_day else 0,
        standing.day_loss if in_day else 0,
    )


def _changed(now: AgentStanding, change: int, *, in_window: int, in_day: int, sign: int = 1) -> AgentStanding:
    return AgentStanding(
        now.standing + change,
        now.day,
        now.window,
        now.window_gain + sign * max(0, in_window),
        now.window_loss + sign * max(0, -in_window),
        now.day_gain + sign * max(0, in_day),
        now.day_loss + sign * max(0, -in_day),
    )
