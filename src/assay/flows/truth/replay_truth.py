"""Replay a state of this node: from its ledger, and then whether the tables beside the ledger have its inputs.

state hash or version -> its entry -> `replay_state` -> nothing left out -> the rows of its inputs are there
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec import MsgspecError, convert
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.tools import Tools
from assay.flows.trust.ledger_signals import LedgerSignals, folded_again, policy_at
from assay.flows.truth.replay_state import ReplayFinding, replay_state, trust_reach
from assay.flows.truth.state_entry import GetEntry, ReplayCode, ReplayProblem, read_state
from assay.flows.truth.truth_entry import KeyEntries, key_records, read_key_entries
from assay.kernel.bundle import Bundle, EntryHead, parse_entry_head
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.key import Endorsement, KeyRing, Retirement, TrustAnchors, trusted_keys
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.truth_store import SilverState
from assay.trust.evolve import Fold


def replay_truth(
    tools: Tools,
    tenant_id: TenantId,
    *,
    state_hash: str | None = None,
    truthkey: str | None = None,
    version: int | None = None,
    skip_trust: bool = False,
) -> ReplayFinding:
    """Compile again a state named by its hash, or a version of a key; the latest where none is named.

    Its snapshot is frozen again from every signal in the ledger before it, unless that is skipped, as the answer says.
    """

    def work(unit: Unit) -> ReplayFinding:
        silver = find_silver(unit, tenant_id, state_hash=state_hash, truthkey=truthkey, version=version)
        get_entry = ledger_entries(unit, tenant_id)
        ring = own_key_ring_in(unit, tools.founder)
        ledger = _NodeLedger(unit, tenant_id)
        number, own = silver.sequence_number, tools.truth_signer
        finding = replay_state(get_entry, number, ring, own=own, ledger=ledger, skip_trust=skip_trust)
        return replace(finding, problems=finding.problems + _row_problems(unit, tenant_id, silver, get_entry))

    return tools.database.read(work)


def find_silver(
    unit: Unit, tenant_id: TenantId, *, state_hash: str | None, truthkey: str | None, version: int | None
) -> SilverState:
    """The row that says in which entry the state is; the state itself is read from there."""
    if state_hash is not None:
        found = unit.truth.find_state_by_hash(tenant_id, state_hash)
    elif version is None:
        found = unit.truth.find_state(tenant_id, truthkey or "")
    else:
        history = unit.truth.history(tenant_id, truthkey or "")
        found = next((one for one in history if one.version == version), None)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no state {(state_hash or truthkey or '')[:200]}")
    return found


def ledger_entries(unit: Unit, tenant_id: TenantId) -> GetEntry:
    """Entries of this ledger, each only if its text has the hash that the chain gives it."""

    def get_entry(number: int) -> bytes | None:
        try:
            row = unit.ledger.find_entry(tenant_id, number)
        except DamagedRecordError:
            return None
        return row.text if row is not None and digest_of(row.text) == row.entry_hash else None

    return get_entry


class _NodeLedger:
    """Everything in this node's ledger, read from the entries themselves; that they are a chain, an audit says."""

    def __init__(self, unit: Unit, tenant_id: TenantId) -> None:
        self._unit, self._tenant_id = unit, tenant_id

    def key_entries(self, truthkey: str, through: int) -> KeyEntries:
        return read_key_entries(self._unit, self._tenant_id, truthkey, through=through)

    def fold(self, policy_hash: str | None, through: int) -> Fold | None:
        entries = self._unit.ledger.entries(self._tenant_id, last=through)
        policies = self._unit.ledger.entries(self._tenant_id, last=through)
        policy = policy_at((row.kind, row.text) for row in policies)
        if policy is None or policy_hash not in (None, policy.policy_hash):
            return None
        return folded_again(Fold(policy), ((row.kind, row.text) for row in entries))


def _row_problems(
    unit: Unit, tenant_id: TenantId, silver: SilverState, get_entry: GetEntry
) -> tuple[ReplayProblem, ...]:
    """The tables are only an index of the ledger: where a row is missing or another, the ledger is right."""
    problems: list[ReplayProblem] = []
    try:
        problems.extend(_missing(unit, tenant_id, silver, get_entry))
    except DamagedRecordError as error:
        problems.append(ReplayProblem(code=ReplayCode.ROW_DIFFERS, message=str(error)))
    return tuple(problems)


def _missing(unit: Unit, tenant_id: TenantId, silver: SilverState, get_entry: GetEntry) -> Iterator[ReplayProblem]:
    state, body = read_state(get_entry, silver.sequence_number)
    contract = unit.truth.find_contract(tenant_id, state.claim_type)
    if contract is None or contract.sequence_number != body.inputs.contract:
        yield _differs("truth_contract", body.inputs.contract)
    snapshot = unit.truth.find_snapshot(tenant_id, state.compile_inputs.trust_snapshot_hash)
    if snapshot is None or snapshot.sequence_number != body.inputs.snapshot:
        yield _differs("trust_snapshot", body.inputs.snapshot)
    records = key_records(unit, tenant_id, silver.truthkey, through=body.through)
    for number in sorted(set(body.inputs.records) - {record.sequence_number for record in records}):
        yield _differs("truth_record", number)


def _differs(table: str, number: int) -> ReplayProblem:
    return ReplayProblem(
        code=ReplayCode.ROW_DIFFERS, message=f"expected the row of entry {number} in `{table}` as the ledger has it"
    )


_KEY_FACTS = (EntryKind.KEY_ADDED, EntryKind.KEY_RETIRED)
# What a replay may need; everything else of a ledger is only a link of the chain.
_NEEDED = frozenset(
    {
        EntryKind.PRINCIPAL_ADDED,
        EntryKind.PRINCIPAL_CHANGED,
        EntryKind.CONTRACT_RELEASED,
        EntryKind.OBSERVATION_RECORDED,
        EntryKind.VOTE_CAST,
        EntryKind.AI_SCORE_RECORDED,
        EntryKind.FINGERPRINT_RECORDED,
        EntryKind.WINDOW_CHANGED,
        EntryKind.SNAPSHOT_FROZEN,
        EntryKind.TRUTH_STATE,
        EntryKind.TRUST_SIGNAL,
        EntryKind.TRUST_POLICY,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBook:
    """The entries of an export that matter to truth, by number, and the keys that it speaks of.

    `is_whole` where it begins with the first entry: only then can anybody see that nothing was left out.
    """

    texts: dict[int, bytes]
    states: tuple[int, ...]
    speaking: KeyEntries
    signals: LedgerSignals
    is_whole: bool
    endorsements: tuple[Endorsement, ...]
    retirements: tuple[Retirement, ...]

    def ring(self, anchors: TrustAnchors) -> KeyRing:
        return trusted_keys(anchors, self.endorsements, self.retirements)

    def key_entries(self, truthkey: str, through: int) -> KeyEntries:  # noqa: ARG002 - a node's ledger asks for these
        return self.speaking

    def fold(self, policy_hash: str | None, through: int) -> Fold | None:
        return self.signals.fold(policy_hash, through)

    def trust_through(self, number: int) -> int:
        """Up to which signal the snapshot of a state reaches; whoever goes by that folds each signal once."""
        try:
            return trust_reach(self.texts.get, number)
        except Error:
            return 0


def read_export(lines: Iterable[bytes]) -> EntryBook:
    """All of it, in order and linked; an export that begins later begins with its first entry's word."""
    texts: dict[int, bytes] = {}
    states: list[int] = []
    facts: list[Endorsement | Retirement] = []
    speaking, signals, first = KeyEntries(), LedgerSignals(texts), 0
    for text, head in _linked(lines):
        first = first or head.sequence_number
        speaking.add(head.sequence_number, head.kind, head.body)
        signals.note(head.sequence_number, head.kind)
        if head.kind in _NEEDED:
            texts[head.sequence_number] = text
        if head.kind == EntryKind.TRUTH_STATE:
            states.append(head.sequence_number)
        if head.kind in _KEY_FACTS:
            facts.append(_fact(head))
    return EntryBook(
        texts=texts,
        states=tuple(states),
        speaking=speaking,
        signals=signals,
        is_whole=first == 1,
        endorsements=tuple(one for one in facts if isinstance(one, Endorsement)),
        retirements=tuple(one for one in facts if isinstance(one, Retirement)),
    )


def _linked(lines: Iterable[bytes]) -> Iterator[tuple[bytes, EntryHead]]:
    previous, number = None, 0
    for line in lines:
        text = line.rstrip(b"\n")
        if not text:
            continue
        head = parse_entry_head(text)
        if previous is not None and (head.previous_hash != previous or head.sequence_number != number + 1):
            raise TruthFlowError.replay_broken_export(
                f"expected entry {number + 1} after {previous}, got {head.sequence_number}"
            )
        previous, number = digest_of(text), head.sequence_number
        yield text, head


def _fact(head: EntryHead) -> Endorsement | Retirement:
    try:
        if head.kind == EntryKind.KEY_ADDED:
            return convert(head.body, Endorsement)
        return convert(head.body, Retirement)
    except MsgspecError as error:
        raise TruthFlowError.replay_broken_export(f"expected a key in entry {head.sequence_number}: {error}") from error


def replay_export(
    lines: Iterable[bytes], anchors: TrustAnchors, *, truthkey: str | None = None, skip_trust: bool = False
) -> list[ReplayFinding]:
    """Every state in the file, or those of one key; none at all is an empty answer, and no proof of anything."""
    book = read_export(lines)
    ring = book.ring(anchors)
    order = sorted(book.states, key=lambda number: (book.trust_through(number), number))
    findings = {number: _replayed(book, number, ring, skip_trust=skip_trust) for number in order}
    return [one for _, one in sorted(findings.items()) if truthkey is None or one.truthkey == truthkey]


def _replayed(book: EntryBook, number: int, ring: KeyRing, *, skip_trust: bool) -> ReplayFinding:
    if book.is_whole:
        return replay_state(book.texts.get, number, ring, ledger=book, skip_trust=skip_trust)
    finding = replay_state(book.texts.get, number, ring)
    message = "expected an export from entry 1 on: of a part nobody can tell what was left out"
    return replace(finding, problems=(*finding.problems, ReplayProblem(code=ReplayCode.PARTIAL, message=message)))


def replay_bundle(bundle: Bundle, anchors: TrustAnchors) -> ReplayFinding:
    """The state of a proof bundle with what `prove_truth` attached; that the ledger holds it, `check_bundle` says."""
    head = parse_entry_head(bundle.entry.encode())
    texts = {parse_entry_head(one.content).sequence_number: one.content for one in bundle.attachments}
    texts[head.sequence_number] = bundle.entry.encode()
    ring = trusted_keys(anchors, bundle.keys, bundle.retirements)
    return replay_state(texts.get, head.sequence_number, ring)
