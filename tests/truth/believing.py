"""Contracts with a posterior, agents with a record, and what they report: each a short call."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from assay.truth.competence import Competence, FieldCompetence
from assay.truth.contract import Contract, Standing
from assay.truth.snapshot import AgentTrust, TrustSnapshot, freeze_snapshot
from tests.truth.compiling import at, flood

__all__ = ["RULE", "believing", "experienced", "record"]

RULE: Mapping[str, Any] = {
    "prior_reports": 6,
    "prior_correct": 0.65,
    "value_reports": 10,
    "cap": 0.75,
    "dependence": {"evidence": 0, "kin": 0, "moment": 1},
}


def believing(changes: Mapping[str, object] | None = None, **rule: object) -> Contract:
    """The flood contract with a posterior as its whole confidence, other members as given."""
    return flood(
        {
            "consensus_model.type": "posterior",
            "consensus_model.posterior": {**RULE, **rule},
            "confidence_model.components": {
                "belief": {"weight": 1, "source": "posterior", "normalize": {"method": "clamp"}}
            },
            "confidence_model.modifiers": {},
            **(changes or {}),
        }
    )


def record(
    right: str = "0", wrong: str = "0", matrix: Mapping[str, Mapping[str, str]] | None = None, **members: str
) -> FieldCompetence:
    rows = {truth: {said: Decimal(n) for said, n in row.items()} for truth, row in (matrix or {}).items()}
    numbers = {name: Decimal(value) for name, value in members.items()}
    return FieldCompetence(right=Decimal(right), wrong=Decimal(wrong), matrix=rows, **numbers)


def experienced(agents: Mapping[str, Competence | None]) -> TrustSnapshot:
    """Agents `user:<name>`, all silver and admissible, each with its competence."""
    return freeze_snapshot(
        "s-1",
        at("11:00"),
        {
            f"user:{name}": AgentTrust(
                standing=Standing.SILVER, trust_score=Decimal("0.8"), admissible=True, competence=competence
            )
            for name, competence in agents.items()
        },
    )
