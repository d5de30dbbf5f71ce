"""Evidence: what a claim's pointers are worth, found one by one.

claim + now + contents at hand -> findings
A FACT needs evidence; an INFERENCE that gives some is held to the same; a DECISION needs none. Whatever the claim, a
pointer may not come from the future, from a denied source, or disagree with the content that is at hand.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Final

from assay.claims.bundle import HEX_DIGITS, Claim, ClaimType, Decision, EvidencePointer, is_full_hash
from assay.claims.finding import Finding, FindingCode
from assay.claims.policy import EvidencePolicy
from assay.claims.source import is_source_allowed, is_source_denied
from assay.identity.problem import shortened
from assay.kernel.instant import Instant, render_instant

# By how much the clock of an agent may be ahead of ours: what it dates as of now is not from the future.
CLOCK_AHEAD: Final = timedelta(minutes=5)


def check_evidence(
    claim: Claim,
    policy: EvidencePolicy,
    *,
    now: Instant,
    contents: Mapping[str, bytes],
    erased: Collection[str] = (),
    discounted: Collection[int] = (),
) -> tuple[Finding, ...]:
    """Everything that is wrong with a claim's evidence; nothing when it may pass. `contents` are by source.

    `discounted` are the places of pointers whose quote is unsupported: they count for nothing.

    `erased` are the hashes of what was kept here once: nobody can look at it any more, so nothing new rests on it.
    """
    findings = [*_integrity(claim, policy, now, contents), *_gone(claim, erased)]
    pointers = claim.evidence_pointers
    if claim.claim_type is ClaimType.FACT or (claim.claim_type is ClaimType.INFERENCE and pointers):
        findings.extend(_standard(claim, policy, now, discounted))
        if policy.require_content:
            findings.extend(_absent(claim, contents, erased))
    elif pointers:
        # A DECISION needs no evidence; what it gives with a short hash is capped like everybody's.
        findings.extend(one for pointer in pointers if pointer.evidence_hash for one in _hash_findings(claim, pointer))
    return tuple(findings)


def check_content(pointer: EvidencePointer, content: bytes) -> bool:
    """Whether the content is what the pointer says; a hash that is missing or short says nothing."""
    return pointer.evidence_hash == sha256(content).hexdigest()


def _integrity(claim: Claim, policy: EvidencePolicy, now: Instant, contents: Mapping[str, bytes]) -> Iterator[Finding]:
    """What no reviewer can wave through."""
    for pointer in claim.evidence_pointers:
        if pointer.retrieved_at is not None and pointer.retrieved_at > now + CLOCK_AHEAD:
            told = f"expected evidence retrieved by {render_instant(now)}, got {render_instant(pointer.retrieved_at)}"
            yield _finding(claim, FindingCode.FUTURE_TIME, told, Decision.REFUSE)
        if policy.deny and is_source_denied(pointer.source, policy.deny):
            told = f"expected a source that is not denied, got `{shortened(pointer.source)}`"
            yield _finding(claim, FindingCode.DENIED_SOURCE, told, Decision.REFUSE)
        content = contents.get(pointer.source) if contents else None
        if content is not None and _is_full(pointer) and not check_content(pointer, content):
            told = f"expected the content of `{shortened(pointer.source)}` to have hash {pointer.evidence_hash}"
            yield _finding(claim, FindingCode.CONTENT_MISMATCH, f"{told}, got another", Decision.REFUSE)


def _gone(claim: Claim, erased: Collection[str]) -> Iterator[Finding]:
    for pointer in claim.evidence_pointers:
        if pointer.evidence_hash in erased:
            told = f"expected the content of `{shortened(pointer.source)}`, got evidence that was erased"
            yield _finding(claim, FindingCode.NO_CONTENT, told, about=pointer.source)


def _absent(claim: Claim, contents: Mapping[str, bytes], erased: Collection[str]) -> Iterator[Finding]:
    """Pointers whose content nobody here has seen; their hashes are the agent's word alone."""
    for pointer in claim.evidence_pointers:
        if pointer.evidence_hash in erased:
            continue
        if pointer.source not in contents and f"{pointer.source}#{pointer.evidence_hash}" not in contents:
            told = f"expected the content of `{shortened(pointer.source)}` to be at hand, got only its hash"
            yield _finding(claim, FindingCode.NO_CONTENT, told, about=pointer.source)


def _standard(claim: Claim, policy: EvidencePolicy, now: Instant, discounted: Collection[int]) -> Iterator[Finding]:
    """The four rules of the specification, then those of the policy."""
    # 1. evidence_pointers is not empty
    if not claim.evidence_pointers:
        yield _finding(claim, FindingCode.NO_EVIDENCE, f"expected evidence for a {claim.claim_type}, got none")
        return
    # 2. at least one pointer is confident enough
    counted = [one for place, one in enumerate(claim.evidence_pointers) if place not in discounted]
    best = max((pointer.source_confidence for pointer in counted), default=0.0)
    if best < policy.least_confidence:
        told = f"expected a source_confidence of at least {policy.least_confidence:g}, got {best:g} at best"
        yield _finding(claim, FindingCode.WEAK_EVIDENCE, told, resumable=True)
    for pointer in claim.evidence_pointers:
        # 3. evidence_hash
        yield from _hash_findings(claim, pointer)
        # 4. retrieved_at
        yield from _time_findings(claim, pointer, policy, now)
        if policy.allow and not is_source_allowed(pointer.source, policy.allow):
            told = f"expected a source of the allow list, got `{shortened(pointer.source)}`"
            yield _finding(claim, FindingCode.UNLISTED_SOURCE, told, resumable=True, about=pointer.source)


def _hash_findings(claim: Claim, pointer: EvidencePointer) -> Iterator[Finding]:
    if pointer.evidence_hash is None:
        told = f"expected evidence_hash for `{shortened(pointer.source)}`, got nothing"
        yield _finding(claim, FindingCode.NO_HASH, told)
    elif not _is_full(pointer):
        digits = len(pointer.evidence_hash)
        told = f"expected evidence_hash of {HEX_DIGITS} hex digits, got {digits}: `{pointer.evidence_hash}`"
        yield _finding(claim, FindingCode.LEGACY_HASH, told)


def _time_findings(claim: Claim, pointer: EvidencePointer, policy: EvidencePolicy, now: Instant) -> Iterator[Finding]:
    if pointer.retrieved_at is None:
        told = f"expected retrieved_at for `{shortened(pointer.source)}`, got nothing"
        yield _finding(claim, FindingCode.NO_TIME, told)
    elif policy.max_age_seconds is not None and now - pointer.retrieved_at > timedelta(seconds=policy.max_age_seconds):
        told = f"expected evidence of at most {policy.max_age_seconds} s, got {render_instant(pointer.retrieved_at)}"
        yield _finding(claim, FindingCode.STALE, told, resumable=True, about=pointer.source)


def _is_full(pointer: EvidencePointer) -> bool:
    return pointer.evidence_hash is not None and is_full_hash(pointer.evidence_hash)


def _finding(
    claim: Claim,
    code: FindingCode,
    message: str,
    decision: Decision = Decision.DEFER,
    *,
    resumable: bool = False,
    about: str | None = None,
) -> Finding:
    return Finding(code=code, message=message, decision=decision, claim_id=claim.id, resumable=resumable, about=about)
