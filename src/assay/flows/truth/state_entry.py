"""How a truth state is written down: signed, whole, with the numbers of the entries it was compiled from."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct, ValidationError, convert

from assay.flows.errors.truth import TruthFlowError
from assay.flows.trust.take_snapshot import SnapshotBasis
from assay.flows.truth.truth_entry import BronzeBody, json_of, news_of
from assay.kernel.bundle import EntryHead, parse_entry_head
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.truth_store import FrozenTrust, SilverState
from assay.trust.signal import TrustSignal, render_signal
from assay.truth.errors import StateError
from assay.truth.snapshot import TrustSnapshot, render_snapshot
from assay.truth.state import SecurityBlock, TruthState, parse_truth_state, render_truth_state


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


class SnapshotBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `snapshot.frozen` entry, with what it follows from, so that anyone can freeze it again."""

    snapshot: dict[str, Any]
    basis: SnapshotBasis


def snapshot_entry(tenant_id: TenantId, snapshot: TrustSnapshot, basis: SnapshotBasis, *, at: Instant) -> Draft:
    body = SnapshotBody(snapshot=json_of(render_snapshot(snapshot)), basis=basis)
    return draft_entry(tenant_id, EntryKind.SNAPSHOT_FROZEN, body, at=at)


def snapshot_row(snapshot: TrustSnapshot, *, sequence_number: int) -> FrozenTrust:
    return FrozenTrust(
        snapshot_hash=snapshot.snapshot_hash,
        snapshot_time=snapshot.snapshot_time,
        text=render_snapshot(snapshot).decode(),
        sequence_number=sequence_number,
    )


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


def silver_of(
    state: TruthState, *, version: int, due_at: Instant | None, through: int, sequence_number: int
) -> SilverState:
    security, inputs = security_of(state), state.compile_inputs
    return SilverState(
        truthkey=state.truthkey,
        version=version,
        claim_type=state.claim_type,
        status=state.status.value,
        semantic_hash=security.semantic_hash,
        state_hash=security.state_hash,
        snapshot_hash=inputs.trust_snapshot_hash,
        compile_time=inputs.compile_time,
        due_at=due_at,
        through=through,
        text=render_truth_state(state).decode(),
        sequence_number=sequence_number,
    )


def security_of(state: TruthState) -> SecurityBlock:
    """INVARIANT: only sealed states come here."""
    if state.security is None:
        raise StateError.state_unsigned(f"expected a signed state, got `{state.truthkey}` without a signature")
    return state.security


# The text of the entry with a number, or None where it is not at hand.
GetEntry = Callable[[int], bytes | None]
# A record as its entry tells it.
Told = tuple[EntryKind, BronzeBody]
T = TypeVar("T", bound=Struct)


class ReplayCode(StrEnum):
    """What a replay can find besides the errors of what it calls."""

    TRUST_DIFFERS = "replay.trust_differs"  # the snapshot does not follow from the signals of the ledger
    STATE_DIFFERS = "replay.state_differs"  # the same inputs compile to other bytes
    SEAL_DIFFERS = (
        "replay.seal_differs"  # the answers of people, or what is late for them, are not as states before say
    )
    SIGNAL_DIFFERS = "replay.signal_differs"  # the outcomes for trust do not follow from the state
    STATE_LEFT_OUT = "replay.state_left_out"  # the version does not count the states of the key before it
    RECORD_LEFT_OUT = "replay.record_left_out"  # an entry of the key that the state was compiled without
    RECORD_FOREIGN = "replay.record_foreign"  # an entry among the inputs that does not speak at the key
    PARTIAL = "replay.partial_export"  # the file begins later than the ledger
    ROW_DIFFERS = "replay.row_differs"  # a table says something else than the ledger
    NOT_CHECKED = "replay.not_checked"  # a signature that only the holder of a secret could check


class ReplayProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: str
    message: str


def read_state(get_entry: GetEntry, sequence_number: int) -> tuple[TruthState, StateBody]:
    body = read_body(get_entry, sequence_number, EntryKind.TRUTH_STATE, StateBody)
    return parse_truth_state(body.state), body


def read_bronze(get_entry: GetEntry, number: int) -> Told:
    head = _head(get_entry, number)
    return EntryKind(head.kind), _read(head, BronzeBody)


def read_body(get_entry: GetEntry, number: int, kind: EntryKind, shape: type[T]) -> T:
    head = _head(get_entry, number)
    if head.kind != kind:
        raise TruthFlowError.replay_entry_missing(
            f"expected a `{kind}` entry as number {number}, got `{head.kind[:80]}`"
        )
    return _read(head, shape)


def _head(get_entry: GetEntry, number: int) -> EntryHead:
    text = get_entry(number)
    if text is None:
        raise TruthFlowError.replay_entry_missing(
            f"expected entry {number}, which the state was compiled from, got none"
        )
    head = parse_entry_head(text)
    if head.sequence_number != number:
        raise TruthFlowError.replay_entry_missing(f"expected entry {number}, got {head.sequence_number}")
    return head


def _read(head: EntryHead, shape: type[T]) -> T:
    value: Any = head.body
    try:
        return convert(value, shape)
    except ValidationError as error:
        raise TruthFlowError.replay_entry_missing(
            f"expected the body of a `{head.kind}` entry as number {head.sequence_number}: {error}"
        ) from error


def state_value(state: TruthState) -> dict[str, Any]:
    """The state as part of a larger result; its canonical bytes are what was signed."""
    return json_of(render_truth_state(state))
