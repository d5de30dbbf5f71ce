"""Gates and numbers of uncertainty answer as an author who knew the text alone says they do."""

import json
from typing import Any

import pytest

from assay.claims.decide import gate_document
from assay.claims.estimate.calibrate import auroc, brier_score, calibration_error, reliability
from assay.claims.estimate.conform import calibrate_split
from assay.claims.estimate.entropy import normalised_entropy
from assay.claims.gate import standard_gates
from assay.claims.guardian import Suspect, ThreatReport
from assay.claims.parse_bundle import check_bundle
from assay.claims.policy import DEFAULT_POLICY
from assay.identity.risk import RiskTier
from tests.claims.making import VECTORS, document, facts

_FILE: dict[str, Any] = json.loads((VECTORS / "by_the_text.json").read_text())


class _Scoring:
    """Finds every bundle as threatening as the case says."""

    name = "of the case"

    def __init__(self, score: float) -> None:
        self._score = score

    def examine(self, suspect: Suspect) -> ThreatReport:  # noqa: ARG002  the score is the case's
        return ThreatReport(score=self._score, signs=(), guardian=self.name)


@pytest.mark.clause("claimbundle", "fact")
@pytest.mark.clause("claimbundle", "gate-recommendations")
@pytest.mark.clause("claimbundle", "risk-tiers")
def test_a_bundle_stops_at_the_gate_that_the_text_names() -> None:
    """Evidence before uncertainty before security; thresholds themselves are allowed; approvals are always named."""
    for case in _FILE["bundles"]:
        outcome = gate_document(
            check_bundle(document(*case["claims"])),
            standard_gates([_Scoring(case["threat"])]),
            # The text is silent about evidence that a node never saw; here it saw all of it.
            facts(risk_ceiling=RiskTier(case["risk_ceiling"]), seen=frozenset({"ab" * 32})),
            DEFAULT_POLICY,
        )
        assert outcome.decision in case["decisions"], case
        assert outcome.stopped_by == case["stopped_by"], case
        assert list(outcome.required_approvals) == case["required_approvals"], case


@pytest.mark.clause("claimbundle", "semantic-entropy")
def test_entropy_is_that_of_shannon_over_ln_k() -> None:
    for case in _FILE["entropies"]:
        assert normalised_entropy(case["sizes"]) == pytest.approx(case["value"], abs=1e-12), case


@pytest.mark.clause("claimbundle", "conformal-prediction")
def test_a_conformal_threshold_is_the_score_of_the_finite_sample_rank() -> None:
    """Ceil of (n + 1)(1 - alpha), worked out in fractions; beyond n there is no threshold."""
    for case in _FILE["conformal"]:
        scores = [place * 7919 % 1000 / 1000 for place in range(case["n"])]
        found = calibrate_split(scores, case["alpha"])
        assert (found.rank, found.value) == (case["rank"], case["value"]), case


def test_calibration_figures_are_those_of_their_definitions() -> None:
    for case in _FILE["calibration"]:
        given = case["uncertainties"], case["wrong"]
        figures = auroc(*given), brier_score(*given), calibration_error(reliability(*given))
        assert figures == pytest.approx((case["auroc"], case["brier"], case["ece"]), abs=1e-12), case
