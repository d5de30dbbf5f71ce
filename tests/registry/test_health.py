"""Outcomes are counted over the last 60 seconds, at the same cost however many there were."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.instant import Instant
from assay.registry.errors import RegistryError
from assay.registry.health import (
    WINDOW_SECONDS,
    AskerFailures,
    Bucket,
    Outcome,
    OutcomeWindow,
    Totals,
    classify,
    merge_buckets,
    total_of,
)
from tests.identity.people import NOON, later
from tests.raising import raises

_events = st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=60)


def _watch(events: list[tuple[int, bool]]) -> OutcomeWindow:
    window = OutcomeWindow()
    for second, failed in events:
        window.observe(Outcome.FAILED if failed else Outcome.SERVED, later(seconds=second))
    return window


@given(events=_events, end=st.integers(0, 500))
def test_the_window_is_what_recounting_everything_gives(events: list[tuple[int, bool]], end: int) -> None:
    """In whatever order outcomes arrive, as of the newest second seen."""
    now = max([end, *(second for second, _ in events)])
    newest = 0
    kept = []
    for second, failed in events:
        newest = max(newest, second)
        if second > newest - WINDOW_SECONDS:
            kept.append((second, failed))
    inside = [failed for second, failed in kept if second > now - WINDOW_SECONDS]
    assert _watch(events).totals(later(seconds=now)) == Totals(requests=len(inside), errors=sum(inside))


@given(events=_events)
def test_a_window_survives_a_restart_as_buckets(events: list[tuple[int, bool]]) -> None:
    window = _watch(events)
    again = OutcomeWindow(window.buckets())
    assert again.buckets() == window.buckets()
    end = later(seconds=420)
    assert again.totals(end) == window.totals(end) == total_of(window.buckets(), end)


@given(first=_events, second=_events)
def test_workers_together_saw_what_each_saw(first: list[tuple[int, bool]], second: list[tuple[int, bool]]) -> None:
    one, two = _watch(first).buckets(), _watch(second).buckets()
    both = merge_buckets([one, two])
    assert both == merge_buckets([two, one])
    assert sum(bucket.requests for bucket in both) == sum(bucket.requests for bucket in one + two)
    assert sum(bucket.errors for bucket in both) == sum(bucket.errors for bucket in one + two)


def test_what_was_before_a_restore_is_forgotten() -> None:
    """Otherwise the old errors would fire the switch again at once; a late word about them changes nothing."""
    window = _watch([(0, True), (5, True), (10, True)]).after(later(seconds=10))
    window.observe(Outcome.FAILED, later(seconds=9))
    assert window.totals(later(seconds=10)) == Totals()
    window.observe(Outcome.FAILED, later(seconds=10))
    window.observe(Outcome.SERVED, later(seconds=11))
    assert window.totals(later(seconds=12)) == Totals(requests=2, errors=1)
    fresh = OutcomeWindow(_watch([(0, True)]).buckets(), since=later(seconds=1))
    assert fresh.totals(later(seconds=1)) == Totals()


def test_what_came_after_a_restore_still_counts_when_it_is_heard_of_late() -> None:
    window = _watch([(5, True), (10, True), (11, True), (30, False)]).after(later(seconds=10))
    assert window.totals(later(seconds=40)) == Totals(requests=2, errors=1)


@given(events=_events, at=st.integers(0, 500))
def test_an_instant_is_beyond_the_window_where_nothing_would_be_counted(
    events: list[tuple[int, bool]], at: int
) -> None:
    window = _watch(events)
    before = window.totals(later(seconds=0))
    window.observe(Outcome.FAILED, later(seconds=at))
    if _watch(events).is_beyond(later(seconds=at)):
        assert window.totals(later(seconds=0)) == before
    else:
        assert window.totals(later(seconds=at)).errors > 0


def test_the_rate_of_nothing_is_zero() -> None:
    assert Totals().error_rate == 0.0
    assert Totals(requests=50, errors=1).error_rate == 0.02


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize(
    ("status", "path", "outcome"),
    [(200, "/x", Outcome.SERVED), (404, "/x", Outcome.SERVED), (499, "/x", Outcome.SERVED), (500, "/x", Outcome.FAILED),
     (503, "/api/v2/forja", None), (500, "/api/v2/forja/sense", None), (500, "/api/v2/forjas", Outcome.FAILED)],
)  # fmt: skip
def test_only_failures_of_the_service_itself_are_errors(status: int, path: str, outcome: Outcome | None) -> None:
    """A 4xx is the caller's mistake, and the protocol's own endpoints are not counted."""
    assert classify(status, path) is outcome


@pytest.mark.parametrize(("requests", "errors"), [(1, 2), (0, -1)])
def test_more_errors_than_requests_are_refused(requests: int, errors: int) -> None:
    with raises(RegistryError.window):
        Bucket(second=0, requests=requests, errors=errors)


def test_a_long_silence_costs_one_round_of_the_ring() -> None:
    window = _watch([(0, True)])
    assert window.totals(Instant(NOON + timedelta(days=4000))) == Totals()


@pytest.mark.clause("forja", "kill-switch")
def test_who_failed_most_by_asking_is_known_for_a_minute() -> None:
    failures = AskerFailures()
    assert failures.is_empty
    assert failures.most(NOON) == (None, 0)
    for asker, seconds in (("a", 0), ("b", 1), ("b", 2), ("a", 30), ("a", 31)):
        failures.observe(asker, later(seconds=seconds))
    assert failures.most(later(seconds=31)) == ("a", 3)
    assert failures.most(later(seconds=61)) == ("a", 2)
    failures.forget(later(seconds=30))
    assert failures.most(later(seconds=61)) == ("a", 1)
    assert failures.most(later(seconds=91)) == (None, 0)
    assert failures.is_empty
