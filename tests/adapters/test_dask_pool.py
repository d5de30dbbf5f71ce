"""The Dask pool on a real local cluster: two workers, the same parts, the same bytes."""

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

from assay.adapters.dask_pool import DaskPool, DaskUnreachableError
from assay.adapters.process_pool import InlinePool, ProcessPool
from assay.flows.truth.compile_all import compile_all
from assay.flows.truth.compile_job import CompiledJob, CompileJob, compile_partition
from tests.flows._node import TENANT
from tests.flows._truth import opened_truth
from tests.raising import raises


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two workers in processes of their own, on loopback."""
    with LocalCluster(  # type: ignore[no-untyped-call]  # ships few types
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        silence_logs=50,
    ) as cluster:
        yield cluster.scheduler_address


def _double(part: list[int]) -> list[int]:
    return [2 * number for number in part]


def test_answers_come_in_the_order_of_the_parts(address: str) -> None:
    parts = [[number, number + 1] for number in range(20)]
    with DaskPool(address) as pool:
        assert list(pool.run(_double, iter(parts))) == [_double(part) for part in parts]
        assert list(pool.run(_double, iter([]))) == []


def test_only_a_few_parts_are_taken_ahead(address: str) -> None:
    """A run over millions of keys does not read them all before the first is written."""
    taken: list[int] = []

    def parts() -> Iterator[list[int]]:
        for number in range(100):
            taken.append(number)
            yield [number]

    with DaskPool(address) as pool:
        answers = pool.run(_double, parts())
        next(answers)
        assert len(taken) <= 4


def test_keys_compile_on_a_cluster_to_the_bytes_of_one_process(address: str, tmp_path: Path) -> None:
    """The jobs that a real node reads, run by Dask, by processes and here."""
    jobs: list[list[CompileJob]] = []

    class Keeping(InlinePool):
        def run(self, work: Any, parts: Any) -> Any:  # noqa: ANN401  whatever goes through
            for part in parts:
                jobs.append(part)
                yield work(part)

    with opened_truth(tmp_path) as desk:
        desk.people()
        for hour in range(6, 12):
            desk.observe("user:ann", reported=f"{hour:02}:10")
            desk.observe("user:eve", {"severity": "low", "water_level_meters": hour}, reported=f"{hour:02}:20")
        done = compile_all(desk.tools, TENANT, Keeping(), at=desk.now("12:40"), part_size=2)
        assert done.compiled == 6
    here = [compile_partition(part) for part in jobs]
    with DaskPool(address) as pool:
        cluster: list[list[CompiledJob]] = list(pool.run(compile_partition, jobs))
    with ProcessPool(2) as processes:
        local = list(processes.run(compile_partition, jobs))
    assert len(here) == 3
    assert here == cluster == local


def test_without_the_extra_the_pool_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:  # noqa: ANN401  whatever the real one takes
        if name == "distributed":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with raises(DaskUnreachableError.dask_missing, match="dask"):
        DaskPool("tcp://127.0.0.1:1")
