"""Fields of a document, each mistake noted with its JSON pointer, so that one reading tells all of them.

A reader goes on after a mistake with a stand-in; whoever uses it looks at `problems` before believing what was read.
"""

import re
from collections.abc import Iterable, Mapping

from assay.identity.problem import shortened
from assay.kernel.errors import JsonError, TypeFormError
from assay.kernel.instant import Instant, parse_foreign_instant
from assay.kernel.json_text import JsonValue, Limits, parse_json
from assay.registry.problem import ManifestProblem, ManifestProblemCode, Path, render_pointer

Fields = Mapping[str, JsonValue]
# A manifest or an announce is small; what is larger is something else.
_LIMITS = Limits(max_bytes=1 << 20, max_depth=32)
_LONGEST_TEXT = 2000


class Reader:
    """One reading of one document; made, used and dropped within a parse."""

    def __init__(self) -> None:
        self.problems: list[ManifestProblem] = []

    def complain(self, path: Path, code: ManifestProblemCode, message: str) -> None:
        self.problems.append(ManifestProblem(pointer=render_pointer(path), code=code, message=message))

    def document(self, content: bytes | str) -> dict[str, JsonValue]:
        try:
            return self.members(parse_json(content, limits=_LIMITS), ())
        except JsonError as error:
            self.complain((), ManifestProblemCode.SYNTAX, str(error))
            return {}

    def members(self, value: JsonValue, path: Path) -> dict[str, JsonValue]:
        if isinstance(value, dict):
            return value
        self._wrong_type(path, "an object", value)
        return {}

    def items(self, value: JsonValue, path: Path) -> list[JsonValue]:
        if isinstance(value, list):
            return value
        self._wrong_type(path, "an array", value)
        return []

    def refuse_unknown(self, fields: Fields, known: Iterable[str], path: Path) -> None:
        names = sorted(known)
        for name in sorted(set(fields) - set(names)):
            message = f"expected one of {', '.join(names)}, got `{name[:80]}`"
            self.complain((*path, name), ManifestProblemCode.UNKNOWN_FIELD, message)

    def text(self, fields: Fields, name: str, path: Path, form: re.Pattern[str] | None = None) -> str | None:
        """A text that is there, or None where the field is absent; an empty one is a mistake."""
        value = fields.get(name)
        if name not in fields:
            return None
        return self.one_text(value, (*path, name), form)

    def required(self, fields: Fields, name: str, path: Path, form: re.Pattern[str] | None = None) -> str:
        if name not in fields:
            self.complain((*path, name), ManifestProblemCode.REQUIRED, f"expected `{name}`, got nothing")
        return self.text(fields, name, path, form) or ""

    def one_text(self, value: JsonValue, path: Path, form: re.Pattern[str] | None = None) -> str | None:
        if not isinstance(value, str):
            self._wrong_type(path, "text", value)
            return None
        if form is not None and form.fullmatch(value) is None:
            self.complain(path, ManifestProblemCode.FORM, f"expected `{form.pattern}`, got `{value[:80]}`")
        elif not value.strip() or len(value) > _LONGEST_TEXT:
            self.complain(path, ManifestProblemCode.FORM, f"expected 1 to {_LONGEST_TEXT} characters")
        return value

    def names(self, fields: Fields, name: str, path: Path, form: re.Pattern[str]) -> tuple[str, ...]:
        """An array of texts, each once; absent is empty."""
        # Not a list that is searched: whoever sends a long array must not get a quadratic answer.
        found: dict[str, None] = {}
        for index, value in enumerate(self.items(fields.get(name, []), (*path, name))):
            text = self.one_text(value, (*path, name, index), form)
            if text is not None and text in found:
                self.complain((*path, name, index), ManifestProblemCode.DUPLICATE, f"`{text[:80]}` stands here twice")
            if text is not None:
                found[text] = None
        return tuple(found)

    def integer(self, fields: Fields, name: str, path: Path, *, low: int, high: int) -> int | None:
        value = fields.get(name)
        if name not in fields:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong_type((*path, name), "a whole number", value)
            return None
        if not low <= value <= high:
            message = f"expected {low} to {high}, got `{shortened(value)}`"
            self.complain((*path, name), ManifestProblemCode.RANGE, message)
            return None
        return value

    def instant(self, fields: Fields, name: str, path: Path) -> Instant | None:
        text = self.text(fields, name, path)
        if text is None:
            return None
        try:
            return parse_foreign_instant(text)
        except TypeFormError as error:
            self.complain((*path, name), ManifestProblemCode.FORM, str(error))
            return None

    def choice(self, text: str | None, choices: Iterable[str], path: Path) -> str | None:
        known = sorted(choices)
        if text is None or text in known:
            return text
        self.complain(path, ManifestProblemCode.CHOICE, f"expected one of {', '.join(known)}, got `{text[:80]}`")
        return None

    def require(self, fields: Fields, names: Iterable[str], path: Path) -> None:
        for name in names:
            if name not in fields:
                self.complain((*path, name), ManifestProblemCode.REQUIRED, f"expected `{name}`, got nothing")

    def _wrong_type(self, path: Path, expected: str, value: JsonValue) -> None:
        got = "nothing" if value is None else type(value).__name__
        self.complain(path, ManifestProblemCode.TYPE, f"expected {expected}, got {got}")
