"""A policy of the gates as YAML that reads back as the same policy; the same policy gives the same text."""

from collections.abc import Iterator
from decimal import Decimal

from msgspec import UNSET

from assay.claims.policy import (
    ApprovalPolicy,
    ClaimsPolicy,
    EvidencePolicy,
    SupportRule,
    Thresholds,
    UncertaintyPolicy,
)

_PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}


def render_policy(policy: ClaimsPolicy) -> str:
    """Everything is written out, what is the default too."""
    lines = [
        f"id: {_text(policy.id)}",
        f"version: {_text(policy.version)}",
        f"mode: {policy.mode}",
        f"threat_above: {_number(policy.threat_above)}",
        *_evidence(policy.evidence),
        *_uncertainty(policy.uncertainty),
        f"rate: {{bundles: {policy.rate.bundles}, window_seconds: {policy.rate.window_seconds}}}",
        *_approvals(policy.approvals),
    ]
    return "\n".join(lines) + "\n"


def _evidence(policy: EvidencePolicy) -> Iterator[str]:
    yield "evidence:"
    yield f"  least_confidence: {_number(policy.least_confidence)}"
    yield f"  max_age_seconds: {'null' if policy.max_age_seconds is None else policy.max_age_seconds}"
    yield f"  allow: [{', '.join(map(_text, policy.allow))}]"
    yield f"  deny: [{', '.join(map(_text, policy.deny))}]"
    yield f"  require_content: {_flag(is_so=policy.require_content)}"
    if policy.support is not UNSET:
        yield f"  support: [{', '.join(map(_support, policy.support))}]"


def _support(rule: SupportRule) -> str:
    types = f", claim_types: [{', '.join(rule.claim_types)}]" if rule.claim_types else ""
    tiers = f", tiers: [{', '.join(rule.tiers)}]" if rule.tiers else ""
    return f"{{result: {rule.result}, recommendation: {rule.recommendation}{types}{tiers}}}"


def _uncertainty(policy: UncertaintyPolicy) -> Iterator[str]:
    yield "uncertainty:"
    yield f"  thresholds: {_thresholds(policy.thresholds)}"
    yield f"  by_method: {'' if policy.by_method else '{}'}".rstrip()
    for row in policy.by_method:
        yield f"    {row.method}: {_thresholds(row.thresholds)}"
    yield f"  require_computed: {_flag(is_so=policy.require_computed)}"
    yield f"  question: {_text(policy.question)}"
    if policy.defer_share is not UNSET:
        yield f"  defer_share: {_number(policy.defer_share)}"


def _approvals(policy: ApprovalPolicy) -> Iterator[str]:
    yield "approvals:"
    yield "  by_tier:"
    for row in policy.by_tier:
        needs = ", ".join(f"{{role: {_text(need.role)}, people: {need.people}}}" for need in row.needs)
        yield f"    {row.tier}: [{needs}]"
    yield f"  valid_for_seconds: {policy.valid_for_seconds}"
    yield f"  distinct_people: {_flag(is_so=policy.distinct_people)}"


def _thresholds(thresholds: Thresholds) -> str:
    lower, upper = _number(thresholds.explain_above), _number(thresholds.defer_above)
    return f"{{explain_above: {lower}, defer_above: {upper}}}"


def _number(value: float) -> str:
    """The shortest digits that read back as the same number, without an exponent."""
    return format(Decimal(repr(value)), "f")


def _flag(*, is_so: bool) -> str:
    return "true" if is_so else "false"


def _text(text: str) -> str:
    """Quoted; whatever is not plain ASCII is written by its number, so that no character is read otherwise."""
    return '"' + "".join(one if one in _PLAIN else f"\\U{ord(one):08x}" for one in text) + '"'
