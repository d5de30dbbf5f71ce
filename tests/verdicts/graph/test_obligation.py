"""The window of an obligation."""

from decimal import Decimal

import pytest

from assay.verdicts.graph.node import NodeId
from assay.verdicts.graph.obligation import Obligation, window_of


def _obligation(kind: str, value: object = None, unit: str | None = None, window: int | None = None) -> Obligation:
    return Obligation(
        id=NodeId("o"),
        obligation_type=kind,
        value=value,  # type: ignore[arg-type]  # as given
        unit=unit,
        window_seconds=None if window is None else Decimal(window),
    )


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [
        (Decimal(90), None, 90),
        (Decimal(90), "s", 90),
        (Decimal("1.5"), "min", 90),
        (Decimal(2), "hours", 7200),
        (Decimal(7), "d", 604800),
        (Decimal(7), "fortnights", None),
        ("P1W", None, 604800),
        ("P1DT2H3M4S", None, 93784),
        ("PT24H", "ignored", 86400),
        ("PT1.5H", None, 5400),
        ("PT1,5H", None, 5400),
        ("P1DT0.1S", None, Decimal("86400.1")),
        ("PT1.5H30M", None, None),
        ("PT1.H", None, None),
        ("PT.5H", None, None),
        ("P999999999WT0.123456789S", None, None),
        ("P", None, None),
        ("PT", None, None),
        ("soon", None, None),
        (f"P{'9' * 5000}D", None, None),
        (True, None, None),
        (None, None, None),
    ],
)
def test_must_be_recorded_within_reads_its_window_from_the_value(
    value: object, unit: str | None, seconds: Decimal | int | None
) -> None:
    """A number in its unit, or an ISO 8601 duration, exactly; else there is none."""
    assert window_of(_obligation("must_be_recorded_within", value, unit)) == seconds


def test_window_seconds_comes_first_and_other_types_have_no_window_in_their_value() -> None:
    """The value of a limit is no window."""
    assert window_of(_obligation("must_be_recorded_within", Decimal(5), window=60)) == 60
    assert window_of(_obligation("must_not_exceed_in_window", Decimal(5), window=60)) == 60
    assert window_of(_obligation("must_not_exceed_in_window", Decimal(5))) is None
    assert window_of(_obligation("must_sparkle", Decimal(5))) is None
