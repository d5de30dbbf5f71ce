"""One thing that is wrong with a bundle or a policy: where as a JSON pointer, which kind, and what was expected."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

_SHOWN = 20


class ClaimProblemCode(StrEnum):
    """Stable kinds of mistakes; tests and the surfaces rely on them, never on the words."""

    CHOICE = "choice"
    DUPLICATE = "duplicate"
    EMPTY = "empty"
    FORM = "form"
    INSTANT = "instant"
    ORDER = "order"
    RANGE = "range"
    REQUIRED = "required"
    SIZE = "size"
    SYNTAX = "syntax"
    TYPE = "type"
    UNKNOWN_FIELD = "unknown_field"


class ClaimProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pointer` is that of RFC 6901; the empty one is the whole document."""

    pointer: str
    code: ClaimProblemCode
    message: str

    @property
    def path(self) -> str:
        """Where, by the name that problems of every room have."""
        return self.pointer


def pointer_to(base: str, part: str | int) -> str:
    return f"{base}/{str(part).replace('~', '~0').replace('/', '~1')}"


def render_claim_problems(problems: Iterable[ClaimProblem]) -> str:
    """The problems in one line, however much is wrong."""
    told = [f"{problem.pointer}: {problem.message}" if problem.pointer else problem.message for problem in problems]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more
