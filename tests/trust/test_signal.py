"""A signal says what an authenticated agent did, in one form, with the body of its kind, hashed in one way."""

from hashlib import sha256

import pytest

from assay.kernel.errors import Error
from assay.trust.errors import SignalError, TrustError
from assay.trust.signal import (
    AgentRegistered,
    SignalKind,
    TrustSignal,
    parse_signal,
    read_stored_signal,
    render_signal,
    signal_hash,
)
from tests.raising import raises
from tests.trust.signals import CLAIM_TYPE, DAY_ONE, KEY, NODE, SIGNER, TICKET, emitted, instant, outcome, signal

BODIES: dict[str, dict[str, object]] = {
    "AGENT_REGISTERED": {"agent_id": "user:amira"},
    "ROLE_GRANTED": {"agent_id": "user:amira", "role": "steward", "expires_at": "2027-01-01T00:00:00Z"},
    "MISSION_CREATED": {"mission_id": "m-1"},
    "PROBE_CREATED": {"probe_id": "p-1", "created_by": "user:amira", "theta_min": 0.4, "mission_id": "m-1"},
    "OBSERVER_ASSIGNED": {"probe_id": "p-1", "agent_id": "user:amira"},
    "OBSERVATION_SUBMITTED": {
        "observation_id": "o-1",
        "observation_hash": "c" * 64,
        "truthkey": KEY,
        "probe_id": None,
    },
    "VALIDATION_VOTE": {"vote_hash": "d" * 64, "truthkey": KEY, "vote_type": "RATIFY"},
    "TRUTHSTATE_EMITTED": {
        "truthkey": KEY,
        "claim_type": CLAIM_TYPE,
        "state_hash": "a" * 64,
        "status": "VERIFIED_TRUE",
        "signed_by": SIGNER,
        "outcomes": [outcome("user:amira", probe_id=None)],
    },
    "ENDORSEMENT": {"endorsed": "user:bo", "weight": 0.5},
    "DISPUTE_RAISED": {"truthkey": KEY, "state_hash": "a" * 64, "reason": "no water there"},
    "PENALTY_APPLIED": {
        "agent_id": "user:amira",
        "points": 50,
        "ticket_id": TICKET,
        "answer_hashes": ["b" * 64],
        "reason": "",
    },
    "POLICY_REGISTERED": {"policy_id": "flow_v1", "policy_hash": "e" * 64},
    "WINDOW_OPENED": {"truthkey": KEY, "closes_at": "2026-01-09T00:00:00Z"},
    "WINDOW_EXTENDED": {"truthkey": KEY, "closes_at": "2026-01-10T00:00:00Z"},
    "WINDOW_CLOSED": {"truthkey": KEY, "reason": ""},
    "WINDOW_ABORTED": {"truthkey": KEY, "reason": "storm"},
}


def test_there_is_a_body_here_for_every_kind() -> None:
    assert set(BODIES) == set(SignalKind)


@pytest.mark.parametrize("kind", list(SignalKind))
def test_every_kind_of_signal_survives_its_own_bytes(kind: SignalKind) -> None:
    """Nothing is lost between a signal and the text that the log keeps; every field is in the text."""
    read = signal(kind, BODIES[kind])
    assert parse_signal(render_signal(read)) == read
    assert read_stored_signal(kind, render_signal(read)) == read
    assert all(f'"{name}":'.encode() in render_signal(read) for name in BODIES[kind])


@pytest.mark.parametrize(("kind", "text"), [("ENDORSEMENT", "{}"), ("NOTHING", "{}"), ("ENDORSEMENT", "{")])
def test_a_text_that_the_log_cannot_hold_is_refused(kind: str, text: str) -> None:
    """Reading it quickly is no reason to take what is no signal."""
    with raises(TrustError.signal_kind):
        read_stored_signal(kind, text)


def test_a_signal_is_hashed_with_all_its_fields() -> None:
    """The text written out by hand, absent fields as null."""
    text = (
        '{"agent_id":"user:amira","kind":"ENDORSEMENT","object":{"endorsed":"user:bo","weight":0.5},'
        '"occurred_at":"2026-01-08T10:00:00Z","signal_id":"s-1","submitted_by":null}'
    )
    read = parse_signal(
        {
            "signal_id": "s-1",
            "kind": "ENDORSEMENT",
            "agent_id": "user:amira",
            "occurred_at": "2026-01-08T11:00:00+01:00",
            "object": {"weight": 0.50, "endorsed": "user:bo"},
        }
    )
    assert render_signal(read) == text.encode()
    assert signal_hash(read) == sha256(text.encode()).hexdigest()


def test_who_handed_a_signal_in_is_kept_beside_whom_it_is_by() -> None:
    value: dict[str, object] = {
        "signal_id": "s-1",
        "kind": "AGENT_REGISTERED",
        "agent_id": "user:amira",
        "submitted_by": "service:gateway",
        "occurred_at": DAY_ONE,
        "object": {"agent_id": "sensor:042"},
    }
    assert parse_signal(value).submitted_by == "service:gateway"


@pytest.mark.parametrize(
    ("kind", "changes", "where"),
    [
        ("ENDORSEMENT", {"weight": 1.5}, "object.weight"),
        ("ENDORSEMENT", {"endorsed": "User:Bo"}, "object.endorsed"),
        ("ENDORSEMENT", {"standing": 1000}, "object.standing"),
        ("PENALTY_APPLIED", {"points": 0}, "object.points"),
        ("PENALTY_APPLIED", {"points": -5}, "object.points"),
        ("PENALTY_APPLIED", {"ticket_id": "because"}, "object.ticket_id"),
        ("PENALTY_APPLIED", {"answer_hashes": []}, "object.answer_hashes"),
        ("TRUTHSTATE_EMITTED", {"status": "TRUE"}, "object.status"),
        ("TRUTHSTATE_EMITTED", {"outcomes": [outcome("user:a"), outcome("user:a", correct=False)]}, "object.outcomes"),
        ("TRUTHSTATE_EMITTED", {"outcomes": [outcome("user:a", quality=2)]}, "object.outcomes[0].quality"),
        ("WINDOW_OPENED", {"closes_at": "soon"}, "object.closes_at"),
    ],
)
def test_a_signal_out_of_form_is_refused_where_it_is_wrong(kind: str, changes: dict[str, object], where: str) -> None:
    """No penalty without a ticket and somebody's answer to it; no agent judged twice in one role by one state."""
    with pytest.raises(SignalError) as refused:
        signal(kind, {**BODIES[kind], **changes})
    assert [problem.path for problem in refused.value.problems] == [where]
    assert refused.value.code == "trust.signal"


@pytest.mark.parametrize("kind", ["BRIBE", None, ["ENDORSEMENT"]])
def test_a_signal_of_no_known_kind_is_refused_with_everything_else_that_is_wrong(kind: object) -> None:
    with pytest.raises(SignalError) as refused:
        parse_signal({"signal_id": "s", "kind": kind, "agent_id": "A", "occurred_at": DAY_ONE, "object": {}})
    assert [problem.path for problem in refused.value.problems] == ["agent_id", "kind"]


@pytest.mark.parametrize("text", ["[]", "{", '{"a":1,"a":2}', "null", b"\xff"])
def test_a_text_that_is_no_signal_is_refused_with_a_code(text: str | bytes) -> None:
    with pytest.raises(Error):
        parse_signal(text)


def test_a_signal_made_here_has_the_body_of_its_kind() -> None:
    body = AgentRegistered(agent_id="user:amira")
    with raises(TrustError.signal_kind, match="expected Endorsement in a signal ENDORSEMENT, got AgentRegistered"):
        TrustSignal(signal_id="s", kind=SignalKind.ENDORSEMENT, agent_id=NODE, occurred_at=instant(), object=body)


def test_the_same_signal_has_the_same_bytes_in_any_layout() -> None:
    one = emitted(outcome("user:a", quality=0.25))
    spaced = render_signal(one).decode().replace(",", " ,\n ").replace("0.25", "2.5e-1")
    assert render_signal(parse_signal(spaced)) == render_signal(one)
