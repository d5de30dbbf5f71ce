"""A state says itself when time alone will change it: until then compiling again says the same."""

from datetime import timedelta
from typing import Any

import pytest

from assay.kernel.instant import Instant, render_instant
from assay.truth.consensus import count_votes, disputed_since, find_window
from assay.truth.contract import Contract
from assay.truth.due import find_due
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, shown_hash
from assay.truth.status import TruthStatus
from assay.truth.vote import vote_hash
from tests.truth.compiling import KEY, at, compiled, disputed, flood, observed, scores_for, trusted, voted, window

_SNAPSHOT = trusted(ann="bronze", ben="bronze", cem="bronze", eve="expert", gus="authority")
_SAID = [observed("user:ann"), observed("user:ben"), observed("user:cem")]
_CRITICAL: dict[str, object] = {"risk_profile": "critical", "validation_flow.mode": "human_peer"}


def _due(contract: Contract, state: TruthState, given: dict[str, Any], snapshot: TrustSnapshot) -> Instant | None:
    now = state.compile_inputs.compile_time
    opened, _ = find_window(contract, KEY, given.get("window_events", ()), now)
    votes = {vote_hash(one): one for one in given.get("votes", ())}
    tally, _ = count_votes(contract, KEY, shown_hash(state), votes, snapshot, opened, now)
    return find_due(contract, state, opened, disputed_since(tally, opened))


def _found(contract: Contract, now: str, **given: Any) -> tuple[TruthState, Instant | None]:  # noqa: ANN401 - inputs
    state = compiled(contract, _SAID, _SNAPSHOT, now=now, **given)
    return state, _due(contract, state, given, _SNAPSHOT)


_CASES: dict[str, tuple[dict[str, object], str, dict[str, Any]]] = {
    "validity": ({}, "13:30", {"ai_scores": scores_for(_SAID)}),
    "a window": (_CRITICAL, "13:30", {"window_events": [window()]}),
    "a disputed final state": (
        {"dispute_resolution.timeout": "PT1H", "validation_flow.window": "PT6H"},
        "13:30",
        {"window_events": [disputed("13:10", until="14:10")]},
    ),
    "a challenge": (
        _CRITICAL | {"dispute_resolution.timeout": "PT1H", "dispute_resolution.quorum": 3},
        "13:30",
        {"window_events": [window()], "votes": [voted("user:eve", "CHALLENGE", cast="13:00")]},
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_the_instant_it_names_is_the_first_at_which_it_is_another(name: str) -> None:
    """One microsecond earlier it still says what it said."""
    changes, now, given = _CASES[name]
    contract = flood(changes)
    state, due = _found(contract, now, **given)
    assert due is not None
    before, then = (render_instant(Instant(due - timedelta(microseconds=1))), render_instant(due))
    assert compiled(contract, _SAID, _SNAPSHOT, now=before, **given).status is state.status
    assert compiled(contract, _SAID, _SNAPSHOT, now=then, **given).status is not state.status


def test_the_nearest_of_several_comes_first_and_what_has_passed_comes_no_more() -> None:
    contract = flood(_CRITICAL | {"dispute_resolution.timeout": "PT1H", "dispute_resolution.quorum": 3})
    given = {"window_events": [window()], "votes": [voted("user:eve", "CHALLENGE", cast="13:00")]}
    assert _found(contract, "13:30", **given)[1] == at("14:00")
    late, due = _found(flood(_CRITICAL), "18:30", window_events=[window()])
    assert late.status is TruthStatus.INCONCLUSIVE
    assert due is not None
    assert due > at("18:30")


def test_an_aborted_window_ends_nothing() -> None:
    contract = flood(_CRITICAL)
    aborted = [window(), window("WINDOW_ABORTED", occurred="13:00", closes=None)]
    _, validity = _found(contract, "13:30", window_events=aborted)
    _, without = _found(contract, "13:30")
    assert validity == without


def test_what_is_settled_is_never_due() -> None:
    """Nothing follows EXPIRED, and where nobody spoke nothing grows old."""
    contract = flood()
    state, due = _found(contract, "2026-02-07T13:30:00Z")
    assert (state.status, due) == (TruthStatus.EXPIRED, None)
    silent = compiled(contract, [], _SNAPSHOT)
    assert (silent.status, _due(contract, silent, {}, _SNAPSHOT)) == (TruthStatus.UNVERIFIED, None)
