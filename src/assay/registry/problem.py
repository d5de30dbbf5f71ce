"""One thing that is wrong with a document: its JSON pointer (RFC 6901), which kind, and what was expected."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

Path = tuple[str | int, ...]
_SHOWN = 20


class ManifestProblemCode(StrEnum):
    """Stable kinds of mistakes; tests, editors and the command line rely on them, never on the words."""

    CHOICE = "choice"
    DUPLICATE = "duplicate"
    FORM = "form"
    INCONSISTENT = "inconsistent"
    RANGE = "range"
    REQUIRED = "required"
    SYNTAX = "syntax"
    TYPE = "type"
    UNKNOWN_FIELD = "unknown_field"


class ManifestProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pointer` is empty for the whole document."""

    pointer: str
    code: ManifestProblemCode
    message: str


def render_pointer(path: Path) -> str:
    """As RFC 6901 writes it: `~` becomes `~0` and `/` becomes `~1`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def render_manifest_problems(problems: Iterable[ManifestProblem]) -> str:
    """One printable line, however much is wrong and whatever characters the document has."""
    told = [f"{problem.pointer}: {problem.message}" if problem.pointer else problem.message for problem in problems]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "".join(map(_printable, "; ".join(told[:_SHOWN]))) + more


def _printable(character: str) -> str:
    return character if character.isprintable() else f"\\u{ord(character):04x}"
