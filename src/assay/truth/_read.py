"""Plain values into frozen structs, driven by the structs' own annotations, with every mistake told at once.

value + type -> struct | problems
Markers in `Annotated` narrow a leaf: `Bound` a number, `Form` and `Parsed` a text, `Size` a sequence. A struct with a
method `complaints` is asked, once it is whole, what in it does not fit together.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from assay.identity.problem import shortened
from assay.kernel.errors import Error
from assay.kernel.instant import Instant, parse_foreign_instant
from assay.truth.errors import NumberFormError, RecordError
from assay.truth.number import exact_number, has_six_places, plain_value
from assay.truth.problem import Path, Problem, ProblemCode, render_path

_Record = TypeVar("_Record", bound=Struct)

# Stands where nothing could be read; whoever put it there told the problem, so nobody tells it again.
UNREAD: Final = object()


_Told = tuple[ProblemCode, str] | None


@dataclass(frozen=True, slots=True)
class Bound:
    """Both ends belong to the range."""

    low: Decimal
    high: Decimal

    def told(self, value: Decimal) -> _Told:
        if self.low <= value <= self.high:
            return None
        return ProblemCode.RANGE, f"expected {self.low} to {self.high}, got `{shortened(value)}`"


@dataclass(frozen=True, slots=True)
class Form:
    """The whole text matches."""

    pattern: re.Pattern[str]
    expected: str

    def told(self, value: str) -> _Told:
        if self.pattern.fullmatch(value):
            return None
        return ProblemCode.FORM, f"expected {self.expected}, got `{shortened(value)}`"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The text is one that a parser of ours takes; its own words say what is wrong."""

    parse: Callable[[str], object]

    def told(self, value: str) -> _Told:
        try:
            self.parse(value)
        except Error as error:
            return ProblemCode.FORM, str(error)
        return None


@dataclass(frozen=True, slots=True)
class Size:
    """How many items at least."""

    least: int

    def told(self, value: Sized) -> _Told:
        return (
            None
            if len(value) >= self.least
            else (ProblemCode.RANGE, f"expected at least {self.least}, got {len(value)}")
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A problem before it has a line."""

    path: Path
    code: ProblemCode
    message: str


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a whole struct says about one of its own fields."""

    field: str
    code: ProblemCode
    message: str


_Reader = Callable[[object, Path, list[Found]], Any]
_Marker = Bound | Form | Parsed | Size


def read_fields(value: object, kind: type[Struct], problems: list[Found]) -> dict[str, Any]:
    """The fields of a document's outermost struct that could be read; the others are in the problems."""
    members = _read_members(value, kind, (), problems)
    return {name: member for name, member in members.items() if member is not UNREAD}


def read_record(value: object, kind: type[_Record]) -> _Record:
    """A record from outside; refused with everything that is wrong with it."""
    problems: list[Found] = []
    record = _reader(kind)(value, (), problems)
    if problems:
        raise RecordError(kind.__name__, located(problems, {}))
    return cast("_Record", record)


def located(problems: Iterable[Found], lines: Mapping[Path, int]) -> tuple[Problem, ...]:
    """In the order of the text: each problem at its own line, or that of the nearest thing around it."""
    told = [
        Problem(line=_line(found.path, lines), path=render_path(found.path), code=found.code, message=found.message)
        for found in problems
    ]
    return tuple(sorted(told, key=lambda problem: (problem.line or 0, problem.path, problem.code, problem.message)))


def _line(path: Path, lines: Mapping[Path, int]) -> int | None:
    known = (lines[path[:length]] for length in range(len(path), -1, -1) if path[:length] in lines)
    return next(known, None)


@lru_cache(maxsize=512)
def _reader(kind: Any) -> _Reader:  # noqa: PLR0911, ANN401  one return for each kind of annotation
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _marked(_reader(arguments[0]), arguments[1:])
    if origin in (Union, UnionType):
        return _optional([_reader(part) for part in arguments if part is not NoneType])
    if origin is tuple:
        return _items(_reader(arguments[0]))
    if origin is dict:
        return _members(_reader(arguments[0]), _reader(arguments[1]))
    if kind is Instant:
        return _instant
    if hasattr(kind, "__supertype__"):
        return _reader(kind.__supertype__)
    if issubclass(kind, Struct):
        return _struct(kind)
    if issubclass(kind, StrEnum):
        return _choice(kind)
    return _LEAVES[kind]


def _complain(problems: list[Found], path: Path, code: ProblemCode, message: str) -> object:
    problems.append(Found(path, code, message))
    return UNREAD


def _type_problem(problems: list[Found], path: Path, expected: str, value: object) -> object:
    got = "nothing" if value is None else type(value).__name__
    return _complain(problems, path, ProblemCode.TYPE, f"expected {expected}, got {got}")


def _marked(base: _Reader, markers: tuple[_Marker, ...]) -> _Reader:
    [marker] = markers  # INVARIANT: our annotations carry one marker each

    def read_marked(value: object, path: Path, problems: list[Found]) -> object:
        result = base(value, path, problems)
        if result is UNREAD:
            return UNREAD
        told = marker.told(result)
        return result if told is None else _complain(problems, path, *told)

    return read_marked


def _optional(readers: list[_Reader]) -> _Reader:
    [present] = readers  # INVARIANT: our annotations have `X | None` and no other union

    def read_optional(value: object, path: Path, problems: list[Found]) -> object:
        return None if value is None else present(value, path, problems)

    return read_optional


def _items(item: _Reader) -> _Reader:
    def read_items(value: object, path: Path, problems: list[Found]) -> object:
        if not isinstance(value, list | tuple):
            return _type_problem(problems, path, "a list", value)
        items = tuple(
            UNREAD if part is UNREAD else item(part, (*path, index), problems) for index, part in enumerate(value)
        )
        return UNREAD if any(part is UNREAD for part in items) else items

    return read_items


def _members(key: _Reader, item: _Reader) -> _Reader:
    def read_members(value: object, path: Path, problems: list[Found]) -> object:
        if not isinstance(value, Mapping):
            return _type_problem(problems, path, "a mapping", value)
        members = {
            key(name, (*path, name), problems): UNREAD if part is UNREAD else item(part, (*path, name), problems)
            for name, part in value.items()
        }
        return UNREAD if any(part is UNREAD for pair in members.items() for part in pair) else members

    return read_members


def _struct(kind: type[Struct]) -> _Reader:
    def read_struct(value: object, path: Path, problems: list[Found]) -> object:
        before = len(problems)
        members = _read_members(value, kind, path, problems)
        if len(problems) > before or any(member is UNREAD for member in members.values()):
            return UNREAD
        return _built(kind, members, path, problems)

    return read_struct


def _built(kind: type[Struct], members: dict[str, Any], path: Path, problems: list[Found]) -> object:
    before, has_complaints = len(problems), hasattr(kind, "complaints")
    try:
        record = kind(**members)
    except Error as error:  # a struct with invariants of its own, such as a location
        return _complain(problems, path, ProblemCode.RANGE, str(error))
    if has_complaints:
        told: Iterator[Complaint] = record.complaints()  # type: ignore[attr-defined]  # asked for just before
        problems.extend(Found((*path, complaint.field), complaint.code, complaint.message) for complaint in told)
    return record if len(problems) == before else UNREAD


def _read_members(value: object, kind: type[Struct], path: Path, problems: list[Found]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _type_problem(problems, path, "a mapping", value)
        return {}
    plan, members = _plan(kind), {}
    for name, (attribute, reader, is_required) in plan.items():
        if name in value:
            part = value[name]
            members[attribute] = UNREAD if part is UNREAD else reader(part, (*path, name), problems)
        elif is_required:
            _complain(problems, (*path, name), ProblemCode.REQUIRED, f"expected `{name}`, got nothing")
    if len(members) < len(value):
        _complain_of_unknown(value.keys() - plan.keys(), plan, path, problems)
    return members


def _complain_of_unknown(names: Iterable[str], known: Iterable[str], path: Path, problems: list[Found]) -> None:
    for name in names:
        message = f"expected one of {', '.join(known)}, got `{name[:80]}`"
        _complain(problems, (*path, name), ProblemCode.UNKNOWN_KEY, message)


@lru_cache(maxsize=256)
def _plan(kind: type[Struct]) -> Mapping[str, tuple[str, _Reader, bool]]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.encode_name: (
            field.name,
            _reader(hints[field.name]),
            field.default is NODEFAULT and field.default_factory is NODEFAULT,
        )
        for field in fields(kind)
    }


def _choice(kind: type[StrEnum]) -> _Reader:
    def read_choice(value: object, path: Path, problems: list[Found]) -> object:
        try:
            return kind(cast("str", value))
        except ValueError:
            message = f"expected one of {', '.join(kind)}, got `{shortened(value)}`"
            return _complain(problems, path, ProblemCode.CHOICE, message)

    return read_choice


def _instant(value: object, path: Path, problems: list[Found]) -> object:
    if not isinstance(value, str):
        return _type_problem(problems, path, "an instant as text", value)
    try:
        return parse_foreign_instant(value)
    except Error as error:
        return _complain(problems, path, ProblemCode.FORM, str(error))


def _text(value: object, path: Path, problems: list[Found]) -> object:
    return value if isinstance(value, str) else _type_problem(problems, path, "text", value)


def _flag(value: object, path: Path, problems: list[Found]) -> object:
    return value if isinstance(value, bool) else _type_problem(problems, path, "true or false", value)


def _integer(value: object, path: Path, problems: list[Found]) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _type_problem(problems, path, "a whole number", value)


def _decimal(value: object, path: Path, problems: list[Found]) -> object:
    try:
        number = exact_number(value)  # type: ignore[arg-type]  # it says itself what is no number
    except NumberFormError as error:
        return _complain(problems, path, ProblemCode.TYPE, str(error))
    if not has_six_places(number):
        message = f"expected at most six places and 15 digits, got `{shortened(value)}`"
        return _complain(problems, path, ProblemCode.NUMBER, message)
    return number


def _float(value: object, path: Path, problems: list[Found]) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return _type_problem(problems, path, "a number", value)


def _anything(value: object, _path: Path, _problems: list[Found]) -> object:
    return plain_value(value)


_LEAVES: Mapping[object, _Reader] = {
    str: _text,
    bool: _flag,
    int: _integer,
    float: _float,
    Decimal: _decimal,
    object: _anything,
}
