"""What was worked out by hand is what the compiler says, case by case; every status and basis is among the cases."""

from decimal import Decimal
from operator import itemgetter
from typing import Any

import pytest

from assay.kernel.errors import Error
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus, VerificationBasis
from tests.truth.vectors import CASES, compiled_case


def _told(state: TruthState) -> dict[str, Any]:
    """As the vectors name it."""
    return {
        "status": state.status.value,
        "basis": state.verification_basis.value,
        "claim": state.claim,
        "confidence": state.confidence,
        "ai_confidence": state.ai_confidence,
        "flags": list(state.transparency_flags),
        "speakers": sorted({name.split("-")[1] for name in state.observation_ids}),
        "contributions": {name: part.contribution for name, part in state.confidence_breakdown.components.items()},
    }


def _exact(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Confidences as decimals, since that is what they are."""
    if isinstance(value, dict):
        return {name: _exact(part) for name, part in value.items()}
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


@pytest.mark.clause("kaori", "law 7")
@pytest.mark.clause("kaori", "10.1")
@pytest.mark.clause("kaori", "13")
@pytest.mark.clause("kaori", "14")
@pytest.mark.parametrize("case", [case for case in CASES if "error" not in case["expected"]], ids=itemgetter("name"))
def test_a_state_is_what_was_worked_out_by_hand(case: dict[str, Any]) -> None:
    told = _told(compiled_case(case))
    assert {name: _exact(told[name]) for name in case["expected"]} == _exact(case["expected"])


@pytest.mark.parametrize("case", [case for case in CASES if "error" in case["expected"]], ids=itemgetter("name"))
def test_a_refusal_has_the_code_that_the_vector_names(case: dict[str, Any]) -> None:
    with pytest.raises(Error) as refused:
        compiled_case(case)
    assert refused.value.code == case["expected"]["error"]


@pytest.mark.clause("kaori", "10.1")
def test_every_status_and_every_basis_is_reached_by_a_vector() -> None:
    named = [case["expected"] for case in CASES if "error" not in case["expected"]]
    assert {expected["status"] for expected in named} == {status.value for status in TruthStatus}
    assert {expected["basis"] for expected in named} == {basis.value for basis in VerificationBasis}
