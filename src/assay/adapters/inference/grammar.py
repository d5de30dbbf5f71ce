"""Whether a text is what its grammar allows: engines drop schemas they cannot compile, and say nothing about it."""

from collections.abc import Callable
from functools import lru_cache

from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.errors import CanonicalError, JsonError
from assay.kernel.json_text import parse_json
from assay.model.errors import GrammarFormError
from assay.model.gbnf import require_portable
from assay.ports.model import JsonSchema, ModelReplyError, ModelRequestError


def require_grammar(grammar: JsonSchema) -> None:
    """Raise unless it is a portable JSON Schema of draft 2020-12: one that every engine can be bound by."""
    _validator(_text(grammar))
    try:
        require_portable(grammar)
    except GrammarFormError as error:
        raise ModelRequestError(f"expected a grammar that every engine knows: {error}") from error


def require_by_grammar(text: str, grammar: JsonSchema) -> None:
    """Raise unless the text is strict JSON that the schema allows."""
    try:
        value = parse_json(text)
    except JsonError as error:
        raise ModelReplyError(f"expected JSON under a grammar: {error}") from error
    if not _validator(_text(grammar))(value):
        raise ModelReplyError("expected JSON that the grammar allows, got other JSON")


def _text(grammar: JsonSchema) -> str:
    try:
        return canonical_json(grammar, Profile.SKI)
    except CanonicalError as error:
        raise ModelRequestError(f"expected a JSON Schema as a grammar: {error}") from error


@lru_cache(maxsize=64)
def _validator(text: str) -> Callable[[object], bool]:
    import jsonschema_rs  # noqa: PLC0415 - loaded only where a schema is applied

    try:
        validator = jsonschema_rs.Draft202012Validator(
            text, validate_formats=False, pattern_options=jsonschema_rs.RegexOptions(), offline=True
        )
    except ValueError as error:
        said = str(error).partition("\n")[0]
        raise ModelRequestError(f"expected a JSON Schema of draft 2020-12 as a grammar, got {said[:160]}") from error
    return validator.is_valid
