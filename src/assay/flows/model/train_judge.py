"""The built-in trainer: the judge learns from the pairs that people concluded (PRAMANA 10.4).

job -> the pairs that are cases -> `train_model` on the weights in use -> measured before and after -> recorded
Nothing that comes of it is in use: a person activates weights, and those that got worse nobody can.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from assay.delivery.pair import TrainingPair
from assay.flows.tools import Tools
from assay.kernel.canonical import canonical_digest
from assay.kernel.ids import TenantId
from assay.ports.trainer import TrainingJob, TrainingResult, TrainingState, TrainingStoppedError
from assay.ports.weight_files import TrainingPlaces

if TYPE_CHECKING:  # arrays and cases are for those who train, and not for every start
    from assay.flows.model.case_file import CaseFile
    from assay.flows.model.record_training import RecordedTraining
    from assay.flows.model.train_model import Progress, Trained
    from assay.model.learn.plan import Plan

_LONGEST_REASON = 1000


class TrainingEffort(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a training goes; as `assay model train` has it unless told otherwise."""

    steps: int = 400
    rate: float = 6e-4
    tokens: int = 3000
    pair_share: float = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTrainer:
    """Implements `ports.trainer.Trainer` on this node; a job that was cut off goes on from its checkpoint.

    `sealed` are the cases that no training sees, by which the new weights must not be worse.
    """

    tools: Tools
    places: TrainingPlaces
    effort: TrainingEffort = field(default_factory=TrainingEffort)
    sealed: "CaseFile | None" = None

    def train(
        self, tenant_id: TenantId, job: TrainingJob, pairs: bytes, *, is_stopping: Callable[[], bool]
    ) -> TrainingResult:
        from assay.flows.model.record_training import record_own_training  # noqa: PLC0415 - only who trains pays for it
        from assay.flows.model.train_model import has_enough  # noqa: PLC0415 - as above

        taught = _cases(pairs)
        if taught is None or not has_enough(taught):
            return _passed_over(0 if taught is None else len(taught.cases), pairs=len(job.pair_ids))
        trained, name, base = self._trained(tenant_id, taught, is_stopping)
        version = f"{base.partition('+')[0]}+{_name_of(trained.plan)[:8]}"
        done = record_own_training(
            self.tools, tenant_id, trained, name=name, version=version, at=max(job.triggered_at, self.tools.clock.now())
        )
        self.places.checkpoint(_name_of(trained.plan)).drop()
        return _result(done, taught=len(taught.cases), pairs=len(job.pair_ids))

    def _trained(
        self, tenant_id: TenantId, taught: "CaseFile", is_stopping: Callable[[], bool]
    ) -> tuple["Trained", str, str]:
        """What came of it, and the name and version of the weights that it began with."""
        from assay.flows.model.case_file import load_sealed_cases  # noqa: PLC0415 - as above
        from assay.flows.model.known_model import active_hash, get_manifest, load_weights  # noqa: PLC0415 - as above
        from assay.flows.model.train_model import train_model  # noqa: PLC0415 - as above
        from assay.model.learn.plan import Plan  # noqa: PLC0415 - as above

        def report(_: "Progress") -> None:
            if is_stopping():
                raise TrainingStoppedError("the node stops; the training goes on when it runs again")

        parent = self.tools.database.read(lambda unit: active_hash(unit, tenant_id))
        manifest = self.tools.database.read(lambda unit: get_manifest(unit, tenant_id, parent))
        effort = self.effort
        plan = Plan(
            parent_hash=parent,
            pairs_hash=taught.hash,
            replay_seed=1,
            steps=effort.steps,
            rate=effort.rate,
            tokens=effort.tokens,
            pair_share=effort.pair_share,
        )
        trained = train_model(
            load_weights(self.tools, tenant_id, parent),
            taught,
            load_sealed_cases() if self.sealed is None else self.sealed,
            plan,
            place=self.places.checkpoint(_name_of(plan)),
            report=report,
        )
        return trained, manifest.name, manifest.version


def _cases(pairs: bytes) -> "CaseFile | None":
    """Those of the pairs that can teach the judge; None where none can."""
    from assay.flows.model.case_file import parse_case_file, render_case_file  # noqa: PLC0415 - as above
    from assay.flows.model.judge_pairs import teaching_cases  # noqa: PLC0415 - as above

    given = msgspec.json.decode(pairs, type=tuple[TrainingPair, ...])
    cases = teaching_cases(given)
    return parse_case_file(render_case_file(cases)) if cases else None


def _told(taught: int, pairs: int) -> str:
    return f"{taught} of {pairs} pairs are cases of the judge"


def _passed_over(taught: int, *, pairs: int) -> TrainingResult:
    """Nothing went wrong: whoever learns from other pairs finds them in the exports."""
    return TrainingResult(
        state=TrainingState.PASSED_OVER,
        reason=f"{_told(taught, pairs)}: too few to learn from and to measure by",
        used=0,
        not_for_this_trainer=pairs,
    )


def _result(done: "RecordedTraining", *, taught: int, pairs: int) -> TrainingResult:
    return TrainingResult(
        state=TrainingState.REFUSED if done.worse else TrainingState.TRAINED,
        model_version=done.manifest.version,
        weight_hash=done.manifest.weight_hash,
        before=done.held_out_before.verdict_accuracy,
        after=done.held_out_after.verdict_accuracy,
        reason="; ".join((_told(taught, pairs), *done.worse))[:_LONGEST_REASON],
        used=taught,
        not_for_this_trainer=pairs - taught,
    )


def _name_of(plan: "Plan") -> str:
    return canonical_digest(plan).removeprefix("sha256:")[:16]
