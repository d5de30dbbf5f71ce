"""The policy of the gates: every number and every list by which a bundle is judged.

YAML text -> `parse_policy` -> ClaimsPolicy -> `policy_hash`
What a policy leaves out is the strict choice, or the specification's. DELETE and PRIVILEGE always need people, and the
least confidence of evidence may only rise: a policy cannot take that away.
"""

import re
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from assay.claims.bundle import UncertaintyMethod
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest

__all__ = [
    "DEFAULT_POLICY",
    "LEAST_CONFIDENCE",
    "ApprovalNeed",
    "ApprovalPolicy",
    "ClaimsPolicy",
    "EvidencePolicy",
    "MethodThresholds",
    "Mode",
    "Rate",
    "Thresholds",
    "TierNeeds",
    "UncertaintyPolicy",
    "host_of",
    "is_source_in",
    "policy_hash",
]

# The specification's; a policy may ask for more.
LEAST_CONFIDENCE = 0.60

_HOST = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#\\@]*@)?(\[[^\]]*\]|[^/:?#\\]+)", re.ASCII | re.IGNORECASE)


class Mode(StrEnum):
    """With AUDIT_ONLY a bundle passes, and what would have happened is recorded."""

    ENFORCE = "enforce"
    AUDIT_ONLY = "audit_only"


class EvidencePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`allow` and `deny` hold `host:NAME` (with its subdomains), a whole source, or a beginning that ends in `*`.

    An empty `allow` lets every source pass that is not denied.
    """

    least_confidence: float = LEAST_CONFIDENCE
    max_age_seconds: int | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Thresholds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    explain_above: float = 0.50
    defer_above: float = 0.75


class MethodThresholds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    method: UncertaintyMethod
    thresholds: Thresholds


class UncertaintyPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`by_method` holds fitted thresholds; with `require_computed`, what an agent says of itself is not enough."""

    thresholds: Thresholds = Thresholds()
    by_method: tuple[MethodThresholds, ...] = ()
    require_computed: bool = False

    def for_method(self, method: UncertaintyMethod) -> Thresholds:
        return next((one.thresholds for one in self.by_method if one.method is method), self.thresholds)


class Rate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most so many bundles of one agent in any window of so many seconds."""

    bundles: int = 600
    window_seconds: int = 60


class ApprovalNeed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many people of a role."""

    role: str
    people: int = 1


class TierNeeds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tier: RiskTier
    needs: tuple[ApprovalNeed, ...]


_SPECIFIED_NEEDS = (
    TierNeeds(tier=RiskTier.DELETE, needs=(ApprovalNeed(role="ops_team"),)),
    TierNeeds(tier=RiskTier.PRIVILEGE, needs=(ApprovalNeed(role="security_team"),)),
)


class ApprovalPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With `distinct_people`, nobody stands for two roles at once."""

    by_tier: tuple[TierNeeds, ...] = _SPECIFIED_NEEDS
    valid_for_seconds: int = 86_400
    distinct_people: bool = True


class ClaimsPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str = "default"
    version: str = "1"
    mode: Mode = Mode.ENFORCE
    evidence: EvidencePolicy = EvidencePolicy()
    uncertainty: UncertaintyPolicy = UncertaintyPolicy()
    rate: Rate = Rate()
    threat_above: float = 0.70
    approvals: ApprovalPolicy = ApprovalPolicy()


DEFAULT_POLICY = ClaimsPolicy()


@lru_cache(maxsize=16)
def policy_hash(policy: ClaimsPolicy) -> Digest:
    """Of the policy with everything that it leaves out filled in."""
    return canonical_digest(policy)


def is_source_in(source: str, patterns: tuple[str, ...]) -> bool:
    return any(_is_match(source, pattern) for pattern in patterns)


def host_of(source: str) -> str | None:
    """The host of an address, in lower case, without a final dot; None where the source is no address."""
    found = _HOST.match(source)
    return None if found is None else found.group(1).lower().rstrip(".")


def _is_match(source: str, pattern: str) -> bool:
    if pattern.startswith("host:"):
        host, wanted = host_of(source), pattern.removeprefix("host:").lower()
        return host is not None and (host == wanted or host.endswith(f".{wanted}"))
    if pattern.endswith("*"):
        return source.startswith(pattern.removesuffix("*"))
    return source == pattern
