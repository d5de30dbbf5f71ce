"""The gate chain over one bundle, per core: evidence, uncertainty and security without any model; then all five gates,
with quotes that are held against their sources, and recorded bundles decided again.

There is no peer: targets are absolute, in bundles a second of CPU time. A bundle is hashed when it is read, and the
gates use that; what reading costs is a figure of its own.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from statistics import median
from typing import Any

import msgspec

from assay.claims.backtest import redecide, summarise
from assay.claims.bundle import Decision, GateName, bundle_hash
from assay.claims.decide import gate_bundles, gate_document, run_gates
from assay.claims.gate import Gate, GateFacts, standard_gates
from assay.claims.guardian import BuiltInGuardian, Suspect
from assay.claims.parse_bundle import BundleFinding, check_bundle, parse_bundle
from assay.claims.policy import DEFAULT_POLICY
from assay.facts.claims import CLAIMS_SERVICE, BundleContext, ClaimsDecided, received_row
from assay.flows.claims.backtest_claims import recorded_case
from assay.flows.claims.decide_claims import facts_on_record
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import parse_instant
from bench._frame import Figure, load, print_table

__all__ = ["figures"]

_WANTED = 20_000
_WANTED_FIVE = 10_000
_WANTED_SUPPORT = 5_000
# 100,000 recorded bundles in a minute.
_WANTED_BACKTEST = 100_000 / 60
_BUNDLES = 2_000
_IN_FLIGHT = 50
_TO_A_SOURCE = 20


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


def _support_rate() -> tuple[float, float]:
    """All five gates over bundles that quote a source, twenty bundles to a source; half of them in other words.

    As many are in flight as in the other figures; reading is not counted.
    """
    gates = standard_gates([BuiltInGuardian()])
    documents = list(enumerate(_documents()))
    rates, spent = [], 0.0
    for first in range(0, _BUNDLES, _IN_FLIGHT):
        cases = list(_quoting(documents[first : first + _IN_FLIGHT]))
        start = time.process_time()
        outcomes = [gate_document(finding, gates, facts, DEFAULT_POLICY) for finding, facts in cases]
        took = time.process_time() - start
        rates.append(sum(one.decision is Decision.PUBLISH and not one.caveats for one in outcomes) / took)
        spent += took
    return median(rates), spent


def _quoting(documents: Iterable[tuple[int, dict[str, object]]]) -> Iterator[tuple[BundleFinding, GateFacts]]:
    now = parse_instant("2026-01-10T12:00:00Z")
    for number, document in documents:
        said = f"The river is {number} m deep at the bridge."
        first = number - number % _TO_A_SOURCE
        sentences = (f"The river is {one} m deep at the bridge." for one in range(first, first + _TO_A_SOURCE))
        content = " ".join(sentences).encode()
        made: dict[str, Any] = document["claims"][0]  # type: ignore[index]  # as it was made above
        if number % 2:
            made["statement"] = f"At the bridge the river is {number} m deep."
        made["evidence_pointers"][0] |= {"evidence_hash": sha256(content).hexdigest(), "quote": said}
        finding = check_bundle(document)
        facts = GateFacts(
            now=now,
            submitter="ai:surveyor",
            risk_ceiling=RiskTier.READ_ONLY,
            contents={made["evidence_pointers"][0]["source"]: content},
            passages=finding.passages,
        )
        yield finding, facts


def _backtest_rate() -> tuple[float, float]:
    """Rows as they are stored, decided again; what reading them from a database costs comes besides."""
    now = parse_instant("2026-01-10T12:00:00Z")
    gates = standard_gates([BuiltInGuardian()])
    facts = GateFacts(now=now, submitter="ai:surveyor", risk_ceiling=RiskTier.READ_ONLY)
    rows = []
    for document in _documents():
        bundle = parse_bundle(document)
        outcome = run_gates(bundle, gates, facts, DEFAULT_POLICY)
        report = BuiltInGuardian().examine(Suspect(bundle=bundle))
        body = ClaimsDecided(
            bundle_hash=bundle_hash(bundle),
            position=1,
            outcome=outcome,
            left_out=0,
            gates=gate_bundles(bundle, outcome, node_agent=CLAIMS_SERVICE),
            facts=facts_on_record(bundle, facts, [report], DEFAULT_POLICY),
        )
        row = received_row(
            bundle, BundleContext(), submitted_by=PrincipalId("ai:surveyor"), thread=None, resumes=None, at=now
        )
        rows.append((row, canonical_json(body)))
    start = time.process_time()
    found = summarise(
        redecide(recorded_case(row, _decoded(text), {}, own_agent=PrincipalId("service:x")), DEFAULT_POLICY)
        for row, text in rows
    )
    spent = time.process_time() - start
    return found.unchanged / spent, spent


def _decoded(text: str) -> ClaimsDecided:
    return msgspec.json.decode(text, type=ClaimsDecided)


def _figure(name: str, rate: float, target: float, spent: float, wanted: float = _WANTED) -> Figure:
    return Figure(
        name=f"gates: {name}, one claim each",
        ours=rate,
        peer=None,
        peer_name=f"{wanted:,.0f} wanted",
        unit="bundles/s",
        ratio=rate / wanted,
        target=target,
        cpu_seconds=spent,
        load=load(),
    )


def figures() -> list[Figure]:
    gates = standard_gates([BuiltInGuardian()])
    three, read_three, spent = _rates(gates[:3])
    five, _, more = _rates(gates)
    support, of_support = _support_rate()
    again, of_again = _backtest_rate()
    return [
        _figure("evidence, uncertainty, security", three, 1.0, spent),
        _figure("the same with reading and hashing before", read_three, 0.2, spent),
        _figure("all five", five, 1.0, more, _WANTED_FIVE),
        _figure("all five with a quote, twenty to a source", support, 1.0, of_support, _WANTED_SUPPORT),
        _figure("recorded and decided again", again, 1.0, of_again, _WANTED_BACKTEST),
    ]


if __name__ == "__main__":
    print_table(figures())
