"""Windows look back along the records' own clock; the buffer gives up what is too old, and says so."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from assay.flows.verdicts.coverage import check_agreement, show_buffers
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import digest_of
from assay.kernel.ledger import EntryKind
from assay.verdicts.agreement import CanaryStatus
from assay.verdicts.envelope import Verdict, VerdictPath, VerifierStatus
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._people import at_once
from tests.flows._verdicts import WEIGHTS, VerdictDesk, opened_verdicts, rule
from tests.verdict_calls import coverage, evaluate_many


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


def _average() -> dict[str, Any]:
    return rule("average", kind="must_average_within", value=[0, 20], window_seconds=60)


def _verdict(desk: VerdictDesk, so2: float, second: int, name: str | None = None, **more: Any) -> Verdict | None:  # noqa: ANN401 - fields of a record
    at = desk.at(minutes=5, seconds=second)
    return desk.decide({"so2": so2}, name=name or f"t-{second}", at=at, **more).overall.verdict


def test_an_average_is_over_the_records_of_its_window(desk: VerdictDesk) -> None:
    """(as_of - 60 s, as_of]: the first record has left the window when the third comes."""
    desk.judge_by(_average())
    assert _verdict(desk, 30, 0) is Verdict.FLAG
    assert _verdict(desk, 10, 30) is Verdict.CLEAR
    assert _verdict(desk, 25, 60) is Verdict.CLEAR
    (body,) = [one for one in desk.entries(EntryKind.VERDICT) if one["telemetry"]["telemetry_id"] == "t-60"]
    assert [fact["records"] for fact in body["window_facts"]] == [2]


def test_a_late_record_takes_its_place_in_time(desk: VerdictDesk) -> None:
    desk.judge_by(_average())
    _verdict(desk, 10, 30)
    assert _verdict(desk, 40, 10, "late") is Verdict.FLAG
    assert _verdict(desk, 10, 40) is Verdict.CLEAR


def test_another_subject_and_another_record_of_the_same_instant_are_kept_apart(desk: VerdictDesk) -> None:
    desk.judge_by(_average(), rule("other", kind="must_average_within", value=[0, 20], window_seconds=60, subject="b"))
    _verdict(desk, 100, 0, subject="b")
    assert _verdict(desk, 10, 1) is Verdict.CLEAR


@pytest.mark.clause("ski", "4.1")
def test_evidence_that_is_not_fresh_is_stale(desk: VerdictDesk) -> None:
    desk.judge_by(rule("fresh", kind="must_be_recorded_within", metric="calibrated", value=30))
    assert _verdict_of(desk, {"calibrated": True}, 0) is Verdict.NULL_STALE
    assert _verdict_of(desk, {"so2": 1}, 20) is Verdict.CLEAR
    assert _verdict_of(desk, {"so2": 1}, 60) is Verdict.NULL_STALE


def _verdict_of(desk: VerdictDesk, measurement: dict[str, object], second: int) -> Verdict | None:
    at = desk.at(minutes=5, seconds=second)
    return desk.decide(measurement, name=f"t-{second}", at=at).overall.verdict


def test_records_that_are_too_old_leave_the_buffer_and_the_drop_is_logged(desk: VerdictDesk) -> None:
    desk.judge_by(_average())
    desk.settings(keep_seconds=45)
    _verdict(desk, 10, 0)
    _verdict(desk, 10, 5)
    _verdict(desk, 10, 30)
    # The window reaches back to what was dropped, so nobody can tell the average.
    assert _verdict(desk, 10, 50) is Verdict.CLEAR
    (drop,) = desk.entries(EntryKind.TELEMETRY_DROPPED)
    assert (drop["subject"], drop["records"]) == ("stack", 2)
    assert _verdict(desk, 10, 55) is Verdict.DISCRETIONARY
    (state,) = show_buffers(desk.tools, TENANT)
    assert (state.subject, state.records, state.keep_seconds) == ("stack", 3, 45)
    assert state.dropped_until == desk.at(minutes=5, seconds=5)


def test_records_of_one_subject_see_each_other_also_at_once(desk: VerdictDesk) -> None:
    """Sixteen at once: each window holds all that were recorded before it, so the counts are one to sixteen."""
    desk.judge_by(_average())
    at = desk.at(minutes=5)
    at_once([lambda n=n: desk.decide({"so2": 10}, name=f"t-{n}", at=at) for n in range(16)])  # type: ignore[misc]  # bound
    counts = [body["window_facts"][0]["records"] for body in desk.entries(EntryKind.VERDICT)]
    assert sorted(counts) == list(range(1, 17))


@pytest.mark.clause("ski", "5.6")
def test_a_stable_low_rule_needs_no_model_any_more(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit", "low"))
    desk.settings(fast_path_n=3)
    assert desk.model is not None
    for second in range(5):
        _verdict(desk, 10, second)
    assert len(desk.model.asked) == 3
    (one,) = desk.decide({"so2": 10}, name="fast").verdicts
    assert one.envelope is not None
    assert one.envelope.verdict_path is VerdictPath.FAST
    assert one.envelope.model_provenance.model_weight_hash == WEIGHTS
    assert one.envelope.verifier_result.status is VerifierStatus.AGREED
    assert [cited.node_id for cited in one.envelope.kg_citations] == ["limit.o"]


@pytest.mark.clause("ski", "5.6")
def test_a_record_that_differs_is_judged_by_the_model_and_the_count_begins_again(desk: VerdictDesk) -> None:
    """The model is left out only where it has said the very same often enough."""
    desk.judge_by(rule("limit", "low"))
    desk.settings(fast_path_n=2)
    assert desk.model is not None
    for second in range(2):
        _verdict(desk, 10, second)
    for name, asked in (("breach", 3), ("again", 4), ("stable", 4)):
        (one,) = desk.decide({"so2": 50}, name=name).verdicts
        assert (one.verdict, len(desk.model.asked)) == (Verdict.FLAG, asked)


@pytest.mark.clause("ski", "5.6")
def test_another_graph_or_other_weights_are_not_stable_yet(desk: VerdictDesk) -> None:
    """What was stable was one graph and one model: after either changed, the model is asked again."""
    desk.judge_by(rule("limit", "low"))
    desk.settings(fast_path_n=1)
    _verdict(desk, 10, 0)
    assert desk.model is not None
    assert (_verdict(desk, 10, 1), len(desk.model.asked)) == (Verdict.CLEAR, 1)
    desk.judge_by(rule("limit", "low", value=30), compiled_at="2026-02-01T00:00:00Z")
    assert (_verdict(desk, 10, 2), len(desk.model.asked)) == (Verdict.CLEAR, 1)
    other = digest_of(b"other weights")
    desk.settings(weights=(WEIGHTS, other))
    desk.thinks(desk.model, weights=other)
    assert (_verdict(desk, 10, 3), len(desk.model.asked)) == (Verdict.CLEAR, 2)


@pytest.mark.clause("ski", "5.6")
@pytest.mark.parametrize("tier", ["medium", "high"])
def test_medium_and_high_rules_always_ask_the_model(desk: VerdictDesk, tier: str) -> None:
    desk.judge_by(rule("limit", tier))
    desk.settings(fast_path_n=1)
    assert desk.model is not None
    for second in range(4):
        _verdict(desk, 10, second)
    assert len(desk.model.asked) == 4


@pytest.mark.clause("ski", "5.6")
def test_zero_switches_the_fast_path_off(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit", "low"))
    desk.settings(fast_path_n=0)
    assert desk.model is not None
    for second in range(4):
        _verdict(desk, 10, second)
    assert len(desk.model.asked) == 4


@pytest.mark.clause("ski", "9.2")
def test_subjects_without_rules_are_on_the_register_until_a_graph_knows_them(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    for second in range(2):
        _verdict(desk, 10, second, subject="chimney", jurisdiction="de")
    (gap,) = coverage(desk.tools, TENANT, is_open=True)
    assert (gap.subject, gap.records, gap.jurisdictions, gap.metrics) == ("chimney", 2, ("de",), ("so2",))
    desk.judge_by(rule("limit"), rule("two", subject="chimney"), compiled_at="2026-02-01T00:00:00Z")
    assert coverage(desk.tools, TENANT, is_open=True) == ()
    assert [one.subject for one in coverage(desk.tools, TENANT)] == ["chimney"]


@pytest.mark.clause("ski", "9.2")
def test_the_agreement_rate_is_over_a_window_that_survives(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit", "low"))
    assert check_agreement(desk.tools, TENANT).status is CanaryStatus.NO_DATA
    for second in range(3):
        _verdict(desk, 10, second)
    assert check_agreement(desk.tools, TENANT).is_healthy
    desk.thinks(lambda _: '{"formalizable_assertions":[],"kg_citations":[],"reasoning":"","verdict":"CLEAR"}')
    _verdict(desk, 99, 4)
    told = [
        note
        for one in desk.decide({"so2": 99}, name="t-4", at=desk.at(minutes=5, seconds=4)).verdicts
        if one.envelope
        for note in one.envelope.notes
    ]
    assert "agreement.degraded: 0.75 of the latest 4, not above 0.995" in told
    assert "agreement.degraded" in {
        one.type for one in desk.read(lambda unit: unit.outbox.events(TENANT, after=0, limit=1000))
    }
    canary = check_agreement(desk.tools, TENANT)
    assert (canary.status, canary.observed, canary.agreement_rate) == (CanaryStatus.DEGRADED, 4, 0.75)
    desk.settings(agreement_threshold=Decimal("0.7"))
    assert check_agreement(desk.tools, TENANT).is_healthy
    desk.settings(agreement_window=1)
    assert check_agreement(desk.tools, TENANT).agreement_rate == 0


def test_many_lines_are_judged_in_order_and_a_bad_one_stops_nobody(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    lines = [canonical_json(desk.record({"so2": n}, name=f"t-{n}")) for n in range(8)]
    given = [*lines[:4], "{not json", "", canonical_json(desk.record({"so2": 99}, name="t-0")), *lines[4:]]
    for workers in (1, 4):
        results = list(evaluate_many(desk.tools, given, credential=desk.sensor, workers=workers))
        assert [one.line for one in results] == [1, 2, 3, 4, 5, 7, 8, 9, 10, 11]
        assert [one.code for one in results if one.code] == ["json.malformed", "telemetry.conflict"]
        assert [one.decided.is_new for one in results if one.decided] == [workers == 1] * 8
    desk.thinks(lambda _: "{}", weights=digest_of(b"other"))
    with refused("sovereignty.unmet"):
        list(evaluate_many(desk.tools, [canonical_json(desk.record({"so2": 1}, name="new"))], credential=desk.sensor))


@pytest.mark.clause("ski", "5.1")
def test_a_record_of_year_one_is_judged_like_any_other(desk: VerdictDesk) -> None:
    """Windows and retention reach back to the beginning of the calendar, and no further."""
    desk.judge_by(_average())
    lines = [
        canonical_json({**desk.record({"so2": 10}, name=name), "timestamp": f"{year}-01-01T00:00:00Z"})
        for name, year in (("now", "2025"), ("then", "0001"), ("later", "2026"))
    ]
    results = list(evaluate_many(desk.tools, lines, credential=desk.sensor))
    assert [one.code for one in results] == [None] * 3
    assert [one.decided and one.decided.overall.verdict for one in results] == [Verdict.CLEAR] * 3


def test_a_graph_whose_window_no_clock_could_reach_does_not_come_into_use(desk: VerdictDesk) -> None:
    with refused("graph.invalid"):
        desk.judge_by(rule("long", kind="must_average_within", value=[0, 20], window_seconds=10**14))
