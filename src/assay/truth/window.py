"""Validation windows: opened, extended, closed and aborted by events; votes outside one do not count.

events, in any order -> by time -> rounds, each a Window -> the last that was not aborted
Once a window is over, another opening begins the next round: votes count in the round in which they were cast.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.kernel.instant import Instant, render_instant
from assay.truth._moment import later
from assay.truth._read import Complaint, read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.errors import TruthError
from assay.truth.forms import AgentId, HexHash, RecordId, TruthKeyText
from assay.truth.problem import ProblemCode


class WindowEventKind(StrEnum):
    OPENED = "WINDOW_OPENED"
    EXTENDED = "WINDOW_EXTENDED"
    CLOSED = "WINDOW_CLOSED"
    ABORTED = "WINDOW_ABORTED"


_SETS_END = (WindowEventKind.OPENED, WindowEventKind.EXTENDED)


class WindowEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Opening and extending say until when, later than now; closing and aborting do not.

    `dispute_hash` is the hash of the signal by which somebody disputed a final state, where that opened the window.
    """

    event_id: RecordId
    truthkey: TruthKeyText
    kind: WindowEventKind
    by: AgentId
    occurred_at: Instant
    closes_at: Instant | None = None
    reason: str = ""
    dispute_hash: HexHash | None = None

    def complaints(self) -> Iterator[Complaint]:
        if (self.closes_at is not None) is not (self.kind in _SETS_END):
            message = "expected an end when a window is opened or extended, and at no other event"
            yield Complaint("closes_at", ProblemCode.AGREEMENT, message)
        if self.closes_at is not None and self.closes_at <= self.occurred_at:
            message = f"expected later than {render_instant(self.occurred_at)}, got {render_instant(self.closes_at)}"
            yield Complaint("closes_at", ProblemCode.ORDER, message)
        if self.dispute_hash is not None and self.kind is not WindowEventKind.OPENED:
            yield Complaint("dispute_hash", ProblemCode.AGREEMENT, "expected a dispute to open a window, and no more")


class Window(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From `opened_at`, up to and not including `closes_at`, or `ended_at` where that came first.

    `round` counts the windows of a key from 1; `is_disputed` where a dispute of a final state opened it.
    """

    truthkey: TruthKeyText
    opened_at: Instant
    closes_at: Instant
    extensions: int
    ended_at: Instant | None
    is_aborted: bool
    round: int = 1
    is_disputed: bool = False

    def admits(self, at: Instant) -> bool:
        """Whether a vote cast then counts; none counts in a window that was aborted."""
        return not self.is_aborted and self.opened_at <= at < self.end

    def is_open(self, at: Instant) -> bool:
        return self.opened_at <= at < self.end

    @property
    def end(self) -> Instant:
        return self.closes_at if self.ended_at is None else min(self.ended_at, self.closes_at)


def fold_rounds(
    events: Iterable[WindowEvent],
    *,
    max_extensions: int,
    longest: timedelta = timedelta.max,
    longest_disputed: timedelta = timedelta.max,
) -> tuple[Window, ...]:
    """The windows these events of one key describe, one after the other; their order and repetition do not matter.

    An opening while a window is open changes nothing, and neither does any other event while none is open, nor an
    extension beyond what the contract allows. No window is longer than `longest`, or `longest_disputed` where a dispute
    opened it, and `longest` once more for each extension.
    """
    limits = (longest, longest_disputed)
    # What ends a window comes before what opens the next one at the same instant.
    ordered = sorted(
        set(events),
        key=lambda event: (event.occurred_at, event.kind is WindowEventKind.OPENED, window_event_hash(event)),
    )
    if len({event.truthkey for event in ordered}) > 1:
        raise TruthError.window(f"expected events of one key, got {len({event.truthkey for event in ordered})} keys")
    rounds: list[Window] = []
    for event in ordered:
        if rounds and rounds[-1].is_open(event.occurred_at):
            rounds[-1] = _limited(_followed(rounds[-1], event, max_extensions), *limits)
        elif event.kind is WindowEventKind.OPENED and event.closes_at is not None:
            rounds.append(_limited(_opened(event, event.closes_at, len(rounds) + 1), *limits))
    return tuple(rounds)


def last_round(rounds: Sequence[Window]) -> Window | None:
    """The last that was not aborted: a round that was never asked changes nothing about the one before it."""
    asked = [window for window in rounds if not window.is_aborted] or rounds
    return asked[-1] if asked else None


def find_seal(window: Window | None, seals: Iterable[Instant]) -> Instant | None:
    """When people first came to a final answer in this round, of all instants at which they did."""
    if window is None or window.is_aborted:
        return None
    return min((seal for seal in seals if seal >= window.opened_at), default=None)


def _opened(event: WindowEvent, closes_at: Instant, number: int) -> Window:
    return Window(
        truthkey=event.truthkey,
        opened_at=event.occurred_at,
        closes_at=closes_at,
        extensions=0,
        ended_at=None,
        is_aborted=False,
        round=number,
        is_disputed=event.dispute_hash is not None,
    )


def _limited(window: Window, longest: timedelta, longest_disputed: timedelta) -> Window:
    try:
        most = (longest_disputed if window.is_disputed else longest) + longest * window.extensions
    except OverflowError:
        return window
    return replace(window, closes_at=min(window.closes_at, later(window.opened_at, most)))


def _followed(window: Window, event: WindowEvent, max_extensions: int) -> Window:
    if event.closes_at is not None and event.kind is WindowEventKind.EXTENDED and window.extensions < max_extensions:
        until = max(window.closes_at, event.closes_at)
        return replace(window, closes_at=until, extensions=window.extensions + 1)
    if event.kind in (WindowEventKind.CLOSED, WindowEventKind.ABORTED):
        aborted = event.kind is WindowEventKind.ABORTED
        return replace(window, ended_at=event.occurred_at, is_aborted=aborted)
    return window


def window_event_hash(event: WindowEvent) -> str:
    return canonical_hash(_plain(event), Profile.KAORI)


def parse_window_event(value: bytes | str | dict[str, object]) -> WindowEvent:
    """From JSON text or its value, in canonical form; refused with every problem."""
    return read_record(canonical_value(value), WindowEvent)


def render_window_event(event: WindowEvent) -> bytes:
    return canonicalize(_plain(event), Profile.KAORI)


def _plain(event: WindowEvent) -> dict[str, object]:
    """With `dispute_hash` only where there is one: an event without it keeps the bytes that it always had."""
    names = event.__struct_fields__
    left_out = "dispute_hash" if event.dispute_hash is None else None
    return {name: plain_record(getattr(event, name)) for name in names if name != left_out}
