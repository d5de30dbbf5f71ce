"""A validation window is what its events say, in whatever order they come."""

import json
from collections.abc import Iterable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from assay.kernel.instant import Instant, parse_instant
from assay.truth.errors import RecordError, TruthError
from assay.truth.window import (
    Window,
    WindowEvent,
    find_seal,
    fold_rounds,
    last_round,
    parse_window_event,
    render_window_event,
    window_event_hash,
)
from tests.raising import raises
from tests.truth.records import KEY, hash_of_text

OTHER_KEY = KEY.replace("flood", "fire")


def at(hour: int) -> Instant:
    return parse_instant(f"2026-01-07T{hour:02}:00:00Z")


def event(kind: str, hour: int, until: int | None = None, key: str = KEY) -> WindowEvent:
    value: dict[str, Any] = {
        "event_id": f"{kind.lower()}-{hour}",
        "truthkey": key,
        "kind": f"WINDOW_{kind}",
        "by": "policy:flow_v1",
        "occurred_at": f"2026-01-07T{hour:02}:00:00Z",
    }
    return parse_window_event(value if until is None else {**value, "closes_at": f"2026-01-07T{until:02}:00:00Z"})


def fold_window(events: Iterable[WindowEvent], *, max_extensions: int) -> Window | None:
    return last_round(fold_rounds(events, max_extensions=max_extensions))


def window(*events: WindowEvent) -> Window:
    folded = fold_window(events, max_extensions=1)
    assert folded is not None
    return folded


def test_votes_count_from_the_opening_up_to_the_end() -> None:
    """The end itself is outside."""
    opened = window(event("OPENED", 10, until=12))
    assert [opened.admits(at(hour)) for hour in (9, 10, 11, 12)] == [False, True, True, False]


def test_an_extension_prolongs_as_often_as_the_contract_allows() -> None:
    """One more than that, or one that would shorten, changes no end."""
    extended = window(event("OPENED", 10, 12), event("EXTENDED", 11, 14))
    assert (extended.end, extended.extensions) == (at(14), 1)
    assert window(event("OPENED", 10, 12), event("EXTENDED", 11, 14), event("EXTENDED", 13, 20)).end == at(14)
    assert window(event("OPENED", 10, 14), event("EXTENDED", 11, 12)).end == at(14)


def test_closing_ends_a_window_early_and_aborting_discards_its_votes() -> None:
    closed = window(event("OPENED", 10, 14), event("CLOSED", 12))
    assert [closed.admits(at(hour)) for hour in (11, 12)] == [True, False]
    aborted = window(event("OPENED", 10, 14), event("ABORTED", 12))
    assert aborted.is_open(at(11))
    assert not aborted.admits(at(11))


def test_an_event_that_comes_too_late_or_too_early_changes_nothing() -> None:
    """After the end a window is not extended, nor before an opening; an opening of an open one is none."""
    late = window(event("OPENED", 10, 12), event("EXTENDED", 12, 20), event("ABORTED", 13))
    assert (late.end, late.is_aborted) == (at(12), False)
    assert fold_window([event("CLOSED", 9)], max_extensions=1) is None
    assert fold_window([], max_extensions=1) is None
    assert window(event("EXTENDED", 9, 20), event("OPENED", 10, 12), event("OPENED", 11, 20)).end == at(12)


def test_any_order_and_repetition_of_the_events_gives_the_same_window() -> None:
    events = [event("OPENED", 10, 12), event("EXTENDED", 11, 15), event("CLOSED", 14), event("OPENED", 11, 13)]
    assert {fold_window([*order, order[0]], max_extensions=2) for order in permutations(events)} == {
        fold_window(events, max_extensions=2)
    }


def test_after_its_end_another_opening_begins_the_next_round() -> None:
    """Votes count in the round in which they were cast; what ends one comes first at the same instant."""
    events = [event("OPENED", 10, 12), event("OPENED", 12, 14), event("CLOSED", 13), event("OPENED", 13, 15)]
    rounds = fold_rounds(events, max_extensions=1)
    assert [(one.round, one.opened_at, one.end) for one in rounds] == [
        (1, at(10), at(12)),
        (2, at(12), at(13)),
        (3, at(13), at(15)),
    ]
    assert [window(*events).admits(at(hour)) for hour in (11, 12, 13, 15)] == [False, False, True, False]


def test_a_round_that_was_aborted_leaves_the_one_before_it_in_force() -> None:
    events = [event("OPENED", 10, 12), event("OPENED", 13, 15), event("ABORTED", 14)]
    assert (window(*events).round, window(*events).is_aborted) == (1, False)


def test_no_round_is_longer_than_the_contract_says() -> None:
    """So the next one may begin when that time is over, whatever end the first was opened with."""
    events = [event("OPENED", 10, 20), event("EXTENDED", 11, 20), event("OPENED", 14, 20)]
    rounds = fold_rounds(events, max_extensions=1, longest=timedelta(hours=2))
    assert [one.end for one in rounds] == [at(14), at(16)]


def test_the_first_final_answer_of_people_seals_a_round() -> None:
    first, second = fold_rounds([event("OPENED", 10, 12), event("OPENED", 13, 15)], max_extensions=1)
    seals = (at(11), at(12), at(14))
    assert [find_seal(one, seals) for one in (None, first, second)] == [None, at(11), at(14)]
    assert find_seal(replace(second, is_aborted=True), seals) is None


def test_events_of_two_keys_are_no_window() -> None:
    with raises(TruthError.window):
        fold_window([event("OPENED", 10, 12), event("CLOSED", 11, key=OTHER_KEY)], max_extensions=1)


@pytest.mark.parametrize(("kind", "until"), [("OPENED", None), ("EXTENDED", None), ("CLOSED", 12), ("OPENED", 10)])
def test_an_event_says_until_when_exactly_where_it_must(kind: str, until: int | None) -> None:
    """Later than itself, and not when it ends the window."""
    with pytest.raises(RecordError) as refused:
        event(kind, 10, until)
    assert [problem.path for problem in refused.value.problems] == ["closes_at"]


def test_an_event_is_hashed_with_all_its_fields() -> None:
    """The text written out by hand."""
    text = (
        '{"by":"policy:flow_v1","closes_at":"2026-01-07T12:00:00Z","event_id":"opened-10","kind":"WINDOW_OPENED",'
        f'"occurred_at":"2026-01-07T10:00:00Z","reason":"","truthkey":"{KEY}"}}'
    )
    opened = event("OPENED", 10, 12)
    assert render_window_event(opened) == text.encode()
    assert window_event_hash(opened) == hash_of_text(text)


def disputed(hour: int, until: int) -> WindowEvent:
    return replace(event("OPENED", hour, until), dispute_hash=hash_of_text("a dispute"))


def test_an_event_without_a_dispute_has_the_bytes_that_it_always_had() -> None:
    """A field that came later changes no hash of what does not use it; one that uses it says so in its bytes."""
    plain, marked = event("OPENED", 10, 12), disputed(10, 12)
    assert b"dispute" not in render_window_event(plain)
    assert window_event_hash(plain) != window_event_hash(marked)
    assert parse_window_event(render_window_event(marked)) == marked


def test_a_dispute_opens_a_window_and_does_nothing_else() -> None:
    for kind, until in (("EXTENDED", 12), ("CLOSED", None), ("ABORTED", None)):
        with pytest.raises(RecordError) as refused:
            parse_window_event(
                {**_value(event(kind, 10, until)), "dispute_hash": hash_of_text("a dispute")},
            )
        assert [problem.path for problem in refused.value.problems] == ["dispute_hash"]


def _value(given: WindowEvent) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(render_window_event(given))
    return value


def test_a_disputed_round_is_as_long_as_a_dispute_and_longer_by_what_is_added() -> None:
    """Whatever the event says; the next round that nobody disputed is as long as any."""
    events = [disputed(10, 20), event("EXTENDED", 11, 22), event("OPENED", 19, 23)]
    first, second = fold_rounds(
        events, max_extensions=1, longest=timedelta(hours=2), longest_disputed=timedelta(hours=5)
    )
    assert (first.is_disputed, first.end) == (True, at(17))
    assert (second.is_disputed, second.end) == (False, at(21))


def test_a_dispute_while_a_window_is_open_changes_nothing() -> None:
    alone = window(event("OPENED", 10, 14))
    assert window(event("OPENED", 10, 14), disputed(11, 20)) == alone
