"""GBNF: the grammar of an answer in the notation that llama.cpp reads, from the same JSON Schema.

JSON Schema of the answer -> render_gbnf -> text
Keys stand in the order in which they are to be written, without white space. That a node is cited at most once is not
said: a grammar without memory cannot; the reader of the reply checks it.
"""

from collections.abc import Mapping
from json import dumps, loads
from typing import Any

from assay.model.errors import GrammarFormError

__all__ = ["render_gbnf"]

_CITATION = ("node_id", "version", "role")
_ENDINGS = (
    r'string ::= "\"" char* "\""',
    r'char ::= [^"\\\x00-\x1f] | "\\" ["\\/bfnrt] | "\\u" hex hex hex hex',
    "hex ::= [0-9a-fA-F]",
    r'number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?',
    'boolean ::= "true" | "false"',
    'null ::= "null"',
)


def render_gbnf(grammar: bytes) -> str:
    """Rules from `root` down; refuses a schema that is not one of a verdict."""
    try:
        schema = loads(grammar)["properties"]
        items = schema["formalizable_assertions"].get("prefixItems", [])
        assertions = [f"assertion-{place}" for place in range(len(items))]
        rules = [
            _object(
                "root",
                {
                    "reasoning": _text(schema["reasoning"]["maxLength"]),
                    "formalizable_assertions": _list(assertions),
                    "kg_citations": _citations(schema["kg_citations"]),
                    "verdict": _choice(schema["verdict"]["enum"]),
                },
            )
        ]
        rules += [_assertion(name, item) for name, item in zip(assertions, items, strict=True)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise GrammarFormError(f"expected the grammar of a verdict, got {type(error).__name__}") from error
    return "\n".join((*rules, *_ENDINGS)) + "\n"


def _literal(text: str) -> str:
    """A text as GBNF quotes it; JSON is ASCII here, so only quotes and backslashes need care."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json(value: object) -> str:
    return _literal(dumps(value, separators=(",", ":")))


def _object(name: str, parts: Mapping[str, str]) -> str:
    told = ' "," '.join(f"{_literal(dumps(key) + ':')} {part}" for key, part in parts.items())
    return f'{name} ::= "{{" {told} "}}"'


def _text(longest: int) -> str:
    return f'"\\"" char{{0,{longest}}} "\\""'


def _list(names: list[str]) -> str:
    middle = ' "," '.join(names)
    return f'"[" {middle} "]"' if names else '"[]"'


def _choice(values: list[object]) -> str:
    return "(" + " | ".join(_json(value) for value in values) + ")"


def _citations(schema: Mapping[str, Any]) -> str:
    listed = schema.get("items", {}).get("enum", [])
    if not listed:
        return '"[]"'
    one = _choice([{key: citation[key] for key in _CITATION} for citation in listed])
    return f'"[" ({one} ("," {one}){{0,{schema["maxItems"] - 1}}})? "]"'


def _assertion(name: str, item: Mapping[str, Any]) -> str:
    parts = {}
    for key in item["required"]:
        part = item["properties"][key]
        kinds = part.get("type")
        parts[key] = _json(part["const"]) if "const" in part else _kinds([kinds] if isinstance(kinds, str) else kinds)
    return _object(name, parts)


def _kinds(kinds: list[str]) -> str:
    return "(" + " | ".join(kinds) + ")"
