"""How a truth state is written down: signed, whole, with the numbers of the entries it was compiled from."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from assay.flows.trust.take_snapshot import SnapshotBasis
from assay.flows.truth.truth_entry import json_of, news_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.truth_store import FrozenTrust, SilverState
from assay.trust.signal import TrustSignal, render_signal
from assay.truth.errors import UnsignedStateError
from assay.truth.snapshot import TrustSnapshot, render_snapshot
from assay.truth.state import SecurityBlock, TruthState, render_truth_state


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
        raise UnsignedStateError(f"expected a signed state, got `{state.truthkey}` without a signature")
    return state.security
