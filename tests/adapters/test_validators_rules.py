"""The engine `rules`: what each check looks at, how sure it can be, and that the weakest decides."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from assay.adapters.validators.finding import Limits
from assay.adapters.validators.rules import CHECKS, RuleValidator
from assay.ports.validator import EvidenceFact, Judgement, Question, Validator, ValidatorError
from assay.truth.contract import AiValidationRouting, SimilarityMethod, StageName
from tests.adapters.validating import HASH_A, HASH_B, asked, at, fact, mark, report, sighting, stage_of
from tests.raising import raises
from tests.truth.records import HASH_C, NAMES, contract


def _share(name: str, question: Question, limits: Limits | None = None) -> Decimal:
    return CHECKS[name](question, limits or Limits()).share


def _with(question: Question, *checks: str) -> Question:
    """The same question of a contract whose bouncer makes these checks."""
    routing = AiValidationRouting(bouncer=stage_of(*checks))
    return replace(question, contract=replace(question.contract, ai_validation_routing=routing))


@pytest.mark.parametrize("law", NAMES)
def test_every_check_that_a_shipped_contract_asks_of_the_rules_is_known(law: str) -> None:
    stages = [contract(law).ai_validation_routing.find(name) for name in StageName]
    for stage in stages:
        if stage is not None and stage.engine == "rules":
            assert set(stage.checks) <= set(CHECKS)


def test_a_report_that_nothing_speaks_against_passes() -> None:
    validator: Validator = RuleValidator()
    judgement = validator.validate(asked())
    assert (judgement.score, judgement.failed_checks) == (Decimal(1), ())
    assert (validator.name, validator.version, judgement.engine_version) == ("rules", "1.0.0", "1.0.0")
    assert judgement.note.startswith("evidence_present: 2 pieces")


def test_the_weakest_check_decides_and_is_named() -> None:
    """A picture of half the good size is half good; a report from the future is none at all."""
    facts = (fact(HASH_A, width=272, height=300), EvidenceFact(sha256=HASH_B, size=3))
    question = asked(facts=facts)
    judgement = RuleValidator().validate(_with(question, "evidence_present", "evidence_quality"))
    assert (judgement.score, judgement.failed_checks) == (Decimal("0.5"), ("evidence_quality",))
    early = replace(question, received_at=at("07T11:00:00"))
    judgement = RuleValidator().validate(_with(early, "time_plausible", "evidence_present", "evidence_quality"))
    assert (judgement.score, judgement.failed_checks) == (Decimal(0), ("time_plausible", "evidence_quality"))


def test_the_same_question_gets_the_same_answer_in_any_order_of_facts() -> None:
    question = asked(earlier_evidence=(HASH_C,), earlier_sightings=(sighting("07T10:00:00", 4.1, 73.5),))
    turned = replace(question, facts=question.facts[::-1])
    assert RuleValidator().validate(question) == RuleValidator().validate(turned)


def test_a_check_that_rules_do_not_know_gives_no_score() -> None:
    with raises(ValidatorError.unknown_check) as caught:
        RuleValidator().validate(_with(asked(), "evidence_present", "shows_water"))
    assert caught.value.code == "validator.unknown_check"
    assert "`shows_water`" in str(caught.value)


def test_a_rung_that_the_contract_does_not_have_cannot_be_asked() -> None:
    question = asked({"claim_type": "ocean.coral_bleaching.v1"}, law="coral_bleaching_v1", stage=StageName.GENERALIST)
    with raises(ValidatorError.unknown_stage) as caught:
        RuleValidator().validate(question)
    assert caught.value.code == "validator.unknown_stage"


def test_other_limits_are_another_version() -> None:
    strict = RuleValidator(Limits(good_side=4000)).validate(asked())
    assert strict.engine_version.startswith("1.0.0+limits.")
    assert strict.engine_version != RuleValidator(Limits(good_side=4001)).validate(asked()).engine_version
    assert strict.failed_checks == ("evidence_quality",)


@pytest.mark.parametrize("score", ["1.1", "-0.1", "NaN", "Infinity", "0.1234567"])
def test_a_score_outside_its_range_is_no_judgement(score: str) -> None:
    with raises(ValidatorError.judgement):
        Judgement(score=Decimal(score), failed_checks=(), engine_version="1")
    with raises(ValidatorError.judgement):
        Judgement(score=Decimal(1), failed_checks=(), engine_version="1", note="x" * 2001)


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({}, 1),
        ({"evidence_refs": []}, 0),
        ({"evidence_refs.0.mime_type": "text/plain", "evidence_refs.1.mime_type": ...}, 0),
        ({"evidence_refs.0.mime_type": "text/plain"}, 1),
        ({"evidence_refs.0.uri": "ftp://evidence/one.jpg", "evidence_refs.1.uri": "ipfs://two"}, 0),
    ],
    ids=str,
)
def test_evidence_is_present_when_enough_pieces_count(changes: dict[str, object], share: int) -> None:
    assert _share("evidence_present", asked(changes)) == share


def test_one_content_counts_once_and_too_many_are_as_wrong_as_too_few() -> None:
    """Coral asks for two to forty pictures."""
    twice = {"claim_type": "ocean.coral_bleaching.v1", "evidence_refs.1.sha256": HASH_A}
    assert _share("evidence_present", asked(twice, law="coral_bleaching_v1")) == 0
    pieces = [report()["evidence_refs"][0] | {"sha256": f"{number:064x}"} for number in range(11)]
    assert _share("evidence_present", asked({"evidence_refs": pieces})) == 0
    assert _share("evidence_present", asked({"evidence_refs": pieces[:10]})) == 1


@pytest.mark.parametrize(
    ("members", "share"),
    [
        ({"width": 480, "height": 2000}, "1"),
        ({"width": 64, "height": 2000}, "0"),
        ({"width": 65, "height": 2000}, "0.002404"),
        ({"width": 2000, "height": 272}, "0.5"),
        ({"size": None}, "0.5"),
        ({"size": 15}, "0"),
        ({"media_type": "image/png"}, "0"),
        ({"media_type": None, "width": None, "height": None}, "0"),
        ({"width": None}, "0"),
    ],
    ids=str,
)
def test_quality_is_that_of_what_the_bytes_are(members: dict[str, Any], share: str) -> None:
    question = asked({"evidence_refs": report()["evidence_refs"][:1]}, facts=(fact(HASH_A, **members),))
    assert _share("evidence_quality", question) == Decimal(share)


def test_quality_is_that_of_the_best_piece_and_unknown_without_facts() -> None:
    assert _share("evidence_quality", asked(facts=(fact(HASH_A, width=10), fact(HASH_B)))) == 1
    assert _share("evidence_quality", asked(facts=())) == Decimal("0.5")
    assert _share("evidence_quality", asked({"evidence_refs": []})) == 0
    readings = {"evidence_refs": [report()["evidence_refs"][0] | {"mime_type": "application/json"}]}
    assert _share("evidence_quality", asked(readings, facts=(EvidenceFact(sha256=HASH_A, size=200),))) == 1


def test_optional_evidence_that_is_not_there_has_no_bad_quality() -> None:
    question = asked({"evidence_refs": []})
    policy = replace(question.contract.evidence, required=False, min_count=0)
    optional = replace(question, contract=replace(question.contract, evidence=policy))
    assert _share("evidence_quality", optional) == 1
    assert _share("evidence_present", optional) == 1


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ({}, "1"),
        ({"earlier_evidence": (HASH_C, HASH_B)}, "0"),
        ({"earlier_evidence": (HASH_C,)}, "1"),
        # Six bits from the first picture is a copy by this contract, seven is none.
        ({"earlier_fingerprints": (mark(HASH_C, "0f0f0f0f0f0f0f30"),)}, "0"),
        ({"earlier_fingerprints": (mark(HASH_C, "0f0f0f0f0f0f0f70"),)}, "1"),
        ({"earlier_fingerprints": (mark(HASH_C, "0f0f0f0f0f0f0f0f", SimilarityMethod.DHASH),)}, "1"),
        ({"facts": ()}, "0.5"),
        ({"facts": (fact(HASH_A),)}, "0.5"),
        ({"facts": (fact(HASH_A),), "earlier_fingerprints": (mark(HASH_C, "0f0f0f0f0f0f0f0f"),)}, "0"),
    ],
    ids=str,
)
def test_what_somebody_showed_before_is_a_copy(given: dict[str, Any], share: str) -> None:
    """By its bytes, or by its look; a picture that nobody looked at cannot be cleared."""
    assert _share("duplicate_hash", asked(**given)) == Decimal(share)


def test_without_a_rule_of_likeness_only_bytes_are_compared() -> None:
    question = asked({"claim_type": "meta.research_artifact.v1"}, law="research_artifact_v1", facts=())
    assert _share("duplicate_hash", question) == 1
    readings = [piece | {"mime_type": "application/json"} for piece in report()["evidence_refs"]]
    assert _share("duplicate_hash", asked({"evidence_refs": readings}, facts=())) == 1


@pytest.mark.parametrize(
    ("changes", "received", "share"),
    [
        ({}, "07T12:00:00", "1"),
        ({}, "07T11:55:00", "1"),
        ({}, "07T11:54:59", "0"),
        ({"evidence_refs.0.capture_time": "2026-01-07T12:05:00Z"}, "07T12:10:00", "1"),
        ({"evidence_refs.0.capture_time": "2026-01-07T12:05:01Z"}, "07T12:10:00", "0"),
        ({"evidence_refs.0.capture_time": "2025-01-07T12:00:00Z"}, "07T12:10:00", "1"),
        ({f"evidence_refs.{n}.capture_time": "2026-01-06T11:59:59Z" for n in (0, 1)}, "07T12:10:00", "0.25"),
        ({f"evidence_refs.{n}.capture_time": "2026-01-06T12:00:00Z" for n in (0, 1)}, "07T12:10:00", "1"),
        ({f"evidence_refs.{n}.capture_time": ... for n in (0, 1)}, "07T12:10:00", "1"),
        ({"reported_at": "2025-12-08T12:00:00Z", "evidence_refs": []}, "07T12:00:00", "1"),
        ({"reported_at": "2025-12-08T11:59:59Z", "evidence_refs": []}, "07T12:00:00", "0.25"),
    ],
    ids=str,
)
def test_captured_then_reported_then_received(changes: dict[str, object], received: str, share: str) -> None:
    """Five minutes are what clocks may differ; a day-old newest capture or a month's delay is unlikely."""
    assert _share("time_plausible", asked(changes, received_at=at(received))) == Decimal(share)


@pytest.mark.parametrize(
    ("earlier", "share"),
    [
        ((), 1),
        # One degree of the meridian is 111.195 km.
        ((sighting("07T11:00:00", 5.175, 73.509),), 1),
        ((sighting("07T12:00:00", 5.175, 73.509),), 0),
        # From the other side of the Earth: an hour, a day.
        ((sighting("07T11:00:00", -4.175, -106.491),), 0),
        ((sighting("06T12:00:00", -4.175, -106.491),), 1),
        # A later sighting counts as an earlier one does.
        ((sighting("07T12:30:00", 40.0, 73.509),), 0),
        ((sighting("07T11:59:00", 4.175, 73.509), sighting("07T11:00:00", 60.0, 10.0)), 0),
    ],
    ids=str,
)
def test_nobody_is_in_two_distant_places_at_once(earlier: tuple[Any, ...], share: int) -> None:
    assert _share("place_plausible", asked(earlier_sightings=earlier)) == share


def test_speed_is_judged_exactly_at_its_limit() -> None:
    """1,200 km/h for an hour, five minutes and a second along the equator are 1300.33 km, or 11.6941 degrees."""
    for lon, share in ((11.694, 1), (11.695, 0)):
        question = asked({"geo": {"lat": 0.0, "lon": lon}}, earlier_sightings=(sighting("07T11:00:00", 0.0, 0.0),))
        assert _share("place_plausible", question) == share


def test_no_place_is_wrong_on_earth_and_the_default_of_a_device_unlikely() -> None:
    assert _share("place_plausible", asked({"geo": None})) == 0
    assert _share("place_plausible", asked({"geo": {"lat": 0, "lon": 0}})) == Decimal("0.25")
    sky = asked({"claim_type": "space.orbital_debris.v1"}, law="orbital_debris_v1")
    far = replace(sky, earlier_sightings=(sighting("07T12:00:00", -60.0, 0.0),))
    assert _share("place_plausible", far) == 1
    assert _share("place_plausible", replace(asked({"geo": None}), contract=sky.contract)) == 0
    assert _share("place_plausible", replace(asked({"geo": None}), contract=contract("research_artifact_v1"))) == 1


@pytest.mark.parametrize(
    ("payload", "share"),
    [
        ({}, "0.5"),
        ({"depth_m": 12.5}, "1"),
        ({"water": {"depth_m": 0}}, "1"),
        ({"depth_m": 11_000}, "1"),
        ({"depth_m": 11_000.1}, "0"),
        ({"depth_m": -1}, "0"),
        ({"depth_m": "deep"}, "0"),
        ({"depth_m": True}, "0"),
        ({"water": 3}, "0.5"),
    ],
    ids=str,
)
def test_depths_are_between_the_surface_and_the_floor(payload: dict[str, object], share: str) -> None:
    assert _share("depth_plausible", asked({"payload": payload})) == Decimal(share)


@pytest.mark.parametrize(
    ("orbit", "share"),
    [
        ({}, "0.5"),
        ({"altitude_km": 550}, "1"),
        ({"altitude_km": 79.9}, "0"),
        ({"altitude_km": 500_001}, "0"),
        ({"altitude_km": 550, "inclination_deg": 98.2, "eccentricity": 0.001}, "1"),
        ({"altitude_km": 550, "inclination_deg": 181}, "0"),
        ({"altitude_km": 550, "eccentricity": 1}, "0"),
        ({"altitude_km": "low"}, "0"),
    ],
    ids=str,
)
def test_orbits_are_closed_and_above_the_air(orbit: dict[str, object], share: str) -> None:
    assert _share("orbit_plausible", asked({"payload": {"orbit": orbit}})) == Decimal(share)


@pytest.mark.parametrize(
    ("payload", "share"),
    [
        ({"reproduced": True, "effect_size": 0.3, "title": "T"}, "1"),
        ({"reproduced": False, "effect_size": 0}, "0.666667"),
        ({"reproduced": True, "other": 1}, "0.333333"),
        ({}, "0"),
    ],
    ids=str,
)
def test_a_report_is_as_complete_as_what_the_claim_needs(payload: dict[str, object], share: str) -> None:
    question = asked({"claim_type": "meta.research_artifact.v1", "payload": payload}, law="research_artifact_v1")
    assert _share("report_complete", question) == Decimal(share)


def test_what_has_a_default_need_not_be_said() -> None:
    """Coral's `mortality_seen` has one."""
    said = {"bleaching_level": "mild", "bleached_percent": 3, "water": {"temperature_c": 29}}
    question = asked({"claim_type": "ocean.coral_bleaching.v1", "payload": said}, law="coral_bleaching_v1")
    assert _share("report_complete", question) == 1
