"""What a contract is about: its key, its evidence, who may be heard."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from assay.truth._healpix import HIGHEST_ORDER
from assay.truth._read import Bound, Complaint, Size
from assay.truth.forms import BucketLength, Count, EvidenceType, Names, Segment, Share, VersionText
from assay.truth.key import SpatialSystem
from assay.truth.number import exact_number
from assay.truth.place import HealpixScheme, IdStrategy
from assay.truth.problem import ProblemCode

_HIGHEST = {SpatialSystem.H3: 15, SpatialSystem.HEALPIX: HIGHEST_ORDER}
_BITS = 64


class RiskProfile(StrEnum):
    """Which of the two lanes a claim takes (Kaori 15)."""

    MONITOR = "monitor"
    CRITICAL = "critical"


class Standing(StrEnum):
    """How far an agent is trusted, from the snapshot and from nowhere else; in rising order."""

    BRONZE = "bronze"
    SILVER = "silver"
    EXPERT = "expert"
    AUTHORITY = "authority"


class VoteType(StrEnum):
    """What a person may say about a claim."""

    RATIFY = "RATIFY"
    REJECT = "REJECT"
    ABSTAIN = "ABSTAIN"
    CHALLENGE = "CHALLENGE"
    OVERRIDE = "OVERRIDE"


class SimilarityMethod(StrEnum):
    """How a fingerprint was made; all are of 64 bits, compared by the number of bits that differ."""

    PHASH = "phash"
    DHASH = "dhash"
    AHASH = "ahash"


class SimilarityAction(StrEnum):
    FLAG = "flag"
    REJECT = "reject"


class TruthKeyPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the key of an event is built (Kaori 5); `resolution` and `id_strategy` exclude each other.

    Without a strategy artefacts are named by their content (Kaori 5.5).
    """

    spatial_system: SpatialSystem
    z_index: Segment
    time_bucket: BucketLength
    resolution: int | None = None
    scheme: HealpixScheme | None = None
    id_strategy: IdStrategy | None = None

    def complaints(self) -> Iterator[Complaint]:
        highest = _HIGHEST.get(self.spatial_system)
        if highest is None and self.resolution is not None:
            yield _unfit("resolution", "no resolution for the system `meta`", self.resolution)
        if highest is not None and (self.resolution is None or not 0 <= self.resolution <= highest):
            yield _unfit("resolution", f"a resolution from 0 to {highest}", self.resolution)
        if (self.scheme is None) is (self.spatial_system is SpatialSystem.HEALPIX):
            yield _unfit("scheme", "`nested` or `ring` for the system `healpix` and for no other", self.scheme)
        if self.id_strategy is not None and self.spatial_system is not SpatialSystem.META:
            yield _unfit("id_strategy", "a strategy for the system `meta` alone", self.id_strategy)


class EvidenceStorage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where evidence may lie, by the scheme of its URI."""

    uri_schemes: Names


class EvidencePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`types` are main types such as `image`, or whole ones; with `untyped`, evidence without a type counts too."""

    required: bool
    types: Annotated[tuple[EvidenceType, ...], Size(1)]
    min_count: Count
    max_count: Count
    storage: EvidenceStorage | None = None
    untyped: bool = False

    def complaints(self) -> Iterator[Complaint]:
        if self.min_count > self.max_count:
            yield Complaint("max_count", ProblemCode.ORDER, f"expected at least {self.min_count}, got {self.max_count}")
        if self.required is (self.min_count == 0):
            message = f"expected at least 1 exactly when evidence is required, got {self.min_count}"
            yield Complaint("min_count", ProblemCode.AGREEMENT, message)

    def admits(self, mime_type: str | None) -> bool:
        """An untyped piece of evidence counts only where the contract says so: Kaori 7.1 names no type."""
        if mime_type is None:
            return self.untyped
        return mime_type in self.types or mime_type.partition("/")[0] in self.types


class HashSimilarity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two pieces of evidence are one if at most `duplicate_threshold` bits of their fingerprints differ."""

    method: SimilarityMethod
    duplicate_threshold: Annotated[int, Bound(exact_number(0), exact_number(_BITS))]
    immediate_reject_if_duplicate: bool


class EmbeddingSimilarity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cosine, computed elsewhere and given as data, at or above which two pieces of evidence are alike."""

    model: VersionText
    similarity_threshold: Share
    action: SimilarityAction


class EvidenceSimilarity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hash: HashSimilarity | None = None
    embedding: EmbeddingSimilarity | None = None

    def complaints(self) -> Iterator[Complaint]:
        if self.hash is None and self.embedding is None:
            yield Complaint("hash", ProblemCode.REQUIRED, "expected `hash`, `embedding` or both, got neither")


def _unfit(field: str, expected: str, got: object) -> Complaint:
    return Complaint(field, ProblemCode.AGREEMENT, f"expected {expected}, got `{got}`")
