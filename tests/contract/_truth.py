"""Rows of truth and trust, as a flow would add them beside the entries that they are found by."""

from hashlib import sha256

from assay.kernel.instant import Instant
from assay.ports.trust_store import FoldMark, LoggedSignal, RegisteredPolicy
from assay.ports.truth_store import FrozenTrust, RecordKind, ReleasedContract, SilverState, TruthRecord
from tests.contract._kit import AT

__all__ = [
    "FLOOD",
    "KEY_A",
    "KEY_B",
    "KEY_C",
    "contract",
    "hash_of",
    "mark",
    "policy",
    "record",
    "signal",
    "snapshot",
    "state",
]

FLOOD = "earth.flood.v1"
# Bytes and not letters decide the order: a capital comes first, an accent last.
KEY_A, KEY_B, KEY_C = (
    "earth:flood:h3:8928308280fffff:0:2026-01-07T12:00Z",
    "earth:flood:h3:a:0:x",
    "earth:flood:h3:é:0:x",
)


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def contract(claim_type: str = FLOOD, *, number: int = 1, schema_text: str | None = None) -> ReleasedContract:
    return ReleasedContract(
        claim_type=claim_type,
        claim_type_hash=hash_of(claim_type),
        document='{"title":"flood \\u0000 \U0001f30a"}',
        schema_text=schema_text,
        released_at=AT,
        released_by="user:alice",
        sequence_number=number,
    )


def record(
    number: int,
    truthkey: str = KEY_A,
    kind: RecordKind = RecordKind.OBSERVATION,
    *,
    by: str = "user:alice",
    record_id: str | None = None,
    record_hash: str | None = None,
) -> TruthRecord:
    return TruthRecord(
        kind=kind,
        truthkey=truthkey,
        record_id=record_id or f"{kind}-{number}",
        record_hash=record_hash or hash_of(f"{kind}-{number}"),
        by=by,
        occurred_at=AT,
        received_at=AT,
        text=f'{{"number":{number},"note":"\\u0000 \U0001f30a"}}',
        sequence_number=number,
    )


def snapshot(name: str = "one") -> FrozenTrust:
    return FrozenTrust(snapshot_hash=hash_of(name), snapshot_time=AT, text='{"agents":{}}', sequence_number=1)


def state(
    version: int = 1,
    truthkey: str = KEY_A,
    *,
    at: Instant = AT,
    through: int = 1,
    claim_type: str = FLOOD,
    state_hash: str | None = None,
    number: int = 1,
    due_at: Instant | None = None,
) -> SilverState:
    return SilverState(
        truthkey=truthkey,
        version=version,
        claim_type=claim_type,
        status="INVESTIGATING",
        semantic_hash=hash_of("semantic"),
        state_hash=state_hash or hash_of(f"{truthkey}/{version}"),
        snapshot_hash=snapshot().snapshot_hash,
        compile_time=at,
        due_at=due_at,
        through=through,
        text=f'{{"version":{version}}}',
        sequence_number=number,
    )


def signal(number: int, agent_id: str = "user:alice", *, signal_id: str | None = None) -> LoggedSignal:
    return LoggedSignal(
        sequence_number=number,
        signal_id=signal_id or f"signal-{number}",
        kind="ENDORSEMENT",
        agent_id=agent_id,
        occurred_at=AT,
        text=f'{{"number":{number}}}',
    )


def policy(number: int = 1, policy_id: str | None = None) -> RegisteredPolicy:
    return RegisteredPolicy(
        policy_id=policy_id or f"policy.v{number}",
        policy_hash=hash_of(policy_id or f"policy.v{number}"),
        document='{"theta_min":"0.1"}',
        registered_at=AT,
        registered_by="user:alice",
        sequence_number=number,
    )


def mark(through: int, text: str = "{}", name: str = "policy.v1") -> FoldMark:
    return FoldMark(policy_hash=hash_of(name), through=through, text=text)
