"""What one rule says of an observation, how sure rules can be, and the limits they compare with."""

from collections.abc import Callable
from decimal import Decimal

from msgspec import Struct

from assay.ports.validator import Question

# How far a rule vouches for an observation. What cannot be looked at is not held for good.
PLAUSIBLE = Decimal(1)
UNKNOWN = Decimal("0.5")
UNLIKELY = Decimal("0.25")
IMPOSSIBLE = Decimal(0)


class Finding(Struct, frozen=True):
    """A share of 0 to 1, and why."""

    share: Decimal
    reason: str


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What rules compare with. Contracts say which checks apply; these say what is believable in this deployment.

    A picture with a shorter side of `good_side` pixels is good, one of `least_side` or less shows nothing. Clocks may
    differ by `clock_skew_seconds`. A reporter does not move faster than `fastest_km_per_hour`.
    """

    least_side: int = 64
    good_side: int = 480
    least_bytes: int = 16
    clock_skew_seconds: int = 300
    oldest_capture_seconds: int = 86_400
    longest_delay_seconds: int = 30 * 86_400
    fastest_km_per_hour: int = 1_200
    deepest_m: int = 11_000
    depth_paths: tuple[str, ...] = ("depth_m", "water.depth_m")
    lowest_orbit_km: int = 80
    highest_orbit_km: int = 500_000


Check = Callable[[Question, Limits], Finding]
