"""The compiler is pure and total: the same inputs give the same bytes, and every refusal has a code."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.errors import Code, Error
from assay.truth.ai_score import AiScore, ai_score_hash
from assay.truth.compile import compile_truth_state
from assay.truth.contract import SimilarityMethod
from assay.truth.errors import NumberFormError, SigningTimeError, StateError
from assay.truth.evidence import Fingerprint
from assay.truth.flag import Flag
from assay.truth.key import parse_truth_key
from assay.truth.observation import HashedObservation, hash_observation
from assay.truth.state import TruthState, parse_truth_state, render_truth_state
from assay.truth.status import TruthStatus
from assay.truth.time import NaiveDatetimeError
from assay.truth.validation import SchemaValidationError
from assay.truth.vote import Vote, vote_hash
from assay.truth.window import window_event_hash
from tests.raising import raises
from tests.truth.compiling import KEY, at, compiled, flood, observed, scored, scores_for, trusted, voted, window
from tests.truth.records import HASH_A

CONTRACT = flood()
NAMES = ("amira", "ben", "cleo", "dan", "eva")
TRUST = trusted(amira="bronze", ben="silver", cleo="expert", dan="authority", eva="-expert")
AMIRA = observed("user:amira")


@pytest.mark.clause("kaori", "10.2")
@pytest.mark.clause("kaori", "10.3")
def test_a_state_says_what_it_was_compiled_from() -> None:
    """Every input by hash, sorted, whether it counted or not; and the state reads back from its bytes."""
    observations = [observed(f"user:{name}") for name in NAMES]
    scores, votes, events = scores_for(observations), [voted("user:dan"), voted("user:zoe")], [window()]
    prints = [Fingerprint(sha256=HASH_A, method=SimilarityMethod.DHASH, bits="0" * 16)]
    state = compiled(
        CONTRACT, observations, TRUST, ai_scores=scores, votes=votes, window_events=events, fingerprints=prints
    )
    inputs = state.compile_inputs
    assert inputs.observation_hashes == tuple(sorted(one.observation_hash for one in observations))
    assert inputs.ai_score_hashes == tuple(sorted(map(ai_score_hash, scores)))
    assert inputs.vote_hashes == tuple(sorted(map(vote_hash, votes)))
    assert inputs.window_event_hashes == (window_event_hash(events[0]),)
    assert len(inputs.fingerprint_hashes) == 1
    assert (inputs.claim_type_id, inputs.claim_type_hash) == (CONTRACT.id, CONTRACT.claim_type_hash)
    assert (inputs.trust_snapshot_hash, inputs.compile_time) == (TRUST.snapshot_hash, at("13:30"))
    assert state.observation_ids == inputs.observation_ids
    assert state.observation_ids == tuple(f"obs-user-{name}-1210" for name in NAMES[:4])
    assert state.transparency_flags == tuple(sorted(state.transparency_flags))
    assert state.security is None
    assert parse_truth_state(render_truth_state(state)) == state


@pytest.mark.clause("kaori", "law 1")
@pytest.mark.clause("kaori", "2.3")
def test_nobody_can_hand_in_a_claim_a_status_or_a_confidence() -> None:
    """There is no such argument; time and both versions are required."""
    parameters = inspect.signature(compile_truth_state).parameters
    assert not {"claim", "payload", "status", "confidence"} & set(parameters)
    for name in ("policy_version", "compiler_version", "compile_time"):
        assert parameters[name].default is inspect.Parameter.empty


@pytest.mark.clause("kaori", "law 3")
def test_a_state_stands_at_the_key_it_was_compiled_for() -> None:
    assert compiled(CONTRACT, [AMIRA], TRUST).truthkey == KEY


@pytest.mark.clause("kaori", "law 7")
def test_a_state_is_what_was_worked_out_by_hand() -> None:
    """One bronze reporter, no votes, no scores.

    Agreement 0.2, consensus (0 + 10) / 25 x 0.25 = 0.1, network 0.8 / 2.3 x 0.2 = 0.069565, alone -0.1: 0.269565.
    """
    state = compiled(CONTRACT, [AMIRA], TRUST)
    assert state.claim == {
        "severity": "high",
        "water_level_meters": 1.25,
        "peak_level_meters": 1.25,
        "reports_of_critical": 0,
    }
    assert (state.status, state.confidence) == ("PENDING", Decimal("0.269565"))


@pytest.mark.clause("kaori", "6.5")
def test_a_claim_that_violates_its_schema_fails_compilation_with_codes() -> None:
    """Here because nobody said anything that could stand in it."""
    with pytest.raises(SchemaValidationError) as raised:
        compiled(CONTRACT, [DEEP], TRUST)
    assert [(found.path, found.code) for found in raised.value.violations] == [
        ("severity", "schema.required"),
        ("water_level_meters", "schema.required"),
    ]


DEEP = observed("user:amira", {"severity": "biblical", "water_level_meters": 100_000_000})


def test_a_value_that_no_claim_may_hold_does_not_speak() -> None:
    """Neither for the mean nor for the highest nor for the mode; whoever said it is still there, and told."""
    trust = trusted(amira="authority", ben="silver")
    state = compiled(CONTRACT, [DEEP, observed("user:ben")], trust)
    assert (state.claim["severity"], state.claim["peak_level_meters"], state.claim["water_level_meters"]) == (
        "high",
        1.25,
        1.25,
    )
    assert Flag.VALUE_OUT_OF_SCHEMA in state.transparency_flags
    assert len(state.observation_ids) == 2
    fitting = compiled(CONTRACT, [observed("user:ben")], trust)
    assert Flag.VALUE_OUT_OF_SCHEMA not in fitting.transparency_flags


def test_a_key_expires_though_its_claim_satisfies_no_schema() -> None:
    state = compiled(CONTRACT, [DEEP], TRUST, now="2026-03-07T12:00:00Z")
    assert (state.status, state.claim) == (TruthStatus.EXPIRED, {})


@pytest.mark.clause("kaori", "11.4")
@pytest.mark.parametrize("signed", ["13:29", "2026-01-08T13:30:01Z", "2099-01-01T00:00:00Z"])
def test_a_state_is_signed_within_a_day_after_it_was_compiled(signed: str) -> None:
    with pytest.raises(SigningTimeError):
        compiled(CONTRACT, [AMIRA], TRUST, signed_at=at(signed), signed_at_reason="because")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"policy_version": "2.0.0"}, StateError.inputs_mismatch),
        ({"compiler_version": "no spaces"}, StateError.inputs_mismatch),
        ({"truth_key": KEY.replace("flood", "fire")}, StateError.inputs_mismatch),
        ({"compile_time": datetime(2026, 1, 7, 13)}, NaiveDatetimeError),  # noqa: DTZ001 - that is the mistake
        ({"signed_at": at("14:00")}, SigningTimeError),
        ({"signed_at_reason": "because"}, SigningTimeError),
        ({"ai_scores": [replace(scored(AMIRA, "bouncer", 1), score=Decimal("NaN"))]}, NumberFormError),
        ({"ai_scores": [replace(scored(AMIRA, "bouncer", 1), score=Decimal("Infinity"))]}, NumberFormError),
        ({"ai_scores": [replace(scored(AMIRA, "bouncer", 1), score=Decimal("-0.1"))]}, NumberFormError),
        ({"ai_scores": [replace(scored(AMIRA, "bouncer", 1), score=Decimal("1.1"))]}, NumberFormError),
        ({"ai_scores": [replace(scored(AMIRA, "bouncer", 1), score=0.5)]}, NumberFormError),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_a_code(changes: dict[str, Any], error: Code | type[Error]) -> None:
    with raises(error) as raised:
        compiled(CONTRACT, [AMIRA], TRUST, **changes)
    assert raised.value.code


@pytest.mark.clause("kaori", "11.4")
def test_another_time_of_signing_is_recorded_with_its_reason() -> None:
    state = compiled(CONTRACT, [AMIRA], TRUST, signed_at=at("14:00"), signed_at_reason="the key was away")
    assert (state.compile_inputs.signed_at, state.compile_inputs.signed_at_reason) == (at("14:00"), "the key was away")


@pytest.mark.clause("kaori", "law 2")
def test_the_caller_s_own_arithmetic_does_not_change_the_answer() -> None:
    """A thread that rounds down to three digits gets the same bytes."""
    three = [
        observed(f"user:{name}", {"severity": "high", "water_level_meters": n / 3}) for n, name in enumerate(NAMES)
    ]
    given: dict[str, Any] = {"ai_scores": scores_for(three, 0.333333)}
    expected = render_truth_state(compiled(CONTRACT, three, TRUST, **given))
    with localcontext() as context:
        context.prec, context.rounding = 3, ROUND_DOWN
        assert render_truth_state(compiled(CONTRACT, three, TRUST, **given)) == expected


def test_compile_time_in_another_zone_is_the_same_instant() -> None:
    east = at("13:30").astimezone(timezone(timedelta(hours=5)))
    assert compiled(CONTRACT, [AMIRA], TRUST, compile_time=east) == compiled(CONTRACT, [AMIRA], TRUST)


def test_a_key_may_be_given_parsed() -> None:
    assert compiled(CONTRACT, [AMIRA], TRUST, truth_key=parse_truth_key(KEY)) == compiled(CONTRACT, [AMIRA], TRUST)


def test_a_claim_without_evidence_says_so() -> None:
    free = flood({"evidence.required": False, "evidence.min_count": 0})
    state = compiled(free, [observed("user:amira", evidence_refs=[])], TRUST)
    assert "no_evidence" in state.transparency_flags


@dataclass(frozen=True)
class Case:
    """Everything that can be permuted and repeated."""

    observations: list[HashedObservation]
    votes: list[Vote]
    scores: list[AiScore]

    def compiled(self, now: str) -> TruthState:
        return compiled(
            LENIENT,
            self.observations,
            TRUST,
            votes=self.votes,
            ai_scores=self.scores,
            window_events=[window()],
            now=now,
        )


# A schema that takes whatever is reported, so that only the compiler could fail.
LENIENT = flood(
    {"claim_derivation.severity.default": "low", "claim_derivation.water_level_meters.default": 0},
)
_MINUTES = st.integers(0, 59).map(lambda minute: f"12:{minute:02d}")
_PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "severity": st.sampled_from(["low", "moderate", "high", "critical"]),
        "water_level_meters": st.floats(0, 50) | st.integers(0, 50) | st.text(max_size=3) | st.none(),
        "road_passable": st.booleans() | st.integers(-9, 9),
    },
)
_REPORTERS = st.sampled_from([*(f"user:{name}" for name in NAMES), "user:unknown"])
_OBSERVATIONS = st.builds(
    lambda reporter, payload, reported: observed(reporter, payload, reported=reported), _REPORTERS, _PAYLOADS, _MINUTES
)
_VOTES = st.builds(
    lambda voter, vote_type, cast: voted(
        voter, vote_type, cast=cast, override_status="VERIFIED_FALSE" if vote_type == "OVERRIDE" else None
    ),
    _REPORTERS,
    st.sampled_from(["RATIFY", "REJECT", "ABSTAIN", "CHALLENGE", "OVERRIDE"]),
    st.sampled_from(["12:20", "12:31", "12:45", "13:10", "19:00"]),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    observations = draw(st.lists(_OBSERVATIONS, max_size=5))
    scores = [
        scored(one, draw(st.sampled_from(["bouncer", "generalist", "specialist"])), draw(st.integers(0, 10)) / 10)
        for one in observations
        for _ in range(draw(st.integers(0, 3)))
    ]
    return Case(observations, draw(st.lists(_VOTES, max_size=4)), scores)


def _shuffled(data: st.DataObject, items: Sequence[Any]) -> list[Any]:
    repeated = [*items, *(data.draw(st.lists(st.sampled_from(items), max_size=3)) if items else [])]
    return data.draw(st.permutations(repeated))


@pytest.mark.clause("kaori", "law 2")
@pytest.mark.clause("kaori", "law 7")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(cases(), st.data(), st.sampled_from(["12:15", "13:30", "18:45", "2026-01-08T03:00:00Z", "2026-02-01T00:00:00Z"]))
def test_order_and_repetition_never_change_a_byte(case: Case, data: st.DataObject, now: str) -> None:
    """And no input crashes: what comes out is always a state that reads back."""
    state = case.compiled(now)
    again = Case(
        _shuffled(data, case.observations), _shuffled(data, case.votes), _shuffled(data, case.scores)
    ).compiled(now)
    assert render_truth_state(again) == render_truth_state(state)
    assert parse_truth_state(render_truth_state(state)) == state
    assert (state.status == "UNVERIFIED") is (not state.observation_ids)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.dictionaries(st.sampled_from(["severity", "water_level_meters", "road_passable"]), _JSON), max_size=4)
)
def test_whatever_is_reported_gives_a_state_or_a_code(payloads: list[dict[str, object]]) -> None:
    try:
        observations = [observed(f"user:{name}", payload) for name, payload in zip(NAMES, payloads, strict=False)]
        state = compiled(CONTRACT, observations, TRUST)
    except Error as error:
        codes = [error.code]
    else:
        codes = [state.status]
    assert all(codes)


def test_an_observation_that_is_dated_in_another_zone_is_compiled_the_same() -> None:
    """Instants are compared as instants."""
    moved = replace(
        AMIRA.observation, reported_at=AMIRA.observation.reported_at.astimezone(timezone(timedelta(hours=9)))
    )
    assert compiled(CONTRACT, [hash_observation(moved, AMIRA.received_at)], TRUST) == compiled(CONTRACT, [AMIRA], TRUST)
