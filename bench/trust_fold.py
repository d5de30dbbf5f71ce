"""Folding trust signals in one pass: a million of them, and whether one more costs the same at 10,000 as at 1,000,000.

The peer is the reference implementation of the specification, which no registry carries: it replays the whole log after
each signal, 31 ms at 10,000 signals. That figure is scaled by this run's rfc8785 rate over the 4,300 per second it was
taken beside.
"""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from statistics import median

import rfc8785

from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.trust.evolve import Fold
from assay.trust.parse_policy import parse_policy
from assay.trust.signal import (
    AgentRegistered,
    Endorsement,
    ObservationSubmitted,
    Outcome,
    OutcomeRole,
    SignalBody,
    SignalKind,
    TrustSignal,
    TruthstateEmitted,
)
from assay.truth.status import TruthStatus
from bench._frame import Figure, load, print_table
from bench.canonical import RECORD

__all__ = ["figures"]

_POLICY = Path(__file__).parents[1] / "examples" / "trust" / "flow_v1.yaml"
_REFERENCE_SECONDS = 0.031
_RFC8785_BESIDE_IT = 4_300
_START = datetime(2026, 1, 1, tzinfo=UTC)
_AGENTS = 5_000
_SMALL, _LARGE = 10_000, 1_000_000
_SLICE = 10_000
_CANONICAL_ROUNDS = 3_000
_KEY = KeyId("sha256:" + "0" * 64)
_QUALITIES = tuple(Decimal(number) / 100 for number in range(101))


def _agent(number: int) -> str:
    return f"user:agent-{number % _AGENTS:05d}"


def _body(number: int) -> tuple[SignalKind, SignalBody]:
    """First the agents; then, of every five two observations, an endorsement and two states of three outcomes."""
    if number < _AGENTS:
        return SignalKind.AGENT_REGISTERED, AgentRegistered(agent_id=_agent(number))
    key = f"earth:flood:h3:8861892c4{number:07x}:surface:2026-01-07T12:00Z"
    if number % 5 < 2:
        hashed = "ab" * 32
        body = ObservationSubmitted(observation_id=f"obs-{number}", observation_hash=hashed, truthkey=key)
        return SignalKind.OBSERVATION_SUBMITTED, body
    if number % 5 == 2:
        return SignalKind.ENDORSEMENT, Endorsement(endorsed=_agent(number * 7), weight=Decimal("0.5"))
    outcomes = tuple(
        Outcome(
            agent_id=_agent(number * 31 + place * 977),
            role=OutcomeRole.REPORTER,
            correct=(number + place) % 4 != 0,
            quality=_QUALITIES[(number * 13 + place) % 101],
        )
        for place in range(3)
    )
    state = TruthstateEmitted(
        truthkey=key,
        claim_type="earth.flood.v1",
        state_hash=sha256(key.encode()).hexdigest(),
        status=TruthStatus.VERIFIED_TRUE,
        outcomes=outcomes,
        signed_by=_KEY,
    )
    return SignalKind.TRUTHSTATE_EMITTED, state


def _signals(first: int, last: int) -> Iterator[TrustSignal]:
    """One a minute: a million are two years."""
    for number in range(first, last):
        kind, body = _body(number)
        yield TrustSignal(
            signal_id=f"sig-{number}",
            kind=kind,
            agent_id=_agent(number * 3),
            occurred_at=Instant(_START + timedelta(minutes=number)),
            object=body,
        )


def _spent(fold: Fold, first: int, last: int) -> list[float]:
    """CPU seconds of the fold alone, slice by slice: signals are made outside of them, and let go after."""
    spent = []
    for begin in range(first, last, _SLICE):
        some = list(_signals(begin, begin + _SLICE))
        start = time.process_time()
        for signal in some:
            fold.add(signal)
        spent.append(time.process_time() - start)
    return spent


def _held() -> float:
    """What the process holds in memory, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def _canonical_rate() -> float:
    """How many records rfc8785 writes in a second of CPU time, which is what the fold is measured in too."""
    start = time.process_time()
    for _ in range(_CANONICAL_ROUNDS):
        rfc8785.dumps(RECORD)  # type: ignore[arg-type]  # its alias wants invariant containers
    return _CANONICAL_ROUNDS / (time.process_time() - start)


def figures() -> list[Figure]:
    fold = Fold(parse_policy(_POLICY.read_text()))
    before = _held()
    began = time.process_time()
    reference = _canonical_rate() / _RFC8785_BESIDE_IT / _REFERENCE_SECONDS
    early = _spent(fold, 0, _SMALL)
    rest = _spent(fold, _SMALL, _LARGE)
    held = _held() - before
    rates = [_SLICE / seconds for seconds in (*early, *rest)]
    note = f"{_LARGE:,} in one pass: {sum(early) + sum(rest):.1f} s, {held:.0f} MB"
    # The first slices register the agents, which is cheap: they are compared with nobody.
    first, last = median(rates[1:11]), median(rates[-10:])
    cpu_seconds = time.process_time() - began
    return [
        Figure(
            name="trust: standings after each signal, at 10,000",
            ours=first,
            peer=reference,
            peer_name="reference, scaled",
            ratio=first / reference,
            target=100,
            unit="signals/s",
            cpu_seconds=cpu_seconds,
            load=load(),
        ),
        Figure(
            name="trust: one more signal after 1,000,000",
            ours=last,
            peer=first,
            peer_name="ours after 10,000",
            ratio=last / first,
            target=0.8,
            unit="signals/s",
            cpu_seconds=cpu_seconds,
            load=load(),
            note=note,
        ),
    ]


if __name__ == "__main__":
    print_table(figures())
