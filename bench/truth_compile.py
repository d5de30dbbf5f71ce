"""Compiling a key of 100 and of 1000 observations, and whether the size of the snapshot costs anything.

The peer is the reference implementation of the specification, which no registry carries: its figure of 75,000
observations per second and core is scaled by this run's rfc8785 rate over the 4,300 per second it was taken beside.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from statistics import median

import rfc8785

from assay.kernel.instant import Instant
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract, Standing
from assay.truth.key import TruthKey, parse_truth_key
from assay.truth.observation import hash_observation, parse_observation
from assay.truth.parse_contract import parse_contract
from assay.truth.ready import ReadyObservation, prepare_observation
from assay.truth.snapshot import AgentTrust, TrustSnapshot, freeze_snapshot
from assay.truth.state import TruthState, state_hash
from bench._frame import Aim, Figure, compare, load, measure, print_table
from bench.canonical import RECORD

__all__ = ["figures"]

_CONTRACTS = Path(__file__).parents[1] / "examples" / "contracts"
_REFERENCE = 75_000
_RFC8785_BESIDE_IT = 4_300
_ROUNDS = 5
_SECONDS = 0.4
_NOON = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))
_SEVERITIES = ("low", "moderate", "high", "high", "high")


def _contract() -> Contract:
    schema = (_CONTRACTS / "schemas" / "output" / "flood_v1.json").read_bytes()
    return parse_contract((_CONTRACTS / "flood_v1.yaml").read_text(), schema_bytes=schema)


def _observation(contract: Contract, number: int) -> ReadyObservation:
    """Each from an agent, a moment and a spot of its own inside one cell, with a picture of its own."""
    value: dict[str, object] = {
        "observation_id": f"obs-{number:05d}",
        "claim_type": "earth.flood.v1",
        "reported_at": (_NOON + timedelta(seconds=number % 3600)).isoformat(),
        "reporter_id": f"user:agent-{number:05d}",
        "reporter_context": {"standing": "silver", "trust_score": 0.75, "source_type": "human"},
        "geo": {"lat": 4.175 + number % 37 / 1e5, "lon": 73.509 + number % 41 / 1e5},
        "payload": {
            "severity": _SEVERITIES[number % 5],
            "water_level_meters": 1 + number % 23 / 20,
            "road_passable": number % 4 == 0,
        },
        "evidence_refs": [
            {
                "uri": f"gs://evidence/{number}.jpg",
                "sha256": sha256(str(number).encode()).hexdigest(),
                "mime_type": "image/jpeg",
            }
        ],
    }
    return prepare_observation(contract, hash_observation(parse_observation(value)))


def _snapshot(size: int) -> TrustSnapshot:
    standings = list(Standing)
    trusts = {
        f"user:agent-{number:05d}": AgentTrust(
            standing=standings[number % 3], trust_score=Decimal(number % 100) / 100, admissible=True
        )
        for number in range(size)
    }
    return freeze_snapshot("bench", _NOON, trusts)


def _compiling(
    contract: Contract, key: TruthKey, observations: list[ReadyObservation], snapshot: TrustSnapshot
) -> Callable[[], TruthState]:
    return lambda: compile_truth_state(
        contract,
        key,
        observations,
        snapshot,
        policy_version=contract.policy_version,
        compiler_version="bench",
        compile_time=_NOON + timedelta(hours=1),
    )


def _beside_reference(name: str, ours: Callable[[], object], count: int, note: str) -> Figure:
    """Ours and rfc8785 take turns; the reference's rate follows from how fast rfc8785 was in the same round."""
    pairs = [
        (measure(ours, _SECONDS), measure(lambda: rfc8785.dumps(RECORD), _SECONDS))  # type: ignore[arg-type]  # its alias wants invariant containers
        for _ in range(_ROUNDS)
    ]
    rates = [(mine * count, theirs / _RFC8785_BESIDE_IT * _REFERENCE) for (mine, _), (theirs, _) in pairs]
    return Figure(
        name=name,
        ours=median(mine for mine, _ in rates),
        peer=median(theirs for _, theirs in rates),
        peer_name="reference, scaled",
        unit="observations/s",
        ratio=median(mine / theirs for mine, theirs in rates),
        target=10,
        cpu_seconds=sum(mine + theirs for (_, mine), (_, theirs) in pairs),
        load=load(),
        note=note,
    )


def figures() -> list[Figure]:
    contract = _contract()
    observations = [_observation(contract, number) for number in range(1000)]
    key = parse_truth_key(observations[0].truthkey)
    small, large = _snapshot(1000), _snapshot(10_000)
    hundred = _compiling(contract, key, observations[:100], small)
    thousand = _compiling(contract, key, observations, small)
    # A figure for observations that were not admitted would be worth nothing.
    assert len(hundred().observation_ids) == 100  # noqa: S101 - as above
    assert len(thousand().observation_ids) == 1000  # noqa: S101 - as above
    note = "made ready on arrival"
    return [
        _beside_reference("truth compile, 100 observations", hundred, 100, note),
        _beside_reference("truth compile, 1000 observations", thousand, 1000, note),
        _beside_reference("truth compile and state hash, 100 observations", lambda: state_hash(hundred()), 100, note),
        compare(
            "truth compile, snapshot of 10,000 agents",
            _compiling(contract, key, observations[:100], large),
            hundred,
            peer_name="snapshot of 1,000",
            target=0.9,
            unit="states/s",
            aim=Aim.AT_LEAST,
        ),
    ]


if __name__ == "__main__":
    print_table(figures())
