"""Signing keys, used nonces and failed logins in SQL."""

from assay.adapters.sql.record import ConflictError, read_record
from assay.adapters.sql.row import read_row, sortable
from assay.adapters.sql.rows import Rows
from assay.adapters.sql.storable import verify_key
from assay.identity.signing_key import SigningKeyRecord
from assay.identity.throttle import Failures
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.access_store import SigningKeyRow, UsedNonce


class SqlAccessStore:
    """Implements `ports.access_store.AccessStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def find_signing_key(self, key_id: KeyId) -> SigningKeyRecord | None:
        row = self._rows.one(SigningKeyRow, "WHERE key_id = ?", (key_id,))
        return None if row is None else read_record(row.record, SigningKeyRecord)

    def signing_keys(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[SigningKeyRecord, ...]:
        rest = "WHERE tenant_id = ? AND principal_id = ? ORDER BY key_id"
        rows = self._rows.all(SigningKeyRow, rest, (tenant_id, principal_id))
        return tuple(read_record(row.record, SigningKeyRecord) for row in rows)

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
