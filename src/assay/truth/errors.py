"""What truth refuses.

    TruthError                      truth.refused
    ├── BucketDurationError         truth.bucket_duration
    ├── BucketRangeError            truth.bucket_range
    ├── UnalignedBucketError        truth.bucket_unaligned
    ├── MalformedTruthKeyError      truth.key_form
    ├── ClaimTypeIdError            truth.claim_type_id
    ├── SpatialSystemError          truth.spatial_system
    ├── LocationError               truth.location
    ├── ResolutionError             truth.resolution
    ├── ArtefactIdError             truth.artefact_id
    └── GeoLibraryMissingError      truth.geo_library_missing

A datetime without an offset is the kernel's `form.naive_datetime`.
"""

from assay.kernel.errors import Blame, Error

__all__ = [
    "ArtefactIdError",
    "BucketDurationError",
    "BucketRangeError",
    "ClaimTypeIdError",
    "GeoLibraryMissingError",
    "LocationError",
    "MalformedTruthKeyError",
    "ResolutionError",
    "SpatialSystemError",
    "TruthError",
    "UnalignedBucketError",
]


class TruthError(Error):
    """A truth cannot be addressed or compiled."""

    code = "truth.refused"
    blame = Blame.INPUT


class BucketDurationError(TruthError):
    """A duration is not whole minutes that divide a day, or whole days."""

    code = "truth.bucket_duration"


class BucketRangeError(TruthError):
    """The start of a bucket lies before the year 1."""

    code = "truth.bucket_range"


class UnalignedBucketError(TruthError):
    """An instant with seconds is not the start of any bucket."""

    code = "truth.bucket_unaligned"


class MalformedTruthKeyError(TruthError):
    """A text is not a truth key of six lower-case parts."""

    code = "truth.key_form"


class ClaimTypeIdError(TruthError):
    """A claim type id is not `namespace.name` or `namespace.name.vN`."""

    code = "truth.claim_type_id"


class SpatialSystemError(TruthError):
    """A domain has no spatial system, or another one than was asked for."""

    code = "truth.spatial_system"


class LocationError(TruthError):
    """A place on the sphere is missing or out of range."""

    code = "truth.location"


class ResolutionError(TruthError):
    """A resolution is not one that the spatial system has."""

    code = "truth.resolution"


class ArtefactIdError(TruthError):
    """An artefact is named by no usable content hash or id, or by an unknown strategy."""

    code = "truth.artefact_id"


class GeoLibraryMissingError(TruthError):
    """The library that computes H3 cells is not installed; no key is ever made up instead."""

    code = "truth.geo_library_missing"
    blame = Blame.OURS
