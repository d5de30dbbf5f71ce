"""The counters of one rule, exactly as PRAMANA 7.4.2 has them, and what is read from them.

outcomes, in the order they were recorded -> count, one by one -> Tally;   the whole history -> recount -> the same
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.rule import RuleId
from assay.kernel.instant import Instant

_EPOCH = Instant(datetime(1970, 1, 1, tzinfo=UTC))


class Tally(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Counters of one rule. `tainted_success` is ours: successes in which two wrong steps cancelled out."""

    total: int = 0
    success: int = 0
    failure: int = 0
    partial: int = 0
    indeterminate: int = 0
    consecutive_failures: int = 0
    tainted_success: int = 0

    @property
    def confidence(self) -> float | None:
        """`success / total`, as specified; of nothing there is none."""
        return self.success / self.total if self.total else None

    @property
    def decided_confidence(self) -> float | None:
        """Over those that were decided: `success / (success + failure)`."""
        decided = self.success + self.failure
        return self.success / decided if decided else None

    @property
    def adjusted_confidence(self) -> float | None:
        """The confidence without the successes that only luck made."""
        return (self.success - self.tainted_success) / self.total if self.total else None


class Point(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bucket of a time series; its counters are of that bucket alone."""

    starts_at: Instant
    tally: Tally


class AlertRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a rule is worth a look although no root cause is open."""

    min_total: int = 20
    min_confidence: float = 0.8


class Alert(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: RuleId
    confidence: float
    tally: Tally


def count(tally: Tally, outcome: Outcome) -> Tally:
    """One more outcome (PRAMANA 7.4.2): 1. the total, 2. its own counter, and 3. the run of failures, which any other
    outcome ends. The fourth step is `Tally.confidence`, the fifth `trigger.follow`.
    """
    failed = outcome is Outcome.FAILURE
    # Field by field: this is done for each signal, and copying with changes costs several times as much.
    return Tally(
        total=tally.total + 1,
        success=tally.success + (outcome is Outcome.SUCCESS),
        failure=tally.failure + failed,
        partial=tally.partial + (outcome is Outcome.PARTIAL),
        indeterminate=tally.indeterminate + (outcome is Outcome.INDETERMINATE),
        consecutive_failures=tally.consecutive_failures + 1 if failed else 0,
        tainted_success=tally.tainted_success,
    )


def taint(tally: Tally, successes: int = 1) -> Tally:
    """Add so many successes that turned out to be luck (negative: were cleared); the specified counters stay."""
    tainted = tally.tainted_success + successes
    if not 0 <= tainted <= tally.success:
        raise DeliveryError.trigger(f"expected 0 to {tally.success} tainted successes, got {tainted}")
    return replace(tally, tainted_success=tainted)


def recount(history: Sequence[Outcome]) -> Tally:
    """The counters, computed from the whole history at once and not one by one, so that it is a check on `count`."""
    found = Counter(history)
    run = next((back for back, one in enumerate(reversed(history)) if one is not Outcome.FAILURE), len(history))
    return Tally(total=len(history), consecutive_failures=run, **{one.value: found[one] for one in Outcome})


def recount_rules(history: Iterable[tuple[RuleId, Outcome]]) -> dict[RuleId, Tally]:
    """Every rule's counters from one history of all rules, in its order."""
    by_rule: defaultdict[RuleId, list[Outcome]] = defaultdict(list)
    for rule_id, outcome in history:
        by_rule[rule_id].append(outcome)
    return {rule_id: recount(outcomes) for rule_id, outcomes in by_rule.items()}


def check_tally(stored: Tally, history: Sequence[Outcome], *, tainted: int = 0) -> tuple[str, ...]:
    """Each stored counter that differs from the history, or from the findings about it; empty if all agree."""
    told, found = asdict(stored), asdict(recount(history)) | {"tainted_success": tainted}
    return tuple(f"{name}: expected {found[name]}, got {told[name]}" for name in found if told[name] != found[name])


def series(history: Iterable[tuple[Instant, Outcome]], *, bucket: timedelta) -> tuple[Point, ...]:
    """Counters by time, oldest first; buckets align to the epoch, and empty ones are left out."""
    if bucket <= timedelta():
        raise DeliveryError.trigger(f"expected a bucket longer than nothing, got {bucket}")
    buckets: defaultdict[int, list[Outcome]] = defaultdict(list)
    for at, outcome in history:
        buckets[(at - _EPOCH) // bucket].append(outcome)
    return tuple(
        Point(starts_at=Instant(_EPOCH + number * bucket), tally=recount(buckets[number])) for number in sorted(buckets)
    )


def check_alert(rule_id: RuleId, tally: Tally, rule: AlertRule) -> Alert | None:
    """The alert that a rule deserves, by its adjusted confidence: luck does not keep a rule quiet."""
    confidence = tally.adjusted_confidence
    if confidence is None or tally.total < rule.min_total or confidence >= rule.min_confidence:
        return None
    return Alert(rule_id=rule_id, confidence=confidence, tally=tally)
