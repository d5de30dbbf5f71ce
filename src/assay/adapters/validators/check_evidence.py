"""Rules about evidence: that it is there, that it shows something, that nobody showed it before."""

from collections.abc import Iterator
from decimal import Decimal

from assay.adapters.validators.finding import IMPOSSIBLE, PLAUSIBLE, UNKNOWN, Finding, Limits
from assay.ports.validator import EvidenceFact, Question
from assay.truth.contract import HashSimilarity
from assay.truth.evidence import EvidenceRef, Fingerprint
from assay.truth.number import ARITHMETIC, quantised
from assay.truth.uri import uri_scheme

_READABLE = frozenset({"image/jpeg", "image/png"})


def check_evidence_present(question: Question, _limits: Limits) -> Finding:
    """As many pieces as the contract asks for, of its types and from its storage; one content counts once."""
    policy = question.contract.evidence
    count = len({ref.sha256 for ref in _counted(question)})
    is_enough = policy.min_count <= count <= policy.max_count
    reason = f"{count} pieces that count, {policy.min_count} to {policy.max_count} are asked for"
    return Finding(PLAUSIBLE if is_enough else IMPOSSIBLE, reason)


def check_evidence_quality(question: Question, limits: Limits) -> Finding:
    """As good as its best piece; a piece that is not what its reporter calls it is worth nothing."""
    facts = {fact.sha256: fact for fact in question.facts}
    shares = [_quality(ref, facts.get(ref.sha256), limits) for ref in _counted(question)]
    if not shares:
        is_needed = question.contract.evidence.required
        return Finding(IMPOSSIBLE if is_needed else PLAUSIBLE, "no evidence to look at")
    return Finding(max(shares), f"best of {len(shares)} pieces")


def check_duplicate_hash(question: Question, _limits: Limits) -> Finding:
    """Seen before: the same bytes, or a fingerprint as near as the contract calls a copy."""
    pieces = {ref.sha256 for ref in _counted(question)}
    if not pieces.isdisjoint(question.earlier_evidence):
        return Finding(IMPOSSIBLE, "somebody else showed the same bytes before")
    similarity = question.contract.evidence_similarity
    rule = None if similarity is None else similarity.hash
    if rule is None:
        return Finding(PLAUSIBLE, "no bytes that were shown before")
    return _by_look(question, rule)


def _counted(question: Question) -> Iterator[EvidenceRef]:
    policy = question.contract.evidence
    schemes = None if policy.storage is None else policy.storage.uri_schemes
    for ref in question.observation.observation.evidence_refs:
        if policy.admits(ref.mime_type) and (schemes is None or uri_scheme(ref.uri) in schemes):
            yield ref


def _quality(ref: EvidenceRef, fact: EvidenceFact | None, limits: Limits) -> Decimal:
    if fact is None or fact.size is None:
        return UNKNOWN
    is_readable = ref.mime_type in _READABLE
    if fact.size < limits.least_bytes or (is_readable and fact.media_type != ref.mime_type):
        return IMPOSSIBLE
    if fact.width is not None and fact.height is not None:
        return _sharpness(min(fact.width, fact.height), limits)
    return IMPOSSIBLE if is_readable else PLAUSIBLE


def _sharpness(side: int, limits: Limits) -> Decimal:
    if side >= limits.good_side:
        return PLAUSIBLE
    if side <= limits.least_side:
        return IMPOSSIBLE
    return quantised(ARITHMETIC.divide(Decimal(side - limits.least_side), limits.good_side - limits.least_side))


def _by_look(question: Question, rule: HashSimilarity) -> Finding:
    facts = {fact.sha256: fact.fingerprints for fact in question.facts}
    earlier = [mark for mark in question.earlier_fingerprints if mark.method is rule.method]
    is_blind = False
    for ref in _counted(question):
        marks = [mark for mark in facts.get(ref.sha256, ()) if mark.method is rule.method and mark.sha256 == ref.sha256]
        is_blind |= not marks and (ref.mime_type or "").startswith("image/")
        near = _nearest(marks, earlier)
        if near is not None and near <= rule.duplicate_threshold:
            return Finding(IMPOSSIBLE, f"{near} of 64 bits from what somebody else showed before")
    if is_blind:
        return Finding(UNKNOWN, f"a picture without a `{rule.method}` cannot be compared by look")
    return Finding(PLAUSIBLE, "like nothing that was shown before")


def _nearest(marks: list[Fingerprint], earlier: list[Fingerprint]) -> int | None:
    return min((mark.distance(other) for mark in marks for other in earlier), default=None)
