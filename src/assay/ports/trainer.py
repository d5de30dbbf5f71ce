"""The trainer: whoever makes a new version of a model from a batch of training pairs.

job + pairs -> train -> result. A new version is never in use by itself: a person activates it.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from assay.kernel.errors import Blame, StoreError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


class TrainingStoppedError(StoreError):
    """The node stops before its training is done; the job waits, and the next one to take it goes on with it."""

    code = "training.stopped"
    blame = Blame.ANSWER


class TrainingState(StrEnum):
    TRAINED = "trained"  # there is a new version, measured before and after
    REFUSED = "refused"  # it was no better, so there is none
    FAILED = "failed"  # it could not be made
    PASSED_OVER = "passed_over"  # too few of its pairs are for this trainer; they are exported for others


class TrainingJob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pairs of one batch, by their ids, in the order of their capture."""

    job_id: str
    pair_ids: tuple[str, ...]
    rule_ids: tuple[str, ...]
    triggered_at: Instant


class TrainingResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`before` and `after` are the same measure on pairs that were held out, None where there were none.

    `weight_hash` names the new version's weights where this node keeps them. `used` pairs were for this trainer;
    `not_for_this_trainer` were not, and teach others.
    """

    state: TrainingState
    model_version: str | None = None
    weight_hash: str | None = None
    before: float | None = None
    after: float | None = None
    reason: str = ""
    used: int | None = None
    not_for_this_trainer: int | None = None


class Trainer(Protocol):
    """It may take hours or fail; the job is on record before it is asked, and asked again after a crash."""

    def train(
        self, tenant_id: TenantId, job: TrainingJob, pairs: bytes, *, is_stopping: Callable[[], bool]
    ) -> TrainingResult:
        """Learn from `pairs`, one array of the JSON of PRAMANA 10.4; the same job again must be harmless.

        Whoever takes long looks now and then whether the node `is_stopping`, and then raises `TrainingStoppedError`.
        """
        ...
