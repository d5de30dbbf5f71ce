"""What a new policy of the gates asks less of than the one before: each way in which it lets more pass.

A policy that only asks for more takes effect at once; one that asks for less anywhere needs a second administrator.
"""

from collections.abc import Iterator

from msgspec import UNSET

from assay.claims.policy import ApprovalPolicy, ClaimsPolicy, EvidencePolicy, Mode, UncertaintyPolicy


def find_loosened(before: ClaimsPolicy, after: ClaimsPolicy) -> tuple[str, ...]:
    """Name the settings by which `after` lets more pass than `before`; none where it asks for as much or more."""
    named = (
        ("mode", after.mode is Mode.AUDIT_ONLY and before.mode is not Mode.AUDIT_ONLY),
        ("threat_above", after.threat_above > before.threat_above),
        # More bundles in a window, or the same number in a shorter one.
        ("rate", after.rate.bundles * before.rate.window_seconds > before.rate.bundles * after.rate.window_seconds),
    )
    found = [name for name, is_loosened in named if is_loosened]
    found += (f"evidence.{name}" for name in _evidence(before.evidence, after.evidence))
    found += (f"uncertainty.{name}" for name in _uncertainty(before.uncertainty, after.uncertainty))
    found += (f"approvals.{name}" for name in _approvals(before.approvals, after.approvals))
    return tuple(found)


def _evidence(before: EvidencePolicy, after: EvidencePolicy) -> Iterator[str]:
    if after.least_confidence < before.least_confidence:
        yield "least_confidence"
    if before.max_age_seconds is not None and (
        after.max_age_seconds is None or after.max_age_seconds > before.max_age_seconds
    ):
        yield "max_age_seconds"
    if before.allow and not (after.allow and set(after.allow) <= set(before.allow)):
        yield "allow"
    if not set(before.deny) <= set(after.deny):
        yield "deny"
    if before.require_content and not after.require_content:
        yield "require_content"
    # A rule may only ask for more, so that taking one away asks for less.
    if before.support is not UNSET and not set(before.support) <= set(() if after.support is UNSET else after.support):
        yield "support"


def _uncertainty(before: UncertaintyPolicy, after: UncertaintyPolicy) -> Iterator[str]:
    if after.share_line > before.share_line:
        yield "defer_share"
    if before.require_computed and not (after.require_computed and after.question == before.question):
        yield "require_computed"
    methods = {one.method for policy in (before, after) for one in policy.by_method}
    pairs = [
        (before.thresholds, after.thresholds),
        *((before.for_method(one), after.for_method(one)) for one in methods),
    ]
    if any(new.explain_above > old.explain_above or new.defer_above > old.defer_above for old, new in pairs):
        yield "thresholds"


def _approvals(before: ApprovalPolicy, after: ApprovalPolicy) -> Iterator[str]:
    asked = {(row.tier, need.role): need.people for row in after.by_tier for need in row.needs}
    for row in before.by_tier:
        if any(asked.get((row.tier, need.role), 0) < need.people for need in row.needs):
            yield f"by_tier.{row.tier.name}"
    if after.valid_for_seconds > before.valid_for_seconds:
        yield "valid_for_seconds"
    if before.distinct_people and not after.distinct_people:
        yield "distinct_people"
