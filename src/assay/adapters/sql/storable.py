"""Refuse, on the caller's thread, what some database could not store.

Appends of many callers share one commit, so a text that only the database refuses would fail them all.
"""

import orjson

from assay.kernel.errors import Blame, StoreError
from assay.kernel.ledger import Draft, VerdictColumns, has_nul

# PostgreSQL keeps at most a third of a page, 2704 bytes, in one row of an index, the tenant and numbers included.
MAX_KEY_BYTES = 1024


class UnstorableTextError(StoreError):
    """A text holds U+0000 or a lone surrogate, a document is not JSON, or a pointer comes twice: it has no place."""

    code = "store.unstorable_text"
    blame = Blame.INPUT


class KeyLengthError(StoreError):
    """A text by which rows are found is longer than every database can index."""

    code = "store.key_length"
    blame = Blame.INPUT


def verify_key(name: str, text: str) -> None:
    """Raise unless the text fits the index of every database."""
    verify_text(name, text)
    if len(text) > MAX_KEY_BYTES or len(text.encode()) > MAX_KEY_BYTES:
        raise KeyLengthError(f"expected at most {MAX_KEY_BYTES} bytes in the {name}, got `{text[:40]}…`")


def verify_storable(draft: Draft) -> None:
    """Raise unless every column of the draft fits every database."""
    if draft.verdict is not None:
        _verify_verdict(draft.verdict)
    for event in draft.events:
        verify_text("event type", event.type)
        verify_text("event subject", event.subject)
        verify_text("event body", bytes(event.body))
    if draft.disclosures:
        for disclosure in draft.disclosures:
            verify_text("salt", disclosure.salt)
            verify_text("disclosed value", bytes(disclosure.value))
        _verify_pointers([disclosure.pointer for disclosure in draft.disclosures])


def _verify_pointers(pointers: list[str]) -> None:
    for pointer in pointers:
        verify_key("pointer", pointer)
    if len(set(pointers)) != len(pointers):
        raise UnstorableTextError("expected one disclosure for each pointer, got two for one")


def _verify_verdict(verdict: VerdictColumns) -> None:
    verify_text("telemetry_id", verdict.telemetry_id)
    verify_text("verdict", verdict.verdict)
    verify_text("rule_id", verdict.rule_id)
    # These two become JSON columns, which a database parses for itself.
    _verify_document("llm_transcript", bytes(verdict.llm_transcript))
    _verify_document("verifier_result", bytes(verdict.verifier_result))


def _verify_document(name: str, text: bytes) -> None:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnstorableTextError(f"expected JSON in `{name}`, got: {error}") from error
    if has_nul(text):
        raise UnstorableTextError(f"expected no U+0000 in `{name}`")


def verify_text(name: str, text: str | bytes) -> None:
    """Raise unless every database can keep the text."""
    # Nearly every text is plain, and is looked at once instead of being written again.
    if text.isascii() and not ("\0" in text if isinstance(text, str) else 0 in text):
        return
    try:
        raw = text.encode() if isinstance(text, str) else text.decode().encode()
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        raise UnstorableTextError(f"expected well-formed Unicode in the {name}, got {error.reason}") from error
    if 0 in raw:
        raise UnstorableTextError(f"expected no U+0000 in the {name}")
