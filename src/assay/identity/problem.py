"""One thing that is wrong with one field; records collect all of theirs before they refuse."""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from assay.kernel.errors import Error

# Role and choice names: what a person may read on a screen and a machine may compare.
NAME_FORM = re.compile(r"[a-z][a-z0-9_]{0,62}", re.ASCII)

_LONGEST_INTEGER = 256


class Problem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`field` is where, `message` what was expected and what was got."""

    field: str
    message: str


def when(wrong: bool, field: str, message: str) -> tuple[Problem, ...]:  # noqa: FBT001  a condition, read as a sentence
    return (Problem(field=field, message=message),) if wrong else ()


def parse_problems(field: str, parse: Callable[[str], object], text: object) -> tuple[Problem, ...]:
    """Let the type's own parser judge, and keep its words."""
    if not isinstance(text, str):
        return (Problem(field=field, message=f"expected text, got {type(text).__name__}"),)
    try:
        parse(text)
    except Error as error:
        return (Problem(field=field, message=str(error)),)
    return ()


def names_problems(field: str, names: tuple[str, ...], form: re.Pattern[str] = NAME_FORM) -> tuple[Problem, ...]:
    """A set of names is written sorted and once each, so that equal sets are equal bytes."""
    malformed = [name for name in names if form.fullmatch(name) is None]
    problems = when(bool(malformed), field, f"expected `{form.pattern}`, got `{', '.join(malformed)[:80]}`")
    return problems + when(
        names != tuple(sorted(set(names))), field, f"expected sorted and unique, got `{', '.join(names)[:80]}`"
    )


def shortened(value: object) -> str:
    """A value for a message: short, and never a crash, though Python refuses to print a very long integer."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        return f"an integer of {value.bit_length()} bits"
    return str(value)[:80]


def render_problems(problems: Iterable[Problem]) -> str:
    return "; ".join(f"{problem.field}: {problem.message}" for problem in problems)
