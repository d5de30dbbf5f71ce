"""A model learns a new kind of case from pairs, keeps what it knew, and is stopped and gone on with at will."""

from dataclasses import dataclass, field

import msgspec
import pytest

from assay.flows.model.case_file import CaseFile, RightAnswer, parse_case_file, render_case_file
from assay.flows.model.train_model import Progress, Trained, split_pairs, train_model
from assay.kernel.digest import digest_of
from assay.model.cases.draw_case import case_lines, is_sealed
from assay.model.learn.plan import Plan
from assay.model.weights import parse_weights
from assay.verdicts.case import open_case
from assay.verdicts.envelope import Verdict
from tests.contract._kit import refused
from tests.flows._models import a_few_sealed, forgetful, pairs_of, shipped
from tests.model.networks import untrained


@dataclass
class Place:
    """A checkpoint in memory; `stop_at` is how many stores it survives."""

    content: bytes | None = None
    stop_at: int | None = None
    stored: int = 0

    def load(self) -> bytes | None:
        return self.content

    def store(self, content: bytes) -> None:
        self.content = content
        self.stored += 1
        if self.stored == self.stop_at:
            raise KeyboardInterrupt


@dataclass
class Told:
    seen: list[Progress] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        self.seen.append(progress)


def plan_of(pairs: CaseFile, **changes: object) -> Plan:
    plan = Plan(
        parent_hash=shipped().hash,
        pairs_hash=pairs.hash,
        replay_seed=1,
        steps=24,
        rate=1e-3,
        tokens=1200,
        pair_share=0.7,
    )
    return msgspec.structs.replace(plan, **changes)


@pytest.fixture(scope="module")
def taught() -> tuple[Trained, Told]:
    """24 steps on 80 pairs of a kind that the parent gets wrong in many cases."""
    told, pairs = Told(), pairs_of(80)
    plan = plan_of(pairs, parent_hash=forgetful().hash)
    return train_model(forgetful(), pairs, a_few_sealed(16), plan, place=Place(), report=told), told


def test_a_kind_that_was_wrong_gets_better_and_nothing_is_forgotten(taught: tuple[Trained, Told]) -> None:
    """On pairs that it never saw, and on sealed cases of all other kinds."""
    done, _ = taught
    assert done.held_out.before.verdict_accuracy < 0.85
    assert done.held_out.after.verdict_accuracy == 1
    assert done.held_out.before.silent_clears > done.held_out.after.silent_clears == 0
    assert done.sealed.before.verdict_accuracy == 1
    assert done.sealed.after.verdict_accuracy == 1
    assert done.sealed.after.unparsable == 0


def test_what_comes_out_is_a_weight_file_of_the_same_make(taught: tuple[Trained, Told]) -> None:
    done, told = taught
    child = parse_weights(done.weights)
    assert child.shape == shipped().shape
    assert child.hash != done.plan.parent_hash
    assert len(done.losses) == 24
    assert [one.done for one in told.seen if one.doing == "training"] == list(range(1, 25))
    assert {one.doing for one in told.seen} >= {"sealed cases, before", "held-out pairs, after"}


def test_a_training_that_was_cut_off_comes_to_the_same_weights() -> None:
    """Each step follows from the plan and its number, so an interruption changes nothing."""
    small, pairs, few = parse_weights(untrained()), pairs_of(8), a_few_sealed(1)
    plan = plan_of(pairs, parent_hash=small.hash, steps=21, tokens=150)
    whole = train_model(small, pairs, few, plan, place=Place())
    place = Place(stop_at=1)
    with pytest.raises(KeyboardInterrupt):
        train_model(small, pairs, few, plan, place=place)
    resumed = train_model(small, pairs, few, plan, place=place)
    assert len(resumed.losses) == 1
    assert resumed.weights == whole.weights
    with refused("judge.checkpoint"):
        train_model(small, pairs, few, msgspec.structs.replace(plan, steps=30), place=place)


def test_pairs_are_split_by_what_a_model_reads_of_them() -> None:
    """A fifth is held out, the same in any order; what is there twice counts once; the sealed are not taught."""
    given = pairs_of(80)
    split = split_pairs(given)
    assert len(split.taught) + len(split.held_out.cases) == len({open_case(one.case).prompt for one in given.cases})
    assert len(split.held_out.cases) >= 16
    turned = parse_case_file(render_case_file((*reversed(given.cases), *given.cases)))
    assert split_pairs(turned) == split
    assert not [one for one in split.taught if is_sealed(case_lines(open_case(one.case).prompt))]


def test_a_pair_that_contradicts_the_verifier_teaches_nothing() -> None:
    """Whoever slips in a wrong answer is told, and no model learns to call a breach CLEAR."""
    first, *others = pairs_of(8).cases
    for answer in (
        RightAnswer(verdict=Verdict.CLEAR if first.expected.verdict is not Verdict.CLEAR else Verdict.FLAG),
        RightAnswer(verdict=first.expected.verdict, classes=("judgement",)),
        RightAnswer(verdict=first.expected.verdict, truths=(None,)),
    ):
        poisoned = (*others, msgspec.structs.replace(first, expected=answer))
        with refused("model.unteachable"):
            split_pairs(parse_case_file(render_case_file(poisoned)))


def test_a_plan_is_for_its_own_weights_and_pairs_and_one_pair_is_too_few() -> None:
    pairs = pairs_of(8)
    for changes in ({"parent_hash": digest_of(b"other")}, {"pairs_hash": digest_of(b"other")}):
        with refused("model.cases"):
            train_model(shipped(), pairs, a_few_sealed(1), plan_of(pairs, **changes), place=Place())
    with refused("model.cases"):
        split_pairs(pairs_of(1))


def test_a_training_that_changes_no_integer_is_told_so() -> None:
    """A model that is its own parent would be no model of its own."""
    pairs = pairs_of(8)
    with refused("model.unchanged"):
        train_model(shipped(), pairs, a_few_sealed(1), plan_of(pairs, steps=1, tokens=150, rate=1e-7), place=Place())
