"""When a root cause opens: once per episode of failures, for signals one by one or in batches.

outcome (or a batch's) -> follow -> Watch and Move;   a person's conclusion -> conclude_watch -> a new episode may begin
While an item is open it absorbs every further signal of its rule; its conclusion starts the count anew.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome, RuleOutcome
from assay.delivery.rule import RuleId
from assay.kernel.instant import Instant

_EPOCH = Instant(datetime(1970, 1, 1, tzinfo=UTC))
_ID_HEX = 32
_DAY = 24 * 60 * 60


class Comparison(StrEnum):
    """The text says "exceeds" and "3 consecutive failures": the third opens with REACH, the fourth with EXCEED."""

    REACH = "reach"
    EXCEED = "exceed"


class BatchRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A batch of failures counts as one failure only if so many sessions saw one (PRAMANA 7.4.3)."""

    window_seconds: int = _DAY
    min_sessions: int = 2

    def __post_init__(self) -> None:
        if self.window_seconds < 1 or self.min_sessions < 1:
            raise DeliveryError.trigger("expected a window of at least 1 second and at least 1 session")


class TriggerRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Batching is off unless a rule for it is given; it delays only this check, never a counter."""

    threshold: int = 3
    comparison: Comparison = Comparison.REACH
    batching: BatchRule | None = None

    def __post_init__(self) -> None:
        if self.threshold < 1:
            raise DeliveryError.trigger(f"expected a threshold from 1, got {self.threshold}")


class Watch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a rule stands: failures in a row in this episode, whether an item is open, and what it absorbed.

    `batched_until` is the end of the last batch that was looked at, where batching began, or when a person concluded,
    so that nothing counts twice; None while signals are looked at one by one.
    """

    streak: int = 0
    is_open: bool = False
    absorbed: int = 0
    batched_until: Instant | None = None


class Move(StrEnum):
    """What follows from one more outcome."""

    NONE = "none"
    OPEN = "open"
    ABSORB = "absorb"


class Followed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    watch: Watch
    move: Move


class Batch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All signals of one rule that arrived in one window, and what they amount to together."""

    batch_id: str
    rule_id: RuleId
    starts_at: Instant
    ends_at: Instant
    signals: int
    failing_sessions: int
    outcome: Outcome


def follow(watch: Watch, outcome: Outcome, rule: TriggerRule) -> Followed:
    """The watch after this outcome, and whether an item is to be opened or takes the signal in."""
    streak = watch.streak + 1 if outcome is Outcome.FAILURE else 0
    if watch.is_open:
        return Followed(watch=replace(watch, streak=streak, absorbed=watch.absorbed + 1), move=Move.ABSORB)
    needed = rule.threshold if rule.comparison is Comparison.REACH else rule.threshold + 1
    if streak < needed:
        return Followed(watch=watch if streak == watch.streak else replace(watch, streak=streak), move=Move.NONE)
    return Followed(watch=replace(watch, streak=streak, is_open=True, absorbed=0), move=Move.OPEN)


def follow_batch(watch: Watch, batch: Batch, rule: TriggerRule) -> Followed:
    """A batch is one outcome; batches come in order, and a second look at one is refused.

    One may begin before the last one ended, where the operator changed their length, or before a conclusion: it then
    holds what came after.
    """
    if watch.batched_until is not None and batch.ends_at <= watch.batched_until:
        raise DeliveryError.trigger(f"batch `{batch.batch_id}` was looked at before")
    found = follow(watch, batch.outcome, rule)
    return Followed(watch=replace(found.watch, batched_until=batch.ends_at), move=found.move)


def provoke(watch: Watch) -> Followed:
    """An item for another reason than failures in a row, as two wrong steps are; an open one takes it in."""
    if watch.is_open:
        return Followed(watch=replace(watch, absorbed=watch.absorbed + 1), move=Move.ABSORB)
    return Followed(watch=replace(watch, is_open=True, absorbed=0), move=Move.OPEN)


def begin_batching(watch: Watch, at: Instant, rule: BatchRule) -> Watch:
    """From the window of this signal on; what came before was looked at one by one, and is not looked at again."""
    return watch if watch.batched_until is not None else replace(watch, batched_until=_window_start(at, rule))


def end_batching(watch: Watch) -> Watch:
    """Signals are looked at one by one again, from this one on."""
    return watch if watch.batched_until is None else replace(watch, batched_until=None)


def conclude_watch(watch: Watch, *, at: Instant) -> Watch:
    """A person concluded: the episode is over, and what failed before it does not open the next, in no batch either."""
    if not watch.is_open:
        raise DeliveryError.trigger("expected an open item to conclude, got none")
    until = None if watch.batched_until is None else max(watch.batched_until, at)
    return replace(watch, streak=0, is_open=False, absorbed=0, batched_until=until)


def batch_id_at(rule_id: RuleId, at: Instant, rule: BatchRule) -> str:
    """Derived from rule and window alone, so that everyone who batches names the batch alike."""
    starts_at = _window_start(at, rule)
    named = f"{rule_id}\n{int((starts_at - _EPOCH).total_seconds())}\n{rule.window_seconds}"
    return f"batch_{sha256(named.encode()).hexdigest()[:_ID_HEX]}"


def closed_batches(history: Iterable[RuleOutcome], rule: BatchRule, *, now: Instant) -> tuple[Batch, ...]:
    """The batches of one rule whose window has ended by `now`, oldest first; windows count by arrival."""
    windows: dict[Instant, list[RuleOutcome]] = {}
    for one in history:
        windows.setdefault(_window_start(one.received_at, rule), []).append(one)
    length = timedelta(seconds=rule.window_seconds)
    return tuple(
        _batch(windows[start], start, Instant(start + length), rule)
        for start in sorted(windows)
        if start + length <= now
    )


def _batch(signals: Sequence[RuleOutcome], start: Instant, end: Instant, rule: BatchRule) -> Batch:
    if len({one.rule_id for one in signals}) > 1:
        raise DeliveryError.trigger("expected a history of one rule, got several")
    failures = [one for one in signals if one.outcome is Outcome.FAILURE]
    successes = sum(one.outcome is Outcome.SUCCESS for one in signals)
    sessions = len({one.session for one in failures})
    systematic = len(failures) > successes and sessions >= rule.min_sessions
    return Batch(
        batch_id=batch_id_at(signals[0].rule_id, start, rule),
        rule_id=signals[0].rule_id,
        starts_at=start,
        ends_at=end,
        signals=len(signals),
        failing_sessions=sessions,
        # An isolated incident is no failure of the rule, and no success either.
        outcome=Outcome.FAILURE if systematic else Outcome.INDETERMINATE,
    )


def _window_start(at: Instant, rule: BatchRule) -> Instant:
    length = timedelta(seconds=rule.window_seconds)
    return Instant(_EPOCH + (at - _EPOCH) // length * length)
