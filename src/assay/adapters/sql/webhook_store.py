"""Webhooks in SQL."""

from msgspec import Struct

from assay.adapters.sql.row import add_row, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.ports.webhook_store import EndedWebhook, Letter, LetterState, StoredWebhook


def _select(kind: type[Struct], table: str) -> str:
    return f"SELECT {', '.join(columns_of(kind))} FROM {table}"  # noqa: S608 - our constants


_WEBHOOK = _select(StoredWebhook, "webhook")
_LETTER = _select(Letter, "webhook_letter")


class SqlWebhookStore:
    """Implements `ports.webhook_store.WebhookStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_webhook(self, tenant_id: TenantId, webhook: StoredWebhook) -> None:
        verify_row(webhook, "webhook_id")
        add_row(self._session, "webhook", tenant_id, webhook, f"the webhook `{webhook.webhook_id}`")

    def end_webhook(self, tenant_id: TenantId, ended: EndedWebhook) -> None:
        verify_row(ended, "webhook_id")
        add_row(self._session, "webhook_end", tenant_id, ended, f"the end of the webhook `{ended.webhook_id}`")

    def find_webhook(self, tenant_id: TenantId, webhook_id: str) -> StoredWebhook | None:
        rows = self._session.query(f"{_WEBHOOK} WHERE webhook_id = ? AND tenant_id = ?", (webhook_id, tenant_id))
        return read_row(rows[0], StoredWebhook) if rows else None

    def is_ended(self, tenant_id: TenantId, webhook_id: str) -> bool:
        sql = "SELECT 1 FROM webhook_end WHERE webhook_id = ? AND tenant_id = ?"
        return bool(self._session.query(sql, (webhook_id, tenant_id)))

    def webhooks(self, tenant_id: TenantId) -> tuple[StoredWebhook, ...]:
        rows = self._session.query(
            f"{_WEBHOOK} WHERE tenant_id = ? AND NOT EXISTS (SELECT 1 FROM webhook_end"  # noqa: S608 - our constants
            " WHERE webhook_end.webhook_id = webhook.webhook_id AND webhook_end.tenant_id = webhook.tenant_id)"
            " ORDER BY sequence_number",
            (tenant_id,),
        )
        return tuple(read_row(row, StoredWebhook) for row in rows)

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
        rows = self._session.query(
            f"{_LETTER} WHERE webhook_id = ? AND position = ? AND tenant_id = ?", (webhook_id, position, tenant_id)
        )
        return read_row(rows[0], Letter) if rows else None

    def drop_letter(self, tenant_id: TenantId, webhook_id: str, position: int) -> None:
        self._session.run(
            "DELETE FROM webhook_letter WHERE webhook_id = ? AND position = ? AND tenant_id = ?",
            (webhook_id, position, tenant_id),
        )

    def letters(
        self, tenant_id: TenantId, webhook_id: str, *, state: LetterState, limit: int = 1000
    ) -> tuple[Letter, ...]:
        rows = self._session.query(
            f"{_LETTER} WHERE webhook_id = ? AND tenant_id = ? AND state = ? ORDER BY position LIMIT ?",
            (webhook_id, tenant_id, state.value, limit),
        )
        return tuple(read_row(row, Letter) for row in rows)
