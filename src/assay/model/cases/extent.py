"""How large the parts of a case may be, and which kinds of obligations come how often."""

from dataclasses import dataclass

from assay.model.cases.windowed import FLAT

ORDERED = ("must_not_exceed", "must_be_at_least", "must_be_below", "must_be_above")
_KINDS = (
    *ORDERED * 3,
    *("must_be_within",) * 3,
    *("must", "must_not", "should", "must_be_one_of", "must_not_be_one_of", "must_equal", "must_not_equal") * 2,
    *("must_be_recorded_within", "must_average_within", "must_not_exceed_in_window") * 2,
    *FLAT,
    "discretionary",
    "unknown",
    "not_formal",
)


@dataclass(frozen=True, slots=True)
class Extent:
    """How large the parts of a case may be; the tuples are drawn from."""

    kinds: tuple[str, ...] = _KINDS
    set_sizes: tuple[int, ...] = ()
    is_mixed: bool = False
    exemptions: tuple[int, ...] = (1, 1, 2)
    conditions: tuple[int, ...] = (1, 1, 1, 2, 3)
    obligations: tuple[int, ...] = (1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8)
    exempted: float = 0.3
    is_deep: bool = False


USUAL = Extent()
WIDE = Extent(set_sizes=(1, 2, 5, 20, 60, 120, 300), exemptions=(1, 2, 2, 3), conditions=(1, 2, 3, 3, 4))
# Sets of texts, numbers and switches together, which are the hardest to learn.
MIXED = Extent(kinds=("must_be_one_of", "must_not_be_one_of") * 2 + ("must", "should"), is_mixed=True)
# Exemptions of many conditions, or many exemptions: nearly all of them hold, so that the last one decides.
DEEP = Extent(
    kinds=(
        *ORDERED,
        *("must_be_within", "must_equal", "must", "must_not", "should", "must_be_one_of", "must_not_be_one_of"),
        *("must_be_recorded_within", "must_not_exceed_in_window", "must_average_within", "window_sum", "window_count"),
    ),
    exemptions=(1, 1, 1, 2, 3, 4, 5),
    conditions=(1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 14),
    obligations=(1, 2, 3, 4, 5),
    exempted=0.85,
    is_deep=True,
)
