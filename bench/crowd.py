"""One label for each task from what many workers say: ours beside crowd-kit's majority vote and Dawid-Skene.

The peers take a table of (task, worker, label) and give a label for each task; Dawid-Skene also weighs workers by
how they agree. Ours compiles a whole state for each task, with the worker's weight from a frozen snapshot: claim,
evidence, confidence and status. One run, the same labels; the winners are compared before anything is timed.
"""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pandas as pd
from crowdkit.aggregation import DawidSkene, MajorityVote

from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract
from assay.truth.gather import gather_observations
from assay.truth.snapshot import TrustSnapshot
from bench._frame import Figure, compare, print_table
from bench._truth_load import NOON, contract_of_bench, observation_of_bench, snapshot_of_bench

__all__ = ["figures"]

_TASKS, _WORKERS = 200, 25
_LABELS = ("low", "moderate", "high", "critical")
_RIGHT = 0.7
_ITERATIONS = 10


def _table() -> pd.DataFrame:
    """Each worker says what is so in most tasks, and anything in the others."""
    chance = Random(1)
    truths = [chance.choice(_LABELS) for _ in range(_TASKS)]
    rows = [
        (task, worker, truth if chance.random() < _RIGHT else chance.choice(_LABELS))
        for task, truth in enumerate(truths)
        for worker in range(_WORKERS)
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def _ours(contract: Contract, table: pd.DataFrame, snapshot: TrustSnapshot) -> Callable[[], list[object]]:
    """A key for each task would only change its name: the tasks share one key, and are compiled one by one."""
    said: dict[int, list[tuple[int, str]]] = {}
    for task, worker, label in table.itertuples(index=False):
        said.setdefault(task, []).append((worker, label))
    gathered = [
        gather_observations(contract, [observation_of_bench(worker, severity=label) for worker, label in labels])
        for labels in said.values()
    ]
    key = gathered[0].key

    def compiled() -> list[object]:
        return [
            compile_truth_state(
                contract,
                key,
                one,
                snapshot,
                policy_version=contract.policy_version,
                compiler_version="bench",
                compile_time=NOON + timedelta(hours=1),
            ).claim["severity"]
            for one in gathered
        ]

    return compiled


def figures() -> list[Figure]:
    contract, table = contract_of_bench(), _table()
    ours = _ours(contract, table, snapshot_of_bench(_WORKERS, standings=1))
    voted = MajorityVote().fit_predict(table)
    # With equal weights a mode is a majority; ties may be broken otherwise.
    agreed = sum(mine == theirs for mine, theirs in zip(ours(), voted, strict=True))
    assert agreed >= 0.95 * _TASKS  # noqa: S101 - a figure for other answers would be worth nothing
    note = f"{_TASKS} tasks x {_WORKERS} workers, whole states"
    return [
        compare(
            "truth inference beside a majority vote",
            ours,
            lambda: MajorityVote().fit_predict(table),
            peer_name="crowd-kit MajorityVote",
            target=0.2,
            unit="runs/s",
            note=note,
        ),
        compare(
            "truth inference beside Dawid-Skene",
            ours,
            lambda: DawidSkene(n_iter=_ITERATIONS).fit_predict(table),
            peer_name="crowd-kit DawidSkene",
            target=1,
            unit="runs/s",
            note=note,
        ),
    ]


if __name__ == "__main__":
    print_table(figures())
