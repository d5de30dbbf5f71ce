"""Signing keys, used nonces and failed logins in SQL."""

from collections.abc import Iterator

from assay.adapters.sql.record import ConflictError, read_record, require_free, write_record
from assay.adapters.sql.row import read_row, sortable
from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.storable import verify_key
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.identity.throttle import Failures
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.access_store import UsedNonce


class SqlAccessStore:
    """Implements `ports.access_store.AccessStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_signing_key(self, record: SigningKeyRecord) -> None:
        self._require_free("signing_key", record.key_id)
        self._session.run(
            "INSERT INTO signing_key (key_id, tenant_id, principal_id, record) VALUES (?, ?, ?, ?)",
            (record.key_id, record.tenant_id, record.principal_id, write_record(record)),
        )

    def find_signing_key(self, key_id: KeyId) -> SigningKeyRecord | None:
        rows = self._session.query("SELECT record FROM signing_key WHERE key_id = ?", (key_id,))
        return read_record(rows[0][0], SigningKeyRecord) if rows else None

    def signing_keys(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[SigningKeyRecord, ...]:
        rows = self._session.query(
            "SELECT record FROM signing_key WHERE tenant_id = ? AND principal_id = ? ORDER BY key_id",
            (tenant_id, principal_id),
        )
        return tuple(read_record(record, SigningKeyRecord) for (record,) in rows)

    def signing_key_log(self, tenant_id: TenantId) -> Iterator[SigningKeyRecord]:
        rows = self._session.stream("SELECT record FROM signing_key WHERE tenant_id = ?", (tenant_id,))
        return (read_record(record, SigningKeyRecord) for (record,) in rows)

    def signing_key_end_log(self, tenant_id: TenantId) -> Iterator[SigningKeyEnd]:
        rows = self._session.stream("SELECT record FROM signing_key_end WHERE tenant_id = ?", (tenant_id,))
        return (read_record(record, SigningKeyEnd) for (record,) in rows)

    def end_signing_key(self, end: SigningKeyEnd) -> None:
        self._require_free("signing_key_end", end.key_id)
        self._session.run(
            "INSERT INTO signing_key_end (key_id, tenant_id, record) VALUES (?, ?, ?)",
            (end.key_id, end.tenant_id, write_record(end)),
        )

    def find_signing_key_end(self, key_id: KeyId) -> SigningKeyEnd | None:
        rows = self._session.query("SELECT record FROM signing_key_end WHERE key_id = ?", (key_id,))
        return read_record(rows[0][0], SigningKeyEnd) if rows else None

    def use_nonce(self, used: UsedNonce) -> None:
        verify_key("nonce", used.nonce)
        added = self._session.run(
            "INSERT INTO request_nonce (key_id, nonce, signed_hash, expires_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (used.key_id, used.nonce, used.signed_hash, sortable(used.expires_at)),
        )
        if not added:
            raise ConflictError(f"the nonce `{used.nonce[:80]}` is already there")

    def find_nonce(self, key_id: KeyId, nonce: str) -> UsedNonce | None:
        rows = self._session.query(
            "SELECT key_id, nonce, signed_hash, expires_at FROM request_nonce WHERE key_id = ? AND nonce = ?",
            (key_id, nonce),
        )
        return read_row(rows[0], UsedNonce) if rows else None

    def forget_nonces(self, *, before: Instant) -> int:
        return self._session.run("DELETE FROM request_nonce WHERE expires_at < ?", (sortable(before),))

    def find_failures(self, subject: Digest) -> Failures | None:
        rows = self._session.query("SELECT count, failed_at FROM login_failure WHERE subject = ?", (subject,))
        return read_row(rows[0], Failures) if rows else None

    def put_failures(self, subject: Digest, failures: Failures) -> None:
        self._session.run(
            "INSERT INTO login_failure (subject, count, failed_at) VALUES (?, ?, ?)"
            " ON CONFLICT (subject) DO UPDATE SET count = excluded.count, failed_at = excluded.failed_at",
            (subject, failures.count, sortable(failures.failed_at)),
        )

    def clear_failures(self, subject: Digest) -> None:
        self._session.run("DELETE FROM login_failure WHERE subject = ?", (subject,))

    def forget_failures(self, *, before: Instant) -> int:
        return self._session.run("DELETE FROM login_failure WHERE failed_at < ?", (sortable(before),))

    def _require_free(self, table: str, key_id: KeyId) -> None:
        sql = f"SELECT 1 FROM {table} WHERE key_id = ?"  # noqa: S608 - our constants
        require_free(self._session, sql, (key_id,), f"`{key_id}` in {table}")
