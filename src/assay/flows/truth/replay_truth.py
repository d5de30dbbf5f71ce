"""Replay a state of this node: from its ledger, and then whether the tables beside the ledger say the same.

state hash or version -> its entry -> `replay_state` -> nothing left out -> rows against entries
"""

from collections.abc import Iterator

from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.tools import Tools
from assay.flows.trust.ledger_signals import folded_again, policy_at
from assay.flows.truth.key_entries import KeyEntries, read_key_entries
from assay.flows.truth.replay_entry import GetEntry, ReplayCode, ReplayProblem, read_state
from assay.flows.truth.replay_state import ReplayFinding, replay_state
from assay.flows.truth.state_entry import StateBody
from assay.flows.truth.vouch_rows import find_contract_fault, find_snapshot_fault, find_state_fault
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.kernel.json_text import parse_json
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
    """The tables are only an index of the ledger: where one says something else, the ledger is right."""
    problems: list[ReplayProblem] = []
    try:
        problems.extend(_differences(unit, tenant_id, silver, get_entry))
    except DamagedRecordError as error:
        problems.append(ReplayProblem(code=error.code, message=str(error)))
    return tuple(problems)


def _differences(unit: Unit, tenant_id: TenantId, silver: SilverState, get_entry: GetEntry) -> Iterator[ReplayProblem]:
    state, body = read_state(get_entry, silver.sequence_number)
    if find_state_fault(silver, get_entry(silver.sequence_number)) is not None:
        yield _differs("truth_state", silver.sequence_number)
    contract = unit.truth.find_contract(tenant_id, state.claim_type)
    if contract is None or find_contract_fault(contract, get_entry(body.inputs.contract)) is not None:
        yield _differs("truth_contract", body.inputs.contract)
    snapshot = unit.truth.find_snapshot(tenant_id, state.compile_inputs.trust_snapshot_hash)
    if snapshot is None or find_snapshot_fault(snapshot, get_entry(body.inputs.snapshot)) is not None:
        yield _differs("trust_snapshot", body.inputs.snapshot)
    yield from _record_problems(unit, tenant_id, silver, body, get_entry)


def _record_problems(
    unit: Unit, tenant_id: TenantId, silver: SilverState, body: StateBody, get_entry: GetEntry
) -> Iterator[ReplayProblem]:
    rows = {row.sequence_number: row for row in unit.truth.records(tenant_id, silver.truthkey)}
    for number in body.inputs.records:
        row = rows.get(number)
        if row is None or row.text != _text(_member(get_entry, number, "record")):
            yield _differs("truth_record", number)


def _differs(table: str, number: int) -> ReplayProblem:
    return ReplayProblem(
        code=ReplayCode.ROW_DIFFERS, message=f"expected the row of entry {number} in `{table}` as the ledger has it"
    )


def _member(get_entry: GetEntry, number: int, name: str) -> object:
    entry = parse_json(get_entry(number) or b"{}")
    body = entry.get("body") if isinstance(entry, dict) else None
    return body.get(name) if isinstance(body, dict) else None


def _text(value: object) -> str:
    return canonical_json(value, Profile.KAORI)
