"""The outcomes of one unit of work: each rule's counters are read once and written once, and rows go in together.

signal -> make_ready (before the writer's turn) -> look -> find, standing, in_force -> add -> store
INVARIANT: what `add` took is found by every later look in this unit, and is in the database after `store`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome, ReporterGrant, Signal, render_phala, verify_reporter
from assay.delivery.plain import plain_bytes
from assay.delivery.rule import RuleId
from assay.delivery.sense import SenseEvent, StandardEvent, render_event
from assay.delivery.tally import Tally, recount
from assay.delivery.trigger import Watch
from assay.delivery.twowrong import Success
from assay.facts.delivery import OutcomeReported, RulesCounted, counted
from assay.flows.delivery.delivery_entry import delivery_entry, read_text, text_of
from assay.flows.delivery.rule_rows import find_granted
from assay.flows.identity.authenticate import confirm
from assay.identity.caller import Caller, Via
from assay.identity.principal import Principal
from assay.kernel.entry import parse_entry
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Event
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters, RuleSignal, StoredSignal

_MOST_REPEATED = 16
_GENERATED = StandardEvent.PHALA_GENERATED.value


class ReadySignal(NamedTuple):
    """A signal, its text, and the `phala.generated` of its rule if nothing opens, is suspected or batched.

    `usual` is None for a signal of several rules: each would repeat the names of all.
    """

    signal: Signal
    text: str
    usual: Event | None


def make_ready(signal: Signal, *, service: str) -> ReadySignal:
    usual = generated_event(signal, signal.rule_ids[0], service=service) if len(signal.rule_ids) == 1 else None
    return ReadySignal(signal, text_of(signal), usual)


def generated_event(
    signal: Signal,
    rule_id: RuleId,
    *,
    service: str,
    rca_triggered: bool = False,
    two_wrong: bool = False,
    batch_id: str | None = None,
) -> Event:
    """`phala.generated` of one rule (PRAMANA 7.3)."""
    phala = render_phala(signal, rule_id, rca_triggered=rca_triggered, two_wrong=two_wrong, batch_id=batch_id)
    if len(signal.rule_ids) > _MOST_REPEATED:
        # Each rule has an event: what is not of that rule alone would be in the entry as often as there are rules.
        phala = {name: value for name, value in phala.items() if name not in ("rule_ids", "query_context")}
    told = render_event(SenseEvent(event_type=_GENERATED, service=service, at=signal.received_at, payload=phala))
    return Event(type=_GENERATED, subject=rule_id, body=Raw(plain_bytes(told)))


def load_counters(unit: Unit, tenant_id: TenantId, rule_id: RuleId) -> RuleCounters:
    """Where the rule stands; one of which nothing was reported stands at nothing."""
    found = unit.delivery.find_counters(tenant_id, [rule_id])
    return found[0] if found else recounted(unit, tenant_id, rule_id)


def load_all_counters(unit: Unit, tenant_id: TenantId, rule_ids: Sequence[str]) -> dict[str, RuleCounters]:
    """The same for many, by rule; those of which nothing was reported are not among them."""
    found = {row.rule_id: row for row in unit.delivery.find_counters(tenant_id, rule_ids)}
    missing = [rule_id for rule_id in rule_ids if rule_id not in found]
    for rule_id in unit.delivery.reported_among(tenant_id, missing):
        found[rule_id] = recounted(unit, tenant_id, RuleId(rule_id))
    return found


def record_counters(unit: Unit, tenant_id: TenantId, row: RuleCounters, reason: str, *, at: Instant) -> None:
    """Record where a rule stands after something else than one outcome."""
    body = RulesCounted(reason=reason, counters=(counted(row),))
    unit.record(delivery_entry(tenant_id, EntryKind.RULES_COUNTED, body, at=at))


def recounted(unit: Unit, tenant_id: TenantId, rule_id: RuleId) -> RuleCounters:
    """Where the rule stands by its outcomes, findings and root causes, which are compared with their entries.

    Whether signals are batched is not told by them: batching then begins anew with the next signal.
    """
    rows = list(unit.delivery.rule_signals(tenant_id, rule_id))
    if not rows:
        return counters_of(rule_id, Tally(), Watch(), item_id=None)
    items = [one for one in unit.delivery.items(tenant_id) if one.rule_id == rule_id]
    ends = {
        one.item_id: one.sequence_number
        for one in unit.delivery.conclusions_on(tenant_id, [one.item_id for one in items])
    }
    open_item = next((one for one in reversed(items) if one.item_id not in ends), None)
    episode = [row for row in rows if row.sequence_number > max(ends.values(), default=0)]
    tally = recount([Outcome(row.outcome) for row in rows])
    tainted = min(tally.success, tainted_successes(unit, tenant_id, rule_id) + _tainted_before(unit, tenant_id, rows))
    watch = Watch(
        streak=sum(1 for _ in takewhile(lambda row: row.outcome == Outcome.FAILURE, reversed(episode))),
        is_open=open_item is not None,
        absorbed=0 if open_item is None else sum(row.sequence_number > open_item.sequence_number for row in rows),
    )
    item_id = None if open_item is None else open_item.item_id
    return counters_of(rule_id, replace(tally, tainted_success=tainted), watch, item_id=item_id)


def tainted_successes(unit: Unit, tenant_id: TenantId, rule_id: str) -> int:
    """How many successes were reported of the rule of which the latest finding is that two steps were wrong."""
    latest = {row.answer_id: row for row in tuple(unit.delivery.every_finding(tenant_id))}
    lucky = [name for name, row in latest.items() if read_text(row.text, Success).finding.is_tainted]
    told = (read_text(row.text, Signal) for one in lucky for row in unit.delivery.answer_signals(tenant_id, one))
    return sum(one.outcome is Outcome.SUCCESS and rule_id in one.rule_ids for one in told)


def _tainted_before(unit: Unit, tenant_id: TenantId, rows: Iterable[RuleSignal]) -> int:
    """The successes by two wrong steps that 0.1.0 counted: its entries say it, and commit to no finding."""
    old = [row.sequence_number for row in rows if row.bound is None and row.outcome == Outcome.SUCCESS]
    entries = unit.ledger.find_entries(tenant_id, old) if old else {}
    bodies = (read_text(bytes(parse_entry(one.text).body).decode(), OutcomeReported) for one in entries.values())
    return sum(body.two_wrong for body in bodies)


def tally_of(row: RuleCounters) -> Tally:
    return Tally(
        total=row.total,
        success=row.success,
        failure=row.failure,
        partial=row.partial,
        indeterminate=row.indeterminate,
        consecutive_failures=row.consecutive_failures,
        tainted_success=row.tainted_success,
    )


def watch_of(row: RuleCounters) -> Watch:
    return Watch(
        streak=row.streak,
        is_open=row.item_id is not None,
        absorbed=row.absorbed,
        batched_until=row.batched_until,
    )


def counters_of(rule_id: RuleId, tally: Tally, watch: Watch, *, item_id: str | None, entry: int = 0) -> RuleCounters:
    return RuleCounters(
        rule_id=rule_id,
        total=tally.total,
        success=tally.success,
        failure=tally.failure,
        partial=tally.partial,
        indeterminate=tally.indeterminate,
        consecutive_failures=tally.consecutive_failures,
        tainted_success=tally.tainted_success,
        streak=watch.streak,
        item_id=item_id,
        absorbed=watch.absorbed,
        batched_until=watch.batched_until,
        sequence_number=entry,
    )


class Standing(NamedTuple):
    """Where a rule stands: its counters, its watch, and the item that is open about it."""

    tally: Tally
    watch: Watch
    item_id: str | None


class OutcomeBatch:
    """The memory of one unit of work, and of no other: nobody else writes while it runs."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._stored: dict[tuple[TenantId, str], StoredSignal] = {}
        self._added: dict[tuple[TenantId, str], tuple[Signal, int]] = {}
        self._senders: dict[tuple[Via, str], Principal] = {}
        self._grants: dict[tuple[TenantId, PrincipalId], tuple[ReporterGrant, ...]] = {}
        self._allowed: set[tuple[TenantId, PrincipalId, RuleId]] = set()
        self._versions: dict[tuple[TenantId, RuleId], int] = {}
        self._standings: dict[tuple[TenantId, RuleId], Standing] = {}
        self._changed: dict[tuple[TenantId, RuleId], int] = {}
        self._signals: defaultdict[TenantId, list[StoredSignal]] = defaultdict(list)
        self._outcomes: defaultdict[TenantId, list[RuleSignal]] = defaultdict(list)

    def look(self, tenant_id: TenantId, signal_ids: Iterable[str]) -> None:
        """Read those of these signals that are known; `find` then answers for them."""
        for row in self.unit.delivery.find_signals(tenant_id, signal_ids):
            self._stored[tenant_id, row.signal_id] = row

    def look_at_rules(self, tenant_id: TenantId, rule_ids: Iterable[RuleId]) -> None:
        """Read where these rules stand, and which versions are in force, all at once."""
        wanted = list(dict.fromkeys(rule_ids))
        for rule_id, version in self.unit.delivery.latest_versions(tenant_id, wanted).items():
            self._versions[tenant_id, RuleId(rule_id)] = version
        for row in self.unit.delivery.find_counters(tenant_id, wanted):
            self._standings[tenant_id, RuleId(row.rule_id)] = Standing(tally_of(row), watch_of(row), row.item_id)

    def find(self, tenant_id: TenantId, signal_id: str) -> tuple[Signal, int] | None:
        """A signal that was looked for, or added, with the number of its entry."""
        added = self._added.get((tenant_id, signal_id))
        if added is not None:
            return added
        row = self._stored.get((tenant_id, signal_id))
        return None if row is None else (read_text(row.text, Signal), row.sequence_number)

    def sender(self, caller: Caller, *, at: Instant) -> Principal:
        """The caller's principal as confirmed in this unit: a credential that ended meanwhile reports nothing."""
        proof = caller.via, caller.credential_id
        known = self._senders.get(proof)
        if known is None:
            known = self._senders[proof] = confirm(self.unit, caller.as_of(at)).principal
        return known

    def verify_reporter(self, sender: Principal, signal: Signal) -> None:
        """Raise unless the sender may report for every rule named; what a grant covers is found out once."""
        wanted = [(sender.tenant_id, sender.id, rule_id) for rule_id in signal.rule_ids]
        if not self._allowed.issuperset(wanted):
            verify_reporter(signal, self._grants_of(sender))
            self._allowed.update(wanted)

    def _grants_of(self, sender: Principal) -> tuple[ReporterGrant, ...]:
        place = sender.tenant_id, sender.id
        if place not in self._grants:
            grant = find_granted(self.unit, *place)
            self._grants[place] = () if grant is None else (grant,)
        return self._grants[place]

    def in_force(self, tenant_id: TenantId, rule_id: RuleId) -> int:
        place = tenant_id, rule_id
        if place not in self._versions:
            version = self.unit.delivery.latest_versions(tenant_id, [rule_id]).get(rule_id)
            if version is None:
                raise DeliveryError.unknown_rule(f"the registry knows no rule `{rule_id[:80]}`")
            self._versions[place] = version
        return self._versions[place]

    def standing(self, tenant_id: TenantId, rule_id: RuleId) -> Standing:
        place = tenant_id, rule_id
        found = self._standings.get(place)
        if found is None:
            row = load_counters(self.unit, tenant_id, rule_id)
            found = self._standings[place] = Standing(tally_of(row), watch_of(row), row.item_id)
        return found

    def add(
        self,
        tenant_id: TenantId,
        signal: Signal,
        row: StoredSignal,
        moved: Iterable[tuple[RuleSignal, Standing]],
        amended: Iterable[RuleId] = (),
    ) -> None:
        """A new signal with what it says of each of its rules, and where each stands after it; `amended` are others."""
        self._added[tenant_id, signal.signal_id] = signal, row.sequence_number
        self._signals[tenant_id].append(row)
        outcomes = self._outcomes[tenant_id]
        for outcome, standing in moved:
            outcomes.append(outcome)
            place = tenant_id, RuleId(outcome.rule_id)
            self._standings[place] = standing
            self._changed[place] = row.sequence_number
        for rule_id in amended:
            self._changed[tenant_id, rule_id] = row.sequence_number

    def amend(self, tenant_id: TenantId, rule_id: RuleId, tally: Tally) -> None:
        """What was counted about a rule before turns out to have been something else; its watch stays.

        The next `add` names the rule, since its entry records this.
        """
        self._standings[tenant_id, rule_id] = self.standing(tenant_id, rule_id)._replace(tally=tally)

    def store(self) -> None:
        """Write what was added since the last time; whoever reads these tables in this unit calls it before."""
        delivery = self.unit.delivery
        for tenant_id, signals in self._signals.items():
            delivery.add_signals(tenant_id, signals)
            delivery.add_rule_signals(tenant_id, self._outcomes[tenant_id])
        counters: defaultdict[TenantId, list[RuleCounters]] = defaultdict(list)
        for place, entry in sorted(self._changed.items()):
            (tenant_id, rule_id), (tally, watch, item_id) = place, self._standings[place]
            counters[tenant_id].append(counters_of(rule_id, tally, watch, item_id=item_id, entry=entry))
        for tenant_id, rows in counters.items():
            delivery.put_counters(tenant_id, rows)
        self._signals.clear()
        self._outcomes.clear()
        self._changed.clear()
