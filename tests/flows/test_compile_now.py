"""Many compile a key at once: whoever comes second is not told that the clock went back."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assay.flows.errors.truth import CompileTimeError
from assay.flows.truth.compile_truth import compile_now
from assay.kernel.instant import Instant
from tests.flows._node import TENANT
from tests.flows._truth import BeforeWriting, TruthDesk, opened_truth


@dataclass
class _Times:
    """A clock that says these, and then the last of them for ever."""

    left: list[Instant]

    def now(self) -> Instant:
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path) as opened:
        opened.release()
        opened.trust("user:ada")
        opened.observe("user:ada")
        yield opened


def test_a_key_that_another_compiled_for_a_later_time_is_compiled_for_a_later_one_still(desk: TruthDesk) -> None:
    """Both looked at their clocks, and the later one was the first to write."""
    plain = desk.tools

    def others() -> None:
        desk.tools = plain
        desk.observe("user:bea", reported="12:20")
        desk.compile("12:41")

    times = _Times([desk.now("12:40"), desk.now("12:42")])
    meddled = replace(plain, database=BeforeWriting(plain.database, others), clock=times)
    done = compile_now(meddled, TENANT, desk.truthkey, force=True)
    assert (done.version, done.state.compile_inputs.compile_time) == (2, desk.now("12:42"))


def test_a_clock_that_stays_behind_is_refused(desk: TruthDesk) -> None:
    desk.compile("12:41")
    behind = replace(desk.tools, clock=_Times([desk.now("12:40")]))
    with pytest.raises(CompileTimeError):
        compile_now(behind, TENANT, desk.truthkey)
