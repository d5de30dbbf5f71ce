"""A mask is 32 bits in a whole number, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.identity.errors import MaskError
from assay.identity.mask import MASK_MAX, has_all, is_mask, normalise_mask


@pytest.mark.parametrize(("given_mask", "expected"), [(0, 0), (-1, MASK_MAX), (-(2**31), 2**31), (MASK_MAX, MASK_MAX)])
def test_signed_and_unsigned_texts_of_the_same_bits_are_the_same_mask(given_mask: int, expected: int) -> None:
    """Bit 31 arrives as a minus sign from languages with signed integers."""
    assert normalise_mask(given_mask) == expected


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 2**32, -(2**31) - 1, pytest.param(10**5000, id="huge")])
def test_what_is_not_32_bits_is_refused(value: object) -> None:
    """A bool, a float, a text and anything wider are refused, even a number too long to print."""
    with pytest.raises(MaskError) as caught:
        normalise_mask(value)
    assert caught.value.code == "identity.mask"


@pytest.mark.clause("forja", "trust-bitmask")
@given(mask=st.integers(0, MASK_MAX), needed=st.integers(0, MASK_MAX))
def test_every_needed_bit_must_be_set_by_itself(mask: int, needed: int) -> None:
    """A check is a bitwise AND: no bit, not even the highest, implies another."""
    bits = [bit for bit in range(32) if needed >> bit & 1]
    assert has_all(mask, needed) == all(mask >> bit & 1 for bit in bits)


def test_a_missing_bit_is_a_plain_no() -> None:
    """SUPER (bit 7) does not imply READ (bit 0)."""
    assert not has_all(1 << 7, 1)
    assert has_all(-1, 1 << 31)
    assert has_all(0, 0)


@pytest.mark.parametrize(("value", "expected"), [(0, True), (MASK_MAX, True), (-1, False), (True, False), (1.0, False)])
def test_only_the_unsigned_form_is_stored(value: object, expected: bool) -> None:  # noqa: FBT001  a parameter
    """Records keep one form, so that equal masks are equal bytes."""
    assert is_mask(value) is expected
