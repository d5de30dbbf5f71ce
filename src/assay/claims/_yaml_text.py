"""YAML as policies use it: a plain tree in which nothing can be read in two ways.

text -> events (no tags, anchors, aliases, second document, great depth or number) -> nodes -> values | problems
Words are read as YAML 1.2 does: `yes`, `no`, `on` and `off` are texts, and a number is a JSON number.
"""

import re
from typing import Any

from assay.claims._read import Reader
from assay.claims.problem import ClaimProblemCode, pointer_to

_MAX_CHARACTERS = 256 * 1024
_MAX_DEPTH = 16
_MAX_VALUES = 10_000
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,40})?", re.ASCII)
_NUMBERLIKE = re.compile(
    r"[-+]?\.?[0-9][0-9_.]*(?:[eE][-+]?[0-9]+)?|0[xo][0-9a-fA-F]+|[-+]?\.(?:inf|nan)", re.IGNORECASE
)


def read_yaml(reader: Reader, text: str) -> object:
    """The value; what is wrong is told to `reader`, and then the value is None or not whole."""
    if len(text) > _MAX_CHARACTERS:
        reader.tell("", ClaimProblemCode.SIZE, f"expected at most {_MAX_CHARACTERS} characters, got {len(text)}")
        return None
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415  ships no types; loaded only to read a policy

    try:
        if not _is_plain(reader, yaml.parse(text, Loader=yaml.SafeLoader)):
            return None
        return _value(reader, yaml.compose(text, Loader=yaml.SafeLoader), "")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}"
        reader.tell("", ClaimProblemCode.SYNTAX, f"expected YAML, got a text that is not{where}")
    except (ValueError, OverflowError):  # an escape for a character beyond Unicode
        reader.tell("", ClaimProblemCode.SYNTAX, "expected YAML, got an escape that names no character")
    return None


def _is_plain(reader: Reader, events: Any) -> bool:  # noqa: ANN401  the parser has no types
    """One document of bounded depth and size, without anchors, aliases and tags; read no further than its answer."""
    depth = documents = 0
    before = len(reader.problems)
    for count, event in enumerate(events):
        name = type(event).__name__
        documents += name == "DocumentStartEvent"
        depth += name in ("MappingStartEvent", "SequenceStartEvent")
        depth -= name in ("MappingEndEvent", "SequenceEndEvent")
        line = event.start_mark.line + 1
        if depth > _MAX_DEPTH or documents > 1:
            message = f"expected one document of at most {_MAX_DEPTH} levels, got more at line {line}"
            reader.tell("", ClaimProblemCode.SIZE, message)
            return False
        if count > _MAX_VALUES:
            reader.tell("", ClaimProblemCode.SIZE, f"expected at most {_MAX_VALUES} values, got more at line {line}")
            return False
        if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
            message = f"expected no anchors, aliases and tags, got one at line {line}"
            reader.tell("", ClaimProblemCode.SYNTAX, message)
    return len(reader.problems) == before


def _value(reader: Reader, node: Any, pointer: str) -> object:  # noqa: ANN401  the parser has no types
    if node is None:
        return None
    kind = type(node).__name__
    if kind == "ScalarNode":
        return _scalar(reader, node, pointer)
    if kind == "SequenceNode":
        return [_value(reader, item, pointer_to(pointer, place)) for place, item in enumerate(node.value)]
    return _mapping(reader, node, pointer)


def _mapping(reader: Reader, node: Any, pointer: str) -> dict[str, object]:  # noqa: ANN401  the parser has no types
    members: dict[str, object] = {}
    for key, value in node.value:
        name = key.value if isinstance(key.value, str) else "?"
        if name in members or name == "?":
            code = ClaimProblemCode.DUPLICATE if name in members else ClaimProblemCode.TYPE
            line = key.start_mark.line + 1
            reader.tell(
                pointer_to(pointer, name), code, f"expected each key once, as text, got `{name}` at line {line}"
            )
        members[name] = _value(reader, value, pointer_to(pointer, name))
    return members


def _scalar(reader: Reader, node: Any, pointer: str) -> object:  # noqa: ANN401  the parser has no types
    text: str = node.value
    if node.style is not None:  # quoted or folded: a text, whatever it looks like
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return int(text) if _WHOLE.fullmatch(text) else float(text)
    if _NUMBERLIKE.fullmatch(text):
        message = f"expected a number as in JSON or a quoted text, got `{text[:80]}`"
        reader.tell(pointer, ClaimProblemCode.FORM, message)
    return text
