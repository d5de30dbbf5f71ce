"""One worker of one service: its window of outcomes, its switch, and the memory it shares with the other workers.

outcome -> window -> (half a second later, or at once when it fires) -> memory -> the switch as all workers see it
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec
import structlog
from msgspec import Struct

from assay.flows.registry.switch_facts import ATTEMPTS, SELF_TESTS, add_fact, load_facts, load_switch
from assay.kernel.errors import Error, StoreError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.clock import Clock
from assay.ports.ids import Entropy
from assay.ports.latch import Latch
from assay.ports.registry_store import ServiceMemory, ServiceStore, WorkerCounts
from assay.ports.service_desk import ServiceDesk
from assay.registry.action import ServicePower, Tier
from assay.registry.documents import ProofDocument, SenseDocument, ServiceFigures, sense_of
from assay.registry.health import (
    WINDOW_SECONDS,
    AskerFailures,
    Bucket,
    Outcome,
    OutcomeWindow,
    Totals,
    merge_buckets,
    total_of,
)
from assay.registry.manifest import Manifest, power_of
from assay.registry.proof_scan import ProofPoint, point_of
from assay.registry.trip import Fired, Restored, Switch, SwitchRule, active_tier, figures_of, judge, self_test

# The file of a service belongs to one service alone; a node keeps its own under its tenant.
OWN = TenantId("service")
_TELL_AGAIN_SECONDS = 10.0
# Far longer than the window that is counted, so that clocks which differ forget no worker that lives.
_GONE_AFTER = timedelta(days=1)
_log = structlog.get_logger("assay.forja")


class ServiceRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the operator of a service sets: the switch, the highest tier, and how often workers meet."""

    switch: SwitchRule = SwitchRule()
    tier: int = Tier.FULL
    tick_seconds: float = 0.5


class _Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker tells the others."""

    buckets: tuple[Bucket, ...]
    total_requests: int
    agent_requests: int


@dataclass(slots=True)
class _Others:
    """What the other workers said last."""

    buckets: tuple[Bucket, ...] = ()
    total_requests: int = 0
    agent_requests: int = 0
    attempts: int = 0


@dataclass(slots=True, eq=False)
class Service:
    """INVARIANT: a firing takes effect in this worker before it is stored, and nothing but a stored restore ends it."""

    manifest: Manifest
    memory: ServiceMemory
    desk: ServiceDesk
    clock: Clock
    entropy: Entropy
    rule: ServiceRule = field(default_factory=ServiceRule)
    tenant_id: TenantId = OWN
    # A node's own service is one worker, and its memory is the desk's: what the desk records needs no second place.
    is_alone: bool = False
    # Where a firing is remembered until it is stored: the disk may be full just then.
    latch: Latch | None = None
    # Rules whose version in force nobody stands by, and rules in doubt.
    find_drift: Callable[[], tuple[int, int]] = lambda: (0, 0)
    worker_id: str = field(init=False)
    wake: threading.Event = field(default_factory=threading.Event, init=False)
    _switch: Switch = field(init=False)
    _window: OutcomeWindow = field(default_factory=OutcomeWindow, init=False)
    _askers: AskerFailures = field(default_factory=AskerFailures, init=False)
    _others: _Others = field(default_factory=_Others, init=False)
    _total: int = field(default=0, init=False)
    _agents: int = field(default=0, init=False)
    _told: int = field(default=0, init=False)
    _heard: int = field(default=0, init=False)
    _stored: int = field(default=0, init=False)
    _tell_after: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _ticking: threading.Lock = field(default_factory=threading.Lock, init=False)
    _asking: threading.Lock = field(default_factory=threading.Lock, init=False)
    _started: float = field(default_factory=time.monotonic, init=False)

    def __post_init__(self) -> None:
        self.worker_id = self.entropy.token(8).hex()
        if self.latch is not None:
            _try(self.latch.prepare)
        self._switch = self._latched(self._remembered())

    @property
    def switch(self) -> Switch:
        return self._switch

    def _remembered(self) -> Switch:
        """By the memory and by the desk: a firing that the desk has on record is not forgotten with a lost file."""
        name, at = self.manifest.service, self.clock.now()
        known = self.desk.facts(name)
        self._heard = len(known)

        def work(store: ServiceStore) -> Switch:
            own = load_facts(store, self.tenant_id, name)
            if own == list(known[: len(own)]):
                for fact in known[len(own) :]:
                    add_fact(store, self.tenant_id, fact, at=at)
            return load_switch(store, self.tenant_id, name)

        return self.memory.write(work)

    def _latched(self, stored: Switch) -> Switch:
        """The switch with a firing that an earlier process could not store; the next round stores it."""
        record = None if self.latch is None else self.latch.load()
        if record is None:
            return stored
        fired = msgspec.json.decode(record, type=Fired)
        if fired.service_id != stored.service_id or fired.episode <= stored.episode:
            return stored
        return Switch(service_id=stored.service_id, episode=fired.episode, fired=fired, restored_at=stored.restored_at)

    def _storing(self, fired: Fired, store: Callable[[], object]) -> None:
        """Store a firing. Until that is done it is in the latch, which outlives this process."""
        latch = self.latch
        if latch is not None:
            _try(lambda: latch.store(msgspec.json.encode(fired)))
        store()
        if latch is not None:
            _try(latch.clear)

    def observe(self, outcome: Outcome, *, is_agent: bool, asker: str | None = None) -> None:
        """Count one response. Never waits for storage: a firing is stored by the next round, which is woken at once.

        `asker` is named with a failure that what they asked may have brought about.
        """
        at = self.clock.now()
        with self._lock:
            self._total += 1
            self._agents += is_agent
            if self._window.is_beyond(at):
                # The clock was put back: what was counted lies in a future that would hide everything until then.
                self._window, self._askers = OutcomeWindow(), AskerFailures()
            self._window.observe(outcome, at)
            if asker is not None and outcome is Outcome.FAILED:
                self._askers.observe(asker, at)
            if outcome is Outcome.FAILED and self._judge(at) is not None:
                self.wake.set()

    def fails_alone(self, asker: str) -> bool:
        """Whether the switch would fire now, were it not that nearly all that fails is what this one asks."""
        if self._askers.is_empty:
            return False
        at = self.clock.now()
        with self._lock:
            who, _ = self._askers.most(at)
            if who != asker or self._switch.is_fired:
                return False
            figures = figures_of(self._totals(at), active_tier=Tier.FULL)
            return judge(self._switch, self.rule.switch, figures, at=at)[1] is not None

    def power(self) -> ServicePower:
        return power_of(self.manifest, active_tier=active_tier(self._switch, self.rule.switch, self.rule.tier))

    def power_in(self, store: ServiceStore) -> ServicePower:
        """As the memory says in this transaction, and never more than this worker believes."""
        switch = load_switch(store, self.tenant_id, self.manifest.service)
        tier = active_tier(switch, self.rule.switch, self.rule.tier)
        return power_of(self.manifest, active_tier=min(tier, self.power().active_tier))

    def sense(self) -> SenseDocument:
        at, (stale, conflicts) = self.clock.now(), self.find_drift()
        with self._lock:
            figures = ServiceFigures(
                totals=self._totals(at),
                total_requests=self._total + self._others.total_requests,
                agent_requests=self._agents + self._others.agent_requests,
                uptime_seconds=round(time.monotonic() - self._started, 3),
                self_escalation_attempts=self._others.attempts,
                stale_rules=stale,
                conflicts=conflicts,
            )
            switch = self._switch
        return sense_of(self.manifest, self.rule.switch, switch, figures, configured_tier=self.rule.tier, at=at)

    def totals(self) -> Totals:
        at = self.clock.now()
        with self._lock:
            return self._totals(at)

    def find_proof(self) -> ProofDocument | None:
        """The latest measurement of PROOF that was kept, if there is one."""
        name = self.manifest.service
        kept = self.memory.read(lambda store: store.latest_proof(self.tenant_id, name))
        return None if kept is None else msgspec.json.decode(kept.text, type=ProofDocument)

    def proof_history(self, length: timedelta) -> tuple[ProofPoint, ...]:
        """The measurements of so long; at least 90 days are kept, and in fact all."""
        name, since = self.manifest.service, Instant(self.clock.now() - length)
        kept = self.memory.read(lambda store: store.proofs(self.tenant_id, name, since=since))
        return tuple(
            point_of(one.measured_at, one.proof_hash, msgspec.json.decode(one.text, type=ProofDocument)) for one in kept
        )

    def count_attempt(self) -> None:
        """FRJ-011: counted for all workers to see, and kept."""
        count = self.memory.write(lambda store: store.count_up(self.tenant_id, self.manifest.service, ATTEMPTS))
        with self._lock:
            self._others.attempts = max(self._others.attempts, count)

    def self_test(self) -> bool:
        """Whether the switch would fire, hold and leave no write under this rule; raises where it could not be stored.

        A spare switch is fired, and a number counted that nobody reads: the service itself goes on as it was.
        """
        name = self.manifest.service
        self.memory.write(lambda store: store.count_up(self.tenant_id, name, SELF_TESTS))
        return self_test(self.rule.switch, at=self.clock.now())

    def adopt(self, fact: Fired | Restored) -> None:
        """Store a fact that a person stands behind, and follow it."""
        at = self.clock.now()
        if self.is_alone:
            if isinstance(fact, Fired):
                self.desk.tell_fired(fact, at=at)
        else:
            self.memory.write(lambda store: add_fact(store, self.tenant_id, fact, at=at))
        self.tick()

    def tick(self) -> None:
        """Meet the other workers: say what was seen, hear what they saw, and store a firing if there is one."""
        if self.is_alone:
            self._tick_alone()
            return
        with self._ticking:
            at = self.clock.now()
            with self._lock:
                own, pending = self._told_counts(), self._switch
            seen = self._met(own, pending, at)
            with self._lock:
                self._follow(*seen)
                joint = self._judge(at)
            if joint is not None:
                self._storing(
                    joint, lambda: self.memory.write(lambda store: add_fact(store, self.tenant_id, joint, at=at))
                )
        with self._asking:
            self._ask_desk()

    def _tick_alone(self) -> None:
        """Nobody to meet: a firing goes to the desk, which records it, and what the desk has on record is followed."""
        with self._ticking:
            name, pending = self.manifest.service, self._switch
            stored = self.memory.read(lambda store: load_switch(store, self.tenant_id, name))
            if pending.fired is not None and pending.episode > stored.episode:
                fired, at = pending.fired, self.clock.now()
                self._storing(fired, lambda: self.desk.tell_fired(fired, at=at))
                return
            attempts = self.memory.read(lambda store: store.counted(self.tenant_id, name, ATTEMPTS))
            with self._lock:
                self._follow(stored, _Others(attempts=attempts))

    def _met(self, own: _Counts, pending: Switch, at: Instant) -> tuple[Switch, _Others]:
        seen: list[tuple[Switch, _Others]] = []

        def meet() -> None:
            seen.append(self.memory.write(lambda store: self._meet(store, own, pending, at)))

        if pending.fired is not None and pending.episode > self._stored:
            self._storing(pending.fired, meet)
            self._stored = pending.episode
        else:
            meet()
        return seen[0]

    def _meet(self, store: ServiceStore, own: _Counts, pending: Switch, at: Instant) -> tuple[Switch, _Others]:
        name = self.manifest.service
        if pending.fired is not None and pending.episode > load_switch(store, self.tenant_id, name).episode:
            add_fact(store, self.tenant_id, pending.fired, at=at)
        text = msgspec.json.encode(own).decode()
        counts = WorkerCounts(service_id=name, worker_id=self.worker_id, text=text, updated_at=at)
        store.put_counts(self.tenant_id, counts)
        # Each start is a worker with an id of its own; without this, every one that ever ran would keep its row.
        store.drop_counts(self.tenant_id, name, before=Instant(at - _GONE_AFTER))
        rows = store.counts(self.tenant_id, name, since=_earlier(at))
        others = [msgspec.json.decode(one.text, type=_Counts) for one in rows if one.worker_id != self.worker_id]
        heard = _Others(
            buckets=merge_buckets(one.buckets for one in others),
            total_requests=sum(one.total_requests for one in others),
            agent_requests=sum(one.agent_requests for one in others),
            attempts=store.counted(self.tenant_id, name, ATTEMPTS),
        )
        return load_switch(store, self.tenant_id, name), heard

    def _follow(self, switch: Switch, others: _Others) -> None:
        if switch.episode >= self._switch.episode:
            if self._switch.is_fired and switch.restored_at is not None and not switch.is_fired:
                # What came after the restore still counts, also where this worker hears of it only now.
                self._window = self._window.after(switch.restored_at)
                self._askers.forget(switch.restored_at)
            self._switch = switch
        self._others = others

    def _judge(self, at: Instant) -> Fired | None:
        """Without what failed of whoever failed most by asking: it takes more than one of them to fire."""
        found, (_, alone) = self._totals(at), self._askers.most(at)
        counted = Totals(requests=found.requests, errors=max(0, found.errors - alone))
        figures = figures_of(counted, active_tier=self.power().active_tier, attempts=self._others.attempts)
        _, fired = judge(self._switch, self.rule.switch, figures, at=at)
        if fired is not None:
            self._switch = Switch(
                service_id=self._switch.service_id,
                episode=fired.episode,
                fired=fired,
                restored_at=self._switch.restored_at,
            )
        return fired

    def _totals(self, at: Instant) -> Totals:
        """What all workers saw, but for what lies before the last restore."""
        own = self._window.totals(at)
        others = total_of(_since(self._others.buckets, self._switch.restored_at), at)
        return Totals(requests=own.requests + others.requests, errors=own.errors + others.errors)

    def _told_counts(self) -> _Counts:
        return _Counts(buckets=self._window.buckets(), total_requests=self._total, agent_requests=self._agents)

    def _ask_desk(self) -> None:
        """The firing is stored and holds, whether or not somebody can be told of it now."""
        fired = self._switch.fired
        if fired is None:
            self._hear_desk()
            return
        self._tell(fired)
        restored = self.desk.find_restored(fired)
        if restored is not None:
            at = self.clock.now()
            self.memory.write(lambda store: add_fact(store, self.tenant_id, restored, at=at))

    def _hear_desk(self) -> None:
        """What fired elsewhere in this service's name holds here too, also where workers do not share one memory."""
        if len(self.desk.facts(self.manifest.service)) <= self._heard:
            return
        switch = self._remembered()
        with self._lock:
            self._follow(switch, self._others)

    def _tell(self, fired: Fired) -> None:
        """Once, and again only after a while where nobody could be told."""
        if self._told >= fired.episode or time.monotonic() < self._tell_after:
            return
        self._tell_after = time.monotonic() + _TELL_AGAIN_SECONDS
        try:
            self.desk.tell_fired(fired, at=self.clock.now())
        except Error as error:
            _log.warning("desk", service=self.manifest.service, code=error.code, message=str(error))
        else:
            self._told = fired.episode


def _try(step: Callable[[], None]) -> None:
    """A latch that cannot be written keeps no service from its work, nor a firing from being stored."""
    try:
        step()
    except StoreError as error:
        _log.warning("latch", code=error.code, message=str(error))


def _since(buckets: Iterable[Bucket], restored_at: Instant | None) -> list[Bucket]:
    first = 0 if restored_at is None else int(restored_at.timestamp())
    return [one for one in buckets if one.second >= first]


def _earlier(at: Instant) -> Instant:
    return Instant(at - timedelta(seconds=WINDOW_SECONDS + 1))
