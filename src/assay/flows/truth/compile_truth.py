"""The orchestrator (Kaori 16): the only place that reads stores, takes trust, calls the compiler, signs and persists.

read -> snapshot -> compile -> sign -> entry, row, signal and ticket in one commit, if nobody came in between
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from msgspec import Struct

from assay.facts.truth import snapshot_entry, state_entry
from assay.flows.errors import FlowError
from assay.flows.errors.truth import CompileTimeError, TruthFlowError
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import keep_marks
from assay.flows.trust.take_snapshot import seconds_ahead
from assay.flows.truth.compile_job import Result, compile_job
from assay.flows.truth.load_truth import CompileAsked, LoadedKey, load_truth
from assay.flows.truth.state_signal import count_ballots, emitted_signal
from assay.flows.truth.truth_key import get_truth_signer, introduce_truth_key, window_entry
from assay.flows.truth.validation_ticket import (
    TRUTH_SERVICE,
    draft_validation,
    find_validation_ticket,
    render_claim,
    tend_ticket,
)
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import Draft
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.truth_store import SilverState
from assay.review.ticket import Ticket
from assay.trust.signal import TrustSignal
from assay.truth.consensus import disputed_since, find_window
from assay.truth.due import find_due
from assay.truth.observation import Observation
from assay.truth.seal import seal_truth_state, signing_bytes, signing_time, verify_truth_state
from assay.truth.state import TruthState, parse_truth_state, semantic_hash
from assay.truth.status import TruthStatus
from assay.truth.window import Window, WindowEvent, WindowEventKind, parse_window_event, window_event_hash

_ATTEMPTS = 8


class MovedError(FlowError):
    """Somebody wrote to the key between our read and our write."""

    code = "truth.moved"


class CompiledTruth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state in force; `is_new` is false where nothing was appended, since nothing was there to be said.

    `trust_ahead_seconds` is by how much the trust it was compiled with is dated after it, since a clock was ahead.
    """

    state: TruthState
    version: int
    sequence_number: int
    is_new: bool
    trust_ahead_seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A signed state and all that goes into its commit."""

    loaded: LoadedKey
    state: TruthState
    opened: Draft | None
    snapshot: Draft | None
    ticket: Ticket | None
    round_opened_at: Instant | None
    signal: TrustSignal | None
    due_at: Instant | None
    at: Instant


def compile_truth(
    tools: Tools,
    tenant_id: TenantId,
    truthkey: str,
    *,
    at: Instant,
    claim_type: str | None = None,
    force: bool = False,
    fresh_trust: bool = False,
    signed_at: Instant | None = None,
    signed_at_reason: str | None = None,
    trust_through: int | None = None,
) -> CompiledTruth:
    """Compile a key for the time `at`, and append its state if it says or contains anything that the last one does not.

    The caller has made sure that whoever asks may. An override of the time of signing needs a reason, which the
    compile inputs record (Kaori 11.4).
    """
    asked = CompileAsked(
        at=at,
        claim_type=claim_type,
        force=force,
        fresh_trust=fresh_trust,
        signed_at=signed_at,
        signed_at_reason=signed_at_reason,
        trust_through=trust_through,
    )
    introduce_truth_key(tools, tenant_id, at=at)
    for _ in range(_ATTEMPTS):
        # 1. Read the database, and 2. take a snapshot of those who reported or voted.
        loaded = tools.database.read(lambda unit: load_truth(unit, tools, tenant_id, truthkey, asked))
        keep_marks(tools, tenant_id)
        # 3. Call the pure compiler.
        result = compile_job(loaded.job)
        if loaded.last is not None and is_unchanged(loaded, result, asked):
            return _kept(loaded.last)
        # 4. Sign and persist. Signed outside the writer's turn, since a token or a service may take its time.
        prepared = prepare_state(tools, loaded, result, at=at)
        try:
            return tools.database.write(partial(persist, prepared=prepared))
        except MovedError:
            continue
    raise TruthFlowError.busy(f"`{truthkey}` was written to {_ATTEMPTS} times while it was compiled")


def is_unchanged(loaded: LoadedKey, result: Result, asked: CompileAsked) -> bool:
    """Nothing new was recorded, no time has come, and the same is said: another state would add nothing."""
    if loaded.last is None or asked.force or loaded.has_new_records or result.opened is not None:
        return False
    # What was due has passed: a state that says so ends the question, though it says nothing else.
    if loaded.last.due_at is not None and asked.at >= loaded.last.due_at:
        return False
    return semantic_hash(result.state) == loaded.last.semantic_hash


def _kept(last: SilverState) -> CompiledTruth:
    return CompiledTruth(
        state=parse_truth_state(last.text), version=last.version, sequence_number=last.sequence_number, is_new=False
    )


def prepare_state(
    tools: Tools, loaded: LoadedKey, result: Result, *, at: Instant, ring: KeyRing | None = None
) -> Prepared:
    """Sign, and draft everything that is recorded with the state; whoever signs many hands in the node's keys."""
    state, contract = _signed(tools, result.state, ring or own_key_ring(tools)), loaded.job.contract()
    events = [*map(parse_window_event, loaded.job.window_events), *([] if result.opened is None else [result.opened])]
    window, _ = find_window(contract, state.truthkey, events, state.compile_inputs.compile_time)
    said = tuple(_observations(loaded))
    tally = count_ballots(contract, state, loaded.job.votes, said, loaded.snapshot, window)
    snapshot = None
    if loaded.basis is not None:
        snapshot = snapshot_entry(loaded.tenant_id, loaded.snapshot, loaded.basis, at=at)
    return Prepared(
        loaded=loaded,
        state=state,
        opened=None if result.opened is None else _opening(tools, loaded, result.opened, at),
        snapshot=snapshot,
        ticket=_ticket(tools, loaded, state, window, events, at),
        round_opened_at=None if window is None else window.opened_at,
        signal=emitted_signal(contract, state, said, tally, loaded.snapshot),
        due_at=find_due(contract, state, window, disputed_since(tally, window)),
        at=at,
    )


def _signed(tools: Tools, state: TruthState, ring: KeyRing) -> TruthState:
    signer = get_truth_signer(tools)
    # Nobody could ever verify what a key signs outside its validity.
    ring.get(signer.key_id, signing_time(state), purpose=KeyPurpose.TRUTH)
    signature = signer.sign(signing_bytes(state))
    sealed = seal_truth_state(state, signature=signature, method=signer.method, key_id=signer.key_id)
    if signer.public_key is not None:
        # A foreign machine may sign wrongly, and a wrong signature could never be taken back.
        verify_truth_state(sealed, {signer.key_id: signer.public_key})
    return sealed


def _opening(tools: Tools, loaded: LoadedKey, opened: WindowEvent, at: Instant) -> Draft:
    return window_entry(tools, loaded.tenant_id, opened, submitted_by=TRUTH_SERVICE, at=at)


def _ticket(
    tools: Tools,
    loaded: LoadedKey,
    state: TruthState,
    window: Window | None,
    events: Iterable[WindowEvent],
    at: Instant,
) -> Ticket | None:
    """People are asked while a window is open and there is a claim to ask about, also where some have answered."""
    if window is None or window.is_aborted or not window.is_open(at) or not state.observation_ids:
        return None
    if state.status is TruthStatus.EXPIRED:
        return None
    openers = (one for one in events if one.kind is WindowEventKind.OPENED and one.occurred_at == window.opened_at)
    opener = min(openers, key=window_event_hash)
    shown = render_claim(state, _observations(loaded), loaded.snapshot)
    return draft_validation(tools, loaded.tenant_id, state, shown, window, opened_by=opener.by, at=at)


def _observations(loaded: LoadedKey) -> Iterator[Observation]:
    ready = {row.observation_hash: row.hashed.observation for row in loaded.job.gathered(loaded.job.contract()).rows}
    return (ready[stored.hash] for stored in loaded.job.observations)


def persist(unit: Unit, prepared: Prepared, *, asked: Mapping[str, Ticket] | None = None) -> CompiledTruth:
    """One commit, and only if the key is as it was read: of two compilers one is told, and reads again.

    `asked` are the open validation tickets by key, for whoever persists many.
    """
    loaded, state = prepared.loaded, prepared.state
    if is_moved(unit, loaded):
        raise MovedError(f"`{loaded.truthkey}` moved on from version {loaded.version - 1}, entry {loaded.through}")
    number = _record_state(unit, prepared)
    open_ticket = (
        find_validation_ticket(unit, loaded.tenant_id, state.truthkey) if asked is None else asked.get(state.truthkey)
    )
    tend_ticket(
        unit,
        state,
        asked=open_ticket,
        wanted=prepared.ticket,
        round_opened_at=prepared.round_opened_at,
        at=prepared.at,
    )
    return CompiledTruth(
        state=state,
        version=loaded.version,
        sequence_number=number,
        is_new=True,
        trust_ahead_seconds=seconds_ahead(loaded.snapshot.snapshot_time, state.compile_inputs.compile_time),
    )


def _record_state(unit: Unit, prepared: Prepared) -> int:
    """The state's own entry, after those of a round and a snapshot that begin with it."""
    loaded, state, tenant_id = prepared.loaded, prepared.state, prepared.loaded.tenant_id
    through, records = loaded.through, [record.sequence_number for record in loaded.records]
    if prepared.opened is not None:
        through = unit.record(prepared.opened).sequence_number
        records.append(through)
    entry = state_entry(
        tenant_id,
        state,
        version=loaded.version,
        through=through,
        contract=loaded.contract.sequence_number,
        snapshot=_snapshot_number(unit, prepared),
        records=records,
        due_at=prepared.due_at,
        trust_through=loaded.trust_through,
        signal=prepared.signal,
        at=prepared.at,
    )
    number = unit.record(entry).sequence_number
    unit.truth.note_due(tenant_id, state.truthkey, loaded.version, prepared.due_at)
    return number


def is_moved(unit: Unit, loaded: LoadedKey) -> bool:
    """Compare-and-swap: the last state and the newest record are those that were compiled."""
    last, newest = unit.truth.find_state(loaded.tenant_id, loaded.truthkey), loaded.newest_record
    return last != loaded.last or unit.truth.last_record(loaded.tenant_id, loaded.truthkey) != newest


def _snapshot_number(unit: Unit, prepared: Prepared) -> int:
    """The entry of the snapshot; somebody may have frozen the same trusts meanwhile."""
    loaded = prepared.loaded
    if prepared.snapshot is None:
        return loaded.snapshot_number or 0
    known = unit.truth.find_snapshot(loaded.tenant_id, loaded.snapshot.snapshot_hash)
    if known is not None:
        return known.sequence_number
    return unit.record(prepared.snapshot).sequence_number


def compile_now(
    tools: Tools,
    tenant_id: TenantId,
    truthkey: str,
    *,
    claim_type: str | None = None,
    force: bool = False,
    fresh_trust: bool = False,
    signed_at: Instant | None = None,
    signed_at_reason: str | None = None,
    trust_through: int | None = None,
) -> CompiledTruth:
    """Compile a key at the time of each attempt; a clock that stays behind the last state is still refused."""
    compiled = partial(
        compile_truth,
        tools,
        tenant_id,
        truthkey,
        claim_type=claim_type,
        force=force,
        fresh_trust=fresh_trust,
        signed_at=signed_at,
        signed_at_reason=signed_at_reason,
        trust_through=trust_through,
    )
    for _ in range(_ATTEMPTS - 1):
        with suppress(CompileTimeError):
            return compiled(at=tools.clock.now())
    return compiled(at=tools.clock.now())


class Recount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key's state with what is on disk; while it is not compiled yet, `code` and `problem` say why."""

    truthkey: str
    compiled: CompiledTruth | None = None
    code: str | None = None
    problem: str | None = None


def recount_key(tools: Tools, tenant_id: TenantId, truthkey: str, *, at: Instant) -> Recount:
    """Never raises for a refusal: the record is durable, and whoever heard of a failure would hand it in again.

    Whoever compiles the key next counts it.
    """
    try:
        return Recount(truthkey=truthkey, compiled=compile_truth(tools, tenant_id, truthkey, at=at))
    except Error as error:
        # Of any family, for the same reason.
        return Recount(truthkey=truthkey, code=error.code, problem=str(error))


class StuckKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that could not be compiled, and why; the next sweep tries again."""

    truthkey: str
    code: str
    problem: str


class Aged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one sweep compiled, and what it could not."""

    compiled: tuple[str, ...]
    stuck: tuple[StuckKey, ...]


def expire_truth(tools: Tools, tenant_id: TenantId, *, at: Instant) -> Aged:
    """Compile what is due; one key that cannot be compiled holds up no other."""
    compiled: list[str] = []
    stuck: list[StuckKey] = []
    for truthkey in tools.database.read(lambda unit: [silver.truthkey for silver in unit.truth.due(tenant_id, at)]):
        try:
            done = compile_truth(tools, tenant_id, truthkey, at=at)
        except Error as error:
            # A database that cannot write will not write the next one either; that is for the caller to hear.
            if error.blame is Blame.OURS and not isinstance(error, DamagedRecordError):
                raise
            stuck.append(StuckKey(truthkey=truthkey, code=error.code, problem=str(error)))
            continue
        if done.is_new:
            compiled.append(truthkey)
    return Aged(compiled=tuple(compiled), stuck=tuple(stuck))
