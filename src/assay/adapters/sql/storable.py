"""Refuse, on the caller's thread, what some database could not store.

Appends of many callers share one commit, so a text that only the database refuses would fail them all.
"""

from collections.abc import Iterator

import orjson

from assay.kernel.errors import Blame, StoreError
from assay.kernel.ledger import Draft, VerdictColumns

__all__ = ["UnstorableTextError", "verify_storable"]


class UnstorableTextError(StoreError):
    """A text holds U+0000 or a lone surrogate, or a document is not JSON: not every database can store that."""

    code = "store.unstorable_text"
    blame = Blame.INPUT


def verify_storable(draft: Draft) -> None:
    """Raise unless every column of the draft fits every database."""
    if draft.verdict is not None:
        _verify_verdict(draft.verdict)
    if draft.events or draft.disclosures:
        for name, text in _texts(draft):
            _verify_text(name, text)


def _verify_verdict(verdict: VerdictColumns) -> None:
    _verify_text("telemetry_id", verdict.telemetry_id)
    _verify_text("verdict", verdict.verdict)
    _verify_text("rule_id", verdict.rule_id)
    # These two become JSON columns, which a database parses for itself.
    _verify_document("llm_transcript", bytes(verdict.llm_transcript))
    _verify_document("verifier_result", bytes(verdict.verifier_result))


def _verify_document(name: str, text: bytes) -> None:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnstorableTextError(f"expected JSON in `{name}`, got: {error}") from error
    if b"\\u0000" in text:
        raise UnstorableTextError(f"expected no U+0000 in `{name}`")


def _texts(draft: Draft) -> Iterator[tuple[str, str | bytes]]:
    for event in draft.events:
        yield "event type", event.type
        yield "event subject", event.subject
        yield "event body", bytes(event.body)
    for disclosure in draft.disclosures:
        yield "pointer", disclosure.pointer
        yield "salt", disclosure.salt
        yield "disclosed value", bytes(disclosure.value)


def _verify_text(name: str, text: str | bytes) -> None:
    try:
        raw = text.encode() if isinstance(text, str) else text.decode().encode()
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        raise UnstorableTextError(f"expected well-formed Unicode in the {name}, got {error.reason}") from error
    if 0 in raw:
        raise UnstorableTextError(f"expected no U+0000 in the {name}")
