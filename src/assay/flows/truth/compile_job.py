"""One compilation as data: everything the compiler needs as texts, so that it can run in any process or machine.

job -> the pure compiler -> the unsigned state as canonical bytes; a job that is refused answers with a code
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from msgspec import Struct

from assay import __version__
from assay.flows.truth.contracts import read_contract
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.truth.ai_score import parse_ai_score
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract, FlowMode
from assay.truth.edition import Edition
from assay.truth.evidence import parse_fingerprint
from assay.truth.flag import Flag
from assay.truth.gather import Gathered, add_observation, gather_observations
from assay.truth.observation import HashedObservation, read_stored_observation
from assay.truth.opening import open_window
from assay.truth.snapshot import parse_snapshot
from assay.truth.state import TruthState, parse_truth_state, render_truth_state
from assay.truth.status import INTERMEDIATE_STATUSES, TruthStatus
from assay.truth.vote import parse_vote
from assay.truth.window import WindowEvent, WindowEventKind, parse_window_event, render_window_event

# Observations of all keys together, a few kilobytes each. A key with more than that is read anew each time.
MOST_KEPT = 1 << 15
# One by one an observation is added for the price of a copy; of many at once all are gathered anew.
_FEW = 16


class StoredText(NamedTuple):
    """An observation as it is stored: its canonical text, the hash that it must have, and when it was received."""

    text: str
    hash: str
    received_at: Instant | None = None

    def read(self) -> HashedObservation:
        return read_stored_observation(self.text, self.hash, self.received_at)


class _Kept(NamedTuple):
    stored: tuple[StoredText, ...]
    gathered: Gathered


class GatheredKeys:
    """The keys that were compiled last, up to so many observations in all; safe for threads."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def __len__(self) -> int:
        """How many observations are kept."""
        return self._count

    def gather(self, contract: Contract, truthkey: str, stored: tuple[StoredText, ...]) -> Gathered:
        """What `gather_observations` would give for all that is stored, in whatever order its rows are."""
        place = (truthkey, contract.claim_type_hash)
        with self._lock:
            kept = self._kept.get(place)
        gathered = _gathered(contract, kept, stored)
        self._keep(place, _Kept(stored, gathered))
        return gathered

    def _keep(self, place: tuple[str, str], kept: _Kept) -> None:
        with self._lock:
            old = self._kept.pop(place, None)
            self._count -= 0 if old is None else len(old.stored)
            if len(kept.stored) > self._most:
                return
            self._kept[place] = kept
            self._count += len(kept.stored)
            while self._count > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._count -= len(oldest.stored)


def _gathered(contract: Contract, kept: _Kept | None, stored: tuple[StoredText, ...]) -> Gathered:
    """What was kept and what is new; where a text is gone or is another, all of them are read again."""
    if kept is not None and kept.stored == stored:
        return kept.gathered
    known = frozenset(() if kept is None else kept.stored)
    new = [one for one in stored if one not in known]
    if kept is None or len(known) + len(new) != len(stored):
        return gather_observations(contract, [one.read() for one in stored])
    if len(new) > _FEW:
        return gather_observations(contract, [*kept.gathered.rows, *[one.read() for one in new]])
    gathered = kept.gathered
    for one in new:
        gathered = add_observation(contract, gathered, one.read())
    return gathered


_HERE = GatheredKeys()


def gather_stored(contract: Contract, truthkey: str, stored: tuple[StoredText, ...]) -> Gathered:
    """Gather stored observations, through the memory that this process keeps."""
    return _HERE.gather(contract, truthkey, stored)


# The number after the sign is the edition of the compiler's rules: 0.1.0 alone is the first.
COMPILER_VERSION = f"assay-{__version__}+{max(Edition)}"


# By text: a snapshot that was frozen once is the trust of many states, and its hash is worked out once.
_read_snapshot = lru_cache(maxsize=16)(parse_snapshot)


class CompileJob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`opens_window`: where the state waits for people and nobody opened a window, the contract opens one.

    `sealed_at` are the instants at which people came to a final answer about the key, `late` the hashes of what the
    ledger has only after the answer to the round that counts, or after its end.
    """

    truthkey: str
    document: str
    schema_text: str | None
    domain_systems: dict[str, str]
    observations: tuple[StoredText, ...]
    votes: tuple[str, ...]
    ai_scores: tuple[str, ...]
    fingerprints: tuple[str, ...]
    window_events: tuple[str, ...]
    snapshot: str
    compile_time: Instant
    compiler_version: str = COMPILER_VERSION
    sealed_at: tuple[Instant, ...] = ()
    late: tuple[str, ...] = ()
    signed_at: Instant | None = None
    signed_at_reason: str | None = None
    opens_window: bool = False

    def contract(self) -> Contract:
        return read_contract(self.document, self.schema_text, self.domain_systems)

    def gathered(self, contract: Contract) -> Gathered:
        """The observations, decoded and made ready once in this process as long as they are kept."""
        return gather_stored(contract, self.truthkey, self.observations)


class CompiledJob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The unsigned state and the window event that was added, as canonical text; or the code of the refusal."""

    truthkey: str
    state: str | None = None
    opened: str | None = None
    code: str | None = None
    problem: str | None = None


class Result(NamedTuple):
    """The unsigned state, and the opening of a window that is among its inputs."""

    state: TruthState
    opened: WindowEvent | None


def compile_partition(jobs: Sequence[CompileJob]) -> list[CompiledJob]:
    """Each job by itself: no store, no clock, no key. Any pool may run this, and gives the same bytes."""
    return [_compiled(job) for job in jobs]


def read_result(compiled: CompiledJob) -> Result:
    """What a worker sent back; only for one that was not refused."""
    opened = None if compiled.opened is None else parse_window_event(compiled.opened)
    return Result(parse_truth_state(compiled.state or ""), opened)


def _compiled(job: CompileJob) -> CompiledJob:
    try:
        state, opened = compile_job(job)
    except Error as error:
        return CompiledJob(truthkey=job.truthkey, code=error.code, problem=str(error))
    return CompiledJob(
        truthkey=job.truthkey,
        state=render_truth_state(state).decode(),
        opened=None if opened is None else render_window_event(opened).decode(),
    )


def compile_job(job: CompileJob) -> Result:
    """The state at the job's own time, compiled a second time where its window opens with it."""
    contract = job.contract()
    events = tuple(parse_window_event(text) for text in job.window_events)
    state = _compile(job, contract, events, job.late)
    if not job.opens_window or not _asks_people(contract, events, state):
        return Result(state, None)
    number = 1 + sum(event.kind is WindowEventKind.OPENED for event in events)
    opened = open_window(contract, job.truthkey, at=job.compile_time, number=number)
    # In a new round everything is heard: nothing is late for it.
    again = _compile(job, contract, (*events, opened), ())
    # Whoever is not heard cannot have people asked once more.
    is_more = not events or again.observation_ids != state.observation_ids
    return Result(again, opened) if is_more else Result(state, None)


def _asks_people(contract: Contract, events: Sequence[WindowEvent], state: TruthState) -> bool:
    """The first window where a state waits for people; another where they came to no end and then there was more.

    Where the contract puts people first, with the first state that has something to ask about.
    """
    if not events:
        is_theirs = contract.validation_flow.mode is not FlowMode.AUTO and state.status in INTERMEDIATE_STATUSES
        return is_theirs or state.status in (TruthStatus.PENDING_HUMAN_REVIEW, TruthStatus.UNDECIDED)
    flags = state.transparency_flags
    is_late = Flag.LATE_OBSERVATION in flags and Flag.WINDOW_ABORTED not in flags
    return state.status is TruthStatus.INCONCLUSIVE and is_late


def _compile(job: CompileJob, contract: Contract, events: Iterable[WindowEvent], late: Iterable[str]) -> TruthState:
    return compile_truth_state(
        contract,
        job.truthkey,
        job.gathered(contract),
        _read_snapshot(job.snapshot),
        votes=[parse_vote(text) for text in job.votes],
        ai_scores=[parse_ai_score(text) for text in job.ai_scores],
        fingerprints=[parse_fingerprint(text) for text in job.fingerprints],
        window_events=events,
        policy_version=contract.policy_version,
        compiler_version=job.compiler_version,
        compile_time=job.compile_time,
        sealed_at=job.sealed_at,
        late=late,
        signed_at=job.signed_at,
        signed_at_reason=job.signed_at_reason,
    )
