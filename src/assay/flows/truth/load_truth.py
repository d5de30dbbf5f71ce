"""What a compilation reads: contract, records and trust of one key, as one state of the database has them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.json import Decoder

from assay.facts.truth import SnapshotBasis
from assay.flows.errors.truth import CompileTimeError, TruthFlowError
from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded
from assay.flows.trust.take_snapshot import take_snapshot
from assay.flows.truth.compile_job import CompileJob, StoredText
from assay.flows.truth.contracts import find_contracts_of, get_contract, read_contract
from assay.flows.truth.key_sealing import UNSEALED, KeyRecords, SealedState, Sealing, find_probes, find_sealing
from assay.flows.truth.truth_entry import key_records
from assay.flows.truth.vote_entry import verify_votes
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.ports.truth_store import FrozenTrust, RecordKind, ReleasedContract, SilverState, TruthRecord
from assay.truth.contract import Contract
from assay.truth.key import parse_truth_key
from assay.truth.snapshot import TrustSnapshot, parse_snapshot, render_snapshot
from assay.truth.status import TruthStatus
from assay.truth.window import parse_window_event


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileAsked:
    """One request to compile. `fresh_trust` takes a new snapshot although nothing was recorded since the last state;
    `force` appends a state that says the same as the last one. `trust_through` is the entry up to which signals count:
    keys that are compiled together see the same trust, whichever comes first.
    """

    at: Instant
    claim_type: str | None = None
    force: bool = False
    fresh_trust: bool = False
    signed_at: Instant | None = None
    signed_at_reason: str | None = None
    trust_through: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedKey:
    """A key as it stands: its job, its last state, and the entries that all of it is written in.

    `through` is the entry of its newest record, `snapshot_number` that of a snapshot that is frozen already, `basis`
    what a new one follows from, and `trust_through` up to where signals counted, None where the last state's trust
    stands.
    """

    tenant_id: TenantId
    job: CompileJob
    contract: ReleasedContract
    records: tuple[TruthRecord, ...]
    snapshot: TrustSnapshot
    basis: SnapshotBasis | None
    snapshot_number: int | None
    last: SilverState | None
    through: int
    trust_through: int | None

    @property
    def truthkey(self) -> str:
        return self.job.truthkey

    @property
    def version(self) -> int:
        return 1 if self.last is None else self.last.version + 1

    @property
    def newest_record(self) -> int:
        """The entry of the newest record under the key itself."""
        own = (one.sequence_number for one in self.records if one.truthkey == self.truthkey)
        return max(own, default=0)

    @property
    def has_new_records(self) -> bool:
        return self.last is None or self.through > self.last.through


def load_truth(
    unit: Unit, tools: Tools, tenant_id: TenantId, truthkey: str, asked: CompileAsked, folded: Folded | None = None
) -> LoadedKey:
    """Read all that a compilation of this key needs. With `folded`, many keys see one and the same trust."""
    last = unit.truth.find_state(tenant_id, truthkey)
    _require_time(last, asked.at)
    before = 0 if last is None else last.through
    records = key_records(unit, tenant_id, truthkey, through=before)
    # What a state contained stays in the next one, also where 0.1.0 counted a fingerprint of another key as the newest.
    through = max((record.sequence_number for record in records), default=0)
    through = max(through, before)
    trust_through = _trust_through(unit, tenant_id, through, asked)
    if folded is not None and trust_through != asked.trust_through:
        folded = None  # a record came since that fold, and a new record means new trust
    contract = choose_contract(
        unit,
        tools,
        tenant_id,
        truthkey,
        records,
        at=asked.at,
        asked=asked.claim_type,
        through=trust_through,
        folded=folded,
    )
    sealing = _sealing(tools, contract, truthkey, last, records, asked.at)
    frozen = _kept_snapshot(unit, tenant_id, last, through, asked, is_sealed=_stays(sealing, last, records))
    basis: SnapshotBasis | None = None
    is_kept = frozen is not None
    if frozen is None:
        snapshot, basis = take_snapshot(
            unit,
            tools,
            tenant_id,
            _agents(records),
            contract.claim_type,
            at=asked.at,
            through=trust_through,
            folded=folded,
            probes=_probes(read_released(tools, contract), truthkey, records, sealing, asked.at),
        )
        frozen = unit.truth.find_snapshot(tenant_id, snapshot.snapshot_hash)
    verify_votes(unit, tools, tenant_id, records)
    # The hash covers the trusts alone, so an equal one that is frozen already is taken as it was frozen.
    snapshot = snapshot if frozen is None else parse_snapshot(frozen.text)
    return LoadedKey(
        tenant_id=tenant_id,
        job=_job(tools, truthkey, contract, records, snapshot, sealing, asked),
        contract=contract,
        records=records,
        snapshot=snapshot,
        basis=None if frozen is not None else basis,
        snapshot_number=None if frozen is None else frozen.sequence_number,
        last=last,
        through=through,
        trust_through=None if is_kept else trust_through,
    )


def _trust_through(unit: Unit, tenant_id: TenantId, through: int, asked: CompileAsked) -> int:
    """Up to where signals count: to the end, or to the entry that was asked for, and never short of a record."""
    head = unit.ledger.head(tenant_id).sequence_number
    return head if asked.trust_through is None else min(max(asked.trust_through, through), head)


def _sealing(
    tools: Tools,
    contract: ReleasedContract,
    truthkey: str,
    last: SilverState | None,
    records: tuple[TruthRecord, ...],
    at: Instant,
) -> Sealing:
    """Most keys have no round, and then nothing is sealed."""
    if not any(one.kind is RecordKind.WINDOW_EVENT for one in records):
        return UNSEALED
    known = None if last is None else SealedState.read(last.text)
    return find_sealing(read_released(tools, contract), truthkey, known, KeyRecords.of(records), at)


def read_released(tools: Tools, contract: ReleasedContract) -> Contract:
    return read_contract(contract.document, contract.schema_text, tools.domain_systems)


def _stays(sealing: Sealing, last: SilverState | None, records: Iterable[TruthRecord]) -> bool:
    """Evidence is sealed, and no person said anything since."""
    if last is None or sealing.sealed_at is None:
        return False
    people = (RecordKind.VOTE, RecordKind.WINDOW_EVENT)
    return not any(one.kind in people and one.sequence_number > last.through for one in records)


def _require_time(last: SilverState | None, at: Instant) -> None:
    if last is not None and at < last.compile_time:
        raise CompileTimeError(
            f"expected {render_instant(last.compile_time)} or later, the time of the last state, "
            f"got {render_instant(at)}"
        )


def _kept_snapshot(
    unit: Unit, tenant_id: TenantId, last: SilverState | None, through: int, asked: CompileAsked, *, is_sealed: bool
) -> FrozenTrust | None:
    """Without a new record the trust of the last state stands: no state raises itself by what it did to trust.

    And so it does while people's answer stands: they answered about the claim that this trust gave.
    """
    if last is None or (not is_sealed and (through > last.through or asked.fresh_trust)):
        return None
    return unit.truth.find_snapshot(tenant_id, last.snapshot_hash)


def _agents(records: Iterable[TruthRecord]) -> set[str]:
    """Those who reported or voted; nobody else's trust can matter here."""
    return {record.by for record in records if record.kind in (RecordKind.OBSERVATION, RecordKind.VOTE)}


def _stored(records: Iterable[TruthRecord]) -> tuple[StoredText, ...]:
    said = (one for one in records if one.kind is RecordKind.OBSERVATION)
    return tuple(StoredText(one.text, one.record_hash, one.received_at) for one in said)


def _probes(
    contract: Contract, truthkey: str, records: tuple[TruthRecord, ...], sealing: Sealing, at: Instant
) -> dict[str, str]:
    scores = [one.text for one in records if one.kind is RecordKind.AI_SCORE]
    events = [parse_window_event(one.text) for one in records if one.kind is RecordKind.WINDOW_EVENT]
    return find_probes(contract, truthkey, _stored(records), scores, events, sealing, at)


def _job(
    tools: Tools,
    truthkey: str,
    contract: ReleasedContract,
    records: tuple[TruthRecord, ...],
    snapshot: TrustSnapshot,
    sealing: Sealing,
    asked: CompileAsked,
) -> CompileJob:
    texts = {kind: tuple(record.text for record in records if record.kind is kind) for kind in RecordKind}
    return CompileJob(
        truthkey=truthkey,
        document=contract.document,
        schema_text=contract.schema_text,
        domain_systems=dict(tools.domain_systems),
        observations=_stored(records),
        votes=texts[RecordKind.VOTE],
        ai_scores=texts[RecordKind.AI_SCORE],
        fingerprints=texts[RecordKind.FINGERPRINT],
        window_events=texts[RecordKind.WINDOW_EVENT],
        snapshot=render_snapshot(snapshot).decode(),
        compile_time=asked.at,
        sealed_at=sealing.seals,
        late=sealing.late,
        signed_at=asked.signed_at,
        signed_at_reason=asked.signed_at_reason,
        opens_window=True,
    )


def choose_contract(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    truthkey: str,
    records: Sequence[TruthRecord],
    *,
    at: Instant,
    asked: str | None = None,
    through: int | None = None,
    folded: Folded | None = None,
) -> ReleasedContract:
    """The one version that decides about a key, which itself names none and may have observations under several.

    Once a state says something, it is that state's version, until an operator asks for another.
    """
    in_force = asked or _in_force(unit, tenant_id, truthkey)
    if in_force is not None:
        return get_contract(unit, tenant_id, in_force)
    key = parse_truth_key(truthkey)
    known = find_contracts_of(unit, tenant_id, key)
    if not known:
        raise TruthFlowError.not_released(f"expected a released contract for `{key.domain}.{key.topic}`, got none")
    reporters = _reporters_by_claim_type(records)
    named = [one for one in known if one.claim_type in reporters]
    for one in named if len(named) > 1 else ():
        contract, agents = read_contract(one.document, one.schema_text, tools.domain_systems), reporters[one.claim_type]
        trust, _ = take_snapshot(unit, tools, tenant_id, agents, one.claim_type, at=at, through=through, folded=folded)
        weights = trust.weights(contract.role_weights)
        if any(weights[agent] for agent in agents):
            return one
    return (named or known)[0]


def _in_force(unit: Unit, tenant_id: TenantId, truthkey: str) -> str | None:
    """The claim type of the last state that says something; one that was made without observations binds nobody."""
    last = unit.truth.find_state(tenant_id, truthkey)
    if last is None:
        return None
    known = (last,) if last.status != TruthStatus.UNVERIFIED else unit.truth.history(tenant_id, truthkey)
    said = (one for one in reversed(known) if one.status != TruthStatus.UNVERIFIED)
    return next((one.claim_type for one in said), None)


def _reporters_by_claim_type(records: Iterable[TruthRecord]) -> dict[str, set[str]]:
    """Who reported under each version."""
    found: dict[str, set[str]] = {}
    for one in records:
        if one.kind is RecordKind.OBSERVATION:
            found.setdefault(_SAID.decode(one.text).claim_type, set()).add(one.by)
    return found


class _Said(Struct):
    """The one member of an observation's text that is asked for here."""

    claim_type: str


_SAID = Decoder(_Said)
