"""What we wrote is read back as it was written, large numbers included."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.json_text import Limits, parse_json
from assay.kernel.read_back import has_large_integer, read_back
from tests.contract._kit import refused


class _Measured(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: int | float | str
    parts: tuple[float, ...] = ()


@pytest.mark.clause("ski", "7.3")
@given(st.floats(allow_nan=False, allow_infinity=False), st.lists(st.floats(2**53, 1e22), max_size=3))
def test_canonical_bytes_survive_a_reading(value: float, parts: list[float]) -> None:
    """Bytes in, the same bytes out: otherwise a hash that was right would be called wrong."""
    content = canonicalize(_Measured(value=value, parts=tuple(parts)))
    assert canonicalize(read_back(content, _Measured)) == content


@given(st.text())
def test_a_text_that_looks_like_a_number_stays_a_text(text: str) -> None:
    written = _Measured(value=f":1234567890123456{text}")
    content = canonicalize(written)
    assert canonicalize(read_back(content, _Measured)) == content
    assert has_large_integer(content)


@given(st.floats(2**53, 1e25))
def test_exact_numbers_take_either_spelling_of_a_large_number(value: float) -> None:
    """And refuse an integer that is between two numbers of binary64."""
    limits = Limits(exact_numbers=True)
    assert parse_json(repr(value), limits=limits) == parse_json(canonicalize(value), limits=limits) == value
    with refused("json.number_range"):
        parse_json("9007199254740993", limits=limits)
