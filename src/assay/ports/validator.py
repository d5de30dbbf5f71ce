"""A validator: one engine of the AI ladder (bouncer, generalist or specialist), asked about one observation.

question -> `validate` -> judgement, which a flow records as an `AiScore`; the compiler sees only that record
One that cannot judge says so by a coded error: then there is no score, and the ladder waits, which is the stricter end.

    ValidatorError
"""

from decimal import Decimal
from typing import Protocol

from msgspec import Struct

from assay.kernel.errors import Blame, Code, Error
from assay.kernel.instant import Instant
from assay.truth.contract import ContractFields, Stage, StageName
from assay.truth.evidence import Fingerprint
from assay.truth.forms import HexHash, MimeType, Name, VersionText
from assay.truth.number import has_six_places
from assay.truth.observation import HashedObservation
from assay.truth.place import Location

_LONGEST_NOTE = 2000


class ValidatorError(Error):
    """An observation could not be judged by a machine."""

    code = "validator.refused"
    blame = Blame.ANSWER
    duplicate_engine = Code("validator.duplicate_engine", "Two engines have one name.", Blame.USAGE)
    pixels = Code("validator.pixels", "Pixels are not the grid of grey values that the method looks at.", Blame.USAGE)
    picture = Code("validator.picture", "A content is no picture that can be decoded.", Blame.INPUT)
    unavailable = Code("validator.unavailable", "No engine of this name can be asked.")
    unknown_check = Code(
        "validator.unknown_check", "An engine does not know a check that the contract asks of it.", Blame.USAGE
    )
    unknown_stage = Code("validator.unknown_stage", "A contract has no such rung.", Blame.USAGE)
    judgement = Code("validator.judgement", "What an engine answered is no judgement.", Blame.INPUT)


class EvidenceFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of one piece of evidence from its content; null where nobody looked.

    `media_type` is what the first bytes are, whatever the reporter called it; null when they are of no known kind.
    """

    sha256: HexHash
    size: int | None = None
    media_type: MimeType | None = None
    width: int | None = None
    height: int | None = None
    fingerprints: tuple[Fingerprint, ...] = ()


class Sighting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the same reporter was before."""

    reported_at: Instant
    geo: Location


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that may decide the answer; asking again gives the same question.

    `earlier_evidence` and `earlier_fingerprints` are of other reporters' observations of the same key,
    `earlier_sightings` of this reporter's own. `received_at` is when we got the observation.
    """

    contract: ContractFields
    stage_name: StageName
    observation: HashedObservation
    received_at: Instant
    facts: tuple[EvidenceFact, ...] = ()
    earlier_evidence: tuple[HexHash, ...] = ()
    earlier_fingerprints: tuple[Fingerprint, ...] = ()
    earlier_sightings: tuple[Sighting, ...] = ()

    @property
    def stage(self) -> Stage:
        found = self.contract.ai_validation_routing.find(self.stage_name)
        if found is None:
            raise ValidatorError.unknown_stage(f"expected a rung of `{self.contract.id}`, got `{self.stage_name}`")
        return found


class Judgement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """1 is sure that it is true. `engine_version` names what could change the answer: rules, limits, weights.

    `note` is for people; nothing reads it.
    """

    score: Decimal
    failed_checks: tuple[Name, ...]
    engine_version: VersionText
    note: str = ""

    def __post_init__(self) -> None:
        score = self.score
        if not (score.is_finite() and 0 <= score <= 1 and has_six_places(score)):
            raise ValidatorError.judgement(f"expected a score of 0 to 1 with at most six places, got {score}")
        if len(self.note) > _LONGEST_NOTE:
            raise ValidatorError.judgement(
                f"expected a note of at most {_LONGEST_NOTE} characters, got {len(self.note)}"
            )


class Validator(Protocol):
    """`name` is the engine's name in contracts, `version` that of its code; `ValidatorError` or `ModelError` else."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def validate(self, question: Question) -> Judgement: ...


class Engines(Protocol):
    """Those that this deployment has.

    Contracts name engines freely: one that is not here is unavailable, its rung stays without a score, and the ladder
    unfinished.
    """

    def find(self, name: str) -> Validator | None: ...

    def get(self, name: str) -> Validator:
        """Raises `validator.unavailable`."""
        ...
