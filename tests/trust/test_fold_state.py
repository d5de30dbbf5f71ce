"""A checkpoint is one canonical text: read exactly, or refused so that the log is folded again."""

import json
from typing import Any

import pytest

from assay.trust.errors import TrustError
from assay.trust.fold_state import parse_fold_state, render_fold_state
from tests.raising import raises
from tests.trust.signals import DAY_ONE, emitted, endorsed, fold_of, outcome, penalty, registered, signal


def _text() -> bytes:
    fold = fold_of(
        registered("user:a"),
        registered("user:b"),
        emitted(outcome("user:a")),
        endorsed("user:b", "user:a", 0.5),
        penalty("user:b", 3),
        signal("PROBE_CREATED", {"probe_id": "p", "created_by": "user:b", "theta_min": 0.25}),
        signal("OBSERVER_ASSIGNED", {"probe_id": "p", "agent_id": "user:a"}),
        signal("ROLE_GRANTED", {"agent_id": "user:a", "role": "steward", "expires_at": DAY_ONE}),
    )
    return render_fold_state(fold.checkpoint())


def test_a_checkpoint_survives_its_own_bytes() -> None:
    state = parse_fold_state(_text())
    assert render_fold_state(state) == _text()
    assert parse_fold_state(_text().decode()) == state
    assert json.loads(_text())["agents"]["user:a"]["standing"] == 302_079_442


def test_a_fold_before_any_signal_has_a_checkpoint_too() -> None:
    state = fold_of().checkpoint()
    assert parse_fold_state(render_fold_state(state)) == state


def _spoiled(change: str) -> bytes:
    value: Any = json.loads(_text())
    if change == "unknown":
        value["extra"] = 1
    elif change == "range":
        value["agents"]["user:a"]["standing"] = 1_000_000_001
    elif change == "clock":
        value["clock"] = "2026-01-08T10:00:00"
    elif change == "stranger":
        del value["agents"]["user:a"]
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize("change", ["unknown", "range", "clock", "stranger"])
def test_a_checkpoint_that_was_changed_is_refused(change: str) -> None:
    with raises(TrustError.fold_state):
        parse_fold_state(_spoiled(change))


@pytest.mark.parametrize("text", ["", "[]", "{", "\ud800", b"\xff", b"[" * 100_000, b" " + _text()])
def test_a_text_that_is_no_canonical_checkpoint_is_refused(text: str | bytes) -> None:
    with raises(TrustError.fold_state):
        parse_fold_state(text)
