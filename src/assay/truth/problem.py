"""One thing that is wrong with a contract or a record: where, which kind, and what was expected."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

Path = tuple[str | int, ...]


class ProblemCode(StrEnum):
    """Stable kinds of mistakes; tests, editors and the command line rely on them, never on the words."""

    ALIAS = "alias"
    ANCHOR = "anchor"
    AGREEMENT = "agreement"
    CHOICE = "choice"
    DEPTH = "depth"
    DERIVATION = "derivation"
    DOCUMENTS = "documents"
    DUPLICATE = "duplicate"
    ESCALATION = "escalation"
    FORM = "form"
    LANE = "lane"
    NUMBER = "number"
    ORDER = "order"
    RANGE = "range"
    REQUIRED = "required"
    ROUTE = "route"
    SCHEMA = "schema"
    SIZE = "size"
    SYNTAX = "syntax"
    TAG = "tag"
    TEXT = "text"
    TYPE = "type"
    UNKNOWN_KEY = "unknown_key"
    # Warnings: odd, and allowed.
    UNUSED = "unused"
    WEIGHTS = "weights"


class Problem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`path` is dotted, with indices in brackets; `line` counts from 1 and is None where there is no text."""

    line: int | None
    path: str
    code: ProblemCode
    message: str


def render_path(path: Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def render_problems(problems: Iterable[Problem]) -> str:
    return "; ".join(_rendered(problem) for problem in problems)


def _rendered(problem: Problem) -> str:
    line = "" if problem.line is None else f"line {problem.line}: "
    path = f"{problem.path}: " if problem.path else ""
    return f"{line}{path}{problem.message}"
