"""What truth refuses.

    TruthError                      truth.refused
    ├── BucketRangeError            truth.bucket_range
    ├── LocationError               truth.location
    ├── ArtefactIdError             truth.artefact_id
    ├── NumberFormError             truth.number
    ├── ContractError               truth.contract              carries every problem at once
    ├── RecordError                 truth.record                carries every problem at once
    ├── SchemaValidationError       truth.schema_validation     carries every violation; in `validation`
    └── StateError                  truth.state
        └── SigningTimeError        truth.signing_time

A datetime without an offset is the kernel's `form.naive_datetime`.
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Code, Error
from assay.truth.problem import Problem, render_problems


class TruthError(Error):
    """A truth cannot be addressed or compiled."""

    code = "truth.refused"
    blame = Blame.INPUT
    bucket_duration = Code("truth.bucket_duration", "A duration is not whole minutes that divide a day, or whole days.")
    bucket_unaligned = Code("truth.bucket_unaligned", "An instant with seconds is not the start of any bucket.")
    key_form = Code("truth.key_form", "A text is not a truth key of six lower-case parts.")
    claim_type_id = Code("truth.claim_type_id", "A claim type id is not `namespace.name` or `namespace.name.vN`.")
    spatial_system = Code("truth.spatial_system", "A domain has no spatial system, or another one than was asked for.")
    resolution = Code("truth.resolution", "A resolution is not one that the spatial system has.")
    geo_library_missing = Code(
        "truth.geo_library_missing",
        "The library that computes H3 cells is not installed; no key is ever made up instead.",
        Blame.OURS,
    )
    duration = Code("truth.duration", "A text is not a positive ISO 8601 duration of fixed length.")
    contract_changed = Code(
        "truth.contract_changed", "The body of a released contract is not the one that was released (Kaori 6.4)."
    )
    lock_form = Code(
        "truth.lock_form", "A text is not a lock of contracts: lines of an id and a hash, sorted, each id once."
    )
    uri = Code("truth.uri", "A text is not an absolute URI that has one normal form.")
    evidence_mismatch = Code("truth.evidence_mismatch", "The content is not the evidence that was named by its hash.")
    payload_form = Code(
        "truth.payload_form",
        "A payload does not answer the contract's form: a member is of another kind, or missing where it is required.",
    )
    payload_size = Code("truth.payload_size", "An observation or its payload is larger than any report needs to be.")
    observation_range = Code(
        "truth.observation_range", "A time of an observation lies in a year that nobody can have reported from."
    )
    calibration = Code("truth.calibration", "Nothing can be fitted to these cases.")
    claim_type_mismatch = Code(
        "truth.claim_type_mismatch", "An observation is about another claim type than the contract."
    )
    observation_hash = Code("truth.observation_hash", "An observation's hash is not that of the observation.")
    snapshot_hash = Code("truth.snapshot_hash", "A trust snapshot's hash is not that of its trusts.")
    window = Code("truth.window", "Events of a validation window belong to different keys, or contradict each other.")
    schema_form = Code("truth.schema_form", "A schema is not a JSON Schema that we can apply the same way everywhere.")


class BucketRangeError(TruthError):
    """The start of a bucket lies before the year 1."""

    code = "truth.bucket_range"


class LocationError(TruthError):
    """A place on the sphere is missing or out of range."""

    code = "truth.location"


class ArtefactIdError(TruthError):
    """An artefact is named by no usable content hash or id, or by an unknown strategy."""

    code = "truth.artefact_id"


class NumberFormError(TruthError):
    """A value is not a finite number."""

    code = "truth.number"


class ContractError(TruthError):
    """A contract cannot be used; `problems` lists everything that is wrong with it, line by line."""

    code = "truth.contract"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class RecordError(TruthError):
    """A record is not well formed; `problems` lists everything that is wrong with it."""

    code = "truth.record"

    def __init__(self, kind: str, problems: Sequence[Problem]) -> None:
        super().__init__(f"{kind}: {render_problems(problems)}")
        self.problems = tuple(problems)


class StateError(TruthError):
    """A truth state cannot be sealed, or does not verify."""

    code = "truth.state"
    state_unsigned = Code("truth.state_unsigned", "A truth state carries no signature.")
    semantic_hash = Code("truth.semantic_hash", "The semantic hash is not that of the content (Kaori 12.2, first).")
    state_hash = Code("truth.state_hash", "The state hash is not that of the whole envelope (Kaori 12.2, second).")
    inputs_mismatch = Code(
        "truth.inputs_mismatch", "A state and its compile inputs, contract or snapshot do not say the same."
    )


class SigningTimeError(StateError):
    """A state was signed at another time than it was compiled, and the inputs do not say so (Kaori 11.4)."""

    code = "truth.signing_time"
