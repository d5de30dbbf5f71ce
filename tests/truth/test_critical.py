"""A claim takes the critical lane where its own value asks for it."""

from typing import Any

import pytest

from assay.truth.contract import Contract
from assay.truth.critical import is_critical
from assay.truth.errors import ContractError
from assay.truth.status import TruthStatus, VerificationBasis
from tests.truth.compiling import compiled, flood, observed, scores_for, trusted

_TRUST = trusted(ann="silver", ben="silver", cem="silver")


def _deep() -> Contract:
    return flood({"critical_when": [{"all": [{"field": "water_level_meters", "op": "above", "value": 3}]}]})


@pytest.mark.clause("kaori", "15.2")
def test_a_deep_flood_needs_people_and_a_shallow_one_does_not() -> None:
    for level, status in ((1.2, TruthStatus.VERIFIED_TRUE), (3.5, TruthStatus.PENDING_HUMAN_REVIEW)):
        said = [
            observed(f"user:{name}", {"severity": "high", "water_level_meters": level})
            for name in ("ann", "ben", "cem")
        ]
        basis = VerificationBasis.IMPLICIT_CONSENSUS if level < 3 else VerificationBasis.NONE
        state = compiled(_deep(), said, _TRUST, ai_scores=scores_for(said))
        assert (state.status, state.verification_basis) == (status, basis)


@pytest.mark.parametrize(
    ("op", "value", "holds"),
    [
        ("above", 3, False),
        ("at_least", 3, True),
        ("below", 3, False),
        ("at_most", 3, True),
        ("equals", 3.0, True),
        ("differs", 3, False),
        ("differs", "3", True),
    ],
)
def test_each_comparison_is_exact(op: str, value: object, holds: bool) -> None:  # noqa: FBT001  a parameter
    law = flood({"critical_when": [{"all": [{"field": "water_level_meters", "op": op, "value": value}]}]})
    assert is_critical(law, {"water_level_meters": 3}) is holds
    assert not is_critical(law, {"severity": "high"})


def test_all_conditions_of_a_case_must_hold_and_one_case_is_enough() -> None:
    severe = {"field": "severity", "op": "equals", "value": "critical"}
    closed = {"field": "road_passable", "op": "equals", "value": False}
    law = flood({"critical_when": [{"all": [severe, closed]}, {"all": [{**severe, "value": "high"}]}]})
    assert is_critical(law, {"severity": "critical", "road_passable": False})
    assert not is_critical(law, {"severity": "critical", "road_passable": True})
    assert is_critical(law, {"severity": "high"})
    assert not is_critical(law, {"severity": 5})
    assert not is_critical(flood({"critical_when": []}), {"severity": "critical"})
    above = flood({"critical_when": [{"all": [{"field": "severity", "op": "above", "value": 3}]}]})
    assert not is_critical(above, {"severity": "high"})


@pytest.mark.parametrize(
    "changes",
    [
        {"critical_when": [{"all": [{"field": "colour", "op": "equals", "value": "red"}]}]},
        {"critical_when": [{"all": [{"field": "severity", "op": "above", "value": "high"}]}]},
        {"critical_when": [{"all": []}]},
        {
            "critical_when": [{"all": [{"field": "severity", "op": "equals", "value": "high"}]}],
            "state_verification_policy.critical_lane": ...,
        },
    ],
)
def test_a_case_that_could_not_be_decided_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ContractError):
        flood(changes)
