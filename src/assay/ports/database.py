"""One database: reads that see one state, and writes that are durable when they return."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from assay.kernel.ids import TenantId
from assay.kernel.ledger import Draft, Receipt
from assay.ports.access_store import AccessStore
from assay.ports.archive import TableStore
from assay.ports.claims_store import ClaimsStore
from assay.ports.delivery_store import DeliveryStore
from assay.ports.desk_store import DeskStore
from assay.ports.events import OutboxStore
from assay.ports.graph_store import GraphStore
from assay.ports.identity_store import IdentityStore
from assay.ports.index_store import IndexStore
from assay.ports.key_store import KeyStore
from assay.ports.ledger_store import LedgerStore
from assay.ports.model_store import ModelStore
from assay.ports.page_store import PageStore
from assay.ports.peer_store import PeerStore
from assay.ports.permit_store import PermitStore
from assay.ports.registry_store import RegistryStore
from assay.ports.request_store import RequestStore
from assay.ports.review_store import ReviewStore
from assay.ports.telemetry_store import TelemetryStore
from assay.ports.transcript_store import TranscriptStore
from assay.ports.trust_store import TrustStore
from assay.ports.truth_store import TruthStore
from assay.ports.verdict_store import VerdictStore
from assay.ports.webhook_store import WebhookStore

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Unit(Protocol):
    """Every store, bound to one transaction."""

    def record(self, draft: Draft, *rows: Struct) -> Receipt:
        """Append an entry and insert the rows that its fact projects.

        `rows` are those with content that the entry only commits to, whole; their `sequence_number` is set here. A row
        whose place is taken is `store.conflict`.
        """
        ...

    def append(self, draft: Draft) -> Receipt:
        """Append an entry whose rows the caller adds with those of others, thousands at once; else `record` it."""
        ...

    def record_rows(self, receipts: Sequence[Receipt]) -> None:
        """Insert the rows of entries of one tenant that this unit appended, with one statement for each table.

        Where a place is taken, `store.conflict`, the unit of work is over.
        """
        ...

    @property
    def ledger(self) -> LedgerStore: ...

    @property
    def index(self) -> IndexStore: ...

    @property
    def keys(self) -> KeyStore: ...

    @property
    def transcripts(self) -> TranscriptStore: ...

    @property
    def outbox(self) -> OutboxStore: ...

    @property
    def identity(self) -> IdentityStore: ...

    @property
    def access(self) -> AccessStore: ...

    @property
    def review(self) -> ReviewStore: ...

    @property
    def desk(self) -> DeskStore: ...

    @property
    def truth(self) -> TruthStore: ...

    @property
    def trust(self) -> TrustStore: ...

    @property
    def graphs(self) -> GraphStore: ...

    @property
    def telemetry(self) -> TelemetryStore: ...

    @property
    def verdicts(self) -> VerdictStore: ...

    @property
    def claims(self) -> ClaimsStore: ...

    @property
    def permits(self) -> PermitStore: ...

    @property
    def registry(self) -> RegistryStore: ...

    @property
    def delivery(self) -> DeliveryStore: ...

    @property
    def peers(self) -> PeerStore: ...

    @property
    def webhooks(self) -> WebhookStore: ...

    @property
    def models(self) -> ModelStore: ...

    @property
    def pages(self) -> PageStore: ...

    @property
    def requests(self) -> RequestStore: ...

    @property
    def tables(self) -> TableStore: ...


class Pending(Protocol[T_co]):
    """A write on its way; `result` waits for the durable commit, and so does `await` on an event loop."""

    def result(self, timeout: float | None = None) -> T_co: ...

    def __await__(self) -> Generator[Any, None, T_co]: ...

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Call back once, from the writer's thread, when `result` no longer waits."""
        ...


class DatabaseFacts(Struct, frozen=True, kw_only=True):
    """What `doctor` and the metrics show of a database."""

    engine: str
    engine_version: str
    schema_version: int
    location: str
    writable: bool
    queue_length: int
    commits: int
    writes: int
    settings: dict[str, str]


class Database(Protocol):
    """The ledger and everything beside it. One process at a time may write; the others are told so."""

    def append(self, draft: Draft) -> Receipt:
        """Append one entry; when this returns it is on disk. Many callers at once share one commit."""
        ...

    def submit(self, draft: Draft) -> Pending[Receipt]:
        """Like `append`, without waiting; a full queue is refused with `store.busy` after the patience given."""
        ...

    def write(self, work: Callable[[Unit], T]) -> T:
        """Run `work` in the writer's transaction: all of it, or none when it raises. It must not wait for anything.

        It may be run twice, when somebody else's values made the shared commit fail: effects belong into the unit.
        """
        ...

    def read(self, work: Callable[[Unit], T]) -> T:
        """Run `work` on one consistent state of the database, which it cannot change."""
        ...

    def subscribe(self, notify: Callable[[TenantId, int], None]) -> Callable[[], None]:
        """Be told (tenant, newest outbox position) after each commit with events; the answer unsubscribes."""
        ...

    def scrub(self) -> bool:
        """Have deleted values leave the database's own files; whether they have left, or will only do so later."""
        ...

    def facts(self) -> DatabaseFacts: ...

    def close(self) -> None: ...
