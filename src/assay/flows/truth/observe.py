"""Observations (Kaori 7): record one or many, each once; list and show them.

caller -> reporter or relay; bytes -> observation -> contract -> truth key -> entry, row and signal
lines -> batches -> checked one by one -> one commit for each batch -> a result for each line
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import replace

from assay.facts.truth import record_entry
from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.ledger.verify_clock import verify_clock
from assay.flows.request import (
    BulkLine,
    Document,
    Done,
    Option,
    Page,
    Paged,
    Request,
    cut,
    map_page,
    read_number,
    whose,
)
from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import borrow_trust
from assay.flows.trust.take_snapshot import snapshot_of
from assay.flows.truth.contracts import get_contract, read_contract
from assay.flows.truth.key_sealing import KeyRecords, SealedState, find_sealing
from assay.flows.truth.truth_entry import key_records
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import Draft
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.trust.signal import ObservationSubmitted, SignalKind, TrustSignal
from assay.truth.address import address_observation
from assay.truth.contract import Contract
from assay.truth.form import verify_payload
from assay.truth.key import render_truth_key
from assay.truth.limits import parse_arriving
from assay.truth.observation import HashedObservation, Observation, observation_hash, render_observation
from assay.truth.ready import prepare_observation as make_ready
from assay.truth.weigh import trusted_weight

# Of one reporter at one key: one each minute of an hour, and a few.
MOST_REPORTS = 64
LINES = "application/x-ndjson"
# Large enough that the disk is not waited for often, small enough that others get their turn.
_BATCH = 256


class ObserveRequest(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    observation: Annotated[
        bytes, Meta(description="The observation, as JSON (Kaori 7.1)."), Document(kind=Observation, metavar="FILE|-")
    ]


class ObserveLines(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    observations: Annotated[
        bytes,
        Meta(description="One observation in each line."),
        Document(kind=Observation, media_type=LINES, metavar="FILE|-"),
    ]


class ListObservations(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    truthkey: Annotated[str | None, Meta(description="Only observations of this key."), Option(metavar="KEY")] = None
    reporter_id: Annotated[
        str | None, Meta(description="Only observations by this reporter."), Option(flag="--reporter", metavar="AGENT")
    ] = None


class ShowObservation(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    observation_id: Annotated[str, Meta(description="The id of an observation.")]


class Observed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where an observation is recorded; `is_new` is false for one that was recorded before, byte for byte the same.

    `heard` says whether the compiler would count it now, and `reason` why not. Lines of a bulk request have neither.
    """

    observation_id: str
    observation_hash: str
    truthkey: str
    sequence_number: int
    is_new: bool
    heard: Literal["yes", "no"] | None = None
    reason: str | None = None


class ObservationItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recorded observation and its place in the ledger."""

    observation_id: str
    observation_hash: str
    truthkey: str
    reporter_id: str
    received_at: Instant
    sequence_number: int
    observation: dict[str, Any]


class Arriving(Struct, frozen=True, kw_only=True):
    """An observation that was checked by itself, before the store was asked whether it is new."""

    observation: Observation
    observation_hash: str
    truthkey: str
    text: bytes
    entry: Draft


def observe(tools: Tools, caller: Caller, request: ObserveRequest) -> Done[Observed]:
    """Record an observation once: the same again returns the recorded one, another under its id is refused.

    The reporter is the caller; a caller with the role `relay` submits for others, and the entry names both. `heard`
    says whether the compiler would count the observation now: evidence, the reporter's trust and the window decide.
    """
    observation = parse_arriving(request.observation)

    def look(unit: Unit) -> Contract:
        verify_clock(unit, tools, caller.tenant_id, caller.at)
        released = get_contract(unit, caller.tenant_id, observation.claim_type)
        return read_contract(released.document, released.schema_text, tools.domain_systems)

    contract = tools.database.read(look)
    arriving = prepare_observation(
        caller.principal,
        contract,
        observation,
        at=caller.at,
        skew=tools.reporter_skew,
        domain_systems=tools.domain_systems,
    )

    def work(unit: Unit) -> Observed:
        confirm(unit, caller)
        return record_observation(unit, caller.tenant_id, arriving)

    done = tools.database.write(work)
    reason = tools.database.read(lambda unit: _find_unheard(unit, tools, caller, contract, arriving))
    return Done(value=replace(done, heard="no" if reason else "yes", reason=reason), is_new=done.is_new)


def observe_lines(tools: Tools, caller: Caller, request: ObserveLines) -> tuple[BulkLine, ...]:
    """Record observations in lines; each line is recorded or refused by itself, in order.

    The same id again is recorded once, so lines that got no answer may be sent again.
    """
    numbered = [(number, line) for number, line in enumerate(request.observations.split(b"\n"), 1) if line.strip()]
    done: list[BulkLine] = []
    for start in range(0, len(numbered), _BATCH):
        done += _observe_batch(tools, caller, numbered[start : start + _BATCH])
    return tuple(done)


def observations(tools: Tools, caller: Caller, request: ListObservations) -> Page[ObservationItem]:
    """List observations in the order they were recorded; without a role that may see all of them, one's own."""
    by, after = whose(caller, request.reporter_id), read_number("observations", request.cursor)

    def look(unit: Unit) -> tuple[TruthRecord, ...]:
        return unit.truth.observations(
            caller.tenant_id, truthkey=request.truthkey, by=by, after=after, limit=request.limit + 1
        )

    rows = tools.database.read(look)
    return map_page(cut("observations", rows, request.limit, lambda row: row.sequence_number), _item)


def observation(tools: Tools, caller: Caller, request: ShowObservation) -> ObservationItem:
    """Show an observation by its id; another's only with a role that may see all of them."""
    by, name = whose(caller, None), request.observation_id
    row = tools.database.read(
        lambda unit: unit.truth.find_record(caller.tenant_id, RecordKind.OBSERVATION, name, by=by)
    )
    if row is None:
        raise NotFoundError(f"`{caller.tenant_id}` has no observation `{name[:80]}`")
    return _item(row)


def _item(row: TruthRecord) -> ObservationItem:
    said: Any = parse_json(row.text)
    return ObservationItem(
        observation_id=row.record_id,
        observation_hash=row.record_hash,
        truthkey=row.truthkey,
        reporter_id=row.by,
        received_at=row.received_at,
        sequence_number=row.sequence_number,
        observation=said,
    )


def prepare_observation(
    principal: Principal,
    contract: Contract,
    observation: Observation,
    *,
    at: Instant,
    skew: timedelta,
    domain_systems: Mapping[str, str] | None = None,
) -> Arriving:
    """Every refusal that needs no look into the store, and everything that costs time.

    `skew` is by how much a reporter's clock may be ahead of ours.
    """
    _require_reporter(principal, observation)
    if observation.reported_at > at + skew:
        raise TruthFlowError.future_observation(
            f"expected at most {skew} after {render_instant(at)}, got {render_instant(observation.reported_at)}"
        )
    verify_payload(contract, observation.payload)
    truthkey = render_truth_key(address_observation(contract, observation, domain_systems=domain_systems))
    hash_ = observation_hash(observation)
    text = render_observation(observation)
    entry = record_entry(
        principal.tenant_id,
        RecordKind.OBSERVATION,
        text,
        truthkeys=[truthkey],
        record_id=observation.observation_id,
        record_hash=hash_,
        submitted_by=principal.id,
        signal=_signal(principal, observation, hash_, truthkey, at),
        at=at,
    )
    return Arriving(observation=observation, observation_hash=hash_, truthkey=truthkey, text=text, entry=entry)


def _require_reporter(principal: Principal, observation: Observation) -> None:
    if observation.reporter_id != principal.id and not has_role(principal, [BuiltInRole.RELAY]):
        raise TruthFlowError.not_reporter(
            f"expected `{principal.id}` as the reporter, or the role `relay`, got `{observation.reporter_id}`"
        )


def _signal(principal: Principal, observation: Observation, hash_: str, truthkey: str, at: Instant) -> TrustSignal:
    return TrustSignal(
        signal_id=f"observation.{hash_}",
        kind=SignalKind.OBSERVATION_SUBMITTED,
        agent_id=observation.reporter_id,
        occurred_at=at,
        object=ObservationSubmitted(
            observation_id=observation.observation_id,
            observation_hash=hash_,
            truthkey=truthkey,
            probe_id=observation.probe_id,
        ),
        submitted_by=None if principal.id == observation.reporter_id else principal.id,
    )


def record_observation(unit: Unit, tenant_id: TenantId, arriving: Arriving) -> Observed:
    """Record an observation in a unit of work, once."""
    known = _find_known(unit, tenant_id, arriving)
    if known is not None:
        return _again(known, arriving)
    _require_room(unit, tenant_id, arriving)
    return _observed(arriving, unit.record(arriving.entry).sequence_number, is_new=True)


def _find_known(unit: Unit, tenant_id: TenantId, arriving: Arriving) -> TruthRecord | None:
    """An id is its reporter's own, so that nobody can take it from them at some other key.

    At one key it names one observation whoever made it: states say by ids alone who was heard.
    """
    kind, said = RecordKind.OBSERVATION, arriving.observation
    own = unit.truth.find_record(tenant_id, kind, said.observation_id, by=said.reporter_id)
    return own or unit.truth.find_record(tenant_id, kind, said.observation_id, truthkey=arriving.truthkey)


def _require_room(unit: Unit, tenant_id: TenantId, arriving: Arriving) -> None:
    """Every observation stays in its key's states for ever, heard or not: nobody may fill them alone."""
    reporter = arriving.observation.reporter_id
    if unit.truth.count_reports(tenant_id, arriving.truthkey, reporter) >= MOST_REPORTS:
        raise TruthFlowError.too_many_reports(
            f"expected at most {MOST_REPORTS} observations by `{reporter}` at `{arriving.truthkey}`, got another"
        )


def _again(known: TruthRecord, arriving: Arriving) -> Observed:
    if known.record_hash != arriving.observation_hash:
        raise TruthFlowError.record_conflict(
            f"`{known.record_id}` was recorded with the hash {known.record_hash}, got {arriving.observation_hash}"
        )
    if known.text.encode() != arriving.text:
        # The hash leaves out media types and times of capture, which a contract may go by.
        raise TruthFlowError.record_conflict(
            f"`{known.record_id}` was recorded with another media type or time of capture"
        )
    return _observed(arriving, known.sequence_number, is_new=False)


def _observed(arriving: Arriving, sequence_number: int, *, is_new: bool) -> Observed:
    return Observed(
        observation_id=arriving.observation.observation_id,
        observation_hash=arriving.observation_hash,
        truthkey=arriving.truthkey,
        sequence_number=sequence_number,
        is_new=is_new,
    )


def _observe_batch(tools: Tools, caller: Caller, batch: list[tuple[int, bytes]]) -> list[BulkLine]:
    judged = tools.database.read(lambda unit: _Judging(unit, tools, caller).judge(batch))

    def work(unit: Unit) -> list[BulkLine]:
        confirm(unit, caller)
        return [
            one if isinstance(one, BulkLine) else _recorded(unit, caller.tenant_id, number, one)
            for number, one in judged
        ]

    return tools.database.write(work)


def _recorded(unit: Unit, tenant_id: TenantId, number: int, arriving: Arriving) -> BulkLine:
    """Whether it is new is known before anything is written, so a refusal leaves nothing behind."""
    try:
        done = record_observation(unit, tenant_id, arriving)
    except Error as error:
        if error.blame is Blame.OURS:
            raise
        return _refused(number, error)
    return BulkLine(line=number, status="recorded" if done.is_new else "known", receipt=to_builtins(done))


def _refused(number: int, error: Error) -> BulkLine:
    return BulkLine(line=number, status="refused", code=error.code, problem=str(error))


class _Judging:
    """One batch on one state of the database; each contract is read once."""

    def __init__(self, unit: Unit, tools: Tools, caller: Caller) -> None:
        self._unit = unit
        self._tools = tools
        self._caller = caller
        verify_clock(unit, tools, caller.tenant_id, caller.at)
        self._contracts: dict[str, Contract] = {}

    def judge(self, batch: list[tuple[int, bytes]]) -> list[tuple[int, Arriving | BulkLine]]:
        return [(number, self._judge(number, line)) for number, line in batch]

    def _judge(self, number: int, line: bytes) -> Arriving | BulkLine:
        try:
            observation = parse_arriving(line)
            return prepare_observation(
                self._caller.principal,
                self._contract(observation.claim_type),
                observation,
                at=self._caller.at,
                skew=self._tools.reporter_skew,
                domain_systems=self._tools.domain_systems,
            )
        except Error as error:
            return _refused(number, error)

    def _contract(self, claim_type: str) -> Contract:
        if claim_type not in self._contracts:
            released = get_contract(self._unit, self._caller.tenant_id, claim_type)
            contract = read_contract(released.document, released.schema_text, self._tools.domain_systems)
            self._contracts[claim_type] = contract
        return self._contracts[claim_type]


def _find_unheard(unit: Unit, tools: Tools, caller: Caller, contract: Contract, arriving: Arriving) -> str | None:
    """Say why the compiler would not count a recorded observation now; None where it would."""
    said, tenant_id = arriving.observation, caller.tenant_id
    hashed = HashedObservation(observation=said, observation_hash=arriving.observation_hash)
    if make_ready(contract, hashed).evidence is None:
        policy = contract.evidence
        kinds = ", ".join(policy.types) or "any type"
        return (
            f"evidence: the contract asks for {policy.min_count} to {policy.max_count} pieces of {kinds}, "
            f"got {len(said.evidence_refs)}"
        )
    try:
        with borrow_trust(unit, tools, tenant_id) as kept:
            snapshot = snapshot_of(
                unit, tenant_id, kept.fold, [said.reporter_id], contract.id, at=caller.at, probe=said.probe_id
            )
    except Error as error:
        # The observation is recorded: whatever keeps trust from being read is no refusal of it.
        return f"trust: {error} [{error.code}]"
    trust = snapshot.agent_trusts.get(said.reporter_id)
    if trusted_weight(contract.consensus_model, trust) <= 0:
        got = "an agent that nobody admitted" if trust is None else f"{trust.trust_score:f}, {trust.standing}"
        return f"theta_min: expected a reporter whose trust reaches the policy's least, got {got}"
    records = key_records(unit, tenant_id, arriving.truthkey)
    last = unit.truth.find_state(tenant_id, arriving.truthkey)
    known = None if last is None else SealedState.read(last.text)
    sealing = find_sealing(contract, arriving.truthkey, known, KeyRecords.of(records), caller.at)
    if arriving.observation_hash in sealing.late:
        return "window: the round is over or was decided; the next round counts it"
    return None
