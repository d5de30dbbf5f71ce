"""What the desk's routes take and send, as types; no web framework is needed for it."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from assay.flows.review.answer_bulk import MOST_AT_ONCE
from assay.flows.review.keep_view import KeptView
from assay.flows.review.show_timeline import TimelineEntry
from assay.review.act import ActKind, Priority
from assay.review.progress import Progress
from assay.review.queue import QueuedTicket, QueueFilter
from assay.surfaces.fields import Moment

__all__ = [
    "ActRequest",
    "BulkPick",
    "BulkPlan",
    "BulkRequest",
    "DraftRequest",
    "PreparedAct",
    "PreparedAnswer",
    "ProgressPage",
    "QueuePageOut",
    "TimelinePage",
    "ViewPage",
    "ViewRequest",
]

Hex = Annotated[str, Meta(pattern="^([0-9a-f]{2})+$", max_length=256)]
Seconds = Annotated[int, Meta(ge=1, le=86_400)]


class QueuePageOut(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[QueuedTicket, ...]
    next: str | None


class TimelinePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole history of a ticket: it is never so long that it needs pages."""

    items: tuple[TimelineEntry, ...]
    next: str | None = None


class ProgressPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[Progress, ...]
    next: str | None = None


class ViewPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[KeptView, ...]
    next: str | None = None


class ViewRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    filter: QueueFilter
    shared: bool = False


class DraftRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As much of an answer as there is."""

    choice: str | None = None
    reason: str = ""
    body: str = ""


class ActRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person does besides answering.

    `claim` takes `seconds`; `release` a `holder`; `assign` a `person` or a `role`; `prioritise` a `priority`; `comment`
    its `text`; `undo` a `reason`. With a key of one's own: `signature` over the prepared message, its `acted_at`, and
    for a comment its `salt`.
    """

    act: ActKind
    seen: str | None = None
    seconds: Seconds | None = None
    holder: str | None = None
    person: str | None = None
    role: str | None = None
    priority: Priority | None = None
    text: str | None = None
    reason: str = ""
    signature: Hex | None = None
    acted_at: Moment | None = None
    salt: Hex | None = None


class PreparedAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sign the bytes of `message` (hex) with the registered key, and send the same request with the other fields."""

    message: str
    acted_at: str
    salt: str | None
    act: dict[str, Any]


class PreparedAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sign the bytes of `message` (hex) with the registered key."""

    message: str
    answered_at: str
    answer: dict[str, Any]


class BulkPick(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ticket, and the hash of what it showed."""

    ticket_id: str
    seen: str


class BulkPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dry run: what `choice` would do to every ticket of the filter."""

    choice: str
    filter: QueueFilter
    reason: str = ""


class BulkRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tickets and hashes of a dry run; each is answered by itself."""

    choice: str
    picks: Annotated[tuple[BulkPick, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)]
    reason: str = ""
