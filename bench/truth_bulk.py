"""A million observations streamed through the compiler: how much memory that takes, and what a second core brings.

Observations are made as stored texts, one key at a time, read back by their hash, made ready, compiled and forgotten.
The peer of the pool of two processes is the same work in one; memory is measured in a process of its own.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from assay.kernel.canonical import Profile, canonicalize
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract
from assay.truth.gather import gather_observations
from assay.truth.observation import read_stored_observation, render_observation
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import state_hash
from bench._frame import Aim, Figure, load, print_table
from bench._truth_load import NOON, contract_of_bench, observation_of_bench, snapshot_of_bench

__all__ = ["figures"]

_PER_KEY = 100
_OBSERVATIONS = int(os.environ.get("ASSAY_BENCH_OBSERVATIONS", "1000000"))
_POOLED_KEYS = 400
_LARGEST_MEGABYTES = 500
_HOURS = 24 * 365


class _Template(NamedTuple):
    """An observation as it is stored and as it is hashed, before its key and hour are put in."""

    stored: bytes
    hashed: bytes


def _templates() -> list[_Template]:
    moved = [
        replace(one, observation_id=f"{one.observation_id}-key")
        for one in (observation_of_bench(number).observation for number in range(_PER_KEY))
    ]
    return [_Template(render_observation(one), canonicalize(one.canonical(), Profile.KAORI)) for one in moved]


def _stored(templates: list[_Template], number: int) -> Iterator[tuple[bytes, str]]:
    """The texts of one key, as a store would give them, with their hashes; each key is another hour."""
    noon, hour = b"2026-01-07T12:", (NOON + timedelta(hours=number % _HOURS)).strftime("%Y-%m-%dT%H:").encode()
    key = b"-key%d" % number
    for stored, hashed in templates:
        text, canonical = (one.replace(noon, hour).replace(b"-key", key) for one in (stored, hashed))
        yield text, sha256(canonical).hexdigest()


def _compile_key(contract: Contract, snapshot: TrustSnapshot, texts: Iterator[tuple[bytes, str]]) -> str:
    gathered = gather_observations(contract, [read_stored_observation(text, hash_) for text, hash_ in texts])
    state = compile_truth_state(
        contract,
        gathered.key,
        gathered,
        snapshot,
        policy_version=contract.policy_version,
        compiler_version="bench",
        compile_time=NOON + timedelta(hours=_HOURS + 1),
    )
    assert len(state.observation_ids) == _PER_KEY  # noqa: S101 - a figure for others would be worth nothing
    return state_hash(state)


def _compile_keys(numbers: range) -> list[str]:
    contract, snapshot, templates = contract_of_bench(), snapshot_of_bench(_PER_KEY), _templates()
    return [_compile_key(contract, snapshot, _stored(templates, number)) for number in numbers]


def _streamed() -> None:
    """In a process of its own: everything once, nothing kept; prints the largest size it had, in kilobytes."""
    contract, snapshot, templates = contract_of_bench(), snapshot_of_bench(_PER_KEY), _templates()
    for number in range(_OBSERVATIONS // _PER_KEY):
        _compile_key(contract, snapshot, _stored(templates, number))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _memory() -> Figure:
    start, cpu = time.perf_counter(), os.times()
    root = Path(__file__).parents[1]
    said = subprocess.run(
        [sys.executable, "-m", "bench.truth_bulk", "--streamed"], capture_output=True, text=True, check=True, cwd=root
    )
    megabytes, used = int(said.stdout) / 1024, os.times()
    return Figure(
        name=f"truth, {_OBSERVATIONS:,} observations streamed",
        ours=megabytes,
        peer=None,
        peer_name=f"{_LARGEST_MEGABYTES} MB",
        unit="MB",
        ratio=megabytes / _LARGEST_MEGABYTES,
        target=1,
        cpu_seconds=used.children_user + used.children_system - cpu.children_user - cpu.children_system,
        load=load(),
        aim=Aim.AT_MOST,
        note=f"{_OBSERVATIONS / (time.perf_counter() - start):,.0f} observations/s, read, made ready, compiled, hashed",
    )


def _timed(executor: ProcessPoolExecutor, parts: list[range]) -> tuple[float, list[str]]:
    start = time.perf_counter()
    hashes = [hash_ for part in executor.map(_compile_keys, parts) for hash_ in part]
    return time.perf_counter() - start, hashes


def _pool() -> Figure:
    """The same partitions by one process and by two; the bytes must be the same."""
    step = _POOLED_KEYS // 8
    parts = [range(first, first + step) for first in range(0, _POOLED_KEYS, step)]
    context, cpu = get_context("spawn"), os.times()
    with ProcessPoolExecutor(1, mp_context=context) as one, ProcessPoolExecutor(2, mp_context=context) as two:
        for executor in (one, two):
            _timed(executor, [range(1)] * 4)
        pairs = [(_timed(one, parts), _timed(two, parts)) for _ in range(3)]
    assert all(alone[1] == together[1] for alone, together in pairs)  # noqa: S101 - as said above
    used = os.times()
    alone, together = min(first[0] for first, _ in pairs), min(second[0] for _, second in pairs)
    return Figure(
        name="truth in bulk, two processes",
        ours=_POOLED_KEYS / together,
        peer=_POOLED_KEYS / alone,
        peer_name="one process",
        unit="keys/s",
        ratio=alone / together,
        target=1.7,
        cpu_seconds=used.children_user + used.children_system - cpu.children_user - cpu.children_system,
        load=load(),
        note=f"{_PER_KEY} observations each, read, compiled, hashed; {os.cpu_count()} cores",
    )


def figures() -> list[Figure]:
    return [_memory(), _pool()]


if __name__ == "__main__":
    if sys.argv[1:] == ["--streamed"]:
        _streamed()
    else:
        print_table(figures())
