"""Every store bound to one transaction: what a unit of work gets to see and change."""

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from assay.adapters.sql.access_store import SqlAccessStore
from assay.adapters.sql.chains import Chains
from assay.adapters.sql.claims_store import SqlClaimsStore
from assay.adapters.sql.delivery_store import SqlDeliveryStore
from assay.adapters.sql.desk_store import SqlDeskStore
from assay.adapters.sql.graph_store import SqlGraphStore
from assay.adapters.sql.identity_store import SqlIdentityStore
from assay.adapters.sql.index_store import SqlIndexStore
from assay.adapters.sql.key_store import SqlKeyStore
from assay.adapters.sql.ledger_store import SqlLedgerStore
from assay.adapters.sql.model_store import SqlModelStore
from assay.adapters.sql.outbox_store import SqlOutboxStore
from assay.adapters.sql.page_store import SqlPageStore
from assay.adapters.sql.peer_store import SqlPeerStore
from assay.adapters.sql.permit_store import SqlPermitStore
from assay.adapters.sql.registry_store import SqlRegistryStore
from assay.adapters.sql.request_store import SqlRequestStore
from assay.adapters.sql.review_store import SqlReviewStore
from assay.adapters.sql.rows import RowCache, Rows
from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.table_store import SqlTableStore
from assay.adapters.sql.telemetry_store import SqlTelemetryStore
from assay.adapters.sql.transcript_store import SqlTranscriptStore
from assay.adapters.sql.trust_store import SqlTrustStore
from assay.adapters.sql.truth_store import SqlTruthStore
from assay.adapters.sql.verdict_store import SqlVerdictStore
from assay.adapters.sql.webhook_store import SqlWebhookStore
from assay.kernel.ledger import Draft, Receipt
from assay.ports.credential_seal import CredentialSeal
from assay.ports.projection import Projector


class SqlUnit:
    """Implements `ports.database.Unit`; `chains` is None where only reading is allowed."""

    def __init__(
        self,
        session: SqlSession,
        chains: Chains | None,
        projector: Projector,
        cache: RowCache,
        seal: CredentialSeal | None = None,
    ) -> None:
        self._session = session
        self._chains = chains
        self._seal = seal
        self._rows = Rows(session, projector, cache, None if chains is None else chains.find_text)

    def record(self, draft: Draft, *rows: Struct) -> Receipt:
        receipt = self.ledger.append(draft)
        text = None if self._chains is None else self._chains.find_text(receipt.tenant_id, receipt.sequence_number)
        assert text is not None  # noqa: S101 - it was appended above
        self._rows.record(receipt.tenant_id, receipt.sequence_number, text, rows)
        return receipt

    def append(self, draft: Draft) -> Receipt:
        return self.ledger.append(draft)

    def record_rows(self, receipts: Sequence[Receipt]) -> None:
        find = None if self._chains is None else self._chains.find_text
        assert find is not None  # noqa: S101 - they were appended by this unit
        texts = [find(one.tenant_id, one.sequence_number) for one in receipts]
        if receipts:
            self._rows.record_many(receipts[0].tenant_id, [text for text in texts if text is not None])

    @cached_property
    def ledger(self) -> SqlLedgerStore:
        return SqlLedgerStore(self._session, self._chains)

    @cached_property
    def index(self) -> SqlIndexStore:
        return SqlIndexStore(self._rows)

    @cached_property
    def keys(self) -> SqlKeyStore:
        return SqlKeyStore(self._session)

    @cached_property
    def transcripts(self) -> SqlTranscriptStore:
        return SqlTranscriptStore(self._session)

    @cached_property
    def outbox(self) -> SqlOutboxStore:
        return SqlOutboxStore(self._rows, self._seal)

    @cached_property
    def identity(self) -> SqlIdentityStore:
        return SqlIdentityStore(self._rows, self._seal, None if self._chains is None else self._chains.pending)

    @cached_property
    def access(self) -> SqlAccessStore:
        return SqlAccessStore(self._rows)

    @cached_property
    def review(self) -> SqlReviewStore:
        return SqlReviewStore(self._session)

    @cached_property
    def desk(self) -> SqlDeskStore:
        return SqlDeskStore(self._rows)

    @cached_property
    def truth(self) -> SqlTruthStore:
        return SqlTruthStore(self._rows)

    @cached_property
    def trust(self) -> SqlTrustStore:
        return SqlTrustStore(self._rows)

    @cached_property
    def graphs(self) -> SqlGraphStore:
        return SqlGraphStore(self._rows, None if self._chains is None else self._chains.pending)

    @cached_property
    def telemetry(self) -> SqlTelemetryStore:
        return SqlTelemetryStore(self._rows)

    @cached_property
    def verdicts(self) -> SqlVerdictStore:
        return SqlVerdictStore(self._rows)

    @cached_property
    def claims(self) -> SqlClaimsStore:
        return SqlClaimsStore(self._rows)

    @cached_property
    def permits(self) -> SqlPermitStore:
        return SqlPermitStore(self._rows)

    @cached_property
    def registry(self) -> SqlRegistryStore:
        return SqlRegistryStore(self._rows, self._seal)

    @cached_property
    def delivery(self) -> SqlDeliveryStore:
        return SqlDeliveryStore(self._rows)

    @cached_property
    def peers(self) -> SqlPeerStore:
        return SqlPeerStore(self._rows)

    @cached_property
    def webhooks(self) -> SqlWebhookStore:
        return SqlWebhookStore(self._rows, self._seal)

    @cached_property
    def models(self) -> SqlModelStore:
        return SqlModelStore(self._rows)

    @cached_property
    def pages(self) -> SqlPageStore:
        return SqlPageStore(self._rows)

    @cached_property
    def requests(self) -> SqlRequestStore:
        return SqlRequestStore(self._session, self._seal)

    @cached_property
    def tables(self) -> SqlTableStore:
        return SqlTableStore(self._rows)
