"""A whole batch of conclusions is a job that the node's own judge takes: measured, versioned, and not in use by it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from assay.adapters.weight_folder import WeightFolder
from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import Category
from assay.flows.delivery.tend_delivery import tend_delivery
from assay.flows.delivery.training import list_jobs, run_training
from assay.flows.model.known_model import active_hash, shipped_card
from assay.flows.model.show_model import show_model
from assay.flows.model.train_judge import JudgeTrainer, TrainingEffort
from assay.kernel.digest import Digest
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.trainer import TrainingState
from tests.flows._delivery import record_pair
from tests.flows._models import a_few_sealed, pairs_of
from tests.flows._people import TENANT, Desk, opened_desk
from tests.flows.test_judge_pairs import case_of, pair

_SHIPPED = shipped_card().weight_hash
# As little as a training can be: what it comes to is for others to measure.
_LITTLE = TrainingEffort(steps=3, tokens=150, rate=5e-3, pair_share=0.5)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        places = WeightFolder(tmp_path / "trainings")
        trainer = JudgeTrainer(tools=opened.tools, places=places, effort=_LITTLE, sealed=a_few_sealed(1))
        settings = replace(opened.tools.delivery, trainer=trainer, pair_batch=8)
        yield replace(opened, tools=replace(opened.tools, delivery=settings))


def _name(number: int) -> str:
    return f"00000000-0000-8000-8000-{number:012d}"


def _taught() -> list[TrainingPair]:
    """Six that teach; a breach that a person calls clear, and one about something else, do not."""
    told = [one.expected.verdict.value for one in pairs_of(8).cases]
    found = [pair(case_of(number), told[number], _name(number)) for number in range(6)]
    return [
        *found,
        pair(case_of(6), "FLAG or CLEAR, it depends", _name(6)),
        pair("who was Pāṇini?", "a grammarian", _name(7)),
    ]


def _capture(desk: Desk, pairs: list[TrainingPair]) -> None:
    def work(unit: Unit) -> None:
        for number, one in enumerate(pairs, 1):
            record_pair(unit, TENANT, one, f"rca_{number}")

    desk.tools.database.write(work)


def _after(calls: int) -> Callable[[], bool]:
    left = [calls]

    def is_stopping() -> bool:
        left[0] -= 1
        return left[0] < 0

    return is_stopping


@pytest.mark.clause("pramana", "10.4")
@pytest.mark.clause("pramana", "12.6")
def test_a_whole_batch_is_learnt_measured_and_versioned_and_a_person_decides(desk: Desk) -> None:
    """Housekeeping makes the job, the judge takes it; the weights in use are those of before."""
    _capture(desk, _taught())
    [job] = tend_delivery(desk.tools, TENANT, at=desk.start).triggered
    [done] = run_training(desk.tools, TENANT, at=desk.start)
    result = done.result
    assert result is not None
    assert result.state in {TrainingState.TRAINED, TrainingState.REFUSED}
    assert result.reason.startswith("6 of 8 pairs are cases of the judge")
    assert (result.used, result.not_for_this_trainer) == (6, 2)
    assert result.before is not None
    assert result.after is not None
    assert result.weight_hash is not None
    known = show_model(desk.tools, TENANT, Digest(result.weight_hash))
    assert (known.manifest.version, known.lineage) == (result.model_version, (_SHIPPED,))
    assert len(known.evaluations) == 2
    assert desk.read(lambda unit: active_hash(unit, TENANT)) == _SHIPPED
    assert [one["job_id"] for one in desk.entries(EntryKind.TRAINING_FINISHED)] == [job.job_id]
    assert run_training(desk.tools, TENANT, at=desk.start) == ()


def test_a_training_that_is_stopped_waits_and_is_gone_on_with(desk: Desk, tmp_path: Path) -> None:
    _capture(desk, _taught())
    tend_delivery(desk.tools, TENANT, at=desk.start)
    # Three steps are told of, and the checkpoint after them is kept.
    assert run_training(desk.tools, TENANT, at=desk.start, is_stopping=_after(4)) == ()
    [waiting] = list_jobs(desk.tools, TENANT)
    assert waiting.result is None
    assert len(list((tmp_path / "trainings").glob("training-*"))) == 1
    [done] = run_training(desk.tools, TENANT, at=desk.start)
    assert done.result is not None
    assert done.result.weight_hash is not None
    assert not list((tmp_path / "trainings").glob("training-*"))


def test_a_batch_that_teaches_the_judge_nothing_says_so(desk: Desk) -> None:
    """A category C conclusion is about a rule: whoever calls a breach clear teaches no judge to do so."""
    wrong = {"FLAG": "CLEAR", "CLEAR": "FLAG", "DISCRETIONARY": "FLAG"}
    told = [one.expected.verdict.value for one in pairs_of(8).cases]
    against = [pair(case_of(number), wrong[told[number]], _name(number)) for number in range(8)]
    ruled = msgspec.structs.replace(against[0].label, failure_category=Category.RULE)
    _capture(desk, [msgspec.structs.replace(against[0], label=ruled), *against[1:]])
    tend_delivery(desk.tools, TENANT, at=desk.start)
    [done] = run_training(desk.tools, TENANT, at=desk.start)
    assert done.result is not None
    assert (done.result.state, done.result.model_version) == (TrainingState.PASSED_OVER, None)
    assert done.result.reason.startswith("0 of 8 pairs are cases of the judge")
