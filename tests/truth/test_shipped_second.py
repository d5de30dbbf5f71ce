"""The second versions of the shipped contracts: a posterior, robust numbers with their interval, and lanes by value."""

from decimal import Decimal
from typing import Any

import pytest

from assay.truth.competence import Competence
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus, VerificationBasis
from tests.truth.believing import experienced, record
from tests.truth.compiling import KEY, compiled, flood, observed

_GOOD = Competence(fields={"severity": record("40", "4"), "water_level_meters": record("40", "4")})


def _state(levels: list[float], severity: str = "high", **members: Any) -> TruthState:  # noqa: ANN401
    names = "abcdefgh"[: len(levels)]
    said = [
        observed(
            f"user:{name}",
            {"severity": severity, "water_level_meters": level},
            reported=f"12:{10 + place}",
            claim_type="earth.flood.v2",
            **members,
        )
        for place, (name, level) in enumerate(zip(names, levels, strict=True))
    ]
    return compiled(flood(name="flood_v2"), said, experienced(dict.fromkeys(names, _GOOD)), truth_key=KEY)


def test_competent_reporters_who_agree_verify_a_flood_by_themselves() -> None:
    state = _state([1.2, 1.3, 1.25, 1.2, 1.3])
    assert (state.status, state.verification_basis) == (TruthStatus.VERIFIED_TRUE, VerificationBasis.IMPLICIT_CONSENSUS)
    assert state.claim["water_level_meters"] == 1.25
    interval = state.claim["water_level_interval"]
    assert isinstance(interval, list)
    assert 0.8 < interval[0] < 1.25 < interval[1] < 1.7


def test_deep_water_and_a_critical_flood_wait_for_people() -> None:
    assert _state([3.2, 3.1, 3.2, 3.3, 3.2]).status is TruthStatus.PENDING_HUMAN_REVIEW
    assert _state([1.2] * 5, severity="critical").status is TruthStatus.PENDING_HUMAN_REVIEW


def test_reports_that_lie_far_apart_are_less_sure_than_equal_ones() -> None:
    together, apart = _state([5, 5, 5]), _state([0.5, 5, 45])
    assert together.confidence > apart.confidence
    assert apart.status is not TruthStatus.VERIFIED_TRUE


def test_two_wild_reports_move_the_centre_hardly() -> None:
    state = _state([1.1, 1.2, 1.2, 1.3, 1.2, 1.25, 49, 49])
    level = state.claim["water_level_meters"]
    assert isinstance(level, float)
    assert 1.1 < level < 1.5


@pytest.mark.clause("kaori", "7.1")
def test_evidence_without_a_media_type_is_heard() -> None:
    """The form of Kaori 7.1 names `uri` and `sha256` alone; the first version of the contract refuses it."""
    pieces = [{"uri": "gs://kaori-evidence/a.jpg", "sha256": "cd" * 32}]
    assert _state([1.2], evidence_refs=pieces).status is not TruthStatus.UNVERIFIED
    old = compiled(flood(), [observed("user:a", evidence_refs=pieces)], experienced({"a": None}))
    assert old.status is TruthStatus.UNVERIFIED


def test_a_detail_that_one_reporter_adds_takes_nothing_from_the_rest() -> None:
    """`road_passable` is not required by the schema, so the posterior of it is not the claim's."""
    names = "abcde"
    said = [
        observed(
            f"user:{name}",
            {"severity": "high", "water_level_meters": 1.2, **({"road_passable": False} if name == "a" else {})},
            reported=f"12:{10 + place}",
            claim_type="earth.flood.v2",
        )
        for place, name in enumerate(names)
    ]
    state = compiled(flood(name="flood_v2"), said, experienced(dict.fromkeys(names, _GOOD)))
    assert state.claim["road_passable"] is False
    assert state.confidence > Decimal("0.99")
