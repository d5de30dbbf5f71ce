"""Compiling a key of 100 and of 1000 observations, and whether the size of the snapshot costs anything.

The peer is the reference implementation of the specification, which no registry carries: its figure of 75,000
observations per second and core is scaled by this run's rfc8785 rate over the 4,300 per second it was taken beside.

Three ways, of which each does more: from observations gathered before, as for another time or snapshot; with a late
one added to them, as at every arrival; and from ready observations that are gathered anew, as after a restart.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from statistics import median

import rfc8785

from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract
from assay.truth.gather import Gathered, add_observation, gather_observations
from assay.truth.key import TruthKey, parse_truth_key
from assay.truth.observation import (
    hash_observation,
    parse_observation,
    read_stored_observation,
    render_observation,
)
from assay.truth.ready import ReadyObservation, prepare_observation
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, state_hash
from bench._frame import Aim, Figure, compare, load, measure, print_table
from bench._truth_load import NOON, contract_of_bench, observation_of_bench, snapshot_of_bench
from bench.canonical import RECORD

__all__ = ["beside_reference", "figures"]

_REFERENCE = 75_000
_RFC8785_BESIDE_IT = 4_300
_ROUNDS = 5
_SECONDS = 0.4
_TARGET = 10


def _compiled(
    contract: Contract, key: TruthKey, observations: Iterable[ReadyObservation] | Gathered, snapshot: TrustSnapshot
) -> TruthState:
    return compile_truth_state(
        contract,
        key,
        observations,
        snapshot,
        policy_version=contract.policy_version,
        compiler_version="bench",
        compile_time=NOON + timedelta(hours=1),
    )


def beside_reference(
    name: str, ours: Callable[[], object], count: int, note: str = "", *, target: float = _TARGET
) -> Figure:
    """Ours and rfc8785 take turns; the reference's rate follows from how fast rfc8785 was in the same round."""
    pairs = [
        (measure(ours, _SECONDS), measure(lambda: rfc8785.dumps(RECORD), _SECONDS))  # type: ignore[arg-type]  # its alias wants invariant containers
        for _ in range(_ROUNDS)
    ]
    rates = [(mine * count, theirs / _RFC8785_BESIDE_IT * _REFERENCE) for (mine, _), (theirs, _) in pairs]
    return Figure(
        name=name,
        ours=median(mine for mine, _ in rates),
        peer=median(theirs for _, theirs in rates),
        peer_name="reference, scaled",
        unit="observations/s",
        ratio=median(mine / theirs for mine, theirs in rates),
        target=target,
        cpu_seconds=sum(mine + theirs for (_, mine), (_, theirs) in pairs),
        load=load(),
        note=note,
    )


def _ways(contract: Contract, rows: list[ReadyObservation], snapshot: TrustSnapshot) -> list[Figure]:
    key, count = parse_truth_key(rows[0].truthkey), len(rows)
    whole, most = gather_observations(contract, rows), gather_observations(contract, rows[:-1])
    ways: dict[str, Callable[[], TruthState]] = {
        "gathered before": lambda: _compiled(contract, key, whole, snapshot),
        "a late one added": lambda: _compiled(contract, key, add_observation(contract, most, rows[-1]), snapshot),
        "gathered anew": lambda: _compiled(contract, key, rows, snapshot),
    }
    # A figure for observations that were not admitted would be worth nothing.
    assert all(len(way().observation_ids) == count for way in ways.values())  # noqa: S101 - as above
    return [beside_reference(f"truth compile, {count} observations", way, count, note) for note, way in ways.items()]


def figures() -> list[Figure]:
    contract = contract_of_bench()
    hashed = [observation_of_bench(number) for number in range(1000)]
    rows = [prepare_observation(contract, one) for one in hashed]
    small, large = snapshot_of_bench(1000), snapshot_of_bench(10_000)
    hundred, key = gather_observations(contract, rows[:100]), parse_truth_key(rows[0].truthkey)
    text, hash_ = render_observation(hashed[0].observation), hashed[0].observation_hash
    return [
        *_ways(contract, rows[:100], small),
        *_ways(contract, rows, small),
        beside_reference(
            "truth compile, 100 observations",
            lambda: state_hash(_compiled(contract, key, hundred, small)),
            100,
            "gathered before, with the state hash",
        ),
        compare(
            "truth compile, snapshot of 10,000 agents",
            lambda: _compiled(contract, key, hundred, large),
            lambda: _compiled(contract, key, hundred, small),
            peer_name="snapshot of 1,000",
            target=0.9,
            unit="states/s",
            aim=Aim.AT_LEAST,
        ),
        compare(
            "truth, an observation read from our own store",
            lambda: read_stored_observation(text, hash_),
            lambda: hash_observation(parse_observation(text)),
            peer_name="ours, from outside",
            target=3,
            unit="observations/s",
            note="hash verified",
        ),
    ]


if __name__ == "__main__":
    print_table(figures())
