"""Numbers that decide are decimals of six places, and lengths of time are fixed ones."""

from datetime import timedelta
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.truth.duration import parse_duration
from assay.truth.errors import NumberFormError, TruthError
from assay.truth.number import exact_number, has_six_places, plain_number, plain_value, quantised
from tests.raising import raises


@pytest.mark.parametrize(
    ("value", "expected"), [(0.1, "0.1"), (3, "3"), (Decimal("2.50"), "2.50"), (1e-7, "1E-7"), (-0.0, "-0.0")]
)
def test_a_number_is_what_its_shortest_text_says(value: float | Decimal, expected: str) -> None:
    """0.1 is one tenth, not the binary fraction beside it."""
    assert str(exact_number(value)) == expected


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_what_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(NumberFormError):
        exact_number(value)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.0000005", "0.000001"),
        ("-0.0000005", "-0.000001"),
        ("0.00000049", "0.000000"),
        ("-0.0000001", "0.000000"),
        ("1.2345675", "1.234568"),
    ],
)
def test_the_seventh_place_is_rounded_half_away_from_zero(text: str, expected: str) -> None:
    """And zero has no sign, whatever the caller's own context is."""
    with localcontext(prec=2):
        assert str(quantised(Decimal(text))) == expected


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("0.123456", True),
        ("0.1234567", False),
        ("999999999.999999", True),
        ("1000000000.5", False),
        ("9007199254740991", True),
        ("9007199254740992", False),
        ("1E+3", True),
        ("1E+400", False),
        ("1E-400", False),
    ],
)
def test_a_number_beyond_six_places_or_binary64_is_known(text: str, *, kept: bool) -> None:
    with localcontext(prec=2):
        assert has_six_places(Decimal(text)) is kept


@given(st.integers(-(10**15) + 1, 10**15 - 1))
def test_a_six_place_number_survives_json(scaled: int) -> None:
    """Written plainly and read again it is the same decimal."""
    number = Decimal(scaled).scaleb(-6)
    assert has_six_places(number)
    assert exact_number(plain_number(number)) == number


def test_a_tree_is_written_plainly() -> None:
    assert plain_value({"a": [Decimal("1.0"), (Decimal("0.5"), "x")], "b": None}) == {"a": [1, [0.5, "x"]], "b": None}


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("PT6H", timedelta(hours=6)),
        ("P3D", timedelta(days=3)),
        ("P2W", timedelta(weeks=2)),
        ("P1DT2H3M4S", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("PT90S", timedelta(seconds=90)),
    ],
)
def test_a_duration_of_fixed_length_is_read(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P0D", "PT0S", "P1M", "P1Y", "-P1D", "P1.5D", "1D", "p1d", "P1W2D", "PT1H "]
)
def test_a_duration_without_one_is_refused(text: str) -> None:
    """Months and years have no fixed length, and nothing waits for no time."""
    with raises(TruthError.duration):
        parse_duration(text)
