"""Many keys at once: read in parts, compiled by a pool, signed and written here; the same bytes as one by one.

keys -> parts: read on one state of the database -> pool: the pure compiler -> sign -> one commit for each part
Trust is folded once, at the start, so that it does not matter which key comes first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from msgspec import Struct

from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded
from assay.flows.trust.fold_trust import fold_trust, keep_marks
from assay.flows.truth.compile_job import CompiledJob, CompileJob, compile_partition, read_result
from assay.flows.truth.compile_truth import (
    CompiledTruth,
    Prepared,
    compile_truth,
    is_moved,
    is_unchanged,
    persist,
    prepare_state,
)
from assay.flows.truth.expire_truth import StuckKey
from assay.flows.truth.load_truth import CompileAsked, LoadedKey, load_truth
from assay.flows.truth.truth_key import introduce_truth_key
from assay.flows.truth.validation_ticket import open_validations
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyRing
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.pool import Pool

# Keys in one part: a few hundred milliseconds of work, and one commit.
_PART = 64
Progress = Callable[[int, int], None]


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
