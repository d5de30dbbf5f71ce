"""The gate chain over one bundle, per core: evidence, uncertainty and security without any model; then all five gates.

There is no peer: the target is absolute, 20,000 bundles in a second of CPU time. A bundle is hashed when it is read,
and the gates use that; what reading costs is a figure of its own.
"""

import time
from collections.abc import Sequence
from statistics import median

from assay.claims.bundle import Decision, GateName
from assay.claims.decide import run_gates
from assay.claims.gate import Gate, GateFacts, standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.parse_bundle import parse_bundle
from assay.claims.policy import DEFAULT_POLICY
from assay.identity.risk import RiskTier
from assay.kernel.instant import parse_instant
from bench._frame import Figure, load, print_table

__all__ = ["figures"]

_WANTED = 20_000
_BUNDLES = 2_000
_IN_FLIGHT = 50


def _documents() -> list[dict[str, object]]:
    return [
        {
            "id": f"00000000-0000-4000-8000-{number:012x}",
            "timestamp": "2026-01-10T11:00:00Z",
            "origin_agent": "ai:surveyor",
            "claims": [
                {
                    "id": "c-1",
                    "statement": f"The river is {number} m deep at the bridge.",
                    "claim_type": "FACT",
                    "evidence_pointers": [
                        {
                            "source": f"https://data.example.org/rivers/{number}.csv",
                            "source_confidence": 0.9,
                            "evidence_hash": f"{number:064x}",
                            "retrieved_at": "2026-01-09T12:00:00Z",
                        }
                    ],
                    "uncertainty": {"method": "semantic_entropy", "value": 0.1, "gate_recommendation": "EXECUTE"},
                    "risk_tier": "READ_ONLY",
                    "if_wrong_cost": "a boat runs aground",
                }
            ],
        }
        for number in range(_BUNDLES)
    ]


def _rates(gates: Sequence[tuple[GateName, Gate]]) -> tuple[float, float, float]:
    """Bundles a second of the gates alone, and with reading before; all CPU seconds."""
    facts = GateFacts(
        now=parse_instant("2026-01-10T12:00:00Z"), submitter="ai:surveyor", risk_ceiling=RiskTier.READ_ONLY
    )
    documents = _documents()
    began = time.process_time()
    alone, whole = [], []
    for first in range(0, _BUNDLES, _IN_FLIGHT):
        start = time.process_time()
        bundles = [parse_bundle(document) for document in documents[first : first + _IN_FLIGHT]]
        read = time.process_time()
        published = sum(run_gates(one, gates, facts, DEFAULT_POLICY).decision is Decision.PUBLISH for one in bundles)
        done = time.process_time()
        alone.append(published / (done - read))
        whole.append(published / (done - start))
    return median(alone), median(whole), time.process_time() - began


def _figure(name: str, rate: float, target: float, spent: float) -> Figure:
    return Figure(
        name=f"gates: {name}, one claim each",
        ours=rate,
        peer=None,
        peer_name=f"{_WANTED:,} wanted",
        unit="bundles/s",
        ratio=rate / _WANTED,
        target=target,
        cpu_seconds=spent,
        load=load(),
    )


def figures() -> list[Figure]:
    gates = standard_gates([BuiltInGuardian()])
    three, read_three, spent = _rates(gates[:3])
    five, _, more = _rates(gates)
    return [
        _figure("evidence, uncertainty, security", three, 1.0, spent),
        _figure("the same with reading and hashing before", read_three, 0.2, spent),
        _figure("all five", five, 0.3, more),
    ]


if __name__ == "__main__":
    print_table(figures())
