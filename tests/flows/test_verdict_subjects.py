"""A subject has an id and a name; however a record calls it, it has one past, one turn and one buffer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.flows.verdicts.coverage import show_buffers
from assay.flows.verdicts.prepare_verdict import DISPLACED_NOTE
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.verdicts.envelope import Verdict
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, graph_document, opened_verdicts, rule
from tests.verdict_calls import evaluate_many, graph_impact, judge

_NAME = "Subject stack"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


def _peak(value: int = 100) -> dict[str, Any]:
    return rule("peak", kind="must_not_exceed_in_window", value=value, window_seconds=600)


def _second(desk: VerdictDesk, second: int) -> Instant:
    return desk.at(minutes=4, seconds=second)


@pytest.mark.clause("ski", "5.1")
@pytest.mark.clause("ski", "9.2")
@pytest.mark.parametrize("names", [("stack", _NAME), (_NAME, "stack")])
def test_windows_see_what_came_under_another_name_of_the_subject(desk: VerdictDesk, names: tuple[str, str]) -> None:
    """SKI 5.1: the rules are those of the subject; a second name must not be a way to leave its past behind."""
    desk.judge_by(_peak())
    assert desk.decide({"so2": 500}, name="a", at=_second(desk, 0), subject=names[0]).overall.verdict is Verdict.FLAG
    assert desk.decide({"so2": 5}, name="b", at=_second(desk, 1), subject=names[1]).overall.verdict is Verdict.FLAG


def test_the_second_runtime_sees_it_as_well(desk: VerdictDesk) -> None:
    desk.judge_by(_peak())
    desk.settings(is_v2=True)
    for name, so2, subject in (("a", 500, "stack"), ("b", 5, _NAME)):
        record = desk.record({"so2": so2}, name=name, at=_second(desk, so2 % 7), subject=subject)
        decided = judge(desk.tools, record, credential=desk.sensor, at=desk.at(minutes=6))
        assert decided.overall.verdict is Verdict.FLAG


def test_the_entry_names_the_subject_by_its_id_and_keeps_the_record_as_it_came(desk: VerdictDesk) -> None:
    desk.judge_by(_peak())
    desk.decide({"so2": 5}, name="a", subject=_NAME)
    (body,) = desk.entries(EntryKind.VERDICT)
    assert (body["subject"], body["telemetry"]["subject"]) == ("stack", _NAME)
    assert [extent.subject for extent in show_buffers(desk.tools, TENANT)] == ["stack"]


def test_many_records_of_one_subject_stay_in_order_under_two_names(desk: VerdictDesk) -> None:
    """Workers share lines out by subject: under two names it is still one, and each record sees those before it."""
    desk.judge_by(
        rule(
            "often",
            kind="must",
            value=None,
            predicate={"name": "window_count", "op": "lte", "value": 8, "seconds": 600},
        )
    )
    lines = [
        json.dumps(desk.record({"so2": 1}, name=f"t-{n}", at=_second(desk, n), subject=("stack", _NAME)[n % 2]))
        for n in range(12)
    ]
    results = list(evaluate_many(desk.tools, lines, credential=desk.sensor, workers=4))
    verdicts = [one.decided.overall.verdict for one in results if one.decided is not None]
    assert verdicts == [Verdict.CLEAR] * 8 + [Verdict.FLAG] * 4


def test_impact_looks_back_at_both_names(desk: VerdictDesk) -> None:
    desk.judge_by(_peak(1000))
    desk.decide({"so2": 500}, name="a", at=_second(desk, 0))
    desk.decide({"so2": 5}, name="b", at=_second(desk, 1), subject=_NAME)
    stricter = graph_document(_peak(100), compiled_at="2026-02-01T00:00:00Z")
    impact = graph_impact(desk.tools, stricter, credential=desk.operator, at=desk.at(minutes=7))
    assert [(one.telemetry_id, one.after) for one in impact.changes] == [("a", Verdict.FLAG), ("b", Verdict.FLAG)]


def test_records_stay_as_long_as_the_subjects_newest_one_says(desk: VerdictDesk) -> None:
    """A record that comes late is dropped by the same clock as the others, and the drop is on record."""
    desk.judge_by(rule("r"))
    desk.settings(keep_seconds=60)
    desk.decide({"so2": 1}, name="now", at=_second(desk, 59))
    desk.decide({"so2": 1}, name="late", at=desk.at(minutes=1))
    assert [extent.records for extent in show_buffers(desk.tools, TENANT)] == [1]
    assert [body["records"] for body in desk.entries(EntryKind.TELEMETRY_DROPPED)] == [1]


@pytest.mark.clause("ski", "3.4")
@pytest.mark.parametrize(("declared", "told"), [("Atlantis", ["`Atlantis`"]), (None, []), ("global", [])])
def test_a_jurisdiction_that_the_graph_does_not_know_is_told(
    desk: VerdictDesk, declared: str | None, told: list[str]
) -> None:
    """Nothing that is scoped applies there, so the verdict stands on less than its reader may think."""
    desk.judge_by(rule("r"))
    more = {} if declared is None else {"jurisdiction": declared}
    (one,) = desk.decide({"so2": 10}, name="a", **more).verdicts
    assert one.envelope is not None
    notes = [note for note in one.envelope.notes if note.startswith(DISPLACED_NOTE)]
    assert [note.removeprefix(DISPLACED_NOTE).split()[0] for note in notes] == told
