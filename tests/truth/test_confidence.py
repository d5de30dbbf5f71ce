"""Confidence is the contract's sum, clamped, worked out by hand, and halves with every half-life."""

from datetime import timedelta
from decimal import Decimal

import pytest

from assay.kernel.instant import Instant
from assay.truth.confidence import decay_factor, measure_confidence, normalised
from assay.truth.contract import (
    ConfidenceComponent,
    ConfidenceModel,
    ConfidenceModifier,
    ConfidenceSource,
    ConfidenceThresholds,
    ModifierCondition,
    Normalisation,
    NormalisationMethod,
    TemporalDecay,
)
from assay.truth.state import semantic_hash, state_hash
from tests.truth.compiling import at, compiled, flood, observed, scores_for, trusted, voted, window

CONTRACT = flood()


def _rule(method: str, **parameters: str) -> Normalisation:
    return Normalisation(
        method=NormalisationMethod(method), **{name: Decimal(text) for name, text in parameters.items()}
    )


@pytest.mark.parametrize(
    ("rule", "measure", "expected"),
    [
        (_rule("clamp"), "0.4", "0.4"),
        (_rule("clamp"), "7", "1"),
        (_rule("clamp"), "-1", "0"),
        (_rule("linear", low="-10", high="15"), "0", "0.4"),
        (_rule("linear", low="-10", high="15"), "15", "1"),
        (_rule("linear", low="-10", high="15"), "-11", "0"),
        (_rule("saturating", half="1.5"), "1.5", "0.5"),
        (_rule("saturating", half="1.5"), "0", "0"),
        (_rule("saturating", half="1.5"), "-1", "0"),
        (_rule("step", high="2"), "2", "1"),
        (_rule("step", high="2"), "1.999999", "0"),
    ],
)
def test_a_measure_is_brought_into_0_to_1_by_the_contract_s_method(
    rule: Normalisation, measure: str, expected: str
) -> None:
    assert normalised(rule, Decimal(measure)) == Decimal(expected)


@pytest.mark.clause("kaori", "14")
@pytest.mark.clause("kaori", "15.1")
def test_the_confidence_of_a_flood_is_the_sum_worked_out_by_hand() -> None:
    """0.35 x 0.9 + 0.25 x (7 + 10) / 25 + 0.2 x 1.6 / 3.1 + 0.2 x 1 = 0.315 + 0.17 + 0.103226 + 0.2 = 0.788226.

    Amira and ben are trusted 0.8 each; one expert (7) ratified.
    """
    both = [observed("user:amira"), observed("user:ben")]
    state = compiled(
        CONTRACT,
        both,
        trusted(amira="silver", ben="silver", eva="expert"),
        ai_scores=scores_for(both, 0.9),
        votes=[voted("user:eva")],
        window_events=[window()],
    )
    breakdown = state.confidence_breakdown
    assert state.confidence == Decimal("0.788226")
    assert {name: str(part.contribution) for name, part in breakdown.components.items()} == {
        "agreement": "0.200000",
        "consensus": "0.170000",
        "machines": "0.315000",
        "network": "0.103226",
    }
    assert breakdown.modifiers == {}
    assert breakdown.decay == 1


@pytest.mark.clause("kaori", "14")
@pytest.mark.parametrize(("add", "expected"), [("1", "1"), ("-1", "0"), ("0.25", "0.75")])
def test_modifiers_are_added_where_they_apply_and_the_sum_is_clamped(add: str, expected: str) -> None:
    component = ConfidenceComponent(weight=Decimal("0.5"), source=ConfidenceSource.AGREEMENT, normalize=_rule("clamp"))
    alone = ConfidenceModifier(when=ModifierCondition.SINGLE_REPORTER, add=Decimal(add))
    absent = ConfidenceModifier(when=ModifierCondition.CONTRADICTION, add=Decimal("-0.5"))
    model = ConfidenceModel(
        components={"agreement": component},
        modifiers={"alone": alone, "contradicted": absent},
        thresholds=ConfidenceThresholds(verify=Decimal("0.7"), review=Decimal("0.3")),
    )
    found = measure_confidence(
        model, {ConfidenceSource.AGREEMENT: Decimal(1)}, {ModifierCondition.SINGLE_REPORTER}, Decimal("0.5")
    )
    assert found.fresh == Decimal(expected)
    assert found.aged == Decimal(expected) / 2
    assert found.breakdown.modifiers == {"alone": Decimal(add)}


@pytest.mark.parametrize(
    ("hours", "expected"),
    [("-1", "1"), ("0", "1"), ("5.999", "1"), ("6", "0.5"), ("12", "0.25"), ("18", "0.125"), ("900000", "0")],
)
def test_confidence_halves_with_every_whole_half_life_after_the_bucket(hours: str, expected: str) -> None:
    decay = TemporalDecay(half_life="PT6H", max_validity="P2D")
    now = Instant(at("13:00") + timedelta(hours=float(hours)))
    assert decay_factor(decay, at("13:00"), now) == Decimal(expected)


@pytest.mark.clause("kaori", "11.1")
def test_compiling_a_little_later_says_the_same_at_another_time() -> None:
    """The semantic hash stays, the state hash does not."""
    one = [observed("user:amira")]
    early, late = (compiled(CONTRACT, one, trusted(amira="silver"), now=now) for now in ("13:30", "18:59"))
    assert semantic_hash(early) == semantic_hash(late)
    assert state_hash(early) != state_hash(late)


def test_age_lowers_what_is_told_and_not_the_status() -> None:
    three = [observed(f"user:{name}") for name in ("amira", "ben", "cleo")]
    trust = trusted(amira="silver", ben="silver", cleo="expert")
    fresh, aged = (compiled(CONTRACT, three, trust, ai_scores=scores_for(three), now=now) for now in ("13:30", "19:00"))
    assert fresh.status == aged.status == "VERIFIED_TRUE"
    assert aged.confidence * 2 - fresh.confidence <= Decimal("0.000001")
    assert aged.confidence_breakdown.decay == Decimal("0.5")


@pytest.mark.clause("kaori", "14")
def test_the_sum_is_of_products_and_is_rounded_once() -> None:
    """Three times 0.333333 x 0.5 is 0.4999995, so 0.5; three contributions of 0.166667 would make 0.500001.

    Halved it is 0.24999975, so 0.25; a sum that was rounded before, 0.500001, would give 0.250001.
    """
    component = ConfidenceComponent(
        weight=Decimal("0.333333"), source=ConfidenceSource.AGREEMENT, normalize=_rule("clamp")
    )
    model = ConfidenceModel(
        components=dict.fromkeys(("first", "second", "third"), component),
        modifiers={},
        thresholds=ConfidenceThresholds(verify=Decimal("0.7"), review=Decimal("0.3")),
    )
    found = measure_confidence(model, {ConfidenceSource.AGREEMENT: Decimal("0.5")}, (), Decimal("0.5"))
    assert (found.fresh, found.aged) == (Decimal("0.5"), Decimal("0.25"))
    assert {part.contribution for part in found.breakdown.components.values()} == {Decimal("0.166667")}
