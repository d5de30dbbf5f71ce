"""Claim payloads against the output schema of their contract (Kaori 6.5): codes and paths, never a library's words.

payload + schema -> violations in a fixed order | the payload
Draft 2020-12, applied offline: `format` is an annotation, as that draft says, `$ref` stays inside the document, and
patterns run in linear time, so that a schema can neither fetch nor stall nor mean another thing elsewhere.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_json, canonicalize
from assay.truth.errors import TruthError
from assay.truth.problem import Path, render_path

_OF_MEMBERS = frozenset({"$schema", "$id", "$anchor", "$defs", "definitions", "properties"})
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Violation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """`path` is where in the payload, `code` the keyword that does not hold, `rule` where in the schema it stands."""

    path: str
    code: str
    rule: str


class SchemaValidationError(TruthError):
    """A claim payload does not satisfy the output schema; `violations` lists how, always in the same order."""

    code = "truth.schema_validation"

    def __init__(self, violations: Sequence[Violation]) -> None:
        shown = "; ".join(f"{violation.path or 'the claim'}: {violation.code}" for violation in violations)
        super().__init__(f"expected a claim that satisfies its schema, got {shown}")
        self.violations = tuple(violations)


def validate_claim_payload(payload: Mapping[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """The payload in its canonical form, or every way in which it violates the schema.

    It is judged as canonical bytes will say it (six places, collapsed white space), since that is what is signed.
    """
    if not isinstance(payload, Mapping):
        raise SchemaValidationError([Violation(path="", code="schema.type", rule="type")])
    # Canonical bytes say the same to every reader, so that the quickest may read them.
    said: dict[str, object] = orjson.loads(canonicalize(dict(payload), Profile.KAORI))
    verify_claim(said, schema_text(schema))
    return said


def verify_claim(claim: dict[str, object], text: str) -> None:
    """Raise unless a claim in canonical form satisfies the schema that has this canonical text."""
    validator = _validator(text)
    if not validator.is_valid(claim):
        raise SchemaValidationError(sorted({_violation(error) for error in validator.iter_errors(claim)}))


def is_claim_valid(claim: dict[str, object], text: str) -> bool:
    return bool(_validator(text).is_valid(claim))


def is_field_valid(text: str, name: str, value: object) -> bool:
    """Whether a value may stand in this member of a claim, whatever stands in the others."""
    return bool(_field_validator(text).is_valid({name: value}))


@lru_cache(maxsize=256)
def _field_validator(text: str) -> Any:  # noqa: ANN401  the library's type is not named here, since it is loaded late
    """A validator of one member by itself: what the schema says about single members, and what that refers to."""
    schema: dict[str, object] = orjson.loads(text)
    kept = {name: part for name, part in schema.items() if name in _OF_MEMBERS}
    return _validator(schema_text(kept))


def require_schema(schema: Mapping[str, object]) -> None:
    """Raise unless it is a schema for objects that everyone reads alike."""
    draft = schema.get("$schema", _DRAFT)
    if draft != _DRAFT:
        raise TruthError.schema_form(f"expected `$schema` to be `{_DRAFT}` or absent, got `{str(draft)[:80]}`")
    if schema.get("type") != "object":
        raise TruthError.schema_form(
            f"expected `type: object`, since a claim is one, got `{str(schema.get('type'))[:80]}`"
        )
    _validator(schema_text(schema))


def schema_text(schema: Mapping[str, object]) -> str:
    return canonical_json(schema, Profile.SKI)


# Compiling a schema costs far more than applying it; a deployment has as many as it has contracts.
@lru_cache(maxsize=256)
def _validator(schema_text: str) -> Any:  # noqa: ANN401  the library's type is not named here, since it is loaded late
    import jsonschema_rs  # noqa: PLC0415  loaded only where a schema is applied

    try:
        return jsonschema_rs.Draft202012Validator(
            schema_text,
            validate_formats=False,
            pattern_options=jsonschema_rs.RegexOptions(),
            offline=True,
        )
    except ValueError as error:
        said = str(error).partition("\n")[0]
        raise TruthError.schema_form(
            f"expected a JSON Schema of draft 2020-12 without outside references, got {said[:160]}"
        ) from error


def _violation(error: Any) -> Violation:  # noqa: ANN401  an error of a library that is loaded late
    rule: Path = tuple(error.schema_path)
    path: Path = tuple(error.instance_path)
    keyword = error.kind.name
    if keyword == "required":
        path = (*path, error.kind.property)
    if keyword == "falseSchema" and rule and isinstance(rule[-1], str):
        keyword = "additionalProperties" if rule[-1] == "additionalProperties" else "falseSchema"
    return Violation(path=render_path(path), code=f"schema.{_snake(keyword)}", rule=render_path(rule))


def _snake(keyword: str) -> str:
    return _CAPITAL.sub("_", keyword).lower()
