"""Many keys at once: read in parts, compiled by a pool, signed and written here; the same bytes as one by one.

keys -> parts: read on one state of the database -> pool: the pure compiler -> sign -> one commit for each part
Trust is folded once, at the start, so that it does not matter which key comes first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Struct

from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.request import Done, FieldProblem, FieldsError, Moment, Option, Request, parse_moment
from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded
from assay.flows.trust.fold_trust import fold_trust, keep_marks
from assay.flows.truth.compile_job import CompiledJob, CompileJob, compile_partition, read_result
from assay.flows.truth.compile_truth import (
    Aged,
    CompiledTruth,
    Prepared,
    StuckKey,
    compile_now,
    compile_truth,
    expire_truth,
    is_moved,
    is_unchanged,
    persist,
    prepare_state,
)
from assay.flows.truth.load_truth import CompileAsked, LoadedKey, load_truth
from assay.flows.truth.state_entry import state_value
from assay.flows.truth.states import KeyName
from assay.flows.truth.truth_key import introduce_truth_key
from assay.flows.truth.validation_ticket import open_validations
from assay.identity.caller import Caller
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyRing
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.pool import Pool
from assay.truth.key import parse_claim_type_id

# Keys in one part: a few hundred milliseconds of work, and one commit.
_PART = 64
Progress = Callable[[int, int], None]


class CompileState(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: KeyName
    claim_type: Annotated[
        str | None,
        Meta(description="The version of the contract; else the newest that was observed."),
        Option(metavar="ID"),
    ] = None
    force: Annotated[bool, Meta(description="Append a state although it says the same as the last one.")] = False
    fresh_trust: Annotated[bool, Meta(description="Take today's trust although nothing new was recorded.")] = False
    trust_through: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Count signals up to this entry; else all. A record of the key counts in any case."),
        Option(metavar="ENTRY"),
    ] = None
    signed_at: Annotated[
        Moment | None, Meta(description="Another time of signing, with a reason."), Option(metavar="TIME")
    ] = None
    signed_at_reason: Annotated[
        str | None, Meta(description="Why; recorded in the state's inputs."), Option(metavar="TEXT")
    ] = None


class CompileStates(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    keys: Annotated[
        tuple[str, ...],
        Meta(max_length=100_000, description="These keys; else every key with records that are in no state yet."),
        Option(flag="--key", metavar="KEY"),
    ] = ()
    workers: Annotated[
        Annotated[int, Meta(ge=1, le=256)] | None,
        Meta(description="Processes; for the operator of the folder one per processor, else one."),
        Option(metavar="N"),
    ] = None
    dask: Annotated[
        str | None,
        Meta(description="The scheduler of a Dask cluster, instead of processes; only for the operator of the folder."),
        Option(metavar="ADDRESS"),
    ] = None


class ExpireStates(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to say: what time has made due is compiled."""


class CompiledState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state in force; `is_new` is false where nothing new was to be said, and nothing was appended."""

    version: int
    sequence_number: int
    is_new: bool
    state: dict[str, Any]


def compile_state(tools: Tools, caller: Caller, request: CompileState) -> Done[CompiledState]:
    """Compile a key to a signed state; nothing is appended where nothing new is to be said.

    A running server also compiles keys by itself when something is recorded.
    """
    if request.claim_type is not None:
        parse_claim_type_id(request.claim_type)
    done = compile_now(
        tools,
        caller.tenant_id,
        request.key,
        claim_type=request.claim_type,
        force=request.force,
        fresh_trust=request.fresh_trust,
        signed_at=parse_moment(request.signed_at),
        signed_at_reason=request.signed_at_reason,
        trust_through=request.trust_through,
    )
    return Done(value=compiled_state(done), is_new=done.is_new)


def compiled_state(done: CompiledTruth) -> CompiledState:
    return CompiledState(
        version=done.version,
        sequence_number=done.sequence_number,
        is_new=done.is_new,
        state=state_value(done.state),
    )


def compile_states(tools: Tools, caller: Caller, request: CompileStates) -> "CompiledAll":
    """Compile every key with records in no state yet, or these keys; all with the trust of one instant."""
    if request.dask is not None and not caller.is_local:
        raise FieldsError([FieldProblem(field="dask", message="expected none from a caller outside the node's folder")])
    workers = request.workers or (None if caller.is_local else 1)
    with tools.pools.open(workers, dask=request.dask) as pool:
        return compile_all(tools, caller.tenant_id, pool, at=caller.at, keys=request.keys or None)


def expire_states(tools: Tools, caller: Caller, request: ExpireStates) -> Aged:  # noqa: ARG001 - nothing is asked
    """Compile every key that time has made due: past its validity, or past the end of its window.

    A server does this by itself.
    """
    return expire_truth(tools, caller.tenant_id, at=caller.at)


class CompiledAll(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many keys got a new state, how many needed none, and which could not be compiled.

    `trust_through` is the entry up to which signals counted for all of them: compiled one by one up to there, each says
    the same.
    """

    compiled: int
    unchanged: int
    trust_through: int
    stuck: tuple[StuckKey, ...]


@dataclass(slots=True)
class _Count:
    compiled: int = 0
    unchanged: int = 0

    def add(self, done: CompiledTruth) -> None:
        self.compiled += done.is_new
        self.unchanged += not done.is_new


def compile_all(
    tools: Tools,
    tenant_id: TenantId,
    pool: Pool,
    *,
    at: Instant,
    keys: Sequence[str] | None = None,
    progress: Progress | None = None,
    part_size: int = _PART,
) -> CompiledAll:
    """These keys, or every key with a record that is in no state yet. One that cannot be compiled holds up no other."""
    introduce_truth_key(tools, tenant_id, at=at)
    chosen = keys if keys is not None else tools.database.read(lambda unit: _stale(unit, tenant_id))
    folded, through = tools.database.read(lambda unit: _trust(unit, tools, tenant_id))
    keep_marks(tools, tenant_id)
    run = _Run(tools, tenant_id, CompileAsked(at=at, trust_through=through), folded)
    answers = pool.run(compile_partition, run.read_parts(chosen, part_size))
    for answer in answers:
        run.finish(answer)
        if progress is not None:
            progress(run.count.compiled + run.count.unchanged + len(run.stuck), len(chosen))
    count, stuck = run.count, tuple(run.stuck)
    return CompiledAll(compiled=count.compiled, unchanged=count.unchanged, trust_through=through, stuck=stuck)


def _trust(unit: Unit, tools: Tools, tenant_id: TenantId) -> tuple[Folded, int]:
    """Folded once, and the entry up to which: whoever compiles a key by itself up to there sees the same trust."""
    return fold_trust(unit, tools, tenant_id), unit.ledger.head(tenant_id).sequence_number


def _stale(unit: Unit, tenant_id: TenantId) -> list[str]:
    return list(unit.truth.keys(tenant_id, stale_only=True))


class _Run:
    """One run: parts go out to the pool in order, and their answers come back in that order."""

    def __init__(self, tools: Tools, tenant_id: TenantId, asked: CompileAsked, folded: Folded) -> None:
        self.count = _Count()
        self.stuck: list[StuckKey] = []
        self._tools = tools
        self._tenant_id = tenant_id
        self._asked = asked
        self._folded = folded
        self._ring: KeyRing = own_key_ring(tools)
        self._out: list[list[LoadedKey]] = []

    def read_parts(self, keys: Iterable[str], size: int) -> Iterator[list[CompileJob]]:
        waiting = iter(keys)
        while part := list(islice(waiting, size)):
            loaded = self._tools.database.read(partial(self._load, keys=part))
            self._out.append(loaded)
            yield [one.job for one in loaded]

    def _load(self, unit: Unit, keys: Iterable[str]) -> list[LoadedKey]:
        loaded: list[LoadedKey] = []
        for key in keys:
            try:
                one = load_truth(unit, self._tools, self._tenant_id, key, self._asked, self._folded)
            except Error as error:
                self._stick(key, error)
            else:
                loaded.append(one)
        return loaded

    def finish(self, answers: Sequence[CompiledJob]) -> None:
        """Sign and write one part; a key that moved meanwhile is compiled by itself."""
        ready: list[Prepared] = []
        for loaded, answer in zip(self._out.pop(0), answers, strict=True):
            self._prepare(loaded, answer, ready)
        moved = self._write(ready) if ready else []
        self.count.compiled += len(ready) - len(moved)
        for truthkey in moved:
            self._compile_alone(truthkey)

    def _write(self, ready: list[Prepared]) -> list[str]:
        """The keys that were not written. A state that cannot be stored undoes its part: each is then tried alone."""
        try:
            return self._tools.database.write(lambda unit: self._persist(unit, ready))
        except Error as error:
            if error.blame is Blame.OURS:
                raise
            return [prepared.loaded.truthkey for prepared in ready]

    def _prepare(self, loaded: LoadedKey, answer: CompiledJob, ready: list[Prepared]) -> None:
        if answer.code is not None:
            self.stuck.append(StuckKey(truthkey=loaded.truthkey, code=answer.code, problem=answer.problem or ""))
            return
        result = read_result(answer)
        if is_unchanged(loaded, result, self._asked):
            self.count.unchanged += 1
            return
        try:
            ready.append(prepare_state(self._tools, loaded, result, at=self._asked.at, ring=self._ring))
        except Error as error:
            self._stick(loaded.truthkey, error)

    def _persist(self, unit: Unit, ready: Sequence[Prepared]) -> list[str]:
        """Those that somebody wrote to meanwhile come back; of them nothing was written."""
        asked = open_validations(unit, self._tenant_id, (one.loaded.truthkey for one in ready))
        moved: list[str] = []
        for prepared in ready:
            if is_moved(unit, prepared.loaded):
                moved.append(prepared.loaded.truthkey)
            else:
                persist(unit, prepared, asked=asked)
        return moved

    def _compile_alone(self, truthkey: str) -> None:
        asked = self._asked
        try:
            self.count.add(
                compile_truth(self._tools, self._tenant_id, truthkey, at=asked.at, trust_through=asked.trust_through)
            )
        except Error as error:
            self._stick(truthkey, error)

    def _stick(self, truthkey: str, error: Error) -> None:
        """A database that cannot be used is for the caller to hear; anything else is about this key alone."""
        if error.blame is Blame.OURS and not isinstance(error, DamagedRecordError):
            raise error
        self.stuck.append(StuckKey(truthkey=truthkey, code=error.code, problem=str(error)))
