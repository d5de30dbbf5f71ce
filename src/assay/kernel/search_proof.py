"""The search proof: one file that shows what a search found in a ledger, and that it left nothing out.

terms + logged indexes + answers + entries -> render_search -> JSON;   parse_search -> check_search (its own module)

It rests on the bundle of the newest index entry, which has checkpoint and keys; earlier indexes are found from there.
"""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from assay.kernel.bundle import Bundle
from assay.kernel.errors import ProofError
from assay.kernel.json_text import CANONICAL_LIMITS, Limits, parse_json
from assay.kernel.term_index import TermAnswer

SEARCH_FORMAT: Final = "assay-search-proof/1"
_LIMITS = Limits(max_bytes=256 * 1024 * 1024, max_depth=CANONICAL_LIMITS.max_depth + 8, binary64_integers=True)


class MalformedSearchError(ProofError):
    """A text is not a search proof."""

    code = "search.form"


class ProvenEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry's exact text, and the hashes that lead from it to the checkpoint's root."""

    entry: str
    inclusion_path: tuple[bytes, ...]


class SegmentAnswers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one logged index answers to each of the terms, in their order."""

    index: ProvenEntry
    answers: tuple[TermAnswer, ...]


class SearchProof(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The entries that have all of the terms, among those that the indexes cover, oldest first."""

    terms: tuple[str, ...]
    newest: Bundle
    segments: tuple[SegmentAnswers, ...]
    entries: tuple[ProvenEntry, ...]
    format: Literal["assay-search-proof/1"] = SEARCH_FORMAT


def render_search(proof: SearchProof) -> bytes:
    return msgspec.json.encode(proof) + b"\n"


def parse_search(received: bytes) -> SearchProof:
    """Read the file strictly: it must be what `render_search` writes of the same proof, but for white space."""
    document = parse_json(received, limits=_LIMITS)
    try:
        proof = msgspec.json.decode(received, type=SearchProof)
    except msgspec.DecodeError as error:
        raise MalformedSearchError(f"expected a proof of `{SEARCH_FORMAT}`: {error}") from error
    # Unknown, repeated or missing members, and base64 with loose ends.
    if parse_json(render_search(proof), limits=_LIMITS) != document:
        raise MalformedSearchError(f"expected every member of `{SEARCH_FORMAT}`, each in its one form")
    return proof
