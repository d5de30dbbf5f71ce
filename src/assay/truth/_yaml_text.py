"""YAML as contracts use it: plain trees, numbers exact, nothing that two readers could read differently.

text -> events -> values with their lines | problems
Words are read as YAML 1.2 does: `yes`, `no`, `on` and `off` are texts, so is a date, and a number is a JSON number.
Tags, anchors, aliases, keys twice and a second document are refused, each at its line. The parser is the one written in
Python, since the other might be missing elsewhere, and differ; depth and number of values are bounded here, while it
reads, so that a hostile text costs no more than a long one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any
from unicodedata import normalize

from assay.truth._read import UNREAD, Found
from assay.truth.number import has_six_places
from assay.truth.problem import Path, ProblemCode

_MAX_CHARACTERS = 512 * 1024
_KEPT_CHARACTERS = 64 * 1024
_MAX_DEPTH = 32
_MAX_VALUES = 10_000
_MAX_NUMBER_CHARACTERS = 32
_WORDS: dict[str, object] = {
    word: value
    for value, words in (
        (None, ("", "~", "null", "Null", "NULL")),
        (True, ("true", "True", "TRUE")),
        (False, ("false", "False", "FALSE")),
    )
    for word in words
}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
# What another reader would take for a number, and we do not: 010, 0x1f, +1, .5, 1_000, .inf.
_NUMBERLIKE = re.compile(
    r"[-+]?(?:\.?[0-9][0-9a-fA-FxXoO_.:]*(?:[eE][-+]?[0-9]+)?|\.inf|\.nan)", re.ASCII | re.IGNORECASE
)
_CLOCKLIKE = re.compile(r"[0-9]+(?:[-:][0-9]+)+|[0-9]+(?:\.[0-9]+){2,}", re.ASCII)
# Words for people: they may be folded and indented, since nothing follows from their white space.
_PROSE = frozenset({"description", "title", "$comment", "help", "label", "notes", "placeholder"})
_FREE_BLOCKS = frozenset({"ui_schema"})


@dataclass(slots=True)
class YamlDocument:
    """`lines` count from 1; with problems, `value` holds what could be read."""

    value: object = None
    lines: dict[Path, int] = field(default_factory=dict)
    problems: list[Found] = field(default_factory=list)


def read_yaml(text: str) -> YamlDocument:
    """Never raises for what the text says; a text that is not YAML at all has one problem. The caller may change it."""
    if len(text) > _KEPT_CHARACTERS:
        return _read(text)
    kept = _read_once(text)
    return YamlDocument(value=_copied(kept.value), lines=dict(kept.lines), problems=list(kept.problems))


@lru_cache(maxsize=32)
def _read_once(text: str) -> YamlDocument:
    # The few texts in force are read with every replay, and to copy one takes a small part of the time.
    return _read(text)


def _copied(value: object) -> object:
    """Another tree of the same leaves: what stands for nothing is known by being the same."""
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


def _read(text: str) -> YamlDocument:
    document = YamlDocument(lines={(): 1})
    if len(text) > _MAX_CHARACTERS:
        _tell(document, (), ProblemCode.SIZE, f"expected at most {_MAX_CHARACTERS} characters, got {len(text)}")
        return document
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415  ships no types; loaded only to read a contract

    try:
        _Builder(document, yaml.parse(text, Loader=_bounded_loader())).build()
    except _TooMuchError as stop:
        document.lines[("",)] = stop.line
        _tell(document, ("",), stop.code, stop.message)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        document.lines[("",)] = line
        said = getattr(error, "problem", None) or "characters that YAML does not allow"
        document.problems[:] = [Found(("",), ProblemCode.SYNTAX, f"expected YAML, got a text that is not: {said}")]
    except (ValueError, OverflowError):  # an escape for a character beyond Unicode
        _tell(document, (), ProblemCode.SYNTAX, "expected YAML, got an escape that names no character")
    return document


class _TooMuchError(Exception):
    """Ends the reading at once, wherever the parser is; never leaves this module."""

    def __init__(self, code: ProblemCode, message: str, line: int) -> None:
        super().__init__(message)
        self.code, self.message, self.line = code, message, line


def _too_deep(mark: Any) -> _TooMuchError:  # noqa: ANN401  the parser has no types
    return _TooMuchError(ProblemCode.DEPTH, f"expected at most {_MAX_DEPTH} levels, got more", mark.line + 1)


@cache
def _bounded_loader() -> Any:  # noqa: ANN401  the parser has no types
    """The parser asks of each bracket whether it begins a key, and looks a thousand characters ahead for that.

    With a bracket at each of them this takes a third of a second, so that depth is counted where brackets are seen.
    """
    import yaml  # noqa: PLC0415  loaded only to read a contract

    class Bounded(yaml.SafeLoader):  # type: ignore[misc]  # the parser has no types
        def fetch_flow_collection_start(self, token: Any) -> None:  # noqa: ANN401  the parser has no types
            if self.flow_level >= _MAX_DEPTH:
                raise _too_deep(self.get_mark())
            super().fetch_flow_collection_start(token)

    return Bounded


def _tell(document: YamlDocument, path: Path, code: ProblemCode, message: str) -> None:
    document.problems.append(Found(path, code, message))


class _Builder:
    """Turns the parser's events into values; a mistake is noted, and the reading goes on."""

    def __init__(self, document: YamlDocument, events: Iterator[Any]) -> None:
        self._document = document
        self._events = events
        self._values = 0

    def build(self) -> None:
        next(self._events)  # the start of the stream
        first = next(self._events)
        if type(first).__name__ == "StreamEndEvent":
            return
        self._document.value = self._node(next(self._events), ())
        next(self._events)  # the end of the document
        after = next(self._events)
        if type(after).__name__ != "StreamEndEvent":
            self._document.lines[("---",)] = after.start_mark.line + 1
            _tell(self._document, ("---",), ProblemCode.DOCUMENTS, "expected one document, got another after it")

    def _node(self, event: Any, path: Path) -> object:  # noqa: ANN401  the parser has no types
        self._document.lines[path] = event.start_mark.line + 1
        self._values += 1
        if self._values > _MAX_VALUES:
            message = f"expected at most {_MAX_VALUES} values, got more"
            raise _TooMuchError(ProblemCode.SIZE, message, event.start_mark.line + 1)
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._refuse(path, ProblemCode.ALIAS, f"expected a value, got the alias `*{event.anchor}`")
        if event.anchor is not None:
            self._refuse(path, ProblemCode.ANCHOR, f"expected a value, got the anchor `&{event.anchor}`")
        if event.tag is not None:
            self._refuse(path, ProblemCode.TAG, f"expected a value, got the tag `{event.tag}`")
        if kind == "ScalarEvent":
            return self._scalar(event, path)
        if len(path) >= _MAX_DEPTH:
            raise _too_deep(event.start_mark)
        return self._mapping(path) if kind == "MappingStartEvent" else self._sequence(path)

    def _sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> dict[str, object]:
        members: dict[str, object] = {}
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            name = self._key(event, path)
            where = (*path, name)
            is_known = name in members
            value = self._node(next(self._events), where)
            # The key's own line, where somebody would look for it.
            self._document.lines[where] = event.start_mark.line + 1
            if is_known:
                self._refuse(where, ProblemCode.DUPLICATE, f"expected each key once, got `{name[:80]}` again")
            members[name] = value
        return members

    def _key(self, event: Any, path: Path) -> str:  # noqa: ANN401  the parser has no types
        if type(event).__name__ == "ScalarEvent" and event.anchor is None and event.tag is None:
            name: str = event.value
            self._document.lines[(*path, name)] = event.start_mark.line + 1
            self._require_canonical(name, (*path, name))
            return name
        self._node(event, (*path, "?"))
        self._refuse((*path, "?"), ProblemCode.TYPE, "expected a plain text as key, got something else")
        return "?"

    def _scalar(self, event: Any, path: Path) -> object:  # noqa: ANN401  the parser has no types
        text: str = event.value
        if not event.implicit[0]:  # quoted or folded: a text, whatever it looks like
            return self._text(text, path)
        if text in _WORDS:
            return _WORDS[text]
        if _DECIMAL.fullmatch(text):
            return self._number(text, path)
        if _NUMBERLIKE.fullmatch(text) and not _CLOCKLIKE.fullmatch(text):
            return self._refuse(
                path, ProblemCode.NUMBER, f"expected a number as in JSON or a quoted text, got `{text[:80]}`"
            )
        return self._text(text, path)

    def _number(self, text: str, path: Path) -> object:
        number = Decimal(text) if len(text) <= _MAX_NUMBER_CHARACTERS else None
        if number is None or not has_six_places(number):
            message = f"expected at most six places and 15 digits, got `{text[:80]}`"
            return self._refuse(path, ProblemCode.NUMBER, message)
        return int(text) if _INTEGER.fullmatch(text) else number

    def _text(self, text: str, path: Path) -> str:
        if not (path and (path[-1] in _PROSE or path[0] in _FREE_BLOCKS)):
            self._require_canonical(text, path)
        return text

    def _require_canonical(self, text: str, path: Path) -> None:
        # Canonical bytes trim and collapse: two texts that decide differently would share one hash.
        if text != " ".join(normalize("NFC", text).split()) or any("\ud800" <= char <= "\udfff" for char in text):
            message = f"expected text in NFC without outer, double or other white space, got {ascii(text)[:80]}"
            self._refuse(path, ProblemCode.TEXT, message)

    def _refuse(self, path: Path, code: ProblemCode, message: str) -> object:
        _tell(self._document, path, code, message)
        return UNREAD
