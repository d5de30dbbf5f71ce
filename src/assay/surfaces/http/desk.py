"""What every route works with: the node's tools, its configuration and metrics, and threads for what waits."""

import threading
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeAlias, TypeVar

from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from assay.adapters.bus.fanout import Fanout
from assay.config import Config
from assay.flows.answer_once import RequestsInHand
from assay.flows.identity.authenticate import Authenticated, authenticate_each
from assay.flows.ledger.report_period import SERVED_BYTES
from assay.flows.node_facts import commit_nothing
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.identity.problem import Problem
from assay.kernel.ids import TenantId
from assay.operations.dispatch import Dispatcher, Outcome
from assay.operations.kinds import Operation
from assay.operations.table import TABLE
from assay.ports.database import Pending
from assay.ports.validator import Engines
from assay.registry.action import Tier
from assay.surfaces.forja.registry_app import RegistryApp
from assay.surfaces.http.errors import HttpError, NotReadyError, UndecidedError
from assay.surfaces.http.figures import Metrics
from assay.surfaces.http.patience import PATIENCE_SECONDS, Crew, GivenUpError, Pulse, wait_again, wait_patiently
from assay.surfaces.http.rate import rate_of

T = TypeVar("T")
GatheredRequest: TypeAlias = tuple[Caller, Any, str | None]
_READERS = 16
_WRITERS = 4
_PROBES = 4
_REPORTS = 2
_ACTORS = 32
_JUDGES = 64
_STRANGERS = 4
_MOST_STRANGERS = 64
_PROVERS = 2
_TOGETHER = 32
_SILENT = Problem(field="database", message=f"gave no answer within {PATIENCE_SECONDS:g} s")
_AGAIN = Problem(field="request", message="it may take effect or not; with the same `Idempotency-Key` it does so once")


A = TypeVar("A")


R = TypeVar("R")


class Gathering(Generic[A, R]):
    """`work` answers each of those it is given, in order, with a result or with what is raised to who asked.

    Where it raises instead, each is worked on alone, so that nobody pays for what another sent. It may be called from
    several threads at once. Who is cancelled while waiting learns no answer; what was taken up goes on.
    """

    def __init__(
        self, work: Callable[[Sequence[A]], Sequence[R | Exception]], *, name: str, threads: int, at_most: int
    ) -> None:
        self._work = work
        self._name = name
        self._threads = threads
        self._at_most = at_most
        self._waiting: deque[tuple[A, Future[R]]] = deque()
        self._free = threads
        self._lock = threading.Lock()

    @property
    def queue_length(self) -> int:
        """How many wait for a thread."""
        return len(self._waiting)

    async def ask(self, asked: A, wait: Callable[[Future[R]], Awaitable[R]] | None = None) -> R:
        """`wait` is how it is waited for; where it raises before anybody took it up, nobody will."""
        future: Future[R] = get_running_loop().create_future()
        with self._lock:
            self._waiting.append((asked, future))
            is_free = self._free > 0
            if is_free:
                self._free -= 1
        if is_free:
            self._pool.submit(self._serve)
        try:
            return await (future if wait is None else wait(future))
        finally:
            if not future.done() or future.cancelled():
                self._forget(future)

    def _forget(self, future: Future[R]) -> None:
        future.cancel()
        with self._lock:
            self._waiting = deque(one for one in self._waiting if one[1] is not future)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Made with the first work, so that a process that forks before has one of its own."""
        return ThreadPoolExecutor(self._threads, thread_name_prefix=self._name)

    def _serve(self) -> None:
        """On a thread: until nobody waits any more."""
        while some := self._take():
            futures = [future for _, future in some]
            outcomes = self._answer([asked for asked, _ in some])
            told: dict[AbstractEventLoop, list[tuple[Future[R], R | Exception]]] = {}
            for future, outcome in zip(futures, outcomes, strict=True):
                told.setdefault(future.get_loop(), []).append((future, outcome))
            for loop, pairs in told.items():
                # A loop that was closed meanwhile has nobody left to tell.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(_tell, pairs)

    def _take(self) -> list[tuple[A, Future[R]]]:
        with self._lock:
            some = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._at_most))]
            if not some:
                self._free += 1
            return some

    def _answer(self, asked: Sequence[A]) -> Sequence[R | Exception]:
        try:
            outcomes = self._work(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised to who asked
            return [error] if len(asked) == 1 else [self._answer([one])[0] for one in asked]
        return outcomes


def _tell(pairs: Sequence[tuple[Future[R], R | Exception]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One per application; handlers get it as the dependency `desk`."""

    tools: Tools
    config: Config
    metrics: Metrics
    fanout: Fanout
    # Whether the database answers, and whether it takes a commit: what whoever waits long is given up by.
    reading: Pulse
    writing: Pulse
    readers: Crew = field(default_factory=partial(Crew, "assay-read", _READERS))
    probes: Crew = field(default_factory=partial(Crew, "assay-probe", _PROBES))
    # Apart from the readers: when the queue is full these wait for room, and reading must go on.
    writers: Crew = field(default_factory=partial(Crew, "assay-submit", _WRITERS))
    # Each of these waits for its own commit, and as many as wait at once share one.
    actors: Crew = field(default_factory=partial(Crew, "assay-act", _ACTORS))
    # Apart from the readers: each is held whole in memory until it is sent.
    reports: Crew = field(default_factory=partial(Crew, "assay-report-page", _REPORTS))
    # Apart from the actors: a model or an answerer may take its time, and no other work waits for it.
    judges: Crew = field(default_factory=partial(Crew, "assay-ask", _JUDGES))
    # Apart from all others: whoever is still to prove who they are makes nobody wait who has.
    strangers: Crew = field(default_factory=partial(Crew, "assay-log-in", _STRANGERS))
    visitors: Crew = field(default_factory=partial(Crew, "assay-oidc", _STRANGERS))

    # Permissions, rates, idempotency and counts of every operation.
    dispatch: Dispatcher
    proving: Gathering[str, Authenticated]
    # Requests that share work and a commit, by the name of their operation.
    gathered: Mapping[str, Gathering[GatheredRequest, Outcome]] = field(default_factory=dict)
    # None where no services announce themselves.
    registry: RegistryApp | None = None
    # None where no machine judges observations.
    engines: Engines | None = None
    # The newest observation of each tenant that machines were asked about.
    asked: dict[TenantId, int] = field(default_factory=dict)
    # How far the records of each tenant were compiled, and the keys that could not be.
    compiled: dict[TenantId, tuple[int, frozenset[str]]] = field(default_factory=dict)
    # Requests with an `Idempotency-Key` that are being worked on.
    in_hand: RequestsInHand = field(default_factory=RequestsInHand)
    # Set when the server was told to end and still answers: it is not ready for more.
    draining: threading.Event = field(default_factory=threading.Event)
    # Set when the writer stopped for good: the process ends, and whoever comes next reads what is really there.
    writer_lost: threading.Event = field(default_factory=threading.Event)
    # Set when the server is to end: housekeeping that takes long looks at it now and then.
    stopping: threading.Event = field(default_factory=threading.Event)

    async def prove(self, credential: str) -> Authenticated:
        """Who asks, by one look for all who wait to be proved."""
        return await _looked(self.proving.ask(credential, lambda proved: wait_patiently(proved, self.reading)))

    async def perform(self, operation: Operation, caller: Caller, request: Struct, key: str | None = None) -> Outcome:
        """Perform an operation for a permitted caller on the threads of its crew.

        Requests of an operation that takes many at once share a thread and a commit with those that wait at the same
        time; a request that it leaves out is performed alone, and so is one with a key that it would not note.
        """
        gathering = self.gathered.get(operation.name)
        if gathering is not None and (key is None or operation.shares.keys):
            done = await _done(gathering.ask((caller, request, key), self._wait_for_commit))
            if done.value is not None:
                return done
        crew = operation.crew or ("act" if operation.writes or operation.rehearses else "read")
        run = {"read": self.run, "act": self.act, "judge": self.judge, "report": self.draw_up, "log_in": self.admit}
        return await run[crew](lambda: self.dispatch.perform(operation, caller, request, key=key))

    async def run(self, work: Callable[[], T]) -> T:
        """Do what waits for a disk on a thread, so that the loop goes on answering others."""
        return await _looked(self.readers.run(work, self.reading))

    async def draw_up(self, work: Callable[[], T]) -> T:
        """As `run`, for what takes much memory: a few at once, and the others wait."""
        return await _looked(self.reports.run(work, self.reading))

    async def act(self, work: Callable[[], T]) -> T:
        """Run a whole journey that reads, computes and writes; it has its thread until its commit is durable."""
        return await _done(self.actors.run(work, self.reading, self.writing))

    async def judge(self, work: Callable[[], T]) -> T:
        """As `act`, for what asks a model."""
        return await _done(self.judges.run(work, self.reading, self.writing))

    async def admit(self, work: Callable[[], T]) -> T:
        """As `act`, for a login: they wait for each other, and where too many wait, the next is sent away."""
        if self.strangers.waiting >= _MOST_STRANGERS:
            raise HttpError.logins_busy(f"expected fewer than {_MOST_STRANGERS} logins to wait, got as many")
        return await _done(self.strangers.run(work, self.reading, self.writing))

    async def admit_by_provider(self, work: Callable[[], T]) -> T:
        """As `admit`, for what asks the identity provider: while that is slow, passwords are taken all the same."""
        if self.visitors.waiting >= _MOST_STRANGERS:
            raise HttpError.logins_busy(f"expected fewer than {_MOST_STRANGERS} logins to wait, got as many")
        return await _done(self.visitors.run(work, self.reading, self.writing))

    async def probe(self, work: Callable[[], T]) -> T:
        """As `run`, and it is for whoever asks to give up waiting."""
        return await self.probes.run(work)

    async def settle(self, submit: Callable[[], Pending[T]]) -> T:
        """Submit a write on a thread, then wait for its durable commit without holding one."""
        pending = await _done(self.writers.run(submit, self.reading, self.writing))
        return await _done(wait_again(pending, self.reading, self.writing))

    async def _wait_for_commit(self, future: Future[T]) -> T:
        return await wait_patiently(future, self.reading, self.writing)


async def _looked(waiting: Awaitable[T]) -> T:
    try:
        return await waiting
    except GivenUpError as error:
        raise NotReadyError([_SILENT]) from error


async def _done(waiting: Awaitable[T]) -> T:
    """The journey may be at any step, and ends there or goes on when the database does; its commit is whole or none."""
    try:
        return await waiting
    except GivenUpError as error:
        raise UndecidedError([_SILENT, _AGAIN]) from error


def open_desk(tools: Tools, config: Config, **more: Any) -> Desk:  # noqa: ANN401 - fields of the desk
    """A desk of this node, with threads for those who come together."""
    registry: RegistryApp | None = more.get("registry")

    def tier_left(principal: Principal) -> int:
        return Tier.FULL if registry is None else registry.own.tier_left(f"{principal.tenant_id} {principal.id}")

    tools = replace(tools, most_report_bytes=SERVED_BYTES, tier_left=tier_left)

    def prove(credentials: Sequence[str]) -> Sequence[Authenticated | Exception]:
        return authenticate_each(tools, credentials, at=tools.clock.now())

    metrics = Metrics(tools)
    in_hand = RequestsInHand()
    dispatch = Dispatcher(
        tools=tools,
        rate=rate_of(config.http),
        count=metrics.count_operation,
        notice=metrics.notice,
        in_hand=in_hand,
    )
    # One for all: under one key, a route of the table and another one are the same request.
    return Desk(
        tools=tools,
        config=config,
        metrics=metrics,
        dispatch=dispatch,
        gathered=_gathered(dispatch),
        in_hand=in_hand,
        reading=Pulse(tools.database.facts),
        writing=Pulse(partial(commit_nothing, tools.database)),
        fanout=Fanout(tools.database),
        proving=Gathering(prove, name="assay-prove", threads=_PROVERS, at_most=_TOGETHER),
        **more,
    )


def _gathered(dispatch: Dispatcher) -> dict[str, Gathering[GatheredRequest, Outcome]]:
    """Where requests of an operation meet that share work on this node."""
    found = [one for one in TABLE if one.many is not None and one.shares.when(dispatch.tools)]
    return {one.name: _gathering(dispatch, one) for one in found}


def _gathering(dispatch: Dispatcher, operation: Operation) -> Gathering[GatheredRequest, Outcome]:
    def work(jobs: Sequence[GatheredRequest]) -> Sequence[Outcome | Exception]:
        return dispatch.together(operation, jobs)

    shares = operation.shares
    return Gathering(work, name=f"assay-{operation.name}", threads=shares.threads, at_most=shares.most)


# How a handler asks for it. It is ours and never from outside: nobody need look through all of it at each request.
GivenDesk: TypeAlias = NamedDependency[SkipValidation[Desk]]
