"""What `/api/v1` sends and takes, as types; a client reads answers by the same. No web framework is needed for it."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from assay.delivery.annotate import Annotation, AnswerBody
from assay.flows.claims.claims_entry import AskedTicket
from assay.flows.delivery.inspect_delivery import RuleLine, ShownItem
from assay.flows.verdicts.page_verdicts import ListedVerdict
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.ports.graph_store import GraphHead
from assay.registry.discover import ServiceEntry
from assay.registry.lease import Lease, Presence
from assay.review.settle import Settlement
from assay.review.ticket import Ticket
from assay.surfaces.fields import Moment, PrincipalName
from assay.verdicts.cover import CoverageEntry

__all__ = [
    "AnswerDetail",
    "AnswerLine",
    "AnswerPage",
    "AnsweredQuestion",
    "BulkLine",
    "CheckpointItem",
    "CheckpointPage",
    "CompiledState",
    "CoveragePage",
    "EntryItem",
    "EntryPage",
    "EntryReceipt",
    "GraphPage",
    "IndexItem",
    "IndexPage",
    "NewEntry",
    "NewIndexes",
    "ObservationItem",
    "ObservationPage",
    "OutcomeLine",
    "OutcomePage",
    "PrincipalPage",
    "Question",
    "RootCausePage",
    "RulePage",
    "ServiceInstance",
    "ServicePage",
    "ServiceView",
    "StateItem",
    "StatePage",
    "TicketAnswer",
    "TicketItem",
    "TicketPage",
    "TicketRequest",
    "VerdictPage",
]


class EntryItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry; `text` is what is hashed and proven, `body` a part of it."""

    sequence_number: int
    entry_hash: Digest
    previous_hash: Digest
    timestamp: str
    kind: str
    body: dict[str, Any]
    text: str


class EntryPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[EntryItem, ...]
    next: str | None


class IndexItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An index of entries `first` to `last`, whose root is logged in entry `sequence_number`."""

    sequence_number: int
    first: int
    last: int
    leaves: int
    root: Digest


class IndexPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[IndexItem, ...]
    next: str | None


class NewIndexes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those that were logged just now; none where nothing was left to index."""

    indexes: tuple[IndexItem, ...]


class NewEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A note to record; `personal` lists JSON pointers into it whose values may be erased later."""

    note: dict[str, Any]
    personal: tuple[str, ...] = ()


class EntryReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The durable acknowledgement."""

    tenant_id: str
    sequence_number: int
    entry_hash: Digest
    timestamp: Instant


class CheckpointItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed tree; `note` is the C2SP signed note itself."""

    size: int
    root_hash: str
    signed_at: Instant
    note: str


class CheckpointPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[CheckpointItem, ...]
    next: str | None


class ObservationItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An observation as it is kept, with its place."""

    observation_id: str
    observation_hash: str
    truthkey: str
    reporter_id: str
    received_at: Instant
    sequence_number: int
    observation: dict[str, Any]


class ObservationPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[ObservationItem, ...]
    next: str | None


class StateItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed state, and what age has left of it; the state itself never changes."""

    truthkey: str
    version: int
    sequence_number: int
    compiled_at: Instant
    confidence_now: float
    is_expired: bool
    is_stale: bool
    state: dict[str, Any]


class StatePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[StateItem, ...]
    next: str | None


class CompiledState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state in force; `is_new` is false where nothing new was to be said."""

    version: int
    sequence_number: int
    is_new: bool
    state: dict[str, Any]


class VerdictPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item for each rule and record, the newest first; a held one has no verdict and no envelope."""

    items: tuple[ListedVerdict, ...]
    next: str | None


class GraphPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[GraphHead, ...]
    next: str | None


class CoveragePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[CoverageEntry, ...]
    next: str | None


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question of a registered type; `question` is any JSON.

    `nonce`, 16 to 128 visible characters that are new each time, comes back in the sealed annotation.
    """

    query_type: str
    question: Any = None
    session_id: str | None = None
    nonce: str | None = None


class AnsweredQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer as its asker gets it, the entry that proves it, and what people have to answer first."""

    answer_id: str
    body: AnswerBody
    sequence_number: int
    entry_hash: Digest
    tickets: tuple[AskedTicket, ...]


class AnswerLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    answer_id: str
    query_type: str
    asked_by: str
    level: str
    answered_at: Instant
    sequence_number: int


class AnswerPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[AnswerLine, ...]
    next: str | None


class AnswerDetail(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an answer was marked and on which rules; `output` only for its asker, who got it then."""

    answer_id: str
    query_type: str
    asked_by: str
    annotation: Annotation
    withheld: bool
    output: Any
    sequence_number: int


class OutcomeLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was reported, by whom, about which rules."""

    signal_id: str
    outcome: str
    rule_ids: tuple[str, ...]
    answer_id: str | None
    sender: str
    received_at: Instant
    sequence_number: int


class OutcomePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[OutcomeLine, ...]
    next: str | None


class RootCausePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[ShownItem, ...]
    next: str | None


class RulePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[RuleLine, ...]
    next: str | None


class TicketItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to people, and how it stands."""

    ticket: Ticket
    settlement: Settlement


class TicketPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[TicketItem, ...]
    next: str | None


class TicketRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An approval that an operator asks people for; `shown` is the text that they see, or a document shown canonically.

    Whoever is `requested_by` does not answer it, as little as whoever opens it.
    """

    title: str
    shown: Any
    eligible_roles: tuple[str, ...]
    requested_by: PrincipalName | None = None
    about: str | None = None
    quorum: int = 1
    due_at: Moment | None = None


class TicketAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's choice; `seen` is the hash of what the ticket showed them, `body` what its kind asks for besides.

    With a key of one's own: `signature` over the prepared message (`/answers/prepare`), and its `answered_at`.
    """

    choice: str
    seen: str
    reason: str = ""
    body: dict[str, Any] = {}
    signature: Annotated[str, Meta(pattern="^([0-9a-f]{2})+$", max_length=256)] | None = None
    answered_at: Moment | None = None


class ServicePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[ServiceEntry, ...]
    next: str | None


class ServiceInstance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    presence: Presence
    lease: Lease


class ServiceView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A service that was announced; `entry` while it is found by `who_can`."""

    service_id: str
    entry: ServiceEntry | None
    instances: tuple[ServiceInstance, ...]


class PrincipalPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[Principal, ...]
    next: str | None


class BulkLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of one line: its receipt, or the code and the words of its refusal.

    Without a number it is about all that was not answered yet, and the last line.
    """

    line: int | None
    status: Literal["recorded", "known", "refused"]
    receipt: dict[str, Any] | None = None
    code: str | None = None
    problem: str | None = None
