"""Fields of a document's objects, each mistake noted with its path, so that one reading tells all of them.

A reader goes on after a mistake with a stand-in; whoever uses it looks at `problems` before believing what was read.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from assay.identity.problem import shortened
from assay.kernel.digest import Digest
from assay.kernel.errors import TypeFormError
from assay.kernel.instant import Instant, parse_foreign_instant
from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.condition import Operand, Scalar, scalar_of
from assay.verdicts.graph.graph import Notice, NoticeCode
from assay.verdicts.graph.hash import node_version
from assay.verdicts.graph.node import NodeId
from assay.verdicts.graph.problem import Path, Problem, ProblemCode, render_path
from assay.verdicts.rulings import CURRENT, Rulings

Fields = Mapping[str, JsonValue]
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_BARE_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LAST_OF_DAY = timedelta(days=1) - timedelta(microseconds=1)


class Reader:
    """One reading of one document; made, used and dropped within a parse."""

    def __init__(self, rulings: Rulings = CURRENT) -> None:
        self.rulings = rulings
        self.problems: list[Problem] = []
        self.notices: list[Notice] = []
        # Equal texts become one object: ids stand in many edges, and a large graph must fit into memory.
        self._texts: dict[str, str] = {}
        self._instants: dict[tuple[str, bool], Instant] = {}

    def complain(self, path: Path, code: ProblemCode, message: str) -> None:
        self.problems.append(Problem(path=render_path(path), code=code, message=message))

    def notice(self, code: NoticeCode, message: str, node: NodeId | None = None) -> None:
        self.notices.append(Notice(code=code, message=message, node=node))

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

    def refuse_unknown(self, fields: Fields, known: frozenset[str], path: Path) -> None:
        if not known.issuperset(fields):
            for name in sorted(set(fields) - known):
                message = f"expected one of {', '.join(sorted(known))}, got `{name[:80]}`"
                self.complain((*path, name), ProblemCode.UNKNOWN_FIELD, message)

    def text(self, fields: Fields, name: str, path: Path) -> str | None:
        value = fields.get(name)
        if type(value) is str:
            return self._texts.setdefault(value, value)
        if value is not None:
            self._wrong_type((*path, name), "text", value)
        return None

    def required(self, fields: Fields, name: str, path: Path) -> str:
        """A text that is there and is not empty."""
        text = self.text(fields, name, path)
        if text:
            return text
        if text is not None or fields.get(name) is None:
            got = "nothing" if text is None else "an empty text"
            self.complain((*path, name), ProblemCode.REQUIRED, f"expected `{name}`, got {got}")
        return ""

    def id(self, fields: Fields, path: Path, name: str = "id") -> NodeId:
        return NodeId(self.required(fields, name, path))

    def texts(self, fields: Fields, name: str, path: Path) -> tuple[str, ...]:
        """One text or several, written as a text or as an array of texts."""
        value = fields.get(name)
        if value is None:
            return ()
        if isinstance(value, str):
            return (self._texts.setdefault(value, value),)
        parts = self.items(value, (*path, name))
        for index, part in enumerate(parts):
            if not isinstance(part, str):
                self._wrong_type((*path, name, index), "text", part)
        return tuple(self._texts.setdefault(part, part) for part in parts if isinstance(part, str))

    def number(self, fields: Fields, name: str, path: Path) -> Decimal | None:
        value = fields.get(name)
        if value is None:
            return None
        scalar = scalar_of(value)
        if isinstance(scalar, Decimal):
            return scalar
        self._wrong_type((*path, name), "a number", value)
        return None

    def positive(self, fields: Fields, name: str, path: Path) -> Decimal | None:
        number = self.number(fields, name, path)
        if number is not None and number <= 0:
            self.complain((*path, name), ProblemCode.NUMBER, f"expected more than zero, got `{number}`")
        return number

    def scalar(self, fields: Fields, name: str, path: Path) -> Scalar | None:
        value = fields.get(name)
        scalar = scalar_of(value)
        if scalar is None and value is not None:
            self._wrong_type((*path, name), "a number, a text or a truth value", value)
        return scalar

    def operand(self, fields: Fields, name: str, path: Path) -> Operand:
        """A scalar, an array of scalars, or a range written `{"min", "max"}`."""
        value = fields.get(name)
        if isinstance(value, dict):
            self.refuse_unknown(value, frozenset({"min", "max"}), (*path, name))
            value = [value.get("min"), value.get("max")]
        if not isinstance(value, list):
            return self.scalar(fields, name, path)
        members = [scalar_of(part) for part in value]
        for index, member in enumerate(members):
            if member is None:
                self._wrong_type((*path, name, index), "a number, a text or a truth value", value[index])
        return tuple(member for member in members if member is not None)

    def instant(self, fields: Fields, name: str, path: Path, *, is_end: bool = False) -> tuple[Instant | None, bool]:
        """The instant, and whether only a date was written: then it is the first or last moment of that day in UTC."""
        text = self.text(fields, name, path)
        if text is None:
            return None, False
        is_date = _DATE.fullmatch(text) is not None
        known = self._instants.get((text, is_end))
        if known is None:
            known = self._parsed(text, (*path, name), is_date=is_date, is_end=is_end)
            if known is not None:
                self._instants[text, is_end] = known
        return known, is_date

    def _parsed(self, text: str, path: Path, *, is_date: bool, is_end: bool) -> Instant | None:
        try:
            if not is_date:
                return parse_foreign_instant(text)
            day = datetime.fromisoformat(text).replace(tzinfo=UTC)
            return Instant(day + _LAST_OF_DAY if is_end else day)
        except (TypeFormError, ValueError) as error:
            self.complain(path, ProblemCode.FORM, str(error))
            return None

    def version(self, fields: Fields, node: NodeId, path: Path) -> Digest:
        """The version by content; another one in the document is a notice, since the graph may still be read."""
        computed = node_version(fields)
        declared = self.text(fields, "version", path)
        if declared is None:
            self.notice(NoticeCode.MISSING_VERSION, f"expected the version {computed}, got nothing", node)
        elif declared != computed and not (_BARE_HEX.fullmatch(declared) and computed.endswith(declared)):
            self.notice(NoticeCode.VERSION_MISMATCH, f"expected the version {computed}, got `{declared[:80]}`", node)
        return computed

    def choice(self, text: str, choices: Iterable[str], path: Path, code: ProblemCode = ProblemCode.CHOICE) -> None:
        self.complain(path, code, f"expected one of {', '.join(choices)}, got `{shortened(text)}`")

    def _wrong_type(self, path: Path, expected: str, value: JsonValue) -> None:
        got = "nothing" if value is None else type(value).__name__
        self.complain(path, ProblemCode.TYPE, f"expected {expected}, got {got}")
