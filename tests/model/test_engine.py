"""The engine gives the same integers however it is asked, and on whatever machine."""

import json
import os
import subprocess
import sys
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.engine import MAX_ROW, Position, split_rows
from assay.model.errors import CaseSizeError
from tests.model.networks import ROOT, SMALL, small_engine
from tests.scale import LONG

ROWS: list[list[Position]] = [
    [(1 + (7 * place + 31 * row) % 200, place % 5, place % 90) for place in range(length)]
    for row, length in enumerate((23, 5, 40, 1))
]
PROBE = """
import sys, json, hashlib
import numpy as np
from tests.model.test_engine import ROWS, scores_at_once
from tests.model.networks import WEIGHTS, shipped_engine, small_engine
engines = [small_engine()] + ([shipped_engine()] if WEIGHTS.exists() else [])
exact = [hashlib.sha256(scores_at_once(engine).tobytes()).hexdigest() for engine in engines]
rng = np.random.default_rng(3)
floats = rng.standard_normal((300, 700), np.float32) @ rng.standard_normal((700, 300), np.float32)
print(json.dumps([exact, hashlib.sha256(floats.tobytes()).hexdigest()]))
"""
KERNELS = ("Haswell", "SandyBridge", "Nehalem", "Prescott")


def scores_at_once(engine: object = None) -> "np.ndarray":
    chosen = small_engine() if engine is None else engine
    session = chosen.open(len(ROWS), 64)  # type: ignore[attr-defined]  # an engine
    return np.asarray(chosen.extend(session, range(len(ROWS)), ROWS))  # type: ignore[attr-defined]  # an engine


def test_reading_at_once_or_token_by_token_comes_to_the_same_scores() -> None:
    engine = small_engine()
    at_once = scores_at_once()
    for number, row in enumerate(ROWS):
        session = engine.open(1, len(row))
        one_by_one = [engine.extend(session, [0], [[position]]) for position in row]
        assert (one_by_one[-1][0] == at_once[number]).all()


def test_rows_beside_it_change_nothing_for_a_row() -> None:
    """In another order, in parts of other sizes, and with rows that have nothing to read just now."""
    engine = small_engine()
    at_once = scores_at_once()
    session = engine.open(len(ROWS), 64)
    engine.extend(session, [2, 0], [ROWS[2][:17], ROWS[0][:4]])
    engine.extend(session, [1], [ROWS[1][:4]])
    last = engine.extend(session, [3, 0, 1, 2], [ROWS[3], ROWS[0][4:], ROWS[1][4:], ROWS[2][17:]])
    assert (last == at_once[[3, 0, 1, 2]]).all()


def test_the_order_of_what_was_read_counts() -> None:
    """The control of the tests above: scores do depend on what is read."""
    engine = small_engine()
    session = engine.open(1, 64)
    other = engine.extend(session, [0], [[ROWS[0][1], ROWS[0][0], *ROWS[0][2:]]])
    assert (other[0] != scores_at_once()[0]).any()


def test_a_row_too_long_to_add_exactly_is_refused() -> None:
    assert 255 * 127 * MAX_ROW < 2**24
    assert 127 * 127 * max(SMALL.width, SMALL.inner) < 2**24
    with pytest.raises(CaseSizeError):
        small_engine().open(1, MAX_ROW + 1)


def _probe(python: str, **settings: str) -> tuple[list[str], str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT), *_site())), **settings}
    done = subprocess.run([python, "-c", PROBE], env=environment, cwd=ROOT, capture_output=True, check=True, text=True)
    exact, floats = json.loads(done.stdout)
    return exact, floats


def _site() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


@pytest.mark.clause("ski", "7.5")
@pytest.mark.timeout(300)
def test_threads_and_kernels_of_the_library_change_no_bit_though_they_change_ordinary_floats() -> None:
    """The control is a product of ordinary floats, which comes out differently from one kernel to the next."""
    # A short run asks each kernel once, by turns with one thread and two; a long one asks for every pair.
    pairs = product(KERNELS, ("1", "2")) if LONG else zip(KERNELS, ("1", "2") * 2, strict=True)
    found = [
        _probe(sys.executable, OPENBLAS_CORETYPE=kernel, OPENBLAS_NUM_THREADS=threads) for kernel, threads in pairs
    ]
    assert len({tuple(exact) for exact, _ in found}) == 1
    assert len({floats for _, floats in found}) > 1


def test_numpy_is_not_loaded_with_the_package() -> None:
    """`import assay` must be quick: the engine loads numpy when it is made."""
    modules = [
        f"assay.model.{path.stem}"
        for path in sorted((ROOT / "src" / "assay" / "model").glob("*.py"))
        if path.stem != "__init__"
    ]
    code = f"import sys, {', '.join(modules)}; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=True)


@given(lengths=st.lists(st.integers(1, MAX_ROW), max_size=200))
def test_rows_are_computed_in_groups_that_need_little_memory(lengths: list[int]) -> None:
    groups = list(split_rows(lengths))
    assert [number for group in groups for number in group] == list(range(len(lengths)))
    for group in groups:
        longest = max(lengths[number] for number in group)
        assert len(group) <= 32
        assert len(group) == 1 or len(group) * longest**2 <= 32 * 128 * 128


def test_many_long_rows_need_no_more_memory_than_a_few() -> None:
    engine = small_engine()
    rows = [[(1 + (place + row) % 200, 0, place % 48) for place in range(400)] for row in range(48)]
    tracemalloc.start()
    try:
        engine.score_rows(rows, [[399]] * len(rows))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024 * 1024
