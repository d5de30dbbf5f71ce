"""Values from outside, member by member; a mistake is noted with its pointer, and the reading goes on.

A value that could not be read is None to the caller, who goes on with the rest and builds nothing in the end.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from assay.claims.problem import ClaimProblem, ClaimProblemCode, pointer_to
from assay.identity.problem import shortened
from assay.kernel.errors import Error
from assay.kernel.instant import Instant, parse_foreign_instant

_Choice = TypeVar("_Choice", bound=StrEnum)
_Item = TypeVar("_Item")


class Reader:
    """Collects the problems of one document."""

    def __init__(self) -> None:
        self.problems: list[ClaimProblem] = []

    def tell(self, pointer: str, code: ClaimProblemCode, message: str) -> None:
        self.problems.append(ClaimProblem(pointer=pointer, code=code, message=message))

    def members(self, value: object, pointer: str, known: Iterable[str]) -> "Members | None":
        """An object whose fields are all known; None for anything else."""
        if not isinstance(value, Mapping):
            self.wrong_type(pointer, "an object", value)
            return None
        names = tuple(known)
        for name in value.keys() - set(names):
            message = f"expected one of {', '.join(names)}, got `{shortened(name)}`"
            self.tell(pointer_to(pointer, str(name)), ClaimProblemCode.UNKNOWN_FIELD, message)
        return Members(self, value, pointer)

    def wrong_type(self, pointer: str, expected: str, value: object) -> None:
        got = "nothing" if value is None else type(value).__name__
        self.tell(pointer, ClaimProblemCode.TYPE, f"expected {expected}, got {got}")


class Members:
    """The fields of one object."""

    def __init__(self, reader: Reader, value: Mapping[str, object], pointer: str) -> None:
        self._reader = reader
        self._value = value
        self.pointer = pointer

    def has(self, name: str) -> bool:
        return name in self._value

    def says(self, name: str) -> bool:
        """Whether anything stands there: null is the default of the specification's own classes, and says nothing."""
        return self._value.get(name) is not None

    def raw(self, name: str) -> object:
        """The value as it stands; a field that is missing is told, once, here."""
        if name not in self._value:
            self._reader.tell(self.at(name), ClaimProblemCode.REQUIRED, f"expected `{name}`, got nothing")
            return None
        return self._value[name]

    def at(self, name: str) -> str:
        return pointer_to(self.pointer, name)

    def text(self, name: str, *, longest: int, least: int = 1) -> str | None:
        value = self.raw(name)
        if not isinstance(value, str):
            if self.has(name):
                self._reader.wrong_type(self.at(name), "text", value)
            return None
        if not least <= len(value.strip()) or len(value) > longest:
            message = f"expected {least} to {longest} characters, got {len(value.strip())}"
            self._reader.tell(self.at(name), ClaimProblemCode.SIZE, message)
            return None
        return value

    def number(self, name: str, *, low: float = 0.0, high: float = 1.0) -> float | None:
        """A finite number of the closed range; true and false are none."""
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            if self.has(name):
                self._reader.wrong_type(self.at(name), "a number", value)
            return None
        # NaN is in no range, and a whole number that is too large to be asked whether it is finite is beyond it.
        if not low <= value <= high:
            message = f"expected {low:g} to {high:g}, got `{shortened(value)}`"
            self._reader.tell(self.at(name), ClaimProblemCode.RANGE, message)
            return None
        return float(value)

    def whole(self, name: str, *, low: int, high: int) -> int | None:
        value = self.number(name, low=low, high=high)
        if value is not None and not value.is_integer():
            self._reader.wrong_type(self.at(name), "a whole number", value)
            return None
        return None if value is None else int(value)

    def flag(self, name: str) -> bool | None:
        value = self.raw(name)
        if isinstance(value, bool):
            return value
        if self.has(name):
            self._reader.wrong_type(self.at(name), "true or false", value)
        return None

    def choice(self, name: str, kind: type[_Choice]) -> _Choice | None:
        value = self.raw(name)
        found = {str(one): one for one in kind}.get(value) if isinstance(value, str) else None
        if found is not None:
            return found
        if self.has(name):
            message = f"expected one of {', '.join(kind)}, got `{shortened(value)}`"
            self._reader.tell(self.at(name), ClaimProblemCode.CHOICE, message)
        return None

    def instant(self, name: str) -> Instant | None:
        value = self.raw(name)
        if not isinstance(value, str):
            if self.has(name):
                self._reader.wrong_type(self.at(name), "an instant as text", value)
            return None
        try:
            return parse_foreign_instant(value)
        except Error as error:
            self._reader.tell(self.at(name), ClaimProblemCode.INSTANT, str(error))
            return None

    def items(
        self, name: str, read: Callable[[Reader, object, str], _Item | None], *, most: int
    ) -> tuple[_Item, ...] | None:
        """Each item read by `read`; those it could not read are left out, and told."""
        value = self.raw(name)
        if not isinstance(value, list | tuple):
            if self.has(name):
                self._reader.wrong_type(self.at(name), "an array", value)
            return None
        if len(value) > most:
            self._reader.tell(self.at(name), ClaimProblemCode.SIZE, f"expected at most {most} items, got {len(value)}")
            return None
        read_items = [read(self._reader, item, pointer_to(self.at(name), place)) for place, item in enumerate(value)]
        return tuple(item for item in read_items if item is not None)
