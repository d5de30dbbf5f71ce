"""Contracts, observations and states that tests start from, as plain values anyone can read."""

from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # ships no types

from assay.truth.contract import Contract
from assay.truth.parse_contract import parse_contract

CONTRACTS = Path(__file__).parents[2] / "examples" / "contracts"
NAMES = tuple(
    f"{name}_v{version}"
    for name in ("coral_bleaching", "flood", "orbital_debris", "research_artifact")
    for version in (1, 2)
)
KEY = "earth:flood:h3:8861892c41fffff:surface:2026-01-07T12:00Z"
HASH_A, HASH_B, HASH_C = ("a" * 64, "b" * 64, "c" * 64)


def contract_text(name: str = "flood_v1") -> str:
    return (CONTRACTS / f"{name}.yaml").read_text()


def schema_bytes(name: str = "flood_v1") -> bytes | None:
    path = CONTRACTS / "schemas" / "output" / f"{name}.json"
    return path.read_bytes() if path.exists() else None


@cache
def contract(name: str = "flood_v1") -> Contract:
    return parse_contract(contract_text(name), schema_bytes=schema_bytes(name))


def document(name: str = "flood_v1") -> dict[str, Any]:
    """A contract as another reader sees it, free to be spoiled."""
    return deepcopy(_read(name))


@cache
def _read(name: str) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load(contract_text(name))
    return value


def changed(value: dict[str, Any], path: str, to: object) -> dict[str, Any]:
    """A copy in which the member at a dotted path is another, or gone where `to` is `...`."""
    copy = deepcopy(value)
    *way, last = path.split(".")
    inner: Any = copy
    for part in way:
        inner = inner[int(part)] if isinstance(inner, list) else inner[part]
    if to is ...:
        del inner[last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = to
    return copy


OBSERVATION: dict[str, Any] = {
    "observation_id": "6f1c1f0e-5d0a-4b0e-9a55-2f1f4f3b9a10",
    "claim_type": "earth.flood.v1",
    "reported_at": "2026-01-07T12:00:00Z",
    "reporter_id": "user:amira",
    "reporter_context": {"standing": "silver", "trust_score": 0.75, "source_type": "human"},
    "geo": {"lat": 4.175, "lon": 73.509},
    "payload": {"severity": "high", "water_level_meters": 1.25},
    "evidence_refs": [
        {"uri": "gs://kaori-evidence/photo2.jpg", "sha256": HASH_B, "mime_type": "image/jpeg"},
        {"uri": "gs://kaori-evidence/photo1.jpg", "sha256": HASH_A, "capture_time": "2026-01-07T11:30:00Z"},
    ],
}

TRUSTS: dict[str, Any] = {
    "user:amira": {"standing": "silver", "trust_score": 0.75, "admissible": True},
    "sensor:042": {"standing": "bronze", "trust_score": 0.1, "admissible": False},
}

STATE: dict[str, Any] = {
    "truthkey": KEY,
    "claim_type": "earth.flood.v1",
    "claim_type_hash": HASH_A,
    "status": "VERIFIED_TRUE",
    "verification_basis": "HUMAN_CONSENSUS",
    "claim": {"severity": "high", "water_level_meters": 1.25},
    "ai_confidence": 0.9,
    "confidence": 0.812345,
    "confidence_breakdown": {
        "components": {"machines": {"value": 0.9, "weight": 0.35, "contribution": 0.315}},
        "modifiers": {"alone": -0.1},
        "decay": 1,
    },
    "transparency_flags": ["duplicate_evidence", "single_reporter"],
    "compile_inputs": {
        "observation_ids": ["obs-1", "obs-2"],
        "claim_type_id": "earth.flood.v1",
        "claim_type_hash": HASH_A,
        "policy_version": "1.0.0",
        "compiler_version": "assay-0.1",
        "trust_snapshot_hash": HASH_B,
        "compile_time": "2026-01-07T13:00:00Z",
        "observation_hashes": [HASH_A, HASH_C],
    },
    "evidence_refs": [HASH_A, HASH_B],
    "observation_ids": ["obs-1", "obs-2"],
}


def hash_of_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()
