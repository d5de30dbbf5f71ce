"""One thing a gate found: which claim, what, and what follows from it."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from assay.claims.bundle import Decision
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest

_RANK = {decision: rank for rank, decision in enumerate(Decision)}
_SHOWN = 10


class FindingCode(StrEnum):
    """Stable; tests, tables and policies rely on these, never on the words."""

    # evidence
    NO_EVIDENCE = "no_evidence"
    WEAK_EVIDENCE = "weak_evidence"
    NO_HASH = "no_hash"
    LEGACY_HASH = "legacy_hash"
    NO_TIME = "no_time"
    FUTURE_TIME = "future_time"
    STALE = "stale"
    DENIED_SOURCE = "denied_source"
    UNLISTED_SOURCE = "unlisted_source"
    CONTENT_MISMATCH = "content_mismatch"
    NO_CONTENT = "no_content"
    # support: the results of the check that are no support
    ABSENT = "absent"
    CONTRADICTED = "contradicted"
    MISATTRIBUTED = "misattributed"
    NOT_FOUND = "not_found"
    STITCHED = "stitched"
    UNCLEAR = "unclear"
    # uncertainty
    UNCERTAIN = "uncertain"
    DECLARED_REFUSE = "declared_refuse"
    NOT_COMPUTED = "not_computed"
    # security
    ORIGIN = "origin"
    TIER = "tier"
    RATE = "rate"
    # adversarial
    THREAT = "threat"
    # human approval
    NOT_RECORDED = "not_recorded"
    APPROVAL_MISSING = "approval_missing"
    APPROVER_ABSENT = "approver_absent"
    APPROVAL_REJECTED = "approval_rejected"
    APPROVAL_EXPIRED = "approval_expired"
    KNOWN_WRONG = "known_wrong"
    # of the chain itself
    NOT_SHOWABLE = "not_showable"
    INVALID = "invalid"
    NO_GATES = "no_gates"
    UNAVAILABLE = "unavailable"
    FAULT = "fault"


class Finding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`decision` is the mildest answer this finding allows; `about` says what of the claim it is about, if not all.

    A reviewer may resume a bundle in spite of a finding only where it is `resumable`; others need another bundle, or
    other facts.
    """

    code: FindingCode
    message: str
    decision: Decision
    claim_id: str | None = None
    resumable: bool = False
    about: str | None = None


def findings_hash(findings: Iterable[Finding]) -> Digest:
    """What a reviewer's answer binds of them: which, about what; not the words, which may name a score or a time."""
    keys = {(one.code.value, one.claim_id or "", one.about or "") for one in findings}
    return canonical_digest([list(key) for key in sorted(keys)])


def strictest(decisions: Iterable[Decision]) -> Decision:
    """The strictest of these decisions; PUBLISH where there is none."""
    return max(decisions, key=_RANK.__getitem__, default=Decision.PUBLISH)


def render_findings(findings: Iterable[Finding]) -> str:
    """The findings in one line, however many there are."""
    told = [f"{finding.claim_id}: {finding.message}" if finding.claim_id else finding.message for finding in findings]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more
