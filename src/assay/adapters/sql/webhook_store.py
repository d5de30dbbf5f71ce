"""Webhooks in SQL."""

from msgspec.structs import replace

from assay.adapters.sql.row import put_rows, sortable, verify_row
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.ports.credential_seal import CredentialSeal, StoredCredential
from assay.ports.webhook_store import EndedWebhook, StoredWebhook, WebhookAttempts


class SqlWebhookStore:
    """Implements `ports.webhook_store.WebhookStore`."""

    def __init__(self, rows: Rows, seal: CredentialSeal | None = None) -> None:
        self._rows = rows
        self._session = rows.session
        self._seal = seal

    def find_webhook(self, tenant_id: TenantId, webhook_id: str) -> StoredWebhook | None:
        return self._rows.one(StoredWebhook, "WHERE webhook_id = ? AND tenant_id = ?", (webhook_id, tenant_id))

    def is_ended(self, tenant_id: TenantId, webhook_id: str) -> bool:
        rest = "WHERE webhook_id = ? AND tenant_id = ?"
        return self._rows.one(EndedWebhook, rest, (webhook_id, tenant_id)) is not None

    def webhooks(self, tenant_id: TenantId) -> tuple[StoredWebhook, ...]:
        ended = {row.webhook_id for row in self._rows.all(EndedWebhook, "WHERE tenant_id = ?", (tenant_id,))}
        rows = self._rows.all(StoredWebhook, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))
        return tuple(row for row in rows if row.webhook_id not in ended)

    def put_attempts(self, tenant_id: TenantId, attempts: WebhookAttempts) -> None:
        mac = "" if self._seal is None else self._seal.mac(_stored(tenant_id, attempts))
        row = replace(attempts, mac=mac)
        verify_row(row, "webhook_id")
        put_rows(self._session, "webhook_attempt", tenant_id, (row,), ("webhook_id",))

    def find_attempts(self, tenant_id: TenantId, webhook_id: str, position: int) -> WebhookAttempts | None:
        rest = "WHERE webhook_id = ? AND position = ? AND tenant_id = ?"
        row = self._rows.one(WebhookAttempts, rest, (webhook_id, position, tenant_id))
        if row is None or (self._seal is not None and not self._seal.holds(_stored(tenant_id, row), row.mac)):
            return None
        return replace(row, mac="")

    def drop_attempts(self, tenant_id: TenantId, webhook_id: str) -> None:
        self._session.run("DELETE FROM webhook_attempt WHERE webhook_id = ? AND tenant_id = ?", (webhook_id, tenant_id))


def _stored(tenant_id: TenantId, row: WebhookAttempts) -> StoredCredential:
    """What the MAC of attempts covers: the whole row."""
    return StoredCredential(
        credential_id=f"{row.webhook_id}/{row.position}",
        kind="attempts",
        tenant_id=tenant_id,
        principal_id="",
        record=f"{row.attempts} {sortable(row.changed_at)}",
    )
