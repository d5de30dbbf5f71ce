"""One thing that is wrong with a graph's document: where, which kind, and what was expected."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

Path = tuple[str | int, ...]
_SHOWN = 20


class ProblemCode(StrEnum):
    """Stable kinds of mistakes; tests, editors and the command line rely on them, never on the words."""

    CHOICE = "choice"
    FORM = "form"
    NUMBER = "number"
    REQUIRED = "required"
    SYNTAX = "syntax"
    TYPE = "type"
    UNKNOWN_EDGE_TYPE = "unknown_edge_type"
    UNKNOWN_FIELD = "unknown_field"


class Problem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`path` is dotted, with indices in brackets."""

    path: str
    code: ProblemCode
    message: str


def render_path(path: Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def render_problems(problems: Iterable[Problem]) -> str:
    """One line; a document that is something else altogether does not fill the screen."""
    told = [f"{problem.path}: {problem.message}" if problem.path else problem.message for problem in problems]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more
