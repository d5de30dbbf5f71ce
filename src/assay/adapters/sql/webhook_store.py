"""Webhooks in SQL."""

from assay.adapters.sql.row import sortable, verify_row
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.ports.webhook_store import EndedWebhook, Letter, LetterState, StoredWebhook


class SqlWebhookStore:
    """Implements `ports.webhook_store.WebhookStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def find_webhook(self, tenant_id: TenantId, webhook_id: str) -> StoredWebhook | None:
        return self._rows.one(StoredWebhook, "WHERE webhook_id = ? AND tenant_id = ?", (webhook_id, tenant_id))

    def is_ended(self, tenant_id: TenantId, webhook_id: str) -> bool:
        rest = "WHERE webhook_id = ? AND tenant_id = ?"
        return self._rows.one(EndedWebhook, rest, (webhook_id, tenant_id)) is not None

    def webhooks(self, tenant_id: TenantId) -> tuple[StoredWebhook, ...]:
        ended = {row.webhook_id for row in self._rows.all(EndedWebhook, "WHERE tenant_id = ?", (tenant_id,))}
        rows = self._rows.all(StoredWebhook, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))
        return tuple(row for row in rows if row.webhook_id not in ended)

    def put_letter(self, tenant_id: TenantId, letter: Letter) -> None:
        verify_row(letter, "webhook_id")
        self._session.run(
            "INSERT INTO webhook_letter (tenant_id, webhook_id, position, state, attempts, problem, changed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (webhook_id, position, tenant_id) DO UPDATE SET"
            " state = excluded.state, attempts = excluded.attempts, problem = excluded.problem,"
            " changed_at = excluded.changed_at",
            (
                tenant_id,
                letter.webhook_id,
                letter.position,
                letter.state.value,
                letter.attempts,
                letter.problem,
                sortable(letter.changed_at),
            ),
        )

    def find_letter(self, tenant_id: TenantId, webhook_id: str, position: int) -> Letter | None:
        rest = "WHERE webhook_id = ? AND position = ? AND tenant_id = ?"
        return self._rows.one(Letter, rest, (webhook_id, position, tenant_id))

    def drop_letter(self, tenant_id: TenantId, webhook_id: str, position: int) -> None:
        self._session.run(
            "DELETE FROM webhook_letter WHERE webhook_id = ? AND position = ? AND tenant_id = ?",
            (webhook_id, position, tenant_id),
        )

    def letters(
        self, tenant_id: TenantId, webhook_id: str, *, state: LetterState, limit: int = 1000
    ) -> tuple[Letter, ...]:
        rest = "WHERE webhook_id = ? AND tenant_id = ? AND state = ? ORDER BY position LIMIT ?"
        return self._rows.all(Letter, rest, (webhook_id, tenant_id, state.value, limit))
