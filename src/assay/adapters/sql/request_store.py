"""Requests with a key in SQL."""

from msgspec import json
from msgspec.structs import replace

from assay.adapters.sql.row import add_row, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.credential_seal import CredentialSeal, StoredCredential
from assay.ports.request_store import KeptRequest

_REQUEST = f"SELECT {', '.join(columns_of(KeptRequest))} FROM kept_request"  # noqa: S608 - our constants
_COLUMNS = ("tenant_id", *columns_of(KeptRequest))
_ANSWER = (
    f"INSERT INTO kept_request ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - ours
    " ON CONFLICT (tenant_id, principal_id, request_key)"
    " DO UPDATE SET status = excluded.status, headers = excluded.headers, body = excluded.body,"
    " mac = excluded.mac"
)


class SqlRequestStore:
    """Implements `ports.request_store.RequestStore`."""

    def __init__(self, session: SqlSession, seal: CredentialSeal | None = None) -> None:
        """With a `seal` rows are stored with a MAC, and no answer is returned whose MAC does not hold."""
        self._session = session
        self._seal = seal

    def begin(self, tenant_id: TenantId, request: KeptRequest) -> None:
        verify_row(request, "principal_id", "request_key")
        add_row(self._session, "kept_request", tenant_id, request, f"the key `{request.request_key[:80]}`")

    def find(self, tenant_id: TenantId, principal_id: PrincipalId, request_key: str) -> KeptRequest | None:
        rows = self._session.query(
            f"{_REQUEST} WHERE tenant_id = ? AND principal_id = ? AND request_key = ?",
            (tenant_id, principal_id, request_key),
        )
        if not rows:
            return None
        kept = read_row(rows[0], KeptRequest)
        if kept.status is not None and not self._holds(tenant_id, kept):
            kept = replace(kept, status=None, headers="{}", body="")
        return replace(kept, mac=None)

    def answer(self, tenant_id: TenantId, request: KeptRequest) -> None:
        verify_row(request, "principal_id", "request_key")
        self._session.run(
            _ANSWER,
            (
                tenant_id,
                request.principal_id,
                request.request_key,
                request.fingerprint,
                request.entry,
                sortable(request.begun_at),
                request.status,
                request.headers,
                request.body,
                None if self._seal is None else self._seal.mac(_signed(tenant_id, request)),
            ),
        )

    def drop(self, tenant_id: TenantId, principal_id: PrincipalId, request_key: str) -> None:
        self._session.run(
            "DELETE FROM kept_request WHERE tenant_id = ? AND principal_id = ? AND request_key = ? AND status IS NULL",
            (tenant_id, principal_id, request_key),
        )

    def clear_answers(self, tenant_id: TenantId) -> int:
        return self._session.run(
            "UPDATE kept_request SET status = NULL, headers = '{}', body = '', mac = NULL"
            " WHERE tenant_id = ? AND status IS NOT NULL",
            (tenant_id,),
        )

    def forget(self, *, before: Instant) -> int:
        return self._session.run("DELETE FROM kept_request WHERE begun_at < ?", (sortable(before),))

    def _holds(self, tenant_id: TenantId, kept: KeptRequest) -> bool:
        return self._seal is None or (kept.mac is not None and self._seal.holds(_signed(tenant_id, kept), kept.mac))


def _signed(tenant_id: TenantId, kept: KeptRequest) -> StoredCredential:
    """What the MAC of a row covers: all of it."""
    return StoredCredential(
        credential_id=kept.request_key,
        kind="kept_request",
        tenant_id=tenant_id,
        principal_id=kept.principal_id,
        record=json.encode(
            (kept.fingerprint, kept.entry, sortable(kept.begun_at), kept.status, kept.headers, kept.body)
        ).decode(),
    )
