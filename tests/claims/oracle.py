"""An oracle of the specification's text alone: whether a bundle, as plain JSON, may be published at all.

It imports nothing of the program. Where the text is silent (what a threshold is, who approves for the node) it takes
the rulings of the design in their plainest form; it says what must hold for PUBLISH, never what else may be decided.
"""

import math
import re
from typing import Any

__all__ = ["may_publish"]

_TYPES = {"FACT", "INFERENCE", "DECISION"}
_METHODS = {"semantic_entropy", "model_disagreement", "confidence_score", "conformal_set"}
_RECOMMENDATIONS = {"EXECUTE", "DEFER", "REFUSE", "EXPLAIN"}
_DECISIONS = {"PUBLISH", "DEFER", "ESCALATE", "REFUSE"}
_TIERS = ["READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE"]
_BUNDLE = {"id", "timestamp", "origin_agent", "claims", "decision", "reason", "required_approvals", "audit_trail"}
_CLAIM = {
    "id", "statement", "claim_type", "evidence_pointers", "uncertainty", "risk_tier", "if_wrong_cost",
}  # fmt: skip
# The last two are our extension: what is quoted, and where it begins.
_POINTER = {"source", "source_confidence", "evidence_hash", "retrieved_at", "quote", "offset"}
_UNCERTAINTY = {"method", "value", "interpretation", "gate_recommendation"}
_PEOPLE = {"DELETE": "ops_team", "PRIVILEGE": "security_team"}
_HASH = re.compile(r"[0-9a-f]{64}")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?\s?([Zz]|[+-]\d\d:?\d\d)?")
_DEFER_ABOVE = 0.75
_LEAST = 0.60
_SPLIT = 0.4
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def may_publish(
    document: object,
    *,
    submitter: str,
    ceiling: str,
    approved: frozenset[str] = frozenset(),
    held: dict[str, str] | None = None,
    answers: dict[str, list[str]] | None = None,
) -> bool:
    """Whether every condition of the text for PUBLISH holds; `approved` are who approved this very bundle.

    `held` are the texts that the node has, by hash; where it is given, evidence is held against it. `answers` are those
    that a model gave about a claim, by claim id: each text is one meaning.
    """
    if not isinstance(document, dict) or set(document) - _BUNDLE:
        return False
    claims = document.get("claims")
    if not isinstance(claims, list) or not claims or not all(_is_claim(one) for one in claims):
        return False
    if not _is_text(document.get("id")) or not _is_instant(document.get("timestamp")):
        return False
    # A declared REFUSE is never published, and a bundle comes from who sent it.
    if document.get("decision", "DEFER") not in _DECISIONS - {"REFUSE"} or document.get("origin_agent") != submitter:
        return False
    named = document.get("required_approvals") or []
    needed = {*named, *(_PEOPLE[one["risk_tier"]] for one in claims if one["risk_tier"] in _PEOPLE)}
    highest = max(_TIERS.index(one["risk_tier"]) for one in claims)
    is_split = any(_outside(given) >= _SPLIT for given in (answers or {}).values())
    if is_split or (held is not None and not all(_is_supported(one, held) for one in claims)):
        return False
    return highest <= _TIERS.index(ceiling) and needed <= approved and all(_is_sure(one) for one in claims)


def _is_supported(claim: dict[str, Any], held: dict[str, str]) -> bool:
    """A quote is in the text that it names and does not say another number; above WRITE_LIMITED all texts are held."""
    if claim["claim_type"] == "DECISION":
        return True
    for pointer in claim.get("evidence_pointers") or []:
        text = held.get(pointer["evidence_hash"])
        if text is None:
            if _TIERS.index(claim["risk_tier"]) > _TIERS.index("WRITE_LIMITED"):
                return False
            continue
        quote = pointer.get("quote")
        if quote is None:
            continue
        said, claimed = set(_NUMBER.findall(quote)), set(_NUMBER.findall(claim["statement"]))
        if quote not in text or (said and claimed and not claimed <= said):
            return False
    return True


def _outside(answers: list[str]) -> float:
    """The share of answers outside the largest meaning: three against two is no agreement."""
    return 1 - max(map(answers.count, answers)) / len(answers)


def _is_claim(claim: Any) -> bool:  # noqa: ANN401  the same
    if not isinstance(claim, dict) or set(claim) - _CLAIM:
        return False
    if claim.get("claim_type") not in _TYPES or claim.get("risk_tier") not in _TIERS:
        return False
    if not _is_text(claim.get("statement")) or not _is_text(claim.get("id")):
        return False
    return _is_backed(claim["claim_type"], claim.get("evidence_pointers"))


def _is_backed(claim_type: str, given: Any) -> bool:  # noqa: ANN401  the same
    pointers = [] if given is None else given
    if not isinstance(pointers, list) or not all(isinstance(one, dict) and not set(one) - _POINTER for one in pointers):
        return False
    if claim_type == "DECISION" or not pointers:
        return claim_type != "FACT"
    # The four rules: not empty, one confident enough, each with a hash and a time.
    is_strong = any(_is_share(one.get("source_confidence")) and one["source_confidence"] >= _LEAST for one in pointers)
    hashes, times = ([one.get(name) for one in pointers] for name in ("evidence_hash", "retrieved_at"))
    return is_strong and all(map(_is_hash, hashes)) and all(map(_is_instant, times))


def _is_sure(claim: dict[str, Any]) -> bool:
    said = claim.get("uncertainty")
    if not isinstance(said, dict) or set(said) - _UNCERTAINTY or said.get("method") not in _METHODS:
        return False
    recommended = said.get("gate_recommendation", "EXECUTE")
    if not isinstance(recommended, str) or recommended not in _RECOMMENDATIONS - {"DEFER", "REFUSE"}:
        return False
    return _is_share(said.get("value")) and said["value"] <= _DEFER_ABOVE


def _is_share(value: Any) -> bool:  # noqa: ANN401  the same
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 <= value <= 1


def _is_text(value: Any) -> bool:  # noqa: ANN401  the same
    return isinstance(value, str) and bool(value.strip())


def _is_hash(value: Any) -> bool:  # noqa: ANN401  the same
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _is_instant(value: Any) -> bool:  # noqa: ANN401  the same
    return isinstance(value, str) and _INSTANT.fullmatch(value.strip()) is not None
