"""A model learns from pairs, on numpy alone: measured before and after, and nothing is put to use by it.

pairs -> split -> rows; each step: rows of pairs and of replayed cases -> gradients -> integers -> weight file
A step depends on the plan and its number only, so a training that was stopped comes to the same weights.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from assay.flows.errors.model import CaseFileError, ModelFlowError, UnteachableCaseError
from assay.flows.model.case_file import CaseFile, LabelledCase, parse_case_file, render_case_file
from assay.flows.model.measure_model import JudgeExaminee, measure_model
from assay.flows.model.teach_cases import digit_lines, draw_replay, teach_case
from assay.kernel.digest import Digest, digest_of
from assay.model.cases.draw import Draw, SeededDraw
from assay.model.cases.draw_case import case_lines, is_sealed
from assay.model.engine import Engine
from assay.model.figures import Figures
from assay.model.learn.batch import split_rows
from assay.model.learn.learner import Learner, parse_checkpoint, render_checkpoint
from assay.model.learn.plan import Plan
from assay.model.learn.row import Row
from assay.model.weights import Weights, parse_weights
from assay.ports.weight_files import CheckpointPlace
from assay.verdicts.case import expected_of, open_case

_HELD_OUT = 5
_CHECKPOINT_STEPS = 20


@dataclass(frozen=True, slots=True)
class SplitPairs:
    """Pairs that teach, and those that only measure: a fifth of them, and each that falls among the sealed."""

    taught: tuple[LabelledCase, ...]
    held_out: CaseFile


@dataclass(frozen=True, slots=True)
class Comparison:
    """The figures of parent and child on the same file of cases."""

    cases_hash: Digest
    before: Figures
    after: Figures


@dataclass(frozen=True, slots=True)
class Trained:
    """A weight file, how it came about, and what was found on sealed cases and on the pairs' own hold-out."""

    weights: bytes
    plan: Plan
    sealed: Comparison
    held_out: Comparison
    losses: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is: what it does, and the loss of the last step."""

    doing: str
    done: int
    total: int
    loss: float | None = None


Report = Callable[[Progress], None]


def train_model(
    parent: Weights,
    pairs: CaseFile,
    sealed: CaseFile,
    plan: Plan,
    *,
    place: CheckpointPlace,
    report: Report = lambda _progress: None,
) -> Trained:
    """Goes on from a checkpoint of the same plan, if there is one. `plan` names the parent and the pairs by hash."""
    if (parent.hash, pairs.hash) != (plan.parent_hash, plan.pairs_hash):
        raise CaseFileError(f"expected the weights and pairs of the plan, got `{parent.hash}` and `{pairs.hash}`")
    split = split_pairs(pairs)
    taught = [teach_case(one.case) for one in split.taught]
    hidden = digit_lines([one.case for one in (*sealed.cases, *split.held_out.cases)])
    stored = place.load()
    learner = Learner(parent, plan) if stored is None else parse_checkpoint(stored, parent, plan)
    losses = _learn(learner, taught, hidden, place, report)
    child = learner.weights()
    if digest_of(child) == plan.parent_hash:
        raise ModelFlowError.unchanged(
            f"expected other weights after {plan.steps} steps, got `{plan.parent_hash}` again"
        )
    return Trained(
        weights=child,
        plan=plan,
        sealed=_compare(parent, child, sealed, "sealed cases", report),
        held_out=_compare(parent, child, split.held_out, "held-out pairs", report),
        losses=tuple(losses),
    )


def has_enough(pairs: CaseFile) -> bool:
    """Whether some are left to learn from when a fifth of them, and each that is sealed, only measure."""
    return bool(_split(pairs)[0])


def split_pairs(pairs: CaseFile) -> SplitPairs:
    """Each case once, by the hash of what a model reads of it; refuses pairs that contradict the verifier."""
    taught, held_out = _split(pairs)
    if not taught:
        raise CaseFileError(f"expected pairs to learn from and some to hold out, got {len(held_out)} different ones")
    return SplitPairs(taught, parse_case_file(render_case_file(held_out)))


def _split(pairs: CaseFile) -> tuple[tuple[LabelledCase, ...], tuple[LabelledCase, ...]]:
    """Those that teach, and those that are held out."""
    found: dict[str, LabelledCase] = {}
    sealed: set[str] = set()
    for number, one in enumerate(pairs.cases, 1):
        lines = case_lines(agreed_prompt(number, one))
        key = sha256("\n".join(sorted(line.partition(" ")[2] for line in lines)).encode()).hexdigest()
        found.setdefault(key, one)
        if is_sealed(lines):
            sealed.add(key)
    ordered = sorted(found)
    kept = set(ordered[: -(-len(ordered) // _HELD_OUT)]) | sealed
    taught = tuple(found[key] for key in ordered if key not in kept)
    return taught, tuple(found[key] for key in ordered if key in kept)


def agreed_prompt(number: int, pair: LabelledCase) -> str:
    """The prompt of a pair whose answer the verifier shares: no model is taught to contradict it."""
    opened = open_case(pair.case)
    found, told = expected_of(opened), pair.expected
    is_same = (told.verdict, told.classes or found.classes, told.truths or found.truths) == (
        found.verdict,
        found.classes,
        found.truths,
    )
    if not is_same:
        raise UnteachableCaseError(
            f"expected pair {number} to say what follows from its case, {found.verdict} {found.classes}, "
            f"got {told.verdict} {told.classes or ''}"
        )
    return opened.prompt


def _learn(
    learner: Learner, taught: Sequence[list[Row]], hidden: frozenset[str], place: CheckpointPlace, report: Report
) -> list[float]:
    plan, losses = learner.plan, list[float]()
    while learner.step < plan.steps:
        rng = SeededDraw(f"train:{plan.replay_seed}:{learner.step}")
        losses.append(learner.learn(split_rows(_rows(rng, plan, taught, hidden))))
        report(Progress("training", learner.step, plan.steps, losses[-1]))
        if learner.step % _CHECKPOINT_STEPS == 0 or learner.step == plan.steps:
            place.store(render_checkpoint(learner))
    return losses


def _rows(rng: Draw, plan: Plan, taught: Sequence[list[Row]], hidden: frozenset[str]) -> list[Row]:
    """Rows to learn from: of pairs as many tokens as their share says, and the rest of cases of all other kinds."""
    of_pairs = _fill(plan.tokens * plan.pair_share, iter(lambda: rng.choice(taught), None))
    replayed = _fill(plan.tokens * (1 - plan.pair_share), iter(lambda: list(draw_replay(rng, hidden)), None))
    return of_pairs + replayed


def _fill(tokens: float, groups: Iterable[list[Row]]) -> list[Row]:
    rows: list[Row] = []
    for group in groups:
        rows += group
        tokens -= sum(len(row.tokens) for row in group)
        if tokens <= 0:
            break
    return rows


def _compare(parent: Weights, child: bytes, cases: CaseFile, name: str, report: Report) -> Comparison:
    def measured(weights: Weights, when: str) -> Figures:
        return measure_model(
            JudgeExaminee(Engine(weights)),
            cases.cases,
            report=lambda done, total: report(Progress(f"{name}, {when}", done, total)),
            timed=0,
        ).figures

    return Comparison(cases.hash, measured(parent, "before"), measured(parse_weights(child), "after"))
