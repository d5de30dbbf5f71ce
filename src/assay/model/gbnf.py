"""GBNF: the grammar of an answer in the notation that llama.cpp reads, from a portable JSON Schema.

JSON Schema -> render_gbnf -> text; require_portable -> whether every engine that we speak to can be bound by it
Portable are objects whose properties are all required and stand in the order in which they are to be written, lists
of fixed items or of bounded length, constants, choices, texts of bounded length, numbers, switches and null. What an
engine does not know (`uniqueItems`, patterns, references) makes some drop a whole schema without a word.
"""

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any, Final

from assay.model.errors import GrammarFormError

_MOST_ITEMS: Final = 1024
_MOST_CHARACTERS: Final = 8192
_SCALARS: Final = {"boolean": "boolean", "number": "number", "null": '"null"'}
_KEYWORDS: Final = frozenset(
    {
        "$schema",
        "additionalProperties",
        "anyOf",
        "const",
        "enum",
        "items",
        "maxItems",
        "maxLength",
        "minItems",
        "prefixItems",
        "properties",
        "required",
        "type",
    }
)
_ENDINGS: Final = (
    'ws ::= " "?',
    r'char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])',
    'number ::= "-"? ("0" | [1-9] [0-9]{0,16}) ("." [0-9]{1,17})? ([eE] [-+]? [0-9]{1,3})?',
    'boolean ::= "true" | "false"',
)


def require_portable(schema: Mapping[str, Any]) -> None:
    """Raise `judge.grammar` for a schema that some engine might not bind its output by."""
    render_gbnf(schema)


def render_gbnf(schema: Mapping[str, Any]) -> str:
    """Render rules from `root` down: exactly what the schema allows, with a blank after a colon or a comma, or none."""
    try:
        rules = list(_Rules().render(schema))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise GrammarFormError(f"expected a portable JSON Schema, got {type(error).__name__}: {error}") from error
    return "\n".join((*rules, *_ENDINGS)) + "\n"


class _Rules:
    """Objects become rules of their own, so that no line grows without end."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def render(self, schema: Mapping[str, Any]) -> Iterator[str]:
        root = self._part(schema)
        yield f"root ::= {root}"
        yield from self._made

    def _part(self, schema: Mapping[str, Any]) -> str:
        strange = sorted(schema.keys() - _KEYWORDS)
        if strange:
            raise ValueError(f"the keyword `{strange[0]}`")
        if "const" in schema:
            return _json(schema["const"])
        if "enum" in schema:
            return _any([_json(value) for value in schema["enum"]])
        if "anyOf" in schema:
            return _any([self._part(one) for one in schema["anyOf"]])
        kinds = schema["type"]
        return _any([self._kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)])

    def _kind(self, kind: str, schema: Mapping[str, Any]) -> str:
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "string":
            return f'"\\"" char{{0,{_bounded(schema["maxLength"], _MOST_CHARACTERS)}}} "\\""'
        return _SCALARS[kind]

    def _object(self, schema: Mapping[str, Any]) -> str:
        properties: Mapping[str, Any] = schema["properties"]
        required: Sequence[str] = schema["required"]
        if not properties or set(required) != set(properties) or schema["additionalProperties"] is not False:
            raise ValueError("an object whose properties are not all required")
        told = ' "," ws '.join(f"{_literal(dumps(key) + ':')} ws {self._part(properties[key])}" for key in required)
        name = f"object-{len(self._made)}"
        self._made.append(f'{name} ::= "{{" {told} "}}"')
        return name

    def _array(self, schema: Mapping[str, Any]) -> str:
        least, most = int(schema.get("minItems", 0)), _bounded(schema["maxItems"], _MOST_ITEMS)
        fixed = [self._part(one) for one in schema.get("prefixItems", [])]
        if fixed and least == most == len(fixed):
            joined = ' "," ws '.join(fixed)
            return f'"[" {joined} "]"'
        if most == 0:
            return '"[]"'
        if fixed or least > most:
            raise ValueError("a list of fixed items and others")
        one = self._part(schema["items"])
        listed = f'{one} ("," ws {one}){{{max(least - 1, 0)},{most - 1}}}' if most > 1 else one
        return f'"[" {listed} "]"' if least else f'"[" ({listed})? "]"'


def _bounded(value: object, most: int) -> int:
    if not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"a bound of {value}, expected at most {most}")
    return value


def _literal(text: str) -> str:
    """A text as GBNF quotes it; JSON is ASCII here, so only quotes and backslashes need care."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json(value: object) -> str:
    return _literal(dumps(value, separators=(",", ":")))


def _any(choices: list[str]) -> str:
    if not choices:
        raise ValueError("no choice at all")
    return choices[0] if len(choices) == 1 else "(" + " | ".join(choices) + ")"
