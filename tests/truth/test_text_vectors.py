"""Buckets, keys, pixels, confidence and consensus are what an author who knew the text alone says they are."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.errors import Error
from assay.kernel.instant import parse_instant
from assay.truth.bucket import bucket_datetime, format_bucket
from assay.truth.confidence import measure_confidence
from assay.truth.contract import (
    ConfidenceComponent,
    ConfidenceModel,
    ConfidenceModifier,
    ConfidenceSource,
    ConfidenceThresholds,
    ModifierCondition,
    Normalisation,
    NormalisationMethod,
)
from assay.truth.key import parse_truth_key, render_truth_key
from assay.truth.place import HealpixScheme, Location, healpix_pixel
from assay.truth.status import FINAL_STATUSES
from tests.truth.compiling import compiled, flood, observed, trusted, voted, window

_FILE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "truth" / "by_the_text.json").read_text())
# Each of these takes its measure as it is, so that a case says its values directly.
_SOURCES = tuple(ConfidenceSource)[:5]
_CONDITIONS = tuple(ModifierCondition)[:2]


@pytest.mark.clause("kaori", "4.2")
@pytest.mark.clause("kaori", "4.4")
def test_an_event_s_time_is_truncated_to_its_bucket_or_refused() -> None:
    """Time zones, leap days, times before 1970 and buckets of several days; naive and impossible times are refused."""
    for case in _FILE["buckets"]:
        assert _bucket(case["event_time"], case["duration"]) == case.get("bucket"), case


def _bucket(event_time: str, duration: str) -> str | None:
    try:
        return format_bucket(bucket_datetime(parse_instant(event_time), duration))
    except Error:
        return None


@pytest.mark.clause("kaori", "5.1")
@pytest.mark.clause("kaori", "5.2")
@pytest.mark.clause("kaori", "5.4")
@pytest.mark.parametrize("case", _FILE["keys"], ids=lambda case: case["key"])
def test_a_key_reads_back_or_is_none(case: dict[str, Any]) -> None:
    """Charset, case, the domain's own spatial system, and a minute that exists."""
    if case.get("refused"):
        with pytest.raises(Error):
            parse_truth_key(case["key"])
    else:
        assert render_truth_key(parse_truth_key(case["key"])) == case["key"]


@pytest.mark.clause("kaori", "5.4")
def test_a_place_in_the_sky_has_the_pixel_of_another_s_arithmetic() -> None:
    for case in _FILE["pixels"]:
        place = Location(lat=case["lat"], lon=case["lon"])
        assert healpix_pixel(place, case["order"], HealpixScheme(case["scheme"])) == case["pixel"], case


@pytest.mark.clause("kaori", "14")
def test_confidence_is_the_formula_of_the_text_rounded_once() -> None:
    for case in _FILE["confidences"]:
        found = measure_confidence(
            _model(case), _measures(case), _CONDITIONS[: len(case["modifiers"])], Decimal(case["decay"])
        )
        assert (found.fresh, found.aged) == (Decimal(case["fresh"]), Decimal(case["aged"])), case


def _measures(case: dict[str, Any]) -> dict[ConfidenceSource, Decimal]:
    return {source: Decimal(value) for source, (_, value) in zip(_SOURCES, case["components"], strict=False)}


def _model(case: dict[str, Any]) -> ConfidenceModel:
    clamp = Normalisation(method=NormalisationMethod.CLAMP)
    return ConfidenceModel(
        components={
            source.value: ConfidenceComponent(weight=Decimal(weight), source=source, normalize=clamp)
            for source, (weight, _) in zip(_SOURCES, case["components"], strict=False)
        },
        modifiers={
            when.value: ConfidenceModifier(when=when, add=Decimal(add))
            for when, add in zip(_CONDITIONS, case["modifiers"], strict=False)
        },
        thresholds=ConfidenceThresholds(verify=Decimal("0.7"), review=Decimal("0.3")),
    )


@pytest.mark.clause("kaori", "13")
@pytest.mark.parametrize("case", _FILE["scores"], ids=lambda case: f"{case['score']} {case['outcome']}")
def test_votes_decide_by_the_weighted_threshold_alone(case: dict[str, Any]) -> None:
    """From the threshold on, ties included; a voter's last vote counts; whoever abstains does not answer."""
    people = {voter.partition(":")[2]: standing for voter, standing, _ in case["votes"]}
    contract = flood(_changes(case))
    votes = [voted(voter, kind, cast=f"13:{place:02d}") for place, (voter, _, kind) in enumerate(case["votes"])]
    state = compiled(
        contract, [observed("user:zoe")], trusted(zoe="silver", **people), votes=votes, window_events=[window()]
    )
    status = str(state.status) if state.status in FINAL_STATUSES else None
    assert status == case["outcome"]
    # The score is told as a component that takes it from -100 to 100 into 0 to 1.
    assert state.confidence_breakdown.components["consensus"].value * 200 - 100 == Decimal(case["score"])


def _changes(case: dict[str, Any]) -> dict[str, object]:
    """Where only votes decide: no machine, no implicit consensus, no confidence that is asked for."""
    types = {"CHALLENGE": -0.5, "OVERRIDE": 1} | {name: float(value) for name, value in case["types"].items()}
    whole = {"weight": 1, "source": "consensus_score", "normalize": {"method": "linear", "low": -100, "high": 100}}
    return {
        "consensus_model.finalize_threshold": float(case["finalize"]),
        "consensus_model.reject_threshold": float(case["reject"]),
        "consensus_model.weighted_roles": {name: float(weight) for name, weight in case["roles"].items()},
        "consensus_model.vote_types": types,
        "confidence_model": {
            "components": {"consensus": whole},
            "modifiers": {},
            "thresholds": {"verify": 0, "review": 0},
        },
        "state_verification_policy.monitor_lane": {"allow_ai_verification": False, "min_confidence": 0},
        "implicit_consensus.enabled": False,
    }
