"""However observations are handed in, made ready, gathered or added one by one, the state has the same bytes."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.kernel.errors import Error
from assay.truth.ai_score import ai_score_hash
from assay.truth.contract import Contract, SimilarityMethod
from assay.truth.evidence import Fingerprint, Resemblance, fingerprint_hash
from assay.truth.gather import Gathered, add_observation, gather_observations
from assay.truth.observation import HashedObservation
from assay.truth.ready import ReadyObservation, prepare_observation
from assay.truth.state import TruthState, render_truth_state
from assay.truth.window import WindowEvent
from tests.truth.compiling import KEY, at, compiled, disputed, flood, observed, scored, trusted, voted, window
from tests.truth.plainly import plainly_compiled

NAMES = ("amira", "ben", "cleo", "dan", "eva", "fay")
TRUST = trusted(
    amira="bronze@0.1", ben="silver@0.333333", cleo="expert@0.7", dan="authority@0.99", eva="-expert", fay="silver"
)
# Every strategy, each comparison, and a schema that takes what they give.
DERIVATION: dict[str, dict[str, object]] = {
    "mode": {"strategy": "weighted_mode", "path": "severity", "prefer": ["high"]},
    "deep_mode": {"strategy": "weighted_mode", "path": "a.b"},
    "mean": {"strategy": "weighted_mean", "path": "level", "places": 3},
    "median": {"strategy": "median", "path": "level", "places": 2},
    "low": {"strategy": "min", "path": "level"},
    "high": {"strategy": "max", "path": "a.b"},
    "latest": {"strategy": "latest", "path": "a.b"},
    "first": {"strategy": "first", "path": "severity", "default": "none"},
    "all": {"strategy": "all_of", "path": "passable"},
    "any": {"strategy": "any_of", "path": "passable"},
    "majority": {"strategy": "boolean_majority", "path": "passable"},
    "count": {"strategy": "count", "path": "level", "equals": 1.5},
    "said": {"strategy": "count", "path": "a.b", "default": 7},
}
_WIDE: dict[str, object] = {
    "output_schema_ref": ...,
    "output_schema": {"type": "object", "properties": {name: {} for name in DERIVATION}},
    "claim_derivation": DERIVATION,
    "contradiction_rules": [
        {"id": "differs", "path": "severity", "compare": "distinct", "min_share": 0.3, "action": "undecided"},
        {"id": "spread", "path": "level", "compare": "spread", "tolerance": 1, "min_share": 0.2, "action": "flag"},
    ],
    "evidence.required": False,
    "evidence.min_count": 0,
    "evidence.max_count": 2,
}
WIDE = flood(_WIDE)
# Copies are rejected or flagged, by hash and by model; and what is fresh counts, so that a seal shows.
STRICT = [
    flood(
        {
            **_WIDE,
            "evidence_similarity.hash.immediate_reject_if_duplicate": is_rejected,
            "evidence_similarity.embedding.action": action,
            "confidence_model.components.machines.weight": 0.25,
            "confidence_model.components.fresh": {
                "weight": 0.1,
                "source": "freshness",
                "normalize": {"method": "clamp"},
            },
        }
    )
    for is_rejected in (True, False)
    for action in ("reject", "flag")
]
_VALUES = (
    st.sampled_from(["low", "high", "critical", "true"])
    | st.booleans()
    | st.none()
    | st.sampled_from([0, 1, 1.5, 2, 2.5, -3, 0.000001, 123456.654321])
    | st.lists(st.integers(0, 2), max_size=2)
)
_LEVELS = st.integers(-50, 50) | st.integers(0, 99999).map(lambda number: number / 1000)
_PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "severity": _VALUES,
        "level": _LEVELS | _VALUES,
        "passable": _VALUES,
        "a": st.fixed_dictionaries({"b": _VALUES}),
    },
)
_PIECES = st.lists(
    st.fixed_dictionaries(
        {
            "uri": st.sampled_from(["gs://a/b", "ftp://a/b", "GS://a/c"]),
            "sha256": st.sampled_from([f"{piece:064x}" for piece in range(40)]),
            "mime_type": st.sampled_from(["image/jpeg", "text/plain"]),
        }
    ),
    max_size=3,
)
_MEMBERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"evidence_refs": _PIECES},
    optional={
        "geo": st.sampled_from([None, *[{"lat": 4.175, "lon": 73.509}] * 6, {"lat": 5, "lon": 73}]),
        "claim_type": st.sampled_from([*["earth.flood.v1"] * 6, "earth.fire.v1"]),
    },
)
_OBSERVATIONS = st.lists(
    st.builds(
        lambda name, payload, minute, members: observed(
            f"user:{name}", payload, reported=f"{minute // 60 + 11}:{minute % 60:02d}", **members
        ),
        st.sampled_from([*NAMES, "unknown"]),
        _PAYLOADS,
        st.sampled_from([59, 60, 61, 62, 75, 76, 90, 91, 119, 120]),
        _MEMBERS,
    ),
    max_size=8,
)
_TIMES = st.sampled_from(["12:15", "13:30", "18:45", "2026-01-08T03:00:00Z", "2026-02-01T00:00:00Z"])
_SETTINGS = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _bytes(contract: Contract, observations: Any, now: str, **given: Any) -> bytes | str:  # noqa: ANN401 - whatever the compiler takes
    try:
        return render_truth_state(compiled(contract, observations, TRUST, now=now, **given))
    except Error as error:
        return error.code


def _media_types_agree(observations: list[HashedObservation]) -> bool:
    """Two that differ in what the hash leaves out are no question for the plain compiler."""
    return len({one.observation_hash for one in observations}) == len({str(one) for one in observations})


@pytest.mark.clause("kaori", "law 2")
@_SETTINGS
@given(_OBSERVATIONS, _TIMES, st.data())
def test_the_quick_compiler_says_what_the_plain_one_says(
    observations: list[HashedObservation], now: str, data: st.DataObject
) -> None:
    """Every field that follows from observations, whatever they are."""
    if not _media_types_agree(observations):
        return
    scores = [
        scored(one, stage, data.draw(st.integers(0, 20)) / 20)
        for one in observations
        for stage in ("bouncer", "generalist", "specialist")
        if data.draw(st.booleans())
    ]
    votes = [voted("user:dan", cast="12:40"), voted("user:amira", "REJECT", cast="12:50")]
    votes = votes[: data.draw(st.integers(0, 2))]
    events = [window()] if votes else []
    state = compiled(WIDE, observations, TRUST, now=now, ai_scores=scores, votes=votes, window_events=events)
    plain = plainly_compiled(WIDE, KEY, observations, TRUST, at(now), votes=votes, scores=scores, events=events)
    assert {name: getattr(state, name) for name in plain} == plain
    assert (state.status == "UNVERIFIED") is (not plain)


_FEW = [f"{piece:064x}" for piece in range(4)]
_PRINTS = st.lists(
    st.builds(
        Fingerprint,
        sha256=st.sampled_from(_FEW),
        method=st.sampled_from([*[SimilarityMethod.PHASH] * 3, SimilarityMethod.DHASH]),
        bits=st.sampled_from([0, 0b111111, 0b1111111, 1 << 63, (1 << 64) - 1]).map(lambda bits: f"{bits:016x}"),
    ),
    max_size=4,
)
_PAIRS = st.lists(
    st.builds(
        lambda pair, model, similarity: Resemblance(
            sha256=min(pair), other=max(pair), model=model, similarity=similarity
        ),
        st.sampled_from([(one, other) for one in _FEW for other in _FEW if one != other]),
        st.sampled_from([*["clip-vit-b32"] * 3, "another"]),
        st.sampled_from([Decimal("0.97"), Decimal("0.969999"), Decimal(1)]),
    ),
    max_size=3,
)
_CLOCK = ["12:00", "12:15", "12:30", "12:45", "13:00", "13:15"]
_RECEIVED = st.lists(
    st.builds(
        lambda name, piece, received: observed(
            f"user:{name}",
            {"severity": "high", "level": piece},
            reported="12:00",
            received=received,
            evidence_refs=[{"uri": "gs://a/b", "sha256": _FEW[piece], "mime_type": "image/jpeg"}],
        ),
        st.sampled_from(["amira", "ben", "cleo", "fay"]),
        st.integers(0, 3),
        st.sampled_from(_CLOCK),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one.observation.reporter_id,
)
_ROUNDS = st.sampled_from(
    [
        [],
        [window(occurred="12:15", closes="12:45")],
        [window(occurred="12:15", closes="18:30")],
        [window(occurred="12:15", closes="18:30"), window("WINDOW_ABORTED", occurred="12:30", closes=None)],
        [window(occurred="12:15", closes="12:30"), disputed("12:45", until="18:30")],
    ]
)


@pytest.mark.clause("kaori", "law 2")
@_SETTINGS
@given(st.sampled_from(STRICT), _RECEIVED, _ROUNDS, _PRINTS, _PAIRS, st.data())
def test_what_a_round_seals_and_which_evidence_is_a_copy_is_as_the_plain_compiler_says(
    contract: Contract,
    observations: list[HashedObservation],
    events: list[WindowEvent],
    prints: list[Fingerprint],
    pairs: list[Resemblance],
    data: st.DataObject,
) -> None:
    """Answers of people, ends of rounds, late records, fingerprints and resemblances, in every mixture."""
    scored_at = st.sampled_from(_CLOCK).map(lambda minute: f"2026-01-07T{minute}:00Z")
    scores = [
        scored(one, stage, 0.9, scored_at=data.draw(scored_at))
        for one in observations
        for stage in ("bouncer", "generalist")
        if data.draw(st.booleans())
    ]
    seals = [at(minute) for minute in data.draw(st.lists(st.sampled_from(_CLOCK), max_size=2, unique=True))]
    drawn: list[Fingerprint | Resemblance] = [*prints, *pairs]
    marks = list({fingerprint_hash(one): one for one in drawn}.values())
    known = [one.observation_hash for one in observations]
    known += [ai_score_hash(one) for one in scores] + [fingerprint_hash(one) for one in marks]
    late = data.draw(st.lists(st.sampled_from(known), max_size=3, unique=True))
    given_: dict[str, Any] = {"ai_scores": scores, "window_events": events, "fingerprints": marks, "late": late}
    state = compiled(contract, observations, TRUST, sealed_at=seals, **given_)
    plain = plainly_compiled(
        contract,
        KEY,
        observations,
        TRUST,
        at("13:30"),
        scores=scores,
        events=events,
        fingerprints=marks,
        seals=seals,
        late=late,
    )
    assert {name: getattr(state, name) for name in plain} == plain
    assert (state.status == "UNVERIFIED") is (not plain)


@_SETTINGS
@given(_OBSERVATIONS, _TIMES)
def test_ready_gathered_and_added_observations_give_the_same_bytes(
    observations: list[HashedObservation], now: str
) -> None:
    expected = _bytes(WIDE, observations, now)
    ready = [prepare_observation(WIDE, one) for one in observations]
    added: Gathered = gather_observations(WIDE, [])
    for one in observations:
        added = add_observation(WIDE, added, one)
    gathered = gather_observations(WIDE, ready)
    for given_ in (ready, [*observations, *ready], gathered, added):
        assert _bytes(WIDE, given_, now) == expected
    assert _columns(added) == _columns(gathered)


def _columns(gathered: Gathered) -> list[object]:
    """Groups of texts are only a way to count them, and need not be there."""
    texts = {path: column.texts for path, column in gathered.texts.items()}
    rows = dict(zip(gathered.observation_hashes, gathered.rows, strict=True))
    if list(rows) != [row.observation_hash for row in gathered.rows]:
        return []
    return [rows, texts, *gathered[5:12], gathered.numbers]


def test_many_who_say_the_same_are_counted_as_one_by_one() -> None:
    """Above a few for each text, groups are kept; the claim is the same as the plain compiler's."""
    crowd = [
        observed(f"user:n{place}", {"severity": ("low", "high")[place % 3 == 0], "level": place, "passable": True})
        for place in range(24)
    ]
    trust = trusted(**{f"n{place}": ("bronze", "silver", "expert")[place % 3] for place in range(24)})
    gathered = gather_observations(WIDE, crowd[:20])
    assert gathered.texts["severity"].groups is not None
    assert gathered.texts["level"].groups is None
    for one in crowd[20:]:
        gathered = add_observation(WIDE, gathered, one)
    state: TruthState = compiled(WIDE, gathered, trust)
    plain = plainly_compiled(WIDE, KEY, crowd, trust, at("13:30"))
    assert {name: getattr(state, name) for name in plain} == plain


def test_what_is_ready_for_one_contract_is_made_ready_again_for_another() -> None:
    """Another path is read there, and nothing of the first contract is left."""
    other = flood({"claim_derivation.severity.path": "road", "claim_derivation.severity.default": "low"})
    one = observed("user:ben", {"severity": "high", "road": "critical", "water_level_meters": 1})
    first: ReadyObservation = prepare_observation(flood(), one)
    for given_ in ([first], gather_observations(flood(), [one])):
        assert compiled(other, given_, TRUST) == compiled(other, [one], TRUST)
    added = add_observation(other, gather_observations(flood(), [one]), first)
    assert compiled(other, added, TRUST).claim["severity"] == "critical"
