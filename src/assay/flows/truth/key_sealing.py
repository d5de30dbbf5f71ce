"""When people's answer, or the end of their round, sealed what a key's claim rests on, and what came after that.

last state + records + time -> the answers so far, the one that seals the round that counts, and what is late for it
By the order of the ledger: whatever a record's own clock said, what the sealed state did not contain came after it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.json import Decoder

from assay.flows.truth.compile_job import StoredText, gather_stored
from assay.kernel.instant import Instant
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.truth.ai_score import parse_ai_score
from assay.truth.consensus import find_window
from assay.truth.contract import Contract
from assay.truth.report import latest_reports
from assay.truth.status import FINAL_STATUSES, TruthStatus, VerificationBasis
from assay.truth.window import Window, WindowEvent, find_seal, parse_window_event, window_event_hash

# What a round's seal keeps out once it is there; votes and window events are people's own.
EVIDENCE_KINDS = frozenset({RecordKind.OBSERVATION, RecordKind.AI_SCORE, RecordKind.FINGERPRINT})
_BY_PEOPLE = (VerificationBasis.HUMAN_CONSENSUS, VerificationBasis.AUTHORITY_OVERRIDE)


class SealedInputs(Struct):
    """The members of a state's compile inputs that say what it contained, and what was sealed before it."""

    compile_time: Instant
    observation_hashes: tuple[str, ...] = ()
    ai_score_hashes: tuple[str, ...] = ()
    fingerprint_hashes: tuple[str, ...] = ()
    window_event_hashes: tuple[str, ...] = ()
    sealed_at: tuple[Instant, ...] = ()
    late_hashes: tuple[str, ...] = ()

    def contained(self) -> frozenset[str]:
        """Evidence that was there, late or not."""
        return frozenset((*self.observation_hashes, *self.ai_score_hashes, *self.fingerprint_hashes))


class SealedState(Struct):
    """The members of a state that say whether people answered, and about what."""

    status: TruthStatus
    verification_basis: VerificationBasis
    compile_inputs: SealedInputs

    @property
    def is_answer(self) -> bool:
        """Whether people made this state final."""
        return self.verification_basis in _BY_PEOPLE and self.status in FINAL_STATUSES

    @classmethod
    def read(cls, text: str) -> "SealedState":
        """From the text of a stored state."""
        return _STATE.decode(text)


_STATE = Decoder(SealedState)


class KeyRecords(NamedTuple):
    """The window events of one key, and when each piece of its evidence reached us, by hash."""

    events: Sequence[WindowEvent]
    evidence: Mapping[str, Instant]

    @classmethod
    def of(cls, records: Iterable[TruthRecord]) -> "KeyRecords":
        events: list[WindowEvent] = []
        evidence: dict[str, Instant] = {}
        for one in records:
            if one.kind is RecordKind.WINDOW_EVENT:
                events.append(parse_window_event(one.text))
            elif one.kind in EVIDENCE_KINDS:
                evidence[one.record_hash] = one.received_at
        return cls(events, evidence)


class Sealing(NamedTuple):
    """When people came to final answers about a key, which of these seals the round that counts, and what is late."""

    seals: tuple[Instant, ...]
    sealed_at: Instant | None
    late: tuple[str, ...]


UNSEALED = Sealing((), None, ())


def find_sealing(
    contract: Contract, truthkey: str, last: SealedState | None, given: KeyRecords, at: Instant
) -> Sealing:
    """What is sealed, by the last state: it names people's answers before it, and is one where people made it final."""
    window = find_window(contract, truthkey, given.events, at)[0]
    if last is None:
        return Sealing((), None, _late(window, None, given.evidence, at, is_sealed=False))
    known = last.compile_inputs
    events = [one for one in given.events if window_event_hash(one) in known.window_event_hashes]
    then, seals = find_window(contract, truthkey, events, known.compile_time)[0], known.sealed_at
    if last.is_answer and find_seal(then, seals) is None:
        seals = (*seals, known.compile_time)
    sealed_at = find_seal(window, seals)
    is_of_round = then is not None and window is not None and then.opened_at == window.opened_at
    is_over = window is not None and known.compile_time >= window.end
    is_sealed = is_of_round and (sealed_at is not None or is_over)
    return Sealing(seals, sealed_at, _late(window, known, given.evidence, at, is_sealed=is_sealed))


def _late(
    window: Window | None, last: SealedInputs | None, evidence: Mapping[str, Instant], at: Instant, *, is_sealed: bool
) -> tuple[str, ...]:
    """What reached us after the end of the round, and what the last state did not contain where it was sealed."""
    if window is None or window.is_aborted:
        return ()
    late = {hash_ for hash_, received_at in evidence.items() if window.end <= at and window.end <= received_at}
    if last is not None and is_sealed:
        late |= evidence.keys() - last.contained()
        late |= evidence.keys() & {*last.late_hashes}
    return tuple(sorted(late))


def find_probes(
    contract: Contract,
    truthkey: str,
    observations: tuple[StoredText, ...],
    ai_scores: Iterable[str],
    events: Sequence[WindowEvent],
    sealing: Sealing,
    at: Instant,
) -> dict[str, str]:
    """The probe of each reporter whose one report that counts was made for a probe.

    Few are made for one, so where no text names any, nothing is read for it.
    """
    if not any('"probe_id":' in one.text for one in observations):
        return {}
    latest = latest_reports(
        contract,
        truthkey,
        gather_stored(contract, truthkey, observations),
        ai_scores=map(parse_ai_score, ai_scores),
        window_events=events,
        compile_time=at,
        sealed_at=sealing.seals,
        late=sealing.late,
    )
    return {reporter: one.probe_id for reporter, one in latest.items() if one.probe_id is not None}
