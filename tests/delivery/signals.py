"""Outcome signals for tests."""

import json
from typing import Any

from assay.delivery.outcome import Outcome, RuleOutcome, Signal, parse_outcome
from assay.delivery.rule import RuleId
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from tests.delivery.answers import RULE
from tests.identity.people import NOON

__all__ = ["SENDER", "make_outcome", "make_signal", "phala"]

SENDER = PrincipalId("service:bridge")


def phala(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  any field
    """The example of PRAMANA 7.4.1, at a time before the tests' noon."""
    fields: dict[str, Any] = {
        "signal_type": "phala",
        "rule_id": "MAR-YK-007",
        "applied_by": "mari8x-legal",
        "query_context": "charter party clause, English law",
        "outcome": "failure",
        "strands_available": ["capability", "knowledge"],
        "strand_missing": ["proof"],
        "authenticity_level": "PRAMANA-2",
        "rca_triggered": True,
        "timestamp": "2026-01-07T11:23:00Z",
    }
    return {name: value for name, value in (fields | changes).items() if value is not ...}


def make_signal(*, at: Instant = NOON, key: str | None = None, **changes: Any) -> Signal:  # noqa: ANN401  any field
    return parse_outcome(json.dumps(phala(**changes)), sender=SENDER, at=at, idempotency_key=key)


def make_outcome(
    outcome: Outcome = Outcome.FAILURE, *, at: Instant = NOON, session: str = "session:1", rule: RuleId = RULE
) -> RuleOutcome:
    return RuleOutcome(
        rule_id=rule,
        rule_version=3,
        signal_id="sig_1",
        outcome=outcome,
        session=session,
        occurred_at=at,
        received_at=at,
    )
