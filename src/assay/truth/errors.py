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
    ├── GeoLibraryMissingError      truth.geo_library_missing
    ├── DurationError               truth.duration
    ├── NumberFormError             truth.number
    ├── ContractError               truth.contract              carries every problem at once
    ├── ContractChangedError        truth.contract_changed
    ├── LockFormError               truth.lock_form
    ├── RecordError                 truth.record                carries every problem at once
    ├── UriFormError                truth.uri
    ├── EvidenceMismatchError       truth.evidence_mismatch
    ├── PayloadFormError            truth.payload_form
    ├── PayloadSizeError            truth.payload_size
    ├── ObservationRangeError       truth.observation_range
    ├── CalibrationError            truth.calibration
    ├── ClaimTypeMismatchError      truth.claim_type_mismatch
    ├── ObservationHashError        truth.observation_hash
    ├── SnapshotHashError           truth.snapshot_hash
    ├── WindowError                 truth.window
    ├── SchemaValidationError       truth.schema_validation     carries every violation; in `validation`
    ├── SchemaFormError             truth.schema_form
    └── StateError                  truth.state
        ├── UnsignedStateError      truth.state_unsigned
        ├── SemanticHashError       truth.semantic_hash
        ├── StateHashError          truth.state_hash
        ├── SigningTimeError        truth.signing_time
        └── InputsMismatchError     truth.inputs_mismatch

A datetime without an offset is the kernel's `form.naive_datetime`.
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Error
from assay.truth.problem import Problem, render_problems


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


class DurationError(TruthError):
    """A text is not a positive ISO 8601 duration of fixed length."""

    code = "truth.duration"


class NumberFormError(TruthError):
    """A value is not a finite number."""

    code = "truth.number"


class ContractError(TruthError):
    """A contract cannot be used; `problems` lists everything that is wrong with it, line by line."""

    code = "truth.contract"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class ContractChangedError(TruthError):
    """The body of a released contract is not the one that was released (Kaori 6.4)."""

    code = "truth.contract_changed"


class LockFormError(TruthError):
    """A text is not a lock of contracts: lines of an id and a hash, sorted, each id once."""

    code = "truth.lock_form"


class RecordError(TruthError):
    """A record is not well formed; `problems` lists everything that is wrong with it."""

    code = "truth.record"

    def __init__(self, kind: str, problems: Sequence[Problem]) -> None:
        super().__init__(f"{kind}: {render_problems(problems)}")
        self.problems = tuple(problems)


class UriFormError(TruthError):
    """A text is not an absolute URI that has one normal form."""

    code = "truth.uri"


class EvidenceMismatchError(TruthError):
    """The content is not the evidence that was named by its hash."""

    code = "truth.evidence_mismatch"


class PayloadFormError(TruthError):
    """A payload does not answer the contract's form: a member is of another kind, or missing where it is required."""

    code = "truth.payload_form"


class PayloadSizeError(TruthError):
    """An observation or its payload is larger than any report needs to be."""

    code = "truth.payload_size"


class ObservationRangeError(TruthError):
    """A time of an observation lies in a year that nobody can have reported from."""

    code = "truth.observation_range"


class CalibrationError(TruthError):
    """Nothing can be fitted to these cases."""

    code = "truth.calibration"


class ClaimTypeMismatchError(TruthError):
    """An observation is about another claim type than the contract."""

    code = "truth.claim_type_mismatch"


class ObservationHashError(TruthError):
    """An observation's hash is not that of the observation."""

    code = "truth.observation_hash"


class SnapshotHashError(TruthError):
    """A trust snapshot's hash is not that of its trusts."""

    code = "truth.snapshot_hash"


class WindowError(TruthError):
    """Events of a validation window belong to different keys, or contradict each other."""

    code = "truth.window"


class SchemaFormError(TruthError):
    """A schema is not a JSON Schema that we can apply the same way everywhere."""

    code = "truth.schema_form"


class StateError(TruthError):
    """A truth state cannot be sealed, or does not verify."""

    code = "truth.state"


class UnsignedStateError(StateError):
    """A truth state carries no signature."""

    code = "truth.state_unsigned"


class SemanticHashError(StateError):
    """The semantic hash is not that of the content (Kaori 12.2, first)."""

    code = "truth.semantic_hash"


class StateHashError(StateError):
    """The state hash is not that of the whole envelope (Kaori 12.2, second)."""

    code = "truth.state_hash"


class SigningTimeError(StateError):
    """A state was signed at another time than it was compiled, and the inputs do not say so (Kaori 11.4)."""

    code = "truth.signing_time"


class InputsMismatchError(StateError):
    """A state and its compile inputs, contract or snapshot do not say the same."""

    code = "truth.inputs_mismatch"
