"""What is believed is what Bayes' rule says, exactly, whoever is asked first."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assay.truth.centre import FINE, weighted_median
from assay.truth.competence import Competence, FieldCompetence
from assay.truth.contract import PosteriorDependence, PosteriorRule
from assay.truth.depend import Kept
from assay.truth.errors import ContractError, NumberFormError
from assay.truth.gather import gather_observations
from assay.truth.likelihood import likelihoods, record_of, rule_of
from assay.truth.number import MILLION
from assay.truth.posterior import Belief, belief_of, believe
from assay.truth.status import TruthStatus, VerificationBasis
from tests.truth.believing import RULE, believing, experienced, record
from tests.truth.compiling import compiled, flood, observed
from tests.truth.posterior_oracle import oracle_shares, oracle_weighted_median

_DOCS = Path(__file__).parents[2] / "docs"
_VALUES = ('"critical"', '"high"', '"low"', '"moderate"')


def _parts(chance: Random, most: int) -> str:
    return str(Decimal(chance.randrange(most * MILLION)) / MILLION)


def _case(chance: Random) -> tuple[dict[str, Any], tuple[str, ...], list[dict[str, Any]]]:
    values = tuple(sorted(chance.sample(["a", "b", "c", "d", "e", "f"], chance.randint(2, 6))))
    rule = {
        "prior_reports": _parts(chance, 20) if chance.random() < 0.5 else "6",
        "prior_correct": str(Decimal(chance.randint(1, 99)) / 100),
        "value_reports": str(chance.randint(1, 40)),
        "cap": str(Decimal(chance.randint(50, 99)) / 100),
    }
    rule["prior_reports"] = rule["prior_reports"] if Decimal(rule["prior_reports"]) >= Decimal("0.1") else "0.1"
    reports = []
    for _ in range(chance.randint(1, 12)):
        matrix = {
            truth: {said: _parts(chance, 30) for said in values if chance.random() < 0.7}
            for truth in values
            if chance.random() < 0.8
        }
        reports.append(
            {
                "said": chance.choice(values),
                "kept": str(Fraction(chance.randint(1, 4), 4)),
                "right": str(sum((Decimal(row.get(truth, "0")) for truth, row in matrix.items()), Decimal(0))),
                "wrong": _parts(chance, 40),
                "matrix": matrix,
            }
        )
    return rule, values, reports


def _ours(rule: dict[str, Any], values: tuple[str, ...], reports: Sequence[dict[str, Any]]) -> Belief:
    independent = PosteriorDependence(evidence=Decimal(1), kin=Decimal(1), moment=Decimal(1))
    contract_rule = PosteriorRule(dependence=independent, **_decimals(rule))
    rows = []
    rule_now = rule_of(contract_rule)
    for report in reports:
        kept = Fraction(report["kept"])
        known = record(report["right"], report["wrong"], report["matrix"])
        rows.append(
            likelihoods(
                rule_now, record_of(rule_now, known), report["said"], values, Kept(kept.numerator, kept.denominator)
            )
        )
    return belief_of(values, tuple([1] * len(values)), rows)


def _decimals(rule: dict[str, Any]) -> dict[str, Any]:
    return {name: Decimal(part) for name, part in rule.items()}


@pytest.mark.parametrize("part", range(20))
def test_the_posterior_is_that_of_an_independent_implementation_with_fractions(part: int) -> None:
    chance = Random(f"posterior {part}")  # noqa: S311  a sample, not a secret
    for _ in range(100):
        rule, values, reports = _case(chance)
        expected = oracle_shares(rule, values, reports)
        told = {value: _six(share) for value, share in expected.items()}
        assert _ours(rule, values, reports).shares() == told
        left_out = chance.randrange(len(reports))
        others = [report for place, report in enumerate(reports) if place != left_out]
        without = {value: _six(share) for value, share in oracle_shares(rule, values, others).items()}
        ours = _ours(rule, values, reports)
        assert dict(ours.all_without())[left_out] == without


def _six(share: Fraction) -> Decimal:
    return (Decimal(int(share * MILLION * 10**20)) / 10**26).quantize(Decimal("0.000001"), ROUND_HALF_UP)


@pytest.mark.parametrize("part", range(5))
def test_the_weighted_median_is_that_of_an_independent_implementation(part: int) -> None:
    chance = Random(f"median {part}")  # noqa: S311  a sample, not a secret
    for _ in range(100):
        pairs = [(chance.randint(-50, 50), chance.randint(1, 9)) for _ in range(chance.randint(1, 15))]
        expected = oracle_weighted_median([(Fraction(number), Fraction(weight)) for number, weight in pairs])
        assert Fraction(weighted_median(*zip(*pairs, strict=True)), FINE) == expected


def test_newcomers_believe_each_other_as_far_as_the_prior_says() -> None:
    """Two newcomers say high, one says low. Worked out by hand: 0.65^2 x 0.116667 and so on."""
    snapshot = experienced({"a": None, "b": None, "c": None})
    said = [observed("user:a"), observed("user:b"), observed("user:c", {"severity": "low", "water_level_meters": 1.25})]
    belief = believe(believing(), gather_observations(believing(), said), snapshot).beliefs["severity"]
    hit, miss = Fraction(650_000), Fraction(116_667)
    odds = {'"high"': hit * hit * miss, '"low"': miss * miss * hit, '"critical"': miss**3, '"moderate"': miss**3}
    total = sum(odds.values())
    assert belief.shares() == {value: _six(odd / total) for value, odd in odds.items()}


def test_a_record_of_errors_turns_a_report_against_itself() -> None:
    """An agent that is always wrong about `high` makes `high` less probable by saying it."""
    liar = Competence(fields={"severity": record("0", "40", {'"low"': {'"high"': "40"}})})
    snapshot = experienced({"a": None, "b": liar})
    said = [observed("user:a", {"severity": "low", "water_level_meters": 1}), observed("user:b")]
    shares = believe(believing(), gather_observations(believing(), said), snapshot).beliefs["severity"].shares()
    alone = believe(believing(), gather_observations(believing(), said[:1]), snapshot).beliefs["severity"].shares()
    assert shares['"low"'] > alone['"low"']
    assert shares['"high"'] < alone['"high"']


def test_no_agent_counts_for_more_than_the_cap() -> None:
    perfect = Competence(fields={"severity": record("900", "0", {value: {value: "225"} for value in _VALUES})})
    snapshot = experienced({"a": perfect})
    belief = believe(believing(), gather_observations(believing(), [observed("user:a")]), snapshot).beliefs["severity"]
    assert belief.likelihoods == ((83_333, 750_000, 83_333, 83_333),)


def test_the_same_reports_in_any_order_and_number_are_the_same_bytes() -> None:
    kin = {name: Competence(kin="user:a") for name in "abc"}
    snapshot = experienced({**kin, "d": None})
    said = [observed(f"user:{name}", reported=f"12:1{number}") for number, name in enumerate("abcd")]
    states = {
        compiled(believing(), [said[place] for place in places], snapshot)
        .confidence_breakdown.components["belief"]
        .value
        for places in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 1, 0, 3, 2, 0))
    }
    assert len(states) == 1


def test_reporters_of_one_group_count_as_one_where_they_say_the_same() -> None:
    alone = experienced({"a": None})
    kin = experienced({name: Competence(kin="user:a") for name in "abc"})
    said = [observed(f"user:{name}") for name in "abc"]
    contract = believing()
    one = believe(contract, gather_observations(contract, said[:1]), alone).beliefs["severity"].shares()
    three = believe(contract, gather_observations(contract, said), kin)
    assert three.has_dependents
    assert three.beliefs["severity"].shares()['"high"'] < Decimal("0.85")
    assert abs(three.beliefs["severity"].shares()['"high"'] - one['"high"']) < Decimal("0.2")


def test_the_same_evidence_and_the_same_moment_make_reports_dependent() -> None:
    picture = [{"uri": "gs://kaori-evidence/a.jpg", "sha256": "ab" * 32, "mime_type": "image/jpeg"}]
    snapshot = experienced({"a": None, "b": None})
    contract = believing(
        {"evidence_similarity.hash.immediate_reject_if_duplicate": False},
        dependence={"evidence": 0, "kin": 1, "moment": 1},
    )
    apart = [observed("user:a"), observed("user:b")]
    copied = [observed("user:a", evidence_refs=picture), observed("user:b", evidence_refs=picture)]
    by_moment = believing(dependence={"evidence": 1, "kin": 1, "moment": 0})
    shares = [
        believe(law, gather_observations(law, said), snapshot).beliefs["severity"].shares()['"high"']
        for law, said in ((contract, apart), (contract, copied), (by_moment, apart))
    ]
    assert shares[0] > shares[1]
    assert shares[1] == shares[2]


def test_enough_agreeing_competent_reporters_verify_by_themselves() -> None:
    good = Competence(fields={"severity": record("50", "5"), "water_level_meters": record("50", "5")})
    snapshot = experienced(dict.fromkeys("abcde", good))
    law = believing(
        {
            "implicit_consensus.min_network_trust": 0,
            "implicit_consensus.min_ai_confidence": 0,
            "implicit_consensus.max_ai_variance": 1,
            "human_gating.min_ai_confidence": 0,
            "confidence_model.thresholds": {"verify": 0.95, "review": 0.4},
            "state_verification_policy.monitor_lane.min_confidence": 0.95,
        }
    )
    said = [observed(f"user:{name}") for name in "abcde"]
    state = compiled(law, said, snapshot)
    assert (state.status, state.verification_basis) == (
        TruthStatus.VERIFIED_TRUE,
        VerificationBasis.IMPLICIT_CONSENSUS,
    )
    assert state.confidence >= Decimal("0.99")
    doubted = compiled(law, said[:1], snapshot)
    assert doubted.status is not TruthStatus.VERIFIED_TRUE


def test_free_values_leave_room_for_what_nobody_reported() -> None:
    law = believing({"output_schema": _free_schema(), "output_schema_ref": ..., "claim_derivation": _free_rules()})
    said = [observed("user:a", {"name": "x"}), observed("user:b", {"name": "x"})]
    shares = believe(law, gather_observations(law, said), experienced({"a": None, "b": None})).beliefs["name"].shares()
    assert set(shares) == {'"x"', ""}


def _free_schema() -> dict[str, object]:
    return {"type": "object", "properties": {"name": {"type": "string"}}}


def _free_rules() -> dict[str, object]:
    return {"name": {"strategy": "weighted_mode", "path": "name"}}


def test_a_stated_prior_moves_the_posterior_and_unnamed_values_share_the_rest() -> None:
    law = believing(priors={"severity": {"low": 0.7}})
    belief = believe(law, gather_observations(law, [observed("user:a")]), experienced({"a": None})).beliefs["severity"]
    assert dict(zip(belief.values, belief.priors, strict=True)) == {
        '"low"': 700_000,
        '"high"': 100_000,
        '"moderate"': 100_000,
        '"critical"': 100_000,
    }


def test_numbers_are_corrected_by_a_known_bias() -> None:
    """An instrument that always reads a metre and a half too high is heard as if it did not."""
    biased = Competence(
        fields={
            "water_level_meters": FieldCompetence(
                right=Decimal(0), wrong=Decimal(94), bias=Decimal(1), spread=Decimal(1)
            )
        }
    )
    law = believing()
    said = [observed("user:a", {"severity": "high", "water_level_meters": 3.5})]
    belief = believe(law, gather_observations(law, said), experienced({"a": biased})).beliefs["water_level_meters"]
    assert belief.centre == round((3.5 - 1.5 * 94 / 100) * MILLION * FINE)


@pytest.mark.parametrize("name", sorted(set(RULE) - {"dependence"}))
def test_every_number_of_the_rule_changes_the_answer(name: str) -> None:
    snapshot = experienced({"a": Competence(fields={"severity": record("30", "3", {'"high"': {'"high"': "30"}})})})
    said = [observed("user:a")]
    other = {"prior_reports": 60, "prior_correct": 0.5, "value_reports": 1, "cap": 0.9}[name]
    wide: dict[str, Any] = {} if name == "cap" else {"cap": 0.99}
    shares = [
        believe(law, gather_observations(law, said), snapshot).beliefs["severity"].shares()['"high"']
        for law in (believing(**wide), believing(**{**wide, name: other}))
    ]
    assert shares[0] != shares[1]


def test_the_example_of_the_docs_is_what_is_computed() -> None:
    """Two newcomers say high, an agent with 40 right and 4 wrong reports says low."""
    known = Competence(fields={"severity": record("40", "4")})
    said = [
        observed("user:a"),
        observed("user:b"),
        observed("user:c", {"severity": "low", "water_level_meters": 1.25}),
    ]
    law = believing()
    belief = believe(law, gather_observations(law, said), experienced({"a": None, "b": None, "c": known}))
    shares = belief.beliefs["severity"].shares()
    assert shares['"high"'] == Decimal("0.738348")
    assert "0.035208 / 0.047685                = 0.738348" in (_DOCS / "truth.md").read_text()


@pytest.mark.parametrize(
    "changes",
    [
        {"consensus_model.type": "weighted_threshold"},
        {"consensus_model.posterior": {**RULE, "priors": {"severity": {"low": 0.7, "high": 0.7}}}},
        {"consensus_model.posterior": {**RULE, "priors": {"colour": {"red": 0.7}}}},
        {"claim_derivation": {"severity": {"strategy": "latest", "path": "severity"}}, "contradiction_rules": []},
    ],
)
def test_a_posterior_that_is_not_stated_whole_is_refused(changes: dict[str, Any]) -> None:
    """Type and block go together, priors are of fields and at most 1, and some field has one right answer."""
    with pytest.raises(ContractError):
        believing(changes)


def test_the_type_needs_its_block_and_the_component_needs_both() -> None:
    measured = {"belief": {"weight": 1, "source": "posterior", "normalize": {"method": "clamp"}}}
    for changes in ({"consensus_model.type": "posterior"}, {"confidence_model.components": measured}):
        with pytest.raises(ContractError):
            flood(changes)


def test_many_reports_are_multiplied_in_blocks_to_the_same_product() -> None:
    rows = [(2, 3)] * 200
    belief = belief_of(("a", "b"), (1, 1), rows)
    assert belief.odds == (2**200, 3**200)


def test_a_field_with_one_possible_value_is_certain_and_one_that_nobody_describes_is_free() -> None:
    schema = {"type": "object", "properties": {"kind": {"enum": ["flood"]}}}
    rules = {
        "kind": {"strategy": "weighted_mode", "path": "kind"},
        "name": {"strategy": "weighted_mode", "path": "name"},
    }
    law = believing(
        {
            "output_schema": {**schema, "properties": {**schema["properties"], "name": True}},  # type: ignore[dict-item]  # any JSON
            "output_schema_ref": ...,
            "claim_derivation": rules,
        }
    )
    said = [observed("user:a", {"kind": "flood", "name": "x"}), observed("user:b", {"kind": "flood"})]
    posterior = believe(law, gather_observations(law, said), experienced({"a": None, "b": None}))
    assert posterior.beliefs["kind"].shares() == {'"flood"': Decimal(1)}
    name = posterior.beliefs["name"]
    assert name.values == ('"x"', "")
    assert [place for place, _ in name.all_without()] == [0]


def test_a_record_of_more_reports_than_there_can_be_is_refused() -> None:
    with pytest.raises(NumberFormError):
        experienced({"a": Competence(fields={"severity": record("1000001")})})
