"""An entry as it is read back: from the proven text alone, trusting no column beside it."""

from contextlib import suppress
from functools import lru_cache
from typing import Annotated, cast

import msgspec
import orjson
from msgspec import Meta, Raw, Struct

from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.errors import Blame, CanonicalError, JsonError, LedgerError, TypeFormError
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import CANONICAL_LIMITS, JsonValue, parse_json
from assay.kernel.ledger import EntryKind, schema_of
from assay.kernel.trace import TraceId, parse_trace_id

# Together they hold a few megabytes at the most.
_REMEMBERED = 512
_REMEMBERED_BYTES = 8192


class MalformedEntryError(LedgerError):
    """A text is not a ledger entry in its canonical form."""

    code = "ledger.malformed_entry"
    blame = Blame.INPUT


class RecordedEvents(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The events of an entry by their hashes (`kernel.ledger.Event`), in order, after so many of the chain."""

    after: Annotated[int, Meta(ge=0)]
    hashes: Annotated[tuple[Digest, ...], Meta(min_length=1)]


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SKI 7.1 by name; the columns that only a verdict has are None elsewhere, and its two documents are empty.

    `trace_id` is None where the entry was written by 0.1.0, or by the node itself for no request; `events` where it
    has none, or was written by 0.1.0, which did not record them.
    """

    tenant_id: TenantId
    sequence_number: int
    previous_hash: Digest
    timestamp: Instant
    kind: EntryKind
    schema_version: str
    profile: str
    body: Raw
    telemetry_id: str | None = None
    telemetry_hash: Digest | None = None
    verdict: str | None = None
    rule_id: str | None = None
    kg_version_hash: Digest | None = None
    model_weight_hash: Digest | None = None
    llm_transcript: Raw = Raw()
    verifier_result: Raw = Raw()
    trace_id: TraceId | None = None
    events: RecordedEvents | None = None


def parse_entry(text: bytes) -> Entry:
    """Read a text strictly; it must be exactly the canonical bytes of what it says."""
    return _parse_remembered(text) if len(text) <= _REMEMBERED_BYTES else _parse(text)


def read_entry(text: bytes) -> Entry:
    """Read a text that was compared with the hash of a stored entry: its form was checked when it was appended."""
    try:
        return msgspec.json.decode(text, type=Entry)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedEntryError(f"expected a ledger entry, got: {error}") from error


def _parse(text: bytes) -> Entry:
    try:
        document = _parse_canonical(text)
        entry = msgspec.json.decode(text, type=Entry)
        _require_forms(entry, document)
    except (JsonError, CanonicalError, TypeFormError, msgspec.ValidationError) as error:
        raise MalformedEntryError(f"expected a ledger entry, got: {error}") from error
    return entry


# Rows are held against the same few entries again and again while a piece of work goes on. An entry follows from its
# bytes alone and cannot be changed; that the bytes are the ledger's is for whoever reads them to check, each time.
_parse_remembered = lru_cache(maxsize=_REMEMBERED)(_parse)


def _parse_canonical(text: bytes) -> JsonValue:
    """The value of a text that is exactly its own canonical form."""
    if len(text) <= CANONICAL_LIMITS.max_bytes:
        with suppress(orjson.JSONDecodeError, CanonicalError):
            # A quick reader may be lenient: what it read is believed only if writing it gives the very same bytes.
            value: JsonValue = orjson.loads(text)
            if canonicalize(value) == text:
                return value
    value = parse_json(text, limits=CANONICAL_LIMITS)
    if canonicalize(value) != text:
        raise MalformedEntryError("expected canonical bytes, got another spelling of the same document")
    return value


def _require_forms(entry: Entry, document: JsonValue) -> None:
    parse_tenant_id(entry.tenant_id)
    parse_digest(entry.previous_hash)
    if entry.sequence_number < 1:
        raise MalformedEntryError(f"expected a sequence number of at least 1, got {entry.sequence_number}")
    schema = schema_of(entry.kind)
    if (entry.schema_version, entry.profile) != (schema, Profile.SKI):
        raise MalformedEntryError(
            f"expected schema {schema} under {Profile.SKI}, got {entry.schema_version} under {entry.profile}"
        )
    if not bytes(entry.body).startswith(b"{"):
        raise MalformedEntryError("expected a JSON object as body")
    # An absent trace id has one spelling, too: the member is omitted, and never null.
    members = cast("dict[str, JsonValue]", document)
    if "trace_id" in members:
        parse_trace_id(str(members["trace_id"]))
    if "events" in members:
        for digest in () if entry.events is None else entry.events.hashes:
            parse_digest(digest)
        if entry.events is None:
            raise MalformedEntryError("expected `events` with their hashes, got null: an entry without any omits them")
    # An instant has one spelling; another offset or a padded fraction would be a second text for the same entry.
    written = render_instant(entry.timestamp)
    if members["timestamp"] != written:
        raise MalformedEntryError(f"expected the timestamp as {written}")
