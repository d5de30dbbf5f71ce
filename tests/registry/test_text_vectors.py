"""Masks, rulings, the kill switch and coverage are what an author who knew the text alone says they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.registry.action import Action, ActionRequest, ActionType, Grant, ServicePower, index_actions
from assay.registry.errors import RegistryError
from assay.registry.permission import describe, parse_mask
from assay.registry.proof_scan import Annotation, RuleFact, prove
from assay.registry.tier import Refusal, decide
from assay.registry.trip import SenseFigures, Switch, SwitchRule, SwitchState, judge
from tests.identity.people import NOON
from tests.registry.fleet import AGENT

_FILE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "registry" / "by_the_text.json").read_text()
)


@pytest.mark.clause("forja", "trust-bitmask")
@pytest.mark.parametrize("case", _FILE["masks"], ids=lambda case: repr(case["value"]))
def test_a_mask_has_one_form_and_named_bits_or_is_refused(case: dict[str, Any]) -> None:
    """Signed 32 bits are the same mask; a bool, a float, a text and every reserved bit are none."""
    if case.get("refused"):
        with pytest.raises(RegistryError):
            parse_mask(case["value"])
    else:
        assert parse_mask(case["value"]) == case["mask"]
        assert list(describe(case["mask"])) == case["names"]


@pytest.mark.clause("forja", "FRJ-011")
def test_an_action_is_ruled_on_as_the_text_says() -> None:
    """Needed bits within both masks, a tier that is on and open, no restriction; a wish for more is FRJ-011."""
    for case in _FILE["rulings"]:
        ruling = decide(_grant(case), _power(case), _request(case))
        assert ruling.allowed is case["allowed"], case
        assert (ruling.refusal is Refusal.SELF_ESCALATION) is ruling.counted is case["escalation"], case


def _grant(case: dict[str, Any]) -> Grant:
    return Grant(principal_id=AGENT, trust_mask=case["trust_mask"], action_tier=case["issued_tier"])


def _power(case: dict[str, Any]) -> ServicePower:
    action = Action(
        id="act",
        type=ActionType.WRITE,
        tier=case["tier"],
        needs=case["needs"],
        restricted="not for agents" if case["restricted"] else None,
    )
    return ServicePower(
        service_id="service",
        capability_mask=case["capability_mask"],
        active_tier=case["active_tier"],
        actions=index_actions([action]),
    )


def _request(case: dict[str, Any]) -> ActionRequest:
    return ActionRequest(action_id="act", requested_tier=case["requested_tier"], requested_mask=case["requested_mask"])


@pytest.mark.clause("forja", "kill-switch")
def test_the_switch_fires_above_the_threshold_and_not_at_it() -> None:
    for case in _FILE["switch"]:
        figures = SenseFigures(requests=case["requests"], errors=case["errors"], active_tier=3)
        state, fired = judge(Switch(service_id="service"), SwitchRule(), figures, at=NOON)
        assert (state is SwitchState.FIRED) is (fired is not None) is case["fires"], case


@pytest.mark.clause("forja", "proof")
def test_coverage_is_of_certified_rules_and_never_rounded_up() -> None:
    for case in _FILE["coverage"]:
        rules = [RuleFact(id=f"R{place}", certified=True) for place in range(case["certified"])]
        marks = [Annotation(rule_id=f"R{place}", path="a.py", line=1) for place in range(case["with_code"])]
        found = prove(rules, marks)
        assert (found.coverage_pct, found.passing) == (float(case["coverage"]), case["passing"]), case
