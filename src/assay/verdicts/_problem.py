"""One thing that is wrong with a record or a reply: where, which kind, and what was expected."""

from enum import StrEnum

from msgspec import Struct

_SHOWN = 20


class InputProblemCode(StrEnum):
    """Stable kinds of mistakes; tests and the surfaces rely on them, never on the words."""

    AMBIGUOUS = "ambiguous"
    CHOICE = "choice"
    DIGEST = "digest"
    FORM = "form"
    INSTANT = "instant"
    NAIVE_DATETIME = "naive_datetime"
    NUMBER = "number"
    REQUIRED = "required"
    SIZE = "size"
    TEXT = "text"
    TYPE = "type"
    UNKNOWN_FIELD = "unknown_field"


class InputProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`path` is dotted, with indices in brackets."""

    path: str
    code: InputProblemCode
    message: str


def render_input_problems(problems: tuple[InputProblem, ...]) -> str:
    """The problems in one line, however much is wrong."""
    told = [f"{problem.path}: {problem.message}" if problem.path else problem.message for problem in problems]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more
