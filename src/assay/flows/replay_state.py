"""Compile a recorded state again from ledger entries alone, and compare every byte (Kaori laws 2 and 7).

entry of the state -> the entries it names -> contract, snapshot, records -> the pure compiler -> the same bytes?
Where the entries come from, a database, an exported file or a proof, makes no difference here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from hmac import compare_digest
from typing import Any, Protocol, TypeVar

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from assay.flows.compile_job import CompileJob, compile_job
from assay.flows.errors import FlowError
from assay.flows.gathered_keys import StoredText
from assay.flows.key_entries import KeyEntries
from assay.flows.release_contract import ContractReleased
from assay.flows.state_entry import SnapshotBody, StateBody, security_of
from assay.flows.take_snapshot import SnapshotBasis
from assay.flows.truth_entry import BronzeBody
from assay.flows.window_entry import window_message
from assay.kernel.bundle import EntryHead, parse_entry_head
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.errors import Blame, Error
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import InvalidSignatureError, parse_signature_hex, verify_ed25519
from assay.ports.signer import Signer
from assay.trust.evolve import Fold
from assay.trust.freeze import freeze_trust
from assay.truth.errors import StateHashError, UnsignedStateError
from assay.truth.observation import observation_hash, parse_observation, render_observation
from assay.truth.seal import signing_bytes, verify_truth_state
from assay.truth.snapshot import TrustSnapshot, parse_snapshot, render_snapshot
from assay.truth.state import (
    TruthState,
    parse_truth_state,
    render_truth_state,
    semantic_hash,
    state_hash,
)
from assay.truth.window import parse_window_event

__all__ = [
    "EntryMissingError",
    "GetEntry",
    "ReplayCode",
    "ReplayFinding",
    "ReplayProblem",
    "WholeLedger",
    "read_basis",
    "read_state",
    "replay_state",
    "verify_own",
]

# The text of the entry with a number, or None where it is not at hand.
GetEntry = Callable[[int], bytes | None]
T = TypeVar("T", bound=Struct)


class EntryMissingError(FlowError):
    """An entry that a replay needs is not at hand, or is of another kind."""

    code = "replay.entry_missing"
    blame = Blame.INPUT


class ReplayCode(StrEnum):
    """What a replay can find besides the errors of what it calls."""

    TRUST_DIFFERS = "replay.trust_differs"  # the snapshot does not follow from the signals of the ledger
    STATE_DIFFERS = "replay.state_differs"  # the same inputs compile to other bytes
    RECORD_LEFT_OUT = "replay.record_left_out"  # an entry of the key that the state was compiled without
    RECORD_FOREIGN = "replay.record_foreign"  # an entry among the inputs that does not speak at the key
    PARTIAL = "replay.partial_export"  # the file begins later than the ledger
    ROW_DIFFERS = "replay.row_differs"  # a table says something else than the ledger
    NOT_CHECKED = "replay.not_checked"  # a signature that only the holder of a secret could check


class ReplayProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: str
    message: str


class WholeLedger(Protocol):
    """What one state and its inputs cannot show by themselves: that nothing of the ledger was left out of them."""

    def key_entries(self, truthkey: str, through: int) -> KeyEntries: ...

    def fold(self, policy_hash: str, through: int) -> Fold | None:
        """Every signal up to an entry under the policy that was in force there; None where that was another."""
        ...


class ReplayFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`holds` only if the state was compiled again to the very same bytes and its signature is by a trusted key.

    `is_complete` says whether every entry of its key up to `through` is among its inputs, `is_trust_refolded` whether
    its snapshot follows from the signals of the ledger; None where only some entries were at hand, as in a proof, and
    nobody could tell, or where it was asked not to look.
    """

    truthkey: str
    version: int
    state_hash: str
    sequence_number: int
    records: int
    is_complete: bool | None
    is_trust_refolded: bool | None
    problems: tuple[ReplayProblem, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


def replay_state(
    get_entry: GetEntry,
    sequence_number: int,
    ring: KeyRing,
    *,
    own: Signer | None = None,
    ledger: WholeLedger | None = None,
    skip_trust: bool = False,
) -> ReplayFinding:
    """Total where the entry holds a state; only an entry that does not is refused.

    `own` is the signer itself, for a signature that nobody else could check; `ledger` is everything around the state,
    without which nobody can tell whether anything was left out. `skip_trust` leaves out folding every signal again.
    """
    state, body = read_state(get_entry, sequence_number)
    left_out = () if ledger is None else tuple(_omissions(ledger, state, body))
    mistrust = None if ledger is None or skip_trust else tuple(_trust_problems(ledger, get_entry, body))
    problems: list[ReplayProblem] = [*left_out, *(mistrust or ())]
    try:
        problems.extend(_compare(get_entry, state, body, ring))
    except Error as error:
        problems.append(ReplayProblem(code=error.code, message=str(error)))
    problems.extend(_signature_problems(state, ring, own))
    return ReplayFinding(
        truthkey=state.truthkey,
        version=body.version,
        state_hash="" if state.security is None else state.security.state_hash,
        sequence_number=sequence_number,
        records=len(body.inputs.records),
        is_complete=None if ledger is None else not left_out,
        is_trust_refolded=None if mistrust is None else not mistrust,
        problems=tuple(problems),
    )


def read_state(get_entry: GetEntry, sequence_number: int) -> tuple[TruthState, StateBody]:
    body = _body(get_entry, sequence_number, EntryKind.TRUTH_STATE, StateBody)
    return parse_truth_state(body.state), body


def read_basis(get_entry: GetEntry, sequence_number: int) -> SnapshotBasis:
    """What the snapshot of a state follows from, as its entry says."""
    _, body = read_state(get_entry, sequence_number)
    return _body(get_entry, body.inputs.snapshot, EntryKind.SNAPSHOT_FROZEN, SnapshotBody).basis


def _omissions(ledger: WholeLedger, state: TruthState, body: StateBody) -> Iterator[ReplayProblem]:
    """The state names the entries it was compiled from; the ledger says which there were (Kaori law 7)."""
    speaking = ledger.key_entries(state.truthkey, body.through)
    for number, is_foreign in speaking.omissions(state.truthkey, body.inputs.records, through=body.through):
        if is_foreign:
            message = f"expected only entries that speak at `{state.truthkey}`, got entry {number} among the inputs"
            yield ReplayProblem(code=ReplayCode.RECORD_FOREIGN, message=message)
        else:
            message = (
                f"expected every entry of `{state.truthkey}` up to {body.through} as an input, got none of {number}"
            )
            yield ReplayProblem(code=ReplayCode.RECORD_LEFT_OUT, message=message)


def _trust_problems(ledger: WholeLedger, get_entry: GetEntry, body: StateBody) -> Iterator[ReplayProblem]:
    """The snapshot is frozen again from the signals of the ledger, for all who were asked about then."""
    try:
        told = _body(get_entry, body.inputs.snapshot, EntryKind.SNAPSHOT_FROZEN, SnapshotBody)
        fold = ledger.fold(told.basis.policy_hash, told.basis.trust_through)
        earlier = [_bronze(get_entry, number) for number in body.inputs.records if number < body.inputs.snapshot]
        fault = "another policy was in force" if fold is None else _find_mistrust(fold, told, earlier)
    except Error as error:
        yield ReplayProblem(code=error.code, message=f"trust: {error}")
        return
    if fault is not None:
        message = f"expected the snapshot of entry {body.inputs.snapshot} to follow from the signals before it: {fault}"
        yield ReplayProblem(code=ReplayCode.TRUST_DIFFERS, message=message)


def _find_mistrust(fold: Fold, told: SnapshotBody, earlier: Sequence[tuple[EntryKind, BronzeBody]]) -> str | None:
    given, basis = parse_snapshot(told.snapshot), told.basis
    at = max(basis.asked_at, fold.clock)
    again = freeze_trust(
        fold, basis.agents, claim_type=basis.claim_type, at=at, probes=basis.probes, disabled=basis.disabled
    )
    if render_snapshot(again) != render_snapshot(given):
        wrong = [name for name in sorted({*again.agent_trusts, *given.agent_trusts}) if _trusts(again, given, name)]
        return f"they say otherwise of {', '.join(f'`{name}`' for name in wrong[:3]) or 'its time'}"
    # Somebody who spoke before it was frozen and whom the signals know was asked about, or is not in it for a reason.
    spoke = _speakers(earlier)
    passed_over = [name for name in spoke if name not in basis.agents and fold.find_standing(name, at) is not None]
    if passed_over:
        return f"`{min(passed_over)}` was passed over"
    made_up = basis.probes.items() - _probed(earlier)
    return f"`{min(made_up)[0]}` reported for no such probe" if made_up else None


def _trusts(again: TrustSnapshot, given: TrustSnapshot, agent_id: str) -> bool:
    return again.agent_trusts.get(agent_id) != given.agent_trusts.get(agent_id)


def _speakers(told: Iterable[tuple[EntryKind, BronzeBody]]) -> set[str]:
    members = {EntryKind.OBSERVATION_RECORDED: "reporter_id", EntryKind.VOTE_CAST: "voter_id"}
    return {str(body.record.get(members[kind])) for kind, body in told if kind in members}


def _probed(told: Iterable[tuple[EntryKind, BronzeBody]]) -> set[tuple[str, str]]:
    """Who reported for which probe."""
    said = (body.record for kind, body in told if kind is EntryKind.OBSERVATION_RECORDED)
    return {(str(one.get("reporter_id")), str(one["probe_id"])) for one in said if one.get("probe_id") is not None}


def _compare(get_entry: GetEntry, state: TruthState, body: StateBody, ring: KeyRing) -> Iterator[ReplayProblem]:
    entries = [_bronze(get_entry, number) for number in body.inputs.records]
    yield from _window_problems(entries, ring)
    again = compile_job(_job(get_entry, state, body, entries)).state
    recorded = render_truth_state(replace(state, security=None))
    if render_truth_state(again) != recorded:
        message = f"expected the recorded state of `{state.truthkey}`, got another: {_difference(state, again)}"
        yield ReplayProblem(code=ReplayCode.STATE_DIFFERS, message=message)


def _difference(state: TruthState, again: TruthState) -> str:
    fields = [name for name in state.__struct_fields__ if name != "security"]
    return ", ".join(name for name in fields if getattr(state, name) != getattr(again, name))


def _job(
    get_entry: GetEntry, state: TruthState, body: StateBody, entries: Iterable[tuple[EntryKind, BronzeBody]]
) -> CompileJob:
    contract = _body(get_entry, body.inputs.contract, EntryKind.CONTRACT_RELEASED, ContractReleased)
    snapshot = _body(get_entry, body.inputs.snapshot, EntryKind.SNAPSHOT_FROZEN, SnapshotBody)
    given = list(entries)
    inputs = state.compile_inputs

    def texts(kind: EntryKind) -> tuple[str, ...]:
        return tuple(canonical_json(one.record, Profile.KAORI) for found, one in given if found is kind)

    return CompileJob(
        truthkey=state.truthkey,
        document=contract.document,
        schema_text=contract.schema_text,
        domain_systems=contract.domain_systems,
        observations=tuple(_stored(one) for found, one in given if found is EntryKind.OBSERVATION_RECORDED),
        votes=texts(EntryKind.VOTE_CAST),
        ai_scores=texts(EntryKind.AI_SCORE_RECORDED),
        fingerprints=texts(EntryKind.FINGERPRINT_RECORDED),
        window_events=texts(EntryKind.WINDOW_CHANGED),
        snapshot=canonical_json(snapshot.snapshot, Profile.KAORI),
        compile_time=inputs.compile_time,
        compiler_version=inputs.compiler_version,
        sealed_at=inputs.sealed_at,
        signed_at=inputs.signed_at,
        signed_at_reason=inputs.signed_at_reason,
    )


def _stored(body: BronzeBody) -> StoredText:
    """Judged anew: whoever hands us entries may have written them."""
    observation = parse_observation(body.record)
    return StoredText(render_observation(observation).decode(), observation_hash(observation), body.receipt_time)


def _window_problems(entries: Iterable[tuple[EntryKind, BronzeBody]], ring: KeyRing) -> Iterator[ReplayProblem]:
    """Every window event carries the node's signature."""
    for kind, body in entries:
        if kind is EntryKind.WINDOW_CHANGED:
            try:
                _verify_window(body, ring)
            except Error as error:
                yield ReplayProblem(code=error.code, message=f"window event: {error}")


def _verify_window(body: BronzeBody, ring: KeyRing) -> None:
    signature, event = body.signature, parse_window_event(body.record)
    if signature is None:
        raise UnsignedStateError("expected a signed window event, got one without a signature")
    record = ring.get(signature.key_id, body.receipt_time, purpose=KeyPurpose.TRUTH)
    if record.raw_public_key is not None:
        verify_ed25519(record.raw_public_key, window_message(event), parse_signature_hex(signature.signature))


def _signature_problems(state: TruthState, ring: KeyRing, own: Signer | None) -> Iterator[ReplayProblem]:
    """Kaori 12.2, by a key that was valid for truth when it signed."""
    try:
        if state.security is None:
            raise UnsignedStateError(f"expected a signed state, got `{state.truthkey}` without a signature")
        security = state.security
        record = ring.get(security.key_id, security.signed_at, purpose=KeyPurpose.TRUTH)
        if record.raw_public_key is not None:
            verify_truth_state(state, {security.key_id: record.raw_public_key})
        elif own is None or own.key_id != security.key_id:
            message = f"expected a signature that anyone can check, got `{record.method}`: only its holder can"
            yield ReplayProblem(code=ReplayCode.NOT_CHECKED, message=message)
        else:
            verify_own(state, own)
    except Error as error:
        yield ReplayProblem(code=error.code, message=str(error))


def verify_own(state: TruthState, own: Signer) -> None:
    """A shared secret signs the same again; what it signed must be what the state says."""
    security, expected = security_of(state), own.sign(signing_bytes(state)).hex()
    if (security.semantic_hash, security.state_hash) != (semantic_hash(state), state_hash(state)):
        raise StateHashError(f"expected the state hash {state_hash(state)}, got {security.state_hash}")
    if not compare_digest(expected, security.signature):
        raise InvalidSignatureError(f"the signature of `{state.truthkey}` is not by `{own.key_id}`")


def _bronze(get_entry: GetEntry, number: int) -> tuple[EntryKind, BronzeBody]:
    head = _head(get_entry, number)
    return EntryKind(head.kind), _read(head, BronzeBody)


def _body(get_entry: GetEntry, number: int, kind: EntryKind, shape: type[T]) -> T:
    head = _head(get_entry, number)
    if head.kind != kind:
        raise EntryMissingError(f"expected a `{kind}` entry as number {number}, got `{head.kind[:80]}`")
    return _read(head, shape)


def _head(get_entry: GetEntry, number: int) -> EntryHead:
    text = get_entry(number)
    if text is None:
        raise EntryMissingError(f"expected entry {number}, which the state was compiled from, got none")
    head = parse_entry_head(text)
    if head.sequence_number != number:
        raise EntryMissingError(f"expected entry {number}, got {head.sequence_number}")
    return head


def _read(head: EntryHead, shape: type[T]) -> T:
    value: Any = head.body
    try:
        return convert(value, shape)
    except ValidationError as error:
        raise EntryMissingError(
            f"expected the body of a `{head.kind}` entry as number {head.sequence_number}: {error}"
        ) from error
