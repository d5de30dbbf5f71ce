"""Network weight: what others' endorsements add to an agent's trust, up to a cap. They never touch a standing."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache

from assay.trust.fold_state import Endorsed
from assay.trust.policy import Network
from assay.trust.standing import MICRO, as_number, in_micro
from assay.truth.number import ARITHMETIC

_PARTS = 10**18


def network_bonus(
    endorsements: Mapping[str, Endorsed],
    network: Network,
    *,
    day: int,
    standing_of: Callable[[str], int],
    kept_of: Callable[[str], int] = lambda _endorser: MICRO,
) -> Decimal:
    """bonus_per_weight for each unit of weight that is left, at most `cap`.

    Endorsers whose own standing is below the policy's least add nothing: names without a record cannot lift each other.
    `kept_of` is the share, in millionths, that is kept of what an endorser gives.
    """
    least = in_micro(network.endorser_min_standing)
    weight = sum(
        _left_of(endorsed, day, network.decay_per_day) * kept_of(endorser) // MICRO
        for endorser, endorsed in endorsements.items()
        if standing_of(endorser) >= least
    )
    return min(network.cap, ARITHMETIC.multiply(network.bonus_per_weight, as_number(weight)))


def _left_of(endorsed: Endorsed, day: int, decay_per_day: Decimal) -> int:
    """A share of what is left goes each day, in closed form from when it was given."""
    days = day - endorsed.day
    if days <= 0:
        return endorsed.weight
    return (endorsed.weight * _share_left(decay_per_day, days) + _PARTS // 2) // _PARTS


@lru_cache(maxsize=1 << 14)
def _share_left(decay_per_day: Decimal, days: int) -> int:
    """(1 - decay) to the power of days, in parts of one; by exp and ln, which decimals round correctly everywhere."""
    kept = ARITHMETIC.subtract(1, decay_per_day)
    if not kept:
        return 0
    return int(ARITHMETIC.multiply(ARITHMETIC.exp(ARITHMETIC.multiply(ARITHMETIC.ln(kept), days)), _PARTS))
