"""What the figures of truth are taken on: a shipped contract, agents of three standings, observations of one cell."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from assay.kernel.instant import Instant
from assay.truth.contract import Contract, Standing
from assay.truth.observation import HashedObservation, hash_observation, parse_observation
from assay.truth.parse_contract import parse_contract
from assay.truth.snapshot import AgentTrust, TrustSnapshot, freeze_snapshot

__all__ = ["NOON", "contract_of_bench", "observation_of_bench", "snapshot_of_bench"]

_CONTRACTS = Path(__file__).parents[1] / "examples" / "contracts"
_SEVERITIES = ("low", "moderate", "high", "high", "high")
NOON = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))


def contract_of_bench() -> Contract:
    schema = (_CONTRACTS / "schemas" / "output" / "flood_v1.json").read_bytes()
    return parse_contract((_CONTRACTS / "flood_v1.yaml").read_text(), schema_bytes=schema)


def observation_of_bench(number: int, *, severity: str | None = None, hour: int = 0) -> HashedObservation:
    """Each from an agent, a moment and a spot of its own inside one cell, with a picture of its own."""
    value: dict[str, object] = {
        "observation_id": f"obs-{number:05d}",
        "claim_type": "earth.flood.v1",
        "reported_at": (NOON + timedelta(hours=hour, seconds=number % 3600)).isoformat(),
        "reporter_id": f"user:agent-{number:05d}",
        "reporter_context": {"standing": "silver", "trust_score": 0.75, "source_type": "human"},
        "geo": {"lat": 4.175 + number % 37 / 1e5, "lon": 73.509 + number % 41 / 1e5},
        "payload": {
            "severity": severity or _SEVERITIES[number % 5],
            "water_level_meters": 1 + number % 23 / 20,
            "road_passable": number % 4 == 0,
        },
        "evidence_refs": [
            {
                "uri": f"gs://evidence/{hour}/{number}.jpg",
                "sha256": sha256(f"{hour} {number}".encode()).hexdigest(),
                "mime_type": "image/jpeg",
            }
        ],
    }
    return hash_observation(parse_observation(value))


def snapshot_of_bench(size: int, *, standings: int = 3) -> TrustSnapshot:
    ranks = list(Standing)
    trusts = {
        f"user:agent-{number:05d}": AgentTrust(
            standing=ranks[number % standings], trust_score=Decimal(number % 100) / 100, admissible=True
        )
        for number in range(size)
    }
    return freeze_snapshot("bench", NOON, trusts)
