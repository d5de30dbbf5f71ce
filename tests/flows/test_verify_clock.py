"""A node whose clock is behind its own ledger takes nothing in that would be dated wrongly, and says what to do."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.examine_node import State, examine_node
from tests.acting_truth import observe_many
from tests.flows._node import TENANT
from tests.flows._truth import TruthDesk, opened_truth
from tests.raising import raises


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """The clock was ten days ahead for one report, and was then set right."""
    with opened_truth(tmp_path) as one:
        one.people()
        one.observe("user:ann", at="12:30")
        one.observe("user:ann", at="10T12:00", reported="13:30")
        one.tools = replace(one.tools, clock_skew=timedelta(minutes=5))
        yield one


def _stream(desk: TruthDesk) -> object:
    lines = [orjson.dumps(desk.report("user:ben"))]
    return observe_many(desk.tools, lines, credential=desk.relay, now=lambda: desk.now("12:35"))


@pytest.mark.parametrize(
    "intake",
    [lambda desk: desk.observe("user:ben", at="12:35"), _stream, lambda desk: desk.trust("user:new")],
    ids=["an observation", "a stream", "a signal"],
)
def test_nothing_is_taken_in_by_a_clock_that_is_behind(desk: TruthDesk, intake: Callable[[TruthDesk], object]) -> None:
    head = desk.head()
    with raises(LedgerFlowError.clock_behind, match="assay ledger append"):
        intake(desk)
    assert desk.head() == head


def test_what_is_there_is_compiled_all_the_same(desk: TruthDesk) -> None:
    assert desk.compile("12:40").trust_ahead_seconds > 0


def test_once_somebody_said_that_the_clock_is_right_intake_goes_on(desk: TruthDesk) -> None:
    """An entry of today is the newest then, and the ledger says when that was noticed."""
    examined = {one.name: one for one in examine_node(desk.tools, at=desk.now("12:34"))}
    found = examined[f"clock against {TENANT}"]
    assert (found.state, "assay ledger append" in (found.advice or "")) == (State.WARNING, True)
    append_record(desk.tools, TENANT, {"note": "the clock was ahead"}, at=desk.now("12:35")).result()
    assert desk.observe("user:ben", at="12:36").is_new


def test_a_clock_may_be_a_little_behind(desk: TruthDesk) -> None:
    assert desk.observe("user:ben", at="10T11:56").is_new
