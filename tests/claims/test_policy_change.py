"""Which policies ask for less than another: each setting by itself, and none by asking for more."""

import pytest

from assay.claims.parse_policy import parse_policy
from assay.claims.policy import DEFAULT_POLICY
from assay.claims.policy_change import find_loosened

_STRICT = parse_policy("""
id: strict
version: "1"
threat_above: 0.5
rate: {bundles: 10, window_seconds: 60}
evidence:
  least_confidence: 0.8
  max_age_seconds: 60
  allow: ["host:a.example"]
  deny: ["host:b.example"]
  require_content: true
uncertainty: {thresholds: {explain_above: 0.3, defer_above: 0.5}, require_computed: true}
approvals:
  valid_for_seconds: 3600
  by_tier:
    DELETE: [{role: ops_team, people: 2}]
    PRIVILEGE: [{role: security_team, people: 1}]
""")


def test_the_same_and_more_loosens_nothing() -> None:
    assert find_loosened(DEFAULT_POLICY, DEFAULT_POLICY) == ()
    assert find_loosened(DEFAULT_POLICY, _STRICT) == ()


def test_each_setting_that_asks_for_less_is_named() -> None:
    assert set(find_loosened(_STRICT, DEFAULT_POLICY)) == {
        "threat_above",
        "rate",
        "evidence.least_confidence",
        "evidence.max_age_seconds",
        "evidence.allow",
        "evidence.deny",
        "evidence.require_content",
        "uncertainty.require_computed",
        "uncertainty.thresholds",
        "approvals.valid_for_seconds",
        "approvals.by_tier.DELETE",
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("mode: audit_only", "mode"),
        ("approvals: {distinct_people: false}", "approvals.distinct_people"),
        (
            "approvals: {by_tier: {DELETE: [{role: reviewer}], PRIVILEGE: [{role: security_team}]}}",
            "approvals.by_tier.DELETE",
        ),
    ],
)
def test_another_role_or_mode_is_less(text: str, named: str) -> None:
    assert find_loosened(DEFAULT_POLICY, parse_policy(f'id: lax\nversion: "1"\n{text}\n'))[:1] == (named,)
