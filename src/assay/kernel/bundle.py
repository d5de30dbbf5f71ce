"""The proof bundle: one file that proves one entry to someone who has nothing but a key they trust.

entry text + path + checkpoint + keys -> render_bundle -> JSON;   parse_bundle -> check_bundle (its own module)

The entry is carried as its exact canonical text and the checkpoint as its exact note, so that what is hashed and
verified is what was received. Attachments and disclosures are extra; the proof stands without them.
"""

from typing import Final, Literal

import msgspec
from msgspec import Struct, field

from assay.kernel.canonical import Profile, canonicalize_exact
from assay.kernel.commitment import Disclosure
from assay.kernel.digest import ZERO_DIGEST, Digest, parse_digest
from assay.kernel.errors import CanonicalError, JsonError, ProofError, TypeFormError
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.json_text import CANONICAL_LIMITS, JsonValue, Limits, parse_json
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.note import render_base64

BUNDLE_FORMAT: Final = "assay-proof-bundle/1"
_LARGEST_INDENTED = 64 * 1024
# A disclosed value may be as deep as canonical bytes allow, and lies a few levels down here; its numbers are ours.
_LIMITS = Limits(max_bytes=64 * 1024 * 1024, max_depth=CANONICAL_LIMITS.max_depth + 8, binary64_integers=True)


class MalformedBundleError(ProofError):
    """A text is not a proof bundle."""

    code = "proof.form"


class EntryFormError(ProofError):
    """An entry is not canonical, or its chain fields are not well-formed."""

    code = "proof.entry_form"


class Attachment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that belongs to the entry, as a transcript or receipt does; `kind` says which room understands it."""

    kind: str
    name: str
    sha256: Digest
    content: bytes = field(name="content_base64")


class Bundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is needed to verify one entry offline, except whom to trust."""

    entry: str
    entry_hash: Digest
    leaf_index: int
    tree_size: int
    inclusion_path: tuple[bytes, ...]
    checkpoint: str
    keys: tuple[Endorsement, ...] = ()
    retirements: tuple[Retirement, ...] = ()
    disclosures: tuple[Disclosure, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    format: Literal["assay-proof-bundle/1"] = BUNDLE_FORMAT


class EntryHead(Struct, frozen=True, kw_only=True):
    """The fields every entry has; an entry may have more, and all are covered by its hash."""

    tenant_id: TenantId
    sequence_number: int
    previous_hash: Digest
    timestamp: str
    kind: str
    schema_version: str
    profile: Profile
    body: dict[str, object]

    @property
    def recorded_at(self) -> Instant:
        return parse_instant(self.timestamp)


def render_bundle(bundle: Bundle) -> bytes:
    """JSON, indented for people while it is small; every string in it reads back byte for byte."""
    content = msgspec.json.encode(bundle)
    # Indentation can make a deeply nested value a hundred times as long, and then nobody could read it back.
    if len(content) > _LARGEST_INDENTED:
        return content + b"\n"
    return msgspec.json.format(content, indent=2) + b"\n"


def parse_bundle(received: bytes) -> Bundle:
    """Read the file strictly: unknown or repeated keys, another format, or base64 with loose ends are refused.

    Nothing is verified; that is what `check_bundle` is for.
    """
    document = parse_json(received, limits=_LIMITS)
    try:
        bundle = msgspec.json.decode(received, type=Bundle)
    except msgspec.DecodeError as error:
        raise MalformedBundleError(f"expected a bundle of `{BUNDLE_FORMAT}`: {error}") from error
    # The decoder fills in a default; the file must say what it is.
    if not isinstance(document, dict) or "format" not in document:
        raise MalformedBundleError(f"expected `format` to be `{BUNDLE_FORMAT}`, got none")
    _require_exact_base64(document.get("inclusion_path"), bundle.inclusion_path)
    attachments = document.get("attachments")
    if isinstance(attachments, list):
        texts: list[JsonValue] = [item.get("content_base64") for item in attachments if isinstance(item, dict)]
        _require_exact_base64(texts, tuple(attachment.content for attachment in bundle.attachments))
    return bundle


def parse_entry_head(text: bytes) -> EntryHead:
    """Read an entry; it must be exactly its own canonical form, so that one text has one meaning."""
    try:
        document = parse_json(text, limits=CANONICAL_LIMITS)
        head = msgspec.convert(document, EntryHead)
        parse_tenant_id(head.tenant_id)
        parse_digest(head.previous_hash)
        parse_instant(head.timestamp)
        canonical = canonicalize_exact(document, head.profile)
    except (JsonError, CanonicalError, TypeFormError, msgspec.ValidationError) as error:
        raise EntryFormError(f"expected a ledger entry: {error}") from error
    if canonical != text:
        raise EntryFormError(
            f"expected canonical bytes of profile `{head.profile}`, got another text of the same value"
        )
    if head.sequence_number < 1:
        raise EntryFormError(f"expected a sequence number of 1 or more, got {head.sequence_number}")
    if (head.previous_hash == ZERO_DIGEST) != (head.sequence_number == 1):
        raise EntryFormError(f"expected the zero hash before entry 1 and only there, got entry {head.sequence_number}")
    return head


def _require_exact_base64(texts: JsonValue, values: tuple[bytes, ...]) -> None:
    """Base64 has several texts for some bytes; only the one an encoder writes is accepted."""
    if texts != [render_base64(value) for value in values]:
        raise MalformedBundleError("expected canonical base64 in `inclusion_path` and `content_base64`")
