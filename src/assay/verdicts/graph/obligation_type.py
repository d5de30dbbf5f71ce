"""What an obligation can demand: the closed enumeration of SKI 3.3, and four extensions that others use."""

from enum import StrEnum


class ObligationType(StrEnum):
    MUST = "must"
    MUST_NOT = "must_not"
    MUST_NOT_EXCEED = "must_not_exceed"
    MUST_BE_AT_LEAST = "must_be_at_least"
    MUST_BE_BELOW = "must_be_below"
    MUST_BE_ABOVE = "must_be_above"
    MUST_BE_WITHIN = "must_be_within"
    MUST_BE_ONE_OF = "must_be_one_of"
    MUST_NOT_BE_ONE_OF = "must_not_be_one_of"
    MUST_BE_RECORDED_WITHIN = "must_be_recorded_within"
    SHOULD = "should"
    DISCRETIONARY = "discretionary"
    # Extensions: not in SKI 3.3; another implementation treats them as unknown.
    MUST_EQUAL = "must_equal"
    MUST_NOT_EQUAL = "must_not_equal"
    MUST_AVERAGE_WITHIN = "must_average_within"
    MUST_NOT_EXCEED_IN_WINDOW = "must_not_exceed_in_window"

    @property
    def is_extension(self) -> bool:
        return self in EXTENSIONS


EXTENSIONS = frozenset(
    {
        ObligationType.MUST_EQUAL,
        ObligationType.MUST_NOT_EQUAL,
        ObligationType.MUST_AVERAGE_WITHIN,
        ObligationType.MUST_NOT_EXCEED_IN_WINDOW,
    }
)
# Those whose operand is one number.
NUMERIC = frozenset(
    {
        ObligationType.MUST_NOT_EXCEED,
        ObligationType.MUST_BE_AT_LEAST,
        ObligationType.MUST_BE_BELOW,
        ObligationType.MUST_BE_ABOVE,
        ObligationType.MUST_NOT_EXCEED_IN_WINDOW,
    }
)
# Those that look at more than the record at hand.
WINDOWED = frozenset(
    {
        ObligationType.MUST_BE_RECORDED_WITHIN,
        ObligationType.MUST_AVERAGE_WITHIN,
        ObligationType.MUST_NOT_EXCEED_IN_WINDOW,
    }
)
