"""Evidence: a thing outside, bound by the hash of its content (Kaori 8).

The hash is the identity; the URI is only where somebody once found it.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Annotated, Final

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_hash
from assay.kernel.instant import Instant
from assay.truth._contract_subject import SimilarityMethod
from assay.truth._read import Complaint, Form, Parsed, read_record
from assay.truth._wire import canonical_value
from assay.truth.errors import TruthError
from assay.truth.forms import HexHash, MimeType, Share, VersionText
from assay.truth.number import plain_number
from assay.truth.problem import ProblemCode
from assay.truth.uri import normalise_uri


class EvidenceRef(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kaori 8.1. `sha256` is 64 lower-case hex digits of the content."""

    uri: Annotated[str, Parsed(normalise_uri)]
    sha256: HexHash
    mime_type: MimeType | None = None
    capture_time: Instant | None = None

    def canonical(self) -> dict[str, str]:
        """`sha256` and the normalised `uri` (Kaori 3.4); what the content is, the content says."""
        return {"sha256": self.sha256, "uri": normalise_uri(self.uri)}


class Fingerprint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """64 bits that look alike where two pieces of evidence do; computed outside and given as data."""

    sha256: HexHash
    method: SimilarityMethod
    bits: Annotated[str, Form(re.compile(r"[0-9a-f]{16}", re.ASCII), "16 lower-case hex digits")]

    def distance(self, other: "Fingerprint") -> int:
        """How many bits differ; only fingerprints of one method can be compared."""
        return (int(self.bits, 16) ^ int(other.bits, 16)).bit_count()

    def canonical(self) -> dict[str, str]:
        return {"sha256": self.sha256, "method": self.method.value, "bits": self.bits}


# The method of a resemblance, where a fingerprint has one of `SimilarityMethod`.
EMBEDDING: Final = "embedding"


class Resemblance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """How alike a model finds two pieces of evidence: the cosine of their embeddings, computed outside, given as data.

    `sha256` comes before `other`, so that a pair has one form.
    """

    sha256: HexHash
    other: HexHash
    model: VersionText
    similarity: Share
    method: Annotated[str, Form(re.compile(EMBEDDING), f"`{EMBEDDING}`")] = EMBEDDING

    def complaints(self) -> Iterator[Complaint]:
        if self.sha256 >= self.other:
            message = "expected two pieces of evidence, `sha256` before `other`, got another order or one piece twice"
            yield Complaint("other", ProblemCode.ORDER, message)

    def canonical(self) -> dict[str, object]:
        return {
            "sha256": self.sha256,
            "other": self.other,
            "method": self.method,
            "model": self.model,
            "similarity": plain_number(self.similarity),
        }


def fingerprint_hash(fingerprint: Fingerprint | Resemblance) -> str:
    return canonical_hash(fingerprint.canonical(), Profile.KAORI)


def parse_fingerprint(value: bytes | str | dict[str, object]) -> Fingerprint | Resemblance:
    """From JSON text or its value, by its method; refused with every problem."""
    document = canonical_value(value)
    if isinstance(document, dict) and document.get("method") == EMBEDDING:
        return read_record(document, Resemblance)
    return read_record(document, Fingerprint)


def verify_evidence(ref: EvidenceRef, content: bytes) -> None:
    """Raise unless these bytes are the evidence."""
    got = sha256(content).hexdigest()
    if got != ref.sha256:
        raise TruthError.evidence_mismatch(f"expected content with the SHA-256 {ref.sha256}, got {got}")


def evidence_identities(refs: Iterable[EvidenceRef]) -> tuple[str, ...]:
    """The distinct pieces of evidence, sorted: two URIs of one content are one piece (Kaori 8.2)."""
    return tuple(sorted({ref.sha256 for ref in refs}))
