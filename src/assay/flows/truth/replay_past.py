"""What a state takes over from the states of its key before it, worked out again: people's answers and their trust.

entries of earlier states -> seals and late records, state by state -> what this one must say -> and which trust it may
Nothing here is taken from the state that is judged: it names its own seals, and these follow from its past alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import convert
from msgspec.structs import replace

from assay.facts.truth import BronzeBody, ContractReleased, SnapshotBody, StateBody
from assay.flows.truth.compile_job import StoredText
from assay.flows.truth.contracts import read_contract
from assay.flows.truth.key_sealing import KeyRecords, SealedState, Sealing, find_probes, find_sealing
from assay.flows.truth.state_entry import (
    GetEntry,
    ReplayCode,
    ReplayProblem,
    Told,
    read_body,
    read_bronze,
    read_state,
)
from assay.flows.truth.truth_entry import KeyEntries
from assay.flows.truth.validation_ticket import TRUTH_SERVICE
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.trust.evolve import Fold
from assay.trust.freeze import freeze_trust
from assay.truth.contract import Contract
from assay.truth.observation import observation_hash, parse_observation, render_observation
from assay.truth.snapshot import TrustSnapshot, parse_snapshot, render_snapshot
from assay.truth.state import TruthState
from assay.truth.window import WindowEvent, parse_window_event

_EVIDENCE = (EntryKind.OBSERVATION_RECORDED, EntryKind.AI_SCORE_RECORDED, EntryKind.FINGERPRINT_RECORDED)
_PEOPLE = (EntryKind.VOTE_CAST, EntryKind.WINDOW_CHANGED)
_MAKER = {EntryKind.OBSERVATION_RECORDED: "reporter_id", EntryKind.VOTE_CAST: "voter_id"}


class WholeLedger(Protocol):
    """What one state and its inputs cannot show by themselves: that nothing of the ledger was left out of them."""

    def key_entries(self, truthkey: str, through: int) -> KeyEntries: ...

    def fold(self, policy_hash: str | None, through: int) -> Fold | None:
        """Every signal up to an entry under the policy that was in force there; None where that was another than the
        one that is named.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPast:
    """A state beside its past: `records` are its inputs by number, `last` is the body of the state before it.

    `opened` is the number of the window event that the state itself opened people's round with, where it did;
    `sealing` what follows from the states before, and `found_sealing` what did before that round was opened.
    """

    state: TruthState
    body: StateBody
    last: StateBody | None
    contract: Contract
    records: dict[int, Told]
    sealing: Sealing
    found_sealing: Sealing
    opened: int | None

    @property
    def found(self) -> dict[int, Told]:
        """The records that were there before the state was compiled."""
        return {number: told for number, told in self.records.items() if number != self.opened}

    @property
    def newer(self) -> dict[int, Told]:
        """Those that came since the last state."""
        through = 0 if self.last is None else self.last.through
        return {number: told for number, told in self.found.items() if number > through}


@dataclass(slots=True)
class _Reader:
    """Each entry is read once, however many states name it."""

    get_entry: GetEntry
    told: dict[int, Told] = field(default_factory=dict)
    contracts: dict[int, Contract] = field(default_factory=dict)

    def records(self, body: StateBody) -> dict[int, Told]:
        for number in body.inputs.records:
            if number not in self.told:
                self.told[number] = read_bronze(self.get_entry, number)
        return {number: self.told[number] for number in body.inputs.records}

    def contract(self, number: int) -> Contract:
        if number not in self.contracts:
            found = read_body(self.get_entry, number, EntryKind.CONTRACT_RELEASED, ContractReleased)
            self.contracts[number] = read_contract(found.document, found.schema_text, found.domain_systems)
        return self.contracts[number]


def read_past(get_entry: GetEntry, earlier: Sequence[int], state: TruthState, body: StateBody) -> KeyPast:
    """From the entries of the key's states before this one, in order."""
    reader = _Reader(get_entry)
    known: SealedState | None = None
    last: StateBody | None = None
    for number in earlier:
        before, last = read_state(get_entry, number)
        known = _sealed(before, _follow(reader, known, before, last))
    records = reader.records(body)
    opened = _find_opened(records, state)
    sealing = _follow(reader, known, state, body)
    return KeyPast(
        state=state,
        body=body,
        last=last,
        contract=reader.contract(body.inputs.contract),
        records=records,
        sealing=sealing,
        found_sealing=sealing if opened is None else _follow(reader, known, state, body, without=opened),
        opened=opened,
    )


def _follow(
    reader: _Reader, known: SealedState | None, state: TruthState, body: StateBody, *, without: int | None = None
) -> Sealing:
    records = [told for number, told in reader.records(body).items() if number != without]
    at = state.compile_inputs.compile_time
    contract = reader.contract(body.inputs.contract)
    evidence = {told.record_hash: told.receipt_time for kind, told in records if kind in _EVIDENCE}
    return find_sealing(contract, state.truthkey, known, KeyRecords(_events(records), evidence), at)


def _events(records: Iterable[Told]) -> list[WindowEvent]:
    return [parse_window_event(told.record) for kind, told in records if kind is EntryKind.WINDOW_CHANGED]


def _sealed(state: TruthState, sealing: Sealing) -> SealedState:
    """An earlier state as a later one sees it, with what really was sealed and late instead of what it says."""
    read = convert(state, SealedState, from_attributes=True)
    inputs = replace(read.compile_inputs, sealed_at=sealing.seals, late_hashes=sealing.late)
    return replace(read, compile_inputs=inputs)


def _find_opened(records: dict[int, Told], state: TruthState) -> int | None:
    """The newest input, where it is the opening that the node itself added when it compiled the state."""
    newest = max(records, default=0)
    kind, told = records.get(newest, (None, None))
    if kind is not EntryKind.WINDOW_CHANGED or told is None or told.submitted_by != TRUTH_SERVICE:
        return None
    is_now = parse_window_event(told.record).occurred_at == state.compile_inputs.compile_time
    return newest if is_now else None


def past_problems(past: KeyPast) -> Iterator[ReplayProblem]:
    """People's answers, and what came after them, as the states before say and not as this one does."""
    inputs = past.state.compile_inputs
    if (inputs.sealed_at, inputs.late_hashes) != (past.sealing.seals, past.sealing.late):
        message = (
            f"expected {len(past.sealing.seals)} answers of people and {len(past.sealing.late)} late records from the "
            f"states before, got {len(inputs.sealed_at)} and {len(inputs.late_hashes)}, or others"
        )
        yield ReplayProblem(code=ReplayCode.SEAL_DIFFERS, message=message)


def trust_problems(ledger: WholeLedger, get_entry: GetEntry, past: KeyPast, number: int) -> Iterator[ReplayProblem]:
    """The snapshot is frozen again from the signals of the ledger: a new record means new trust, and else it stands."""
    try:
        told = read_body(get_entry, past.body.inputs.snapshot, EntryKind.SNAPSHOT_FROZEN, SnapshotBody)
        if past.body.trust_through is None:
            fault = _find_kept_fault(past) or _find_mistrust(ledger, told)
        else:
            fault = _find_fresh_fault(ledger, past, told, past.body.trust_through, number)
    except Error as error:
        yield ReplayProblem(code=error.code, message=f"trust: {error}")
        return
    if fault is not None:
        message = f"expected the snapshot of entry {past.body.inputs.snapshot} to follow from the signals: {fault}"
        yield ReplayProblem(code=ReplayCode.TRUST_DIFFERS, message=message)


def _find_kept_fault(past: KeyPast) -> str | None:
    """The trust of the last state stands where nothing came since, or where people answered and none spoke again."""
    if past.last is None or past.body.inputs.snapshot != past.last.inputs.snapshot:
        return "it is not that of the state before"
    is_answered = past.found_sealing.sealed_at is not None and not any(
        kind in _PEOPLE for kind, _ in past.newer.values()
    )
    return "a new record means new trust" if past.newer and not is_answered else None


def _find_fresh_fault(ledger: WholeLedger, past: KeyPast, told: SnapshotBody, through: int, number: int) -> str | None:
    newest = max(past.found, default=0)
    if not newest <= through < number:
        return f"expected signals from entry {newest} on and before {number}, got up to {through}"
    fold = ledger.fold(None, through)
    if fold is None:
        return "no policy was in force"
    is_own = past.body.inputs.snapshot == number - 1
    if is_own and told.basis.policy_hash != fold.policy.policy_hash:
        return "another policy was in force"
    at, claim_type = past.state.compile_inputs.compile_time, past.state.claim_type
    agents, probes = _speakers(past), _probes(past, at)
    again = freeze_trust(
        fold, agents, claim_type=claim_type, at=max(at, fold.clock), probes=probes, disabled=told.basis.disabled
    )
    given = parse_snapshot(told.snapshot)
    if again.snapshot_hash == given.snapshot_hash:
        # Frozen with the state itself, and not found as it was frozen before: then it also says what from.
        basis = (tuple(sorted(agents)), claim_type, probes, fold.policy.policy_hash, at)
        return _find_basis_fault(told, basis, again, given) if is_own else None
    wrong = sorted(name for name in {*again.agent_trusts, *given.agent_trusts} if _differ(again, given, name))
    return f"they say otherwise of {', '.join(f'`{name}`' for name in wrong[:3])}"


_Basis = tuple[tuple[str, ...], str, dict[str, str], str, Instant]


def _find_basis_fault(told: SnapshotBody, basis: _Basis, again: TrustSnapshot, given: TrustSnapshot) -> str | None:
    named = told.basis
    got = (named.agents, named.claim_type, named.probes, named.policy_hash, named.asked_at)
    if got != basis:
        return "it names others, or other probes, than those who spoke"
    return None if render_snapshot(again) == render_snapshot(given) else "it is of another time"


def _find_mistrust(ledger: WholeLedger, told: SnapshotBody) -> str | None:
    """One that was taken for an earlier state, by what it says it was taken from."""
    basis = told.basis
    fold = ledger.fold(basis.policy_hash, basis.trust_through)
    if fold is None:
        return "another policy was in force"
    at = max(basis.asked_at, fold.clock)
    again = freeze_trust(
        fold, basis.agents, claim_type=basis.claim_type, at=at, probes=basis.probes, disabled=basis.disabled
    )
    is_same = render_snapshot(again) == render_snapshot(parse_snapshot(told.snapshot))
    return None if is_same else "they say otherwise of those who were asked about"


def _differ(again: TrustSnapshot, given: TrustSnapshot, agent_id: str) -> bool:
    return again.agent_trusts.get(agent_id) != given.agent_trusts.get(agent_id)


def _speakers(past: KeyPast) -> set[str]:
    """Those who reported or voted, all of whom are asked about."""
    return {str(told.record.get(_MAKER[kind])) for kind, told in past.found.values() if kind in _MAKER}


def _probes(past: KeyPast, at: Instant) -> dict[str, str]:
    """For whom they reported, by the round as it stood before the state opened another."""
    found, sealing = past.found.values(), past.found_sealing
    stored = tuple(_stored(told) for kind, told in found if kind is EntryKind.OBSERVATION_RECORDED)
    scores = [canonical_json(told.record, Profile.KAORI) for kind, told in found if kind is EntryKind.AI_SCORE_RECORDED]
    return find_probes(past.contract, past.state.truthkey, stored, scores, _events(found), sealing, at)


def _stored(told: BronzeBody) -> StoredText:
    observation = parse_observation(told.record)
    text = render_observation(observation).decode()
    return StoredText(text, observation_hash(observation), told.receipt_time)
