"""Validation windows: opened, extended, closed and aborted by events; votes outside one do not count.

events, in any order -> by time -> Window
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.kernel.instant import Instant, render_instant
from assay.truth._read import Complaint, read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.errors import WindowError
from assay.truth.forms import AgentId, RecordId, TruthKeyText
from assay.truth.problem import ProblemCode

__all__ = [
    "Window",
    "WindowEvent",
    "WindowEventKind",
    "fold_window",
    "parse_window_event",
    "render_window_event",
    "window_event_hash",
]


class WindowEventKind(StrEnum):
    OPENED = "WINDOW_OPENED"
    EXTENDED = "WINDOW_EXTENDED"
    CLOSED = "WINDOW_CLOSED"
    ABORTED = "WINDOW_ABORTED"


_SETS_END = (WindowEventKind.OPENED, WindowEventKind.EXTENDED)


class WindowEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Opening and extending say until when, later than now; closing and aborting do not."""

    event_id: RecordId
    truthkey: TruthKeyText
    kind: WindowEventKind
    by: AgentId
    occurred_at: Instant
    closes_at: Instant | None = None
    reason: str = ""

    def complaints(self) -> Iterator[Complaint]:
        if (self.closes_at is not None) is not (self.kind in _SETS_END):
            message = "expected an end when a window is opened or extended, and at no other event"
            yield Complaint("closes_at", ProblemCode.AGREEMENT, message)
        if self.closes_at is not None and self.closes_at <= self.occurred_at:
            message = f"expected later than {render_instant(self.occurred_at)}, got {render_instant(self.closes_at)}"
            yield Complaint("closes_at", ProblemCode.ORDER, message)


class Window(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From `opened_at`, up to and not including `closes_at`, or `ended_at` where that came first."""

    truthkey: TruthKeyText
    opened_at: Instant
    closes_at: Instant
    extensions: int
    ended_at: Instant | None
    is_aborted: bool

    def admits(self, at: Instant) -> bool:
        """Whether a vote cast then counts; none counts in a window that was aborted."""
        return not self.is_aborted and self.opened_at <= at < self.end

    def is_open(self, at: Instant) -> bool:
        return self.opened_at <= at < self.end

    @property
    def end(self) -> Instant:
        return self.closes_at if self.ended_at is None else min(self.ended_at, self.closes_at)


def fold_window(events: Iterable[WindowEvent], *, max_extensions: int) -> Window | None:
    """The window these events of one key describe, or None; order and repetition of the events do not matter.

    The first opening opens it; an event after its end, or before any opening, changes nothing, and neither does an
    extension beyond what the contract allows.
    """
    ordered = sorted(set(events), key=lambda event: (event.occurred_at, window_event_hash(event)))
    if len({event.truthkey for event in ordered}) > 1:
        raise WindowError(f"expected events of one key, got {len({event.truthkey for event in ordered})} keys")
    window: Window | None = None
    for event in ordered:
        window = _opened(event) if window is None else _followed(window, event, max_extensions)
    return window


def _opened(event: WindowEvent) -> Window | None:
    if event.kind is not WindowEventKind.OPENED or event.closes_at is None:
        return None
    return Window(
        truthkey=event.truthkey,
        opened_at=event.occurred_at,
        closes_at=event.closes_at,
        extensions=0,
        ended_at=None,
        is_aborted=False,
    )


def _followed(window: Window, event: WindowEvent, max_extensions: int) -> Window:
    if not window.is_open(event.occurred_at):
        return window
    if event.closes_at is not None and event.kind is WindowEventKind.EXTENDED and window.extensions < max_extensions:
        later = max(window.closes_at, event.closes_at)
        return replace(window, closes_at=later, extensions=window.extensions + 1)
    if event.kind in (WindowEventKind.CLOSED, WindowEventKind.ABORTED):
        aborted = event.kind is WindowEventKind.ABORTED
        return replace(window, ended_at=event.occurred_at, is_aborted=aborted)
    return window


def window_event_hash(event: WindowEvent) -> str:
    return canonical_hash(plain_record(event), Profile.KAORI)


def parse_window_event(value: bytes | str | dict[str, object]) -> WindowEvent:
    """From JSON text or its value, in canonical form; refused with every problem."""
    return read_record(canonical_value(value), WindowEvent)


def render_window_event(event: WindowEvent) -> bytes:
    return canonicalize(plain_record(event), Profile.KAORI)
