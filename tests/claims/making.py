"""Bundles, facts and approvals of the tests: sound ones, of which a test changes what it is about."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from assay.claims.approve import Approval
from assay.claims.bundle import ClaimBundle, HumanDecision, bundle_hash
from assay.claims.gate import GateFacts
from assay.claims.parse_bundle import parse_bundle
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant, parse_instant

__all__ = [
    "CONTENT",
    "HASH",
    "NOW",
    "VECTORS",
    "approval",
    "bundle",
    "claim",
    "document",
    "example",
    "facts",
    "items",
    "pointer",
    "tier_claim",
]

VECTORS = Path(__file__).parents[1] / "vectors" / "claims"
# What the pointers below name; a node of the tests holds it.
CONTENT = b"station,depth\nbridge,30 m\n"
HASH = sha256(CONTENT).hexdigest()
NOW: Instant = parse_instant("2026-01-10T12:00:00Z")
_LATER = parse_instant("2026-01-11T12:00:00Z")


def items(name: str) -> list[Any]:
    """The items of a file of vectors."""
    found: list[Any] = json.loads((VECTORS / f"{name}.json").read_text())["items"]
    return found


def example(name: str) -> dict[str, Any]:
    """A claim of the specification's examples."""
    found: dict[str, Any] = json.loads((VECTORS / "examples.json").read_text())[name]
    return found


def pointer(**changes: object) -> dict[str, object]:
    sound = {
        "source": "https://data.example.org/rivers.csv",
        "source_confidence": 0.9,
        "evidence_hash": HASH,
        "retrieved_at": "2026-01-09T12:00:00Z",
    }
    return sound | changes


def claim(**changes: object) -> dict[str, object]:
    sound = {
        "id": "c-1",
        "statement": "The river is 30 m deep.",
        "claim_type": "FACT",
        "evidence_pointers": [pointer()],
        "uncertainty": {
            "method": "semantic_entropy",
            "value": 0.1,
            "interpretation": "answers agree",
            "gate_recommendation": "EXECUTE",
        },
        "risk_tier": "READ_ONLY",
        "if_wrong_cost": "a boat runs aground",
    }
    return sound | changes


def tier_claim(tier: RiskTier, **changes: object) -> dict[str, object]:
    return claim(id=f"c-{tier}", risk_tier=str(tier), **changes)


def document(*claims: dict[str, object], **changes: object) -> dict[str, Any]:
    sound: dict[str, Any] = {
        "id": "3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c111",
        "timestamp": "2026-01-10T11:00:00Z",
        "origin_agent": "ai:surveyor",
        "claims": list(claims) or [claim()],
    }
    return sound | changes


def bundle(*claims: dict[str, object], **changes: object) -> ClaimBundle:
    return parse_bundle(document(*claims, **changes))


def facts(**changes: Any) -> GateFacts:  # noqa: ANN401  any of the fields
    sound: dict[str, Any] = {"now": NOW, "submitter": "ai:surveyor", "risk_ceiling": RiskTier.PRIVILEGE}
    return GateFacts(**{**sound, "audit_recorded": True, "seen": frozenset({HASH}), **changes})


def approval(of: ClaimBundle | Digest, role: str, **changes: Any) -> Approval:  # noqa: ANN401  any of the fields
    sound: dict[str, Any] = {
        "id": f"answer-{role}",
        "bundle_hash": bundle_hash(of) if isinstance(of, ClaimBundle) else of,
        "approver": f"user:{role}",
        "is_person": True,
        "roles": (role,),
        "decision": HumanDecision.APPROVED,
        "given_at": NOW,
        "expires_at": _LATER,
    }
    return Approval(**{**sound, **changes})
