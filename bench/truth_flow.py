"""Compiling keys of 100 and of 1000 stored observations as flows do it: by `compile_job`, from the texts of a store.

The peer is the reference implementation, scaled as in `bench.truth_compile`. Texts are new objects in each round, as a
store gives them. Three ways, of which each does more: again, as when time has passed; with a late one beside what is in
memory, as at every arrival; and with nothing in memory, where every text is decoded and made ready: that is the floor
of a run through many keys, each of which is met once.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import cycle
from pathlib import Path

from msgspec.structs import replace

from assay.flows.truth.compile_job import CompileJob, StoredText, compile_job
from assay.kernel.instant import Instant
from assay.truth.observation import HashedObservation, render_observation
from assay.truth.ready import prepare_observation
from assay.truth.snapshot import render_snapshot
from assay.truth.state import TruthState
from bench._frame import Figure, print_table
from bench._truth_load import NOON, contract_of_bench, observation_of_bench, snapshot_of_bench
from bench.truth_compile import beside_reference

__all__ = ["figures"]

_SCHEMA = Path(__file__).parents[1] / "examples" / "contracts" / "schemas" / "output" / "flood_v1.json"
_LATE = 50
_RECEIVED = Instant(NOON + timedelta(minutes=61))


def _job(hashed: HashedObservation) -> CompileJob:
    contract = contract_of_bench()
    return CompileJob(
        truthkey=prepare_observation(contract, hashed).truthkey,
        document=contract.document,
        schema_text=_SCHEMA.read_text(),
        domain_systems={},
        observations=(),
        votes=(),
        ai_scores=(),
        fingerprints=(),
        window_events=(),
        snapshot=render_snapshot(snapshot_of_bench(1000)).decode(),
        compile_time=Instant(NOON + timedelta(hours=2)),
    )


def _stored(rows: Iterable[tuple[bytes, str]], received_at: Instant = _RECEIVED) -> tuple[StoredText, ...]:
    return tuple([StoredText(text.decode(), hash_, received_at) for text, hash_ in rows])


def _ways(job: CompileJob, rows: list[tuple[bytes, str]]) -> dict[str, Callable[[], TruthState]]:
    # Of a key of which only other receipts are in memory, nothing can be used.
    other = cycle([_RECEIVED, Instant(_RECEIVED + timedelta(seconds=1))])
    # It grows one by one, and when it is whole it begins anew: one time in fifty all are read.
    most = cycle(range(len(rows) - _LATE + 1, len(rows) + 1))
    return {
        "again": lambda: compile_job(replace(job, observations=_stored(rows))).state,
        "a late one": lambda: compile_job(replace(job, observations=_stored(rows[: next(most)]))).state,
        "nothing in memory": lambda: compile_job(replace(job, observations=_stored(rows, next(other)))).state,
    }


def figures() -> list[Figure]:
    hashed = [observation_of_bench(number) for number in range(1000)]
    rows, job = [(render_observation(one.observation), one.observation_hash) for one in hashed], _job(hashed[0])
    found = list[Figure]()
    for count in (100, 1000):
        for note, way in _ways(job, rows[:count]).items():
            # A figure for observations that were not admitted would be worth nothing.
            assert len(way().observation_ids) > count - _LATE  # noqa: S101 - as above
            found.append(beside_reference(f"truth flow, {count} stored observations", way, count, note, target=1))
    return found


if __name__ == "__main__":
    print_table(figures())
