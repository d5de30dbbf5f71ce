"""A permission mask: 32 bits in one whole number. What a bit is called is the registry's business, not ours."""

from assay.identity.errors import MaskError
from assay.identity.problem import shortened

MASK_MAX = 0xFFFFFFFF
# Other languages read the same 32 bits as a signed number, so bit 31 arrives as a minus sign.
_SIGNED_MIN = -(2**31)


def normalise_mask(value: object) -> int:
    """Read a mask written as unsigned or as signed 32 bits; a bool, a float or anything wider is refused."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise MaskError(f"expected a whole number of 32 bits, got {type(value).__name__} `{shortened(value)}`")
    if not _SIGNED_MIN <= value <= MASK_MAX:
        raise MaskError(f"expected {_SIGNED_MIN} to {MASK_MAX}, got `{shortened(value)}`")
    return value & MASK_MAX


def is_mask(value: object) -> bool:
    """True for the one stored form: unsigned, 0 to 2^32-1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MASK_MAX


def has_all(mask: int, needed: int) -> bool:
    """Every needed bit is set; both sides are normalised first, and nothing is implied by any other bit."""
    return normalise_mask(needed) & ~normalise_mask(mask) == 0
