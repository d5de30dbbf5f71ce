"""Compile a recorded state again from ledger entries alone, and compare every byte (Kaori laws 2 and 7).

entry of the state -> the entries it names -> contract, snapshot, records -> the pure compiler -> the same bytes?
Where the entries come from, a database, an exported file or a proof, makes no difference here.
"""

from collections.abc import Iterable, Iterator, Sequence
from hmac import compare_digest
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.facts.trust import json_of
from assay.facts.truth import BronzeBody, ContractReleased, SnapshotBody, StateBody, security_of
from assay.flows.truth.compile_job import CompileJob, StoredText, compile_job
from assay.flows.truth.replay_past import WholeLedger, past_problems, read_past, trust_problems
from assay.flows.truth.state_entry import (
    GetEntry,
    ReplayCode,
    ReplayProblem,
    Told,
    read_body,
    read_bronze,
    read_state,
)
from assay.flows.truth.state_signal import count_ballots, emitted_signal
from assay.flows.truth.truth_entry import KeyEntries
from assay.flows.truth.truth_key import window_message
from assay.flows.truth.vote_entry import verify_vote
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.errors import Error
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import InvalidSignatureError, parse_signature_hex, verify_ed25519
from assay.ports.signer import Signer
from assay.trust.signal import render_signal
from assay.truth.consensus import find_window
from assay.truth.errors import StateError
from assay.truth.observation import observation_hash, parse_observation, render_observation
from assay.truth.seal import signing_bytes, verify_truth_state
from assay.truth.snapshot import parse_snapshot
from assay.truth.state import TruthState, render_truth_state, semantic_hash, state_hash
from assay.truth.window import parse_window_event


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
    speaking = None if ledger is None else ledger.key_entries(state.truthkey, sequence_number - 1)
    left_out = () if speaking is None else tuple(_omissions(speaking, sequence_number, state, body))
    mistrust: tuple[ReplayProblem, ...] | None = None
    problems: list[ReplayProblem] = [*left_out]
    try:
        problems.extend(_compare(get_entry, state, body, ring, speaking))
        if ledger is not None and speaking is not None:
            past = read_past(get_entry, speaking.states(state.truthkey, before=sequence_number), state, body)
            problems.extend(past_problems(past))
            mistrust = None if skip_trust else tuple(trust_problems(ledger, get_entry, past, sequence_number))
            problems.extend(mistrust or ())
    except Error as error:
        problems.append(ReplayProblem(code=error.code, message=str(error)))
    problems.extend(signature_problems(state, ring, own))
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


def trust_reach(get_entry: GetEntry, sequence_number: int) -> int:
    """Up to which signal a replay of a state folds; whoever goes by that folds each signal once."""
    _, body = read_state(get_entry, sequence_number)
    if body.trust_through is not None:
        return body.trust_through
    return read_body(get_entry, body.inputs.snapshot, EntryKind.SNAPSHOT_FROZEN, SnapshotBody).basis.trust_through


def _omissions(speaking: KeyEntries, number: int, state: TruthState, body: StateBody) -> Iterator[ReplayProblem]:
    """The state names the entries it was compiled from; the ledger says which there were before it (Kaori law 7)."""
    if body.through != max(body.inputs.records, default=0):
        message = f"expected the newest input as `through`, got {body.through}"
        yield ReplayProblem(code=ReplayCode.RECORD_LEFT_OUT, message=message)
    for omitted, is_foreign in speaking.omissions(state.truthkey, body.inputs.records, through=number - 1):
        if is_foreign:
            message = f"expected only entries that speak at `{state.truthkey}`, got entry {omitted} among the inputs"
            yield ReplayProblem(code=ReplayCode.RECORD_FOREIGN, message=message)
        else:
            message = f"expected every entry of `{state.truthkey}` before {number} as an input, got none of {omitted}"
            yield ReplayProblem(code=ReplayCode.RECORD_LEFT_OUT, message=message)
    earlier = len(speaking.states(state.truthkey, before=number))
    if body.version != earlier + 1:
        message = f"expected version {earlier + 1} of `{state.truthkey}`, got {body.version}"
        yield ReplayProblem(code=ReplayCode.STATE_LEFT_OUT, message=message)


def _compare(
    get_entry: GetEntry, state: TruthState, body: StateBody, ring: KeyRing, speaking: KeyEntries | None
) -> Iterator[ReplayProblem]:
    entries = [read_bronze(get_entry, number) for number in body.inputs.records]
    yield from _window_problems(entries, ring)
    votes = [
        (number, told)
        for number, (kind, told) in zip(body.inputs.records, entries, strict=True)
        if kind is EntryKind.VOTE_CAST
    ]
    yield from _vote_problems(get_entry, votes, ring, speaking)
    again = compile_job(_job(get_entry, state, body, entries)).state
    recorded = render_truth_state(replace(state, security=None))
    if render_truth_state(again) != recorded:
        message = f"expected the recorded state of `{state.truthkey}`, got another: {_difference(state, again)}"
        yield ReplayProblem(code=ReplayCode.STATE_DIFFERS, message=message)
    if body.signal != derive_signal(get_entry, state, body, entries):
        message = f"expected the trust signal of `{state.truthkey}` as its inputs give it, got another"
        yield ReplayProblem(code=ReplayCode.SIGNAL_DIFFERS, message=message)


def derive_signal(
    get_entry: GetEntry, state: TruthState, body: StateBody, entries: Sequence[Told] | None = None
) -> dict[str, Any] | None:
    """What a state's entry must hold as its signal; the outcomes are in no signed hash, so they are worked out again.

    `entries` are those of its records, for whoever has read them.
    """
    given = [read_bronze(get_entry, number) for number in body.inputs.records] if entries is None else entries
    job = _job(get_entry, state, body, given)
    contract, events = job.contract(), [*map(parse_window_event, job.window_events)]
    window, _ = find_window(contract, state.truthkey, events, state.compile_inputs.compile_time)
    said = tuple(row.hashed.observation for row in job.gathered(contract).rows)
    snapshot = parse_snapshot(job.snapshot)
    tally = count_ballots(contract, state, job.votes, said, snapshot, window)
    signal = emitted_signal(contract, state, said, tally, snapshot)
    return None if signal is None else json_of(render_signal(signal))


def _difference(state: TruthState, again: TruthState) -> str:
    fields = [name for name in state.__struct_fields__ if name != "security"]
    return ", ".join(name for name in fields if getattr(state, name) != getattr(again, name))


def _job(get_entry: GetEntry, state: TruthState, body: StateBody, entries: Iterable[Told]) -> CompileJob:
    contract = read_body(get_entry, body.inputs.contract, EntryKind.CONTRACT_RELEASED, ContractReleased)
    snapshot = read_body(get_entry, body.inputs.snapshot, EntryKind.SNAPSHOT_FROZEN, SnapshotBody)
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
        late=inputs.late_hashes,
        signed_at=inputs.signed_at,
        signed_at_reason=inputs.signed_at_reason,
    )


def _stored(body: BronzeBody) -> StoredText:
    """Judged anew: whoever hands us entries may have written them."""
    observation = parse_observation(body.record)
    return StoredText(render_observation(observation).decode(), observation_hash(observation), body.receipt_time)


def _vote_problems(
    get_entry: GetEntry, votes: Iterable[tuple[int, BronzeBody]], ring: KeyRing, speaking: KeyEntries | None
) -> Iterator[ReplayProblem]:
    """Every vote is a person's signed answer to what that person was shown (Kaori law 6)."""
    for number, told in votes:
        in_force = None if speaking is None else speaking.find_principal(told.submitted_by, before=number)
        try:
            verify_vote(told, get_entry, ring, in_force=in_force)
        except Error as error:
            yield ReplayProblem(code=error.code, message=f"vote of entry {number}: {error}")


def _window_problems(entries: Iterable[Told], ring: KeyRing) -> Iterator[ReplayProblem]:
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
        raise StateError.state_unsigned("expected a signed window event, got one without a signature")
    record = ring.get(signature.key_id, body.receipt_time, purpose=KeyPurpose.TRUTH)
    if record.raw_public_key is not None:
        verify_ed25519(record.raw_public_key, window_message(event), parse_signature_hex(signature.signature))


def signature_problems(state: TruthState, ring: KeyRing, own: Signer | None) -> Iterator[ReplayProblem]:
    """Kaori 12.2, by a key that was valid for truth when it signed."""
    try:
        if state.security is None:
            raise StateError.state_unsigned(f"expected a signed state, got `{state.truthkey}` without a signature")
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
        raise StateError.state_hash(f"expected the state hash {state_hash(state)}, got {security.state_hash}")
    if not compare_digest(expected, security.signature):
        raise InvalidSignatureError(f"the signature of `{state.truthkey}` is not by `{own.key_id}`")
