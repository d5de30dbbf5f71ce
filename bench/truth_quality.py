"""How often the compiled truth is right, and how well its confidence says so: ours beside crowd-kit's aggregators.

Ours decides online: each key is compiled with what the keys before it taught, through the production compiler and fold.
"Again" compiles every key once more with the last snapshot. The peers see all reports at once. Everybody gets the same
worlds and seeds; figures are means over the seeds. An observer who knows every true skill is right at .997, .985
and .983 of the keys of the three worlds. Wawa is computed from its own skills, since its last step needs an older
scikit-learn than the one that is locked.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pandas as pd
from crowdkit.aggregation import GLAD, DawidSkene, MajorityVote, Wawa

from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.rehearse import Rehearsal
from assay.trust.simulated_contract import simulated_contract
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus
from bench._frame import Aim, Figure, load, print_table
from bench._truth_worlds import SEEDS, WORLDS, Shape, World, draw_world, ring_world, sleeper_world

__all__ = ["figures"]

_POLICIES = Path(__file__).parents[1] / "examples" / "trust"
_BINS = 10
_ROUNDS = 100
# Accuracy and calibration error: online, and compiled again at the end.
_TARGETS = {
    "15 % adversaries": (0.975, 0.02, 0.990, 0.015),
    "30 % colluding": (0.91, 0.04, 0.985, 0.015),
    "sparse, 25 % adversaries": (0.935, 0.03, 0.96, 0.025),
}


class Score(NamedTuple):
    accuracy: float
    error: float
    verified_right: float = 1.0
    verified: float = 0.0


class Scores(NamedTuple):
    online: Score
    again: Score
    peers: dict[str, Score]


def rehearse(world: World) -> Rehearsal:
    contract, policy = simulated_contract(), _policy()
    agents = sorted({report.agent for reports in world.reports for report in reports})
    rehearsal = Rehearsal(contract, policy, agents)
    for reports in world.reports:
        rehearsal.report({report.agent: {"value": report.value} for report in reports})
    return rehearsal


def _policy() -> TrustPolicy:
    first = (_POLICIES / "flow_v1.yaml").read_text()
    return parse_policy((_POLICIES / "flow_v2.yaml").read_text(), parents={"flow_v1": first})


def calibration_error(confidences: Sequence[float], rights: Sequence[bool]) -> float:
    """The expected calibration error over ten bins of equal width."""
    total = 0.0
    for number in range(_BINS):
        inside = [place for place, one in enumerate(confidences) if number / _BINS < one <= (number + 1) / _BINS]
        if inside:
            gap = mean(confidences[place] for place in inside) - mean(rights[place] for place in inside)
            total += len(inside) / len(confidences) * abs(gap)
    return total


def _score(states: Iterable[TruthState], world: World) -> Score:
    told = list(states)
    rights = [state.claim.get("value") == truth for state, truth in zip(told, world.truths, strict=True)]
    sure = [float(state.confidence_breakdown.components["belief"].value) for state in told]
    verified = [right for right, state in zip(rights, told, strict=True) if state.status is TruthStatus.VERIFIED_TRUE]
    return Score(mean(rights), calibration_error(sure, rights), mean(verified), len(verified) / len(rights))


def _peers(world: World) -> dict[str, Score]:
    rows = [(key, said.agent, said.value) for key, reports in enumerate(world.reports) for said in reports]
    table = pd.DataFrame(rows, columns=["task", "worker", "label"])
    found = {
        "MajorityVote": MajorityVote().fit_predict_proba(table),
        "Wawa": MajorityVote().fit_predict_proba(table, skills=Wawa().fit(table).skills_),
        "DawidSkene": DawidSkene(n_iter=_ROUNDS).fit_predict_proba(table),
        "GLAD": GLAD(n_iter=_ROUNDS, silent=True).fit_predict_proba(table),
    }
    return {name: _peer_score(shares.sort_index(), world) for name, shares in found.items()}


def _peer_score(shares: pd.DataFrame, world: World) -> Score:
    rights = [bool(said == truth) for said, truth in zip(shares.idxmax(axis=1), world.truths, strict=True)]
    return Score(mean(rights), calibration_error([float(one) for one in shares.max(axis=1)], rights))


def _world_scores(shape: Shape) -> Scores:
    online, again, peers = [], [], []
    for seed in SEEDS:
        world = draw_world(shape, seed)
        rehearsal = rehearse(world)
        online.append(_score([one.state for one in rehearsal.states], world))
        again.append(_score(rehearsal.compile_again(), world))
        peers.append(_peers(world))
    names = peers[0]
    return Scores(_mean(online), _mean(again), {name: _mean([one[name] for one in peers]) for name in names})


def _mean(scores: Sequence[Score]) -> Score:
    return Score(*[mean(column) for column in zip(*scores, strict=True)])


def _row(name: str, value: float, target: float, aim: Aim, *, peer: float | None, peer_name: str, note: str) -> Figure:
    return Figure(
        name=name,
        ours=value,
        peer=peer,
        peer_name=peer_name,
        unit="share",
        ratio=value,
        target=target,
        cpu_seconds=time.process_time(),
        load=load(),
        aim=aim,
        note=note,
    )


def _world_rows(shape: Shape) -> list[Figure]:
    scores, targets = _world_scores(shape), _TARGETS[shape.name]
    name, best = max(scores.peers.items(), key=lambda peer: peer[1].accuracy)
    told = ", ".join(f"{peer} {one.accuracy:.3f}/{one.error:.3f}" for peer, one in scores.peers.items())
    rows = []
    for label, score, (least, most) in (
        ("online", scores.online, targets[:2]),
        ("compiled again", scores.again, targets[2:]),
    ):
        title = f"truth, {shape.name}, {label}"
        rows += [
            _row(
                f"{title}: accuracy", score.accuracy, least, Aim.AT_LEAST, peer=best.accuracy, peer_name=name, note=told
            ),
            _row(
                f"{title}: calibration error", score.error, most, Aim.AT_MOST, peer=best.error, peer_name=name, note=""
            ),
            _row(
                f"{title}: VERIFIED states that are right",
                score.verified_right,
                0.99,
                Aim.AT_LEAST,
                peer=None,
                peer_name="absolute",
                note=f"{score.verified:.0%} of the keys are verified",
            ),
        ]
    return rows


def _lies(draw: Callable[[int], World]) -> tuple[list[int], list[int]]:
    """Lies that were believed, and lies that were verified, for each seed."""
    believed, verified = [], []
    for seed in SEEDS:
        world = draw(seed)
        pairs = [
            (one.state, lie)
            for one, lie in zip(rehearse(world).states, world.lies, strict=True)
            if lie is not None and one.state.claim.get("value") == lie
        ]
        believed.append(len(pairs))
        verified.append(sum(state.status is TruthStatus.VERIFIED_TRUE for state, _ in pairs))
    return believed, verified


def _lie_rows() -> list[Figure]:
    rows = []
    for name, draw in (("8 sleepers beside 12 honest", sleeper_world), ("a ring of 8 beside 12 honest", ring_world)):
        believed, verified = _lies(draw)
        note = f"of 50 each: believed {believed}, verified {verified}"
        rows.append(
            _row(f"lies believed, {name}", mean(believed), 10, Aim.AT_MOST, peer=None, peer_name="absolute", note=note)
        )
    return rows


def figures() -> list[Figure]:
    return [*(row for shape in WORLDS for row in _world_rows(shape)), *_lie_rows()]


if __name__ == "__main__":
    print_table(figures())
