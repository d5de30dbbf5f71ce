"""Where a claim stands (Kaori 10.1), and what put it there."""

from enum import StrEnum


class TruthStatus(StrEnum):
    """Kaori's nine, and UNVERIFIED for a key without observations (law 4)."""

    UNVERIFIED = "UNVERIFIED"
    PENDING = "PENDING"
    LEANING_TRUE = "LEANING_TRUE"
    LEANING_FALSE = "LEANING_FALSE"
    UNDECIDED = "UNDECIDED"
    PENDING_HUMAN_REVIEW = "PENDING_HUMAN_REVIEW"
    VERIFIED_TRUE = "VERIFIED_TRUE"
    VERIFIED_FALSE = "VERIFIED_FALSE"
    INCONCLUSIVE = "INCONCLUSIVE"
    EXPIRED = "EXPIRED"


class VerificationBasis(StrEnum):
    """What caused the status, apart from how sure it is (Kaori 1.1)."""

    NONE = "NONE"
    AI_AUTOVALIDATION = "AI_AUTOVALIDATION"
    IMPLICIT_CONSENSUS = "IMPLICIT_CONSENSUS"
    HUMAN_CONSENSUS = "HUMAN_CONSENSUS"
    AUTHORITY_OVERRIDE = "AUTHORITY_OVERRIDE"
    TIMEOUT_DEFAULT = "TIMEOUT_DEFAULT"


FINAL_STATUSES = (
    TruthStatus.VERIFIED_TRUE,
    TruthStatus.VERIFIED_FALSE,
    TruthStatus.INCONCLUSIVE,
    TruthStatus.EXPIRED,
)
INTERMEDIATE_STATUSES = (
    TruthStatus.PENDING,
    TruthStatus.LEANING_TRUE,
    TruthStatus.LEANING_FALSE,
    TruthStatus.UNDECIDED,
    TruthStatus.PENDING_HUMAN_REVIEW,
)
