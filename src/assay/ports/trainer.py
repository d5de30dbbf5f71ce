"""The trainer: whoever makes a new version of a model from a batch of training pairs.

job + pairs -> train -> result. A new version is never in use by itself: a person activates it.
"""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from assay.kernel.instant import Instant

__all__ = ["Trainer", "TrainingJob", "TrainingResult", "TrainingState"]


class TrainingState(StrEnum):
    TRAINED = "trained"  # there is a new version, measured before and after
    REFUSED = "refused"  # it was no better, so there is none
    FAILED = "failed"  # it could not be made


class TrainingJob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pairs of one batch, by their ids, in the order of their capture."""

    job_id: str
    pair_ids: tuple[str, ...]
    rule_ids: tuple[str, ...]
    triggered_at: Instant


class TrainingResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`before` and `after` are the same measure on pairs that were held out, None where there were none."""

    state: TrainingState
    model_version: str | None = None
    before: float | None = None
    after: float | None = None
    reason: str = ""


class Trainer(Protocol):
    """It may take hours or fail; the job is on record before it is asked, and asked again after a crash."""

    def train(self, job: TrainingJob, pairs: bytes) -> TrainingResult:
        """`pairs` is the specified JSON (PRAMANA 10.4), one array; the same job again must be harmless."""
        ...
