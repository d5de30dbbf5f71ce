"""Truth: entries about contracts, records, snapshots and states, and the rows that follow from them."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from assay.facts.kinds import Fact, Folded, Projected, Table
from assay.facts.trust import json_of, kaori_text, news_of, signal_rows
from assay.kernel.entry import Entry
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import SigningMethod
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.trust_store import LoggedSignal
from assay.ports.truth_store import DueState, FrozenTrust, RecordKind, ReleasedContract, SilverState, TruthRecord
from assay.review.answer import Answer
from assay.trust.signal import TrustSignal, render_signal
from assay.truth.contract import Contract
from assay.truth.errors import StateError
from assay.truth.evidence import EMBEDDING
from assay.truth.snapshot import TrustSnapshot, render_snapshot
from assay.truth.state import SecurityBlock, TruthState, render_truth_state

ENTRY_KINDS: Mapping[RecordKind, EntryKind] = MappingProxyType(
    {
        RecordKind.OBSERVATION: EntryKind.OBSERVATION_RECORDED,
        RecordKind.VOTE: EntryKind.VOTE_CAST,
        RecordKind.AI_SCORE: EntryKind.AI_SCORE_RECORDED,
        RecordKind.FINGERPRINT: EntryKind.FINGERPRINT_RECORDED,
        RecordKind.WINDOW_EVENT: EntryKind.WINDOW_CHANGED,
    }
)


class ContractReleased(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `contract.released` entry: the law itself, so that a state replays from the ledger alone.

    `domain_systems` are the domains outside Kaori's four that it was read with.
    """

    claim_type: str
    claim_type_hash: str
    document: str
    schema_text: str | None
    domain_systems: dict[str, str]
    released_by: PrincipalId


class EventSignature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signature by the node's truth key over the canonical bytes of the record, under its own domain."""

    key_id: KeyId
    method: SigningMethod
    signature: str


class VoteAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What makes a vote its voter's own: the signed answer, and the very text that its `seen_hash` is the hash of.

    `voter_entry` is the entry that says who the voter was then, and with which key that person signs.
    """

    answer: Answer
    shown: str
    voter_entry: int


class BronzeBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an entry that records what a compilation reads: enough to compile again from the ledger alone.

    `receipt_time` is when it reached us (Kaori 4.3), `submitted_by` the authenticated principal who did, `signal`
    the trust signal that this is, where it is one. A window event carries a `signature`, a vote its `answer`.
    """

    truthkeys: tuple[str, ...]
    record: dict[str, Any]
    record_hash: str
    receipt_time: Instant
    submitted_by: str
    signal: dict[str, Any] | None = None
    ticket_id: str | None = None
    signature: EventSignature | None = None
    answer: VoteAnswer | None = None


class SnapshotBasis(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a snapshot follows from: the signals up to entry `trust_through`, under a policy, about these agents.

    `agents` are all who were asked about, known or not; `disabled` those of them that identity had disabled then.
    `asked_at` is when it was asked for. Where signals are dated later, since a clock was ahead, the snapshot is of
    their time, and `ahead_seconds` says by how much, rounded up. `probes` are those that agents reported for.
    """

    policy_hash: str
    trust_through: int
    claim_type: str
    agents: tuple[str, ...]
    disabled: tuple[str, ...]
    asked_at: Instant
    ahead_seconds: int
    probes: dict[str, str] = {}


class SnapshotBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `snapshot.frozen` entry, with what it follows from, so that anyone can freeze it again."""

    snapshot: dict[str, Any]
    basis: SnapshotBasis


class StateInputs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The entries that hold the contract, the snapshot, and every record that was given to the compiler."""

    contract: int
    snapshot: int
    records: tuple[int, ...]


class StateBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `truth.state` entry; what the two hashes leave out of a state is bound by this entry's own.

    `signal` is the trust signal that a final state is, `due_at` when time alone may change the state next.
    `trust_through` is the entry up to which signals counted for it; None where the trust of the last state stands.
    """

    state: dict[str, Any]
    version: int
    through: int
    inputs: StateInputs
    due_at: Instant | None = None
    trust_through: int | None = None
    signal: dict[str, Any] | None = None


def contract_entry(
    tenant_id: TenantId,
    contract: Contract,
    *,
    schema_text: str | None,
    domain_systems: Mapping[str, str],
    by: PrincipalId,
    at: Instant,
) -> Draft:
    body = ContractReleased(
        claim_type=contract.id,
        claim_type_hash=contract.claim_type_hash,
        document=contract.document,
        schema_text=schema_text,
        domain_systems={name: system for name, system in domain_systems.items() if name == contract.domain},
        released_by=by,
    )
    news = {"claim_type": contract.id, "claim_type_hash": contract.claim_type_hash}
    event = news_of(EntryKind.CONTRACT_RELEASED, contract.id, news)
    return draft_entry(tenant_id, EntryKind.CONTRACT_RELEASED, body, at=at, events=(event,))


def record_entry(
    tenant_id: TenantId,
    kind: RecordKind,
    text: bytes,
    *,
    truthkeys: Iterable[str],
    record_id: str,
    record_hash: str,
    submitted_by: str,
    at: Instant,
    signal: TrustSignal | None = None,
    ticket_id: str | None = None,
    signature: EventSignature | None = None,
    answer: VoteAnswer | None = None,
) -> Draft:
    """Draft the entry of a record; `text` is its canonical JSON (`kaori-2.1`)."""
    keys = tuple(sorted(truthkeys))
    body = BronzeBody(
        truthkeys=keys,
        record=json_of(text),
        record_hash=record_hash,
        receipt_time=at,
        submitted_by=submitted_by,
        signal=None if signal is None else json_of(render_signal(signal)),
        ticket_id=ticket_id,
        signature=signature,
        answer=answer,
    )
    news = {"truthkeys": keys, "kind": kind.value, "record_id": record_id, "record_hash": record_hash}
    entry_kind = ENTRY_KINDS[kind]
    return draft_entry(tenant_id, entry_kind, body, at=at, events=(news_of(entry_kind, record_id, news),))


def resemblance_id(sha256: str, record_hash: str = "") -> str:
    """The id of a resemblance of a piece of evidence; without a hash, what all of them begin with."""
    return f"{EMBEDDING}.{sha256}.{record_hash}"


def snapshot_entry(tenant_id: TenantId, snapshot: TrustSnapshot, basis: SnapshotBasis, *, at: Instant) -> Draft:
    body = SnapshotBody(snapshot=json_of(render_snapshot(snapshot)), basis=basis)
    return draft_entry(tenant_id, EntryKind.SNAPSHOT_FROZEN, body, at=at)


def state_entry(
    tenant_id: TenantId,
    state: TruthState,
    *,
    version: int,
    through: int,
    contract: int,
    snapshot: int,
    records: Iterable[int],
    due_at: Instant | None,
    trust_through: int | None,
    signal: TrustSignal | None,
    at: Instant,
) -> Draft:
    body = StateBody(
        state=json_of(render_truth_state(state)),
        version=version,
        through=through,
        inputs=StateInputs(contract=contract, snapshot=snapshot, records=tuple(sorted(set(records)))),
        due_at=due_at,
        trust_through=trust_through,
        signal=None if signal is None else json_of(render_signal(signal)),
    )
    news = {
        "truthkey": state.truthkey,
        "version": version,
        "status": state.status.value,
        "confidence": str(state.confidence),
        "state_hash": security_of(state).state_hash,
    }
    event = news_of(EntryKind.TRUTH_STATE, state.truthkey, news)
    return draft_entry(tenant_id, EntryKind.TRUTH_STATE, body, at=at, events=(event,))


def security_of(state: TruthState) -> SecurityBlock:
    """INVARIANT: only sealed states come here."""
    if state.security is None:
        raise StateError.state_unsigned(f"expected a signed state, got `{state.truthkey}` without a signature")
    return state.security


# The members of bodies that rows are made of; texts are taken as they are held. The bodies themselves were judged when
# they were recorded, and whoever replays a state judges them again.


class _Contract(Struct):
    claim_type: str
    claim_type_hash: str
    document: str
    schema_text: str | None
    released_by: str


class _Bronze(Struct):
    truthkeys: tuple[str, ...]
    record: Raw
    record_hash: str
    receipt_time: Instant
    submitted_by: str
    signal: Raw = Raw(b"null")


class _Observation(Struct):
    """Of each kind of record: which id it has, whose word it is, and when it says that it was made."""

    id: str = field(name="observation_id")
    by: str = field(name="reporter_id")
    at: Instant = field(name="reported_at")


class _Vote(Struct):
    id: str = field(name="vote_id")
    by: str = field(name="voter_id")
    at: Instant = field(name="cast_at")


class _Score(Struct):
    id: str = field(name="score_id")
    by: str = field(name="engine")
    at: Instant = field(name="scored_at")


class _WindowEvent(Struct):
    id: str = field(name="event_id")
    by: str
    at: Instant = field(name="occurred_at")


class _Fingerprint(Struct):
    sha256: str
    method: str


_RECORD_KINDS = MappingProxyType({entry: kind for kind, entry in ENTRY_KINDS.items()})
_HEADS: Mapping[RecordKind, msgspec.json.Decoder[Any]] = MappingProxyType(
    {
        RecordKind.OBSERVATION: msgspec.json.Decoder(_Observation),
        RecordKind.VOTE: msgspec.json.Decoder(_Vote),
        RecordKind.AI_SCORE: msgspec.json.Decoder(_Score),
        RecordKind.WINDOW_EVENT: msgspec.json.Decoder(_WindowEvent),
    }
)
_FINGERPRINT = msgspec.json.Decoder(_Fingerprint)


class _Security(Struct):
    semantic_hash: str
    state_hash: str


class _Inputs(Struct):
    trust_snapshot_hash: str
    compile_time: Instant


class _State(Struct):
    truthkey: str
    claim_type: str
    status: str
    compile_inputs: _Inputs
    security: _Security


class _StateBody(Struct):
    state: Raw
    version: int
    through: int
    due_at: Instant | None = None
    signal: Raw = Raw(b"null")


class _Snapshot(Struct):
    snapshot_hash: str
    snapshot_time: Instant


class _SnapshotBody(Struct):
    snapshot: Raw


_STATE, _SNAPSHOT = msgspec.json.Decoder(_State), msgspec.json.Decoder(_Snapshot)
_STATE_BODY = msgspec.json.Decoder(_StateBody)


def _contract_rows(entry: Entry, body: _Contract) -> Iterator[ReleasedContract]:
    yield ReleasedContract(
        claim_type=body.claim_type,
        claim_type_hash=body.claim_type_hash,
        document=body.document,
        schema_text=body.schema_text,
        released_at=entry.timestamp,
        released_by=body.released_by,
        sequence_number=entry.sequence_number,
    )


def _record_rows(entry: Entry, body: _Bronze) -> Iterator[Struct]:
    kind = _RECORD_KINDS[entry.kind]
    record_id, by, occurred_at = _head(kind, body)
    text = kaori_text(body.record)
    for truthkey in body.truthkeys:
        yield TruthRecord(
            kind=kind,
            truthkey=truthkey,
            record_id=record_id,
            record_hash=body.record_hash,
            by=by,
            occurred_at=occurred_at,
            received_at=body.receipt_time,
            text=text,
            sequence_number=entry.sequence_number,
        )
    yield from signal_rows(entry, body)


def _head(kind: RecordKind, body: _Bronze) -> tuple[str, str, Instant]:
    if kind is RecordKind.FINGERPRINT:
        # It says itself neither whose it is nor when it was made.
        held = _FINGERPRINT.decode(body.record)
        is_pair = held.method == EMBEDDING
        name = resemblance_id(held.sha256, body.record_hash) if is_pair else f"{held.method}.{held.sha256}"
        return name, body.submitted_by, body.receipt_time
    head = _HEADS[kind].decode(body.record)
    return head.id, f"ai:{head.by}" if kind is RecordKind.AI_SCORE else head.by, head.at


def _snapshot_rows(entry: Entry, body: _SnapshotBody) -> Iterator[FrozenTrust]:
    snapshot = _SNAPSHOT.decode(body.snapshot)
    yield FrozenTrust(
        snapshot_hash=snapshot.snapshot_hash,
        snapshot_time=snapshot.snapshot_time,
        text=kaori_text(body.snapshot),
        sequence_number=entry.sequence_number,
    )


def _state_rows(entry: Entry, body: _StateBody) -> Iterator[Struct]:
    state = _STATE.decode(body.state)
    yield SilverState(
        truthkey=state.truthkey,
        version=body.version,
        claim_type=state.claim_type,
        status=state.status,
        semantic_hash=state.security.semantic_hash,
        state_hash=state.security.state_hash,
        snapshot_hash=state.compile_inputs.trust_snapshot_hash,
        compile_time=state.compile_inputs.compile_time,
        due_at=body.due_at,
        through=body.through,
        text=kaori_text(body.state),
        sequence_number=entry.sequence_number,
    )
    yield from signal_rows(entry, body)


def _fold_due(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    body = _STATE_BODY.decode(entry.body)
    truthkey = _STATE.decode(body.state).truthkey
    rows.pop(truthkey, None)
    if body.due_at is not None:
        rows[truthkey] = DueState(truthkey=truthkey, version=body.version, due_at=body.due_at)


FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.CONTRACT_RELEASED, _Contract, _contract_rows, into=(ReleasedContract,)),
    *(Fact(kind, _Bronze, _record_rows, into=(TruthRecord, LoggedSignal)) for kind in ENTRY_KINDS.values()),
    Fact(EntryKind.SNAPSHOT_FROZEN, _SnapshotBody, _snapshot_rows, into=(FrozenTrust,)),
    Fact(EntryKind.TRUTH_STATE, _StateBody, _state_rows, into=(SilverState, LoggedSignal)),
)
TABLES = (
    Table("truth_contract", Projected(ReleasedContract), keys=("claim_type",), taken="the contract `{claim_type}`"),
    Table(
        "truth_record",
        Projected(TruthRecord),
        keys=("truthkey", "record_id", "record_hash", "by"),
        taken="the {kind} `{record_id}`, its hash or its entry {sequence_number}",
    ),
    Table("trust_snapshot", Projected(FrozenTrust), keys=("snapshot_hash",), taken="the snapshot `{snapshot_hash}`"),
    Table(
        "truth_state",
        Projected(SilverState),
        keys=("truthkey", "claim_type", "state_hash"),
        taken="version {version} of `{truthkey}`",
    ),
    Table("truth_due", Folded(DueState, fold=_fold_due, folds=(EntryKind.TRUTH_STATE,))),
)
