"""Principals, credentials and revocations in SQL."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.record import ConflictError, read_record, require_free, write_record
from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.storable import verify_key
from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation, PasswordRecord
from assay.identity.errors import InvalidPrincipalError
from assay.identity.principal import Principal
from assay.identity.session import SessionId, SessionRecord, SessionRevocation
from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.credential_seal import CredentialSeal, StoredCredential
from assay.ports.damage import DamagedRecordError
from assay.ports.identity_store import Credential, RecordedPrincipal, Revocation

T = TypeVar("T", bound=msgspec.Struct)
_CREDENTIALS: dict[str, type[Credential]] = {
    "api_key": ApiKeyRecord,
    "password": PasswordRecord,
    "session": SessionRecord,
}
_REVOCATIONS: dict[str, type[Revocation]] = {"api_key": ApiKeyRevocation, "session": SessionRevocation}
_NAMED = (
    "SELECT p.record, n.name FROM principal AS p LEFT JOIN principal_name AS n USING (tenant_id, principal_id, version)"
)

_CREDENTIAL = "SELECT credential_id, kind, tenant_id, principal_id, record FROM credential"
_MAC = re.compile(r',"mac":"([0-9a-f]{64})"\}\Z', re.ASCII)

# More than any table holds.
_EVERY = 2**31
_LATEST = (
    "WHERE p.tenant_id = ? AND p.version ="
    " (SELECT max(version) FROM principal WHERE tenant_id = p.tenant_id AND principal_id = p.principal_id)"
)


class SqlIdentityStore:
    """Implements `ports.identity_store.IdentityStore`."""

    def __init__(self, session: SqlSession, seal: CredentialSeal | None = None) -> None:
        """With a `seal`, credentials are stored with a MAC, and one whose MAC does not hold is never returned."""
        self._session = session
        self._seal = seal

    def add_principal(self, principal: Principal, sequence_number: int) -> None:
        verify_key("principal id", principal.id)
        latest = self.find_principal(principal.tenant_id, principal.id)
        expected = latest.version + 1 if latest else 1
        if principal.version != expected:
            raise ConflictError(f"expected version {expected} of `{principal.id}`, got {principal.version}")
        record = write_record(replace(principal, name=None))
        self._session.run(
            "INSERT INTO principal (tenant_id, principal_id, version, sequence_number, record) VALUES (?, ?, ?, ?, ?)",
            (principal.tenant_id, principal.id, principal.version, sequence_number, record),
        )
        if principal.name is not None:
            self._session.run(
                "INSERT INTO principal_name (tenant_id, principal_id, version, sequence_number, name)"
                " VALUES (?, ?, ?, ?, ?)",
                (principal.tenant_id, principal.id, principal.version, sequence_number, principal.name),
            )

    def find_principal(self, tenant_id: TenantId, principal_id: PrincipalId) -> Principal | None:
        rows = self._session.query(
            f"{_NAMED} WHERE p.tenant_id = ? AND p.principal_id = ? ORDER BY p.version DESC LIMIT 1",
            (tenant_id, principal_id),
        )
        return next((_principal(record, name) for record, name in rows), None)

    def principal_history(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[Principal, ...]:
        rows = self._session.query(
            f"{_NAMED} WHERE p.tenant_id = ? AND p.principal_id = ? ORDER BY p.version", (tenant_id, principal_id)
        )
        return tuple(_principal(record, name) for record, name in rows)

    def principals(
        self, tenant_id: TenantId, *, after: str | None = None, limit: int | None = None
    ) -> tuple[Principal, ...]:
        most = _EVERY if limit is None else limit
        rows = self._session.query(
            f"{_NAMED} {_LATEST} AND p.principal_id > ? ORDER BY p.principal_id LIMIT ?",
            (tenant_id, after or "", most),
        )
        return tuple(_principal(record, name) for record, name in rows)

    def principals_with(self, tenant_id: TenantId, names: Iterable[str]) -> tuple[Principal, ...]:
        wanted = tuple(dict.fromkeys(names))
        if not wanted:
            return ()
        # A role stands in the record as a JSON string. What LIKE takes for a wildcard only lets more through.
        is_named = " OR ".join(["p.record LIKE ? ESCAPE '!'"] * len(wanted))
        quoted = (f"%{msgspec.json.encode(name).decode().replace('!', '!!')}%" for name in wanted)
        rows = self._session.query(
            f"{_NAMED} {_LATEST} AND ({is_named}) ORDER BY p.principal_id",
            (tenant_id, *quoted),
        )
        return tuple(_principal(record, name) for record, name in rows)

    def recorded_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        rows = self._session.query(
            "SELECT sequence_number FROM principal WHERE tenant_id = ? AND principal_id = ? ORDER BY version",
            (tenant_id, principal_id),
        )
        return tuple(number for (number,) in rows)

    def principal_log(self, tenant_id: TenantId) -> Iterator[RecordedPrincipal]:
        rows = self._session.stream(
            "SELECT p.principal_id, p.version, p.record, n.name, p.sequence_number FROM principal AS p"
            " LEFT JOIN principal_name AS n USING (tenant_id, principal_id, version)"
            " WHERE p.tenant_id = ? ORDER BY p.sequence_number",
            (tenant_id,),
        )
        for principal_id, version, record, name, number in rows:
            yield RecordedPrincipal(
                principal_id=principal_id,
                version=version,
                principal=_principal(record, name),
                sequence_number=number,
            )

    def named_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        rows = self._session.query(
            "SELECT sequence_number FROM principal_name WHERE tenant_id = ? AND principal_id = ? ORDER BY version",
            (tenant_id, principal_id),
        )
        return tuple(number for (number,) in rows)

    def erase_name(self, tenant_id: TenantId, sequence_number: int) -> None:
        self._session.run(
            "DELETE FROM principal_name WHERE tenant_id = ? AND sequence_number = ?", (tenant_id, sequence_number)
        )
        # What is erased is not kept here either.
        _judged.cache_clear()

    def credential_log(self, tenant_id: TenantId) -> Iterator[Credential]:
        rows = self._session.stream("SELECT kind, record FROM credential WHERE tenant_id = ?", (tenant_id,))
        return (read_record(_split(record)[0], _CREDENTIALS[kind]) for kind, record in rows)

    def stored_credentials(self) -> Iterator[StoredCredential]:
        return (stored for stored, _ in self._stored("", ()))

    def broken_credentials(self, tenant_id: TenantId) -> Iterator[str]:
        if self._seal is None:
            return
        for stored, mac in self._stored("WHERE tenant_id = ?", (tenant_id,)):
            if not self._seal.holds(stored, mac):
                yield stored.credential_id

    def _stored(self, where: str, parameters: tuple[str, ...]) -> Iterator[tuple[StoredCredential, str | None]]:
        rows = self._session.stream(f"{_CREDENTIAL} {where}", parameters)
        return (_stored_credential(row) for row in rows)

    def _opened(self, rows: Iterable[Sequence[object]], type_: type[T]) -> tuple[T, ...]:
        """The records of rows whose MAC holds; another one stops everything."""
        found: list[T] = []
        for stored, mac in map(_stored_credential, rows):
            if self._seal is not None and not self._seal.holds(stored, mac):
                raise DamagedRecordError(
                    f"expected the {stored.kind} `{stored.credential_id}` in table `credential` as it was issued,"
                    " got a row whose MAC does not hold: revoke it and issue another"
                )
            found.append(read_record(stored.record, type_))
        return tuple(found)

    def revocation_log(self, tenant_id: TenantId) -> Iterator[Revocation]:
        rows = self._session.stream(
            "SELECT c.kind, r.record FROM credential AS c JOIN revocation AS r USING (credential_id)"
            " WHERE c.tenant_id = ?",
            (tenant_id,),
        )
        return (read_record(record, _REVOCATIONS[kind]) for kind, record in rows)

    def add_api_key(self, record: ApiKeyRecord) -> None:
        self._add(record.prefix, "api_key", record.tenant_id, record.principal_id, record)

    def find_api_key(self, prefix: ApiKeyPrefix) -> ApiKeyRecord | None:
        return self._find(prefix, "api_key", ApiKeyRecord)

    def api_keys(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[ApiKeyRecord, ...]:
        return self._all(tenant_id, principal_id, "api_key", ApiKeyRecord)

    def api_keys_of(self, tenant_id: TenantId, principal_ids: Iterable[PrincipalId]) -> tuple[ApiKeyRecord, ...]:
        found: list[ApiKeyRecord] = []
        for part in in_parts(principal_ids):
            rows = self._session.query(
                f"{_CREDENTIAL} WHERE tenant_id = ? AND kind = 'api_key'"
                f" AND principal_id IN ({marks(part)}) ORDER BY principal_id, position",
                (tenant_id, *part),
            )
            found += self._opened(rows, ApiKeyRecord)
        return tuple(found)

    def api_key_revocations_of(self, prefixes: Iterable[ApiKeyPrefix]) -> tuple[ApiKeyRevocation, ...]:
        found: list[ApiKeyRevocation] = []
        for part in in_parts(prefixes):
            rows = self._session.query(
                "SELECT record FROM revocation"  # noqa: S608 - marks
                f" WHERE credential_id IN ({marks(part)}) ORDER BY credential_id, position",
                part,
            )
            found += [read_record(record, ApiKeyRevocation) for (record,) in rows]
        return tuple(found)

    def revoke_api_key(self, revocation: ApiKeyRevocation) -> None:
        self._revoke(revocation.prefix, revocation)

    def api_key_revocations(self, prefix: ApiKeyPrefix) -> tuple[ApiKeyRevocation, ...]:
        return self._revocations(prefix, ApiKeyRevocation)

    def add_password(self, record: PasswordRecord) -> None:
        number = len(self._all(record.tenant_id, record.principal_id, "password", PasswordRecord)) + 1
        credential_id = f"password/{record.tenant_id}/{record.principal_id}/{number}"
        self._add(credential_id, "password", record.tenant_id, record.principal_id, record)

    def find_password(self, tenant_id: TenantId, principal_id: PrincipalId) -> PasswordRecord | None:
        records = self._all(tenant_id, principal_id, "password", PasswordRecord)
        return records[-1] if records else None

    def add_session(self, record: SessionRecord) -> None:
        self._add(record.id, "session", record.tenant_id, record.principal_id, record)

    def find_session(self, session_id: SessionId) -> SessionRecord | None:
        return self._find(session_id, "session", SessionRecord)

    def revoke_session(self, revocation: SessionRevocation) -> None:
        self._revoke(revocation.session_id, revocation)

    def session_revocations(self, session_id: SessionId) -> tuple[SessionRevocation, ...]:
        return self._revocations(session_id, SessionRevocation)

    def _add(
        self, credential_id: str, kind: str, tenant_id: TenantId, principal_id: PrincipalId, record: msgspec.Struct
    ) -> None:
        verify_key("credential id", credential_id)
        verify_key("principal id", principal_id)
        require_free(
            self._session,
            "SELECT 1 FROM credential WHERE credential_id = ?",
            (credential_id,),
            f"the {kind} `{credential_id}`",
        )
        self._session.run(
            "INSERT INTO credential (credential_id, kind, tenant_id, principal_id, position, record)"
            " SELECT ?, ?, ?, ?, coalesce(max(position), 0) + 1, ? FROM credential"
            " WHERE tenant_id = ? AND principal_id = ? AND kind = ?",
            (
                credential_id,
                kind,
                tenant_id,
                principal_id,
                self._sealed(credential_id, kind, tenant_id, principal_id, write_record(record)),
                tenant_id,
                principal_id,
                kind,
            ),
        )

    def _sealed(self, credential_id: str, kind: str, tenant_id: str, principal_id: str, record: str) -> str:
        if self._seal is None:
            return record
        stored = StoredCredential(
            credential_id=credential_id, kind=kind, tenant_id=tenant_id, principal_id=principal_id, record=record
        )
        return f'{record[:-1]},"mac":"{self._seal.mac(stored)}"}}'

    def _find(self, credential_id: str, kind: str, type_: type[T]) -> T | None:
        rows = self._session.query(f"{_CREDENTIAL} WHERE credential_id = ? AND kind = ?", (credential_id, kind))
        return next(iter(self._opened(rows, type_)), None)

    def _all(self, tenant_id: TenantId, principal_id: PrincipalId, kind: str, type_: type[T]) -> tuple[T, ...]:
        where = "WHERE tenant_id = ? AND principal_id = ? AND kind = ? ORDER BY position"
        return self._opened(self._session.query(f"{_CREDENTIAL} {where}", (tenant_id, principal_id, kind)), type_)

    def _revoke(self, credential_id: str, record: msgspec.Struct) -> None:
        verify_key("credential id", credential_id)
        require_free(
            self._session,
            "SELECT 1 FROM revocation WHERE credential_id = ? AND record = ?",
            (credential_id, write_record(record)),
            f"that revocation of `{credential_id}`",
        )
        self._session.run(
            "INSERT INTO revocation (credential_id, position, record)"
            " SELECT ?, coalesce(max(position), 0) + 1, ? FROM revocation WHERE credential_id = ?",
            (credential_id, write_record(record), credential_id),
        )

    def _revocations(self, credential_id: str, type_: type[T]) -> tuple[T, ...]:
        rows = self._session.query(
            "SELECT record FROM revocation WHERE credential_id = ? ORDER BY position", (credential_id,)
        )
        return tuple(read_record(record, type_) for (record,) in rows)


def _stored_credential(row: Sequence[object]) -> tuple[StoredCredential, str | None]:
    credential_id, kind, tenant_id, principal_id, text = map(str, row)
    record, mac = _split(text)
    stored = StoredCredential(
        credential_id=credential_id, kind=kind, tenant_id=tenant_id, principal_id=principal_id, record=record
    )
    return stored, mac


def _split(text: str) -> tuple[str, str | None]:
    """The record and its MAC, which is the last member of the JSON; records of 0.1.0 have none."""
    found = _MAC.search(text)
    return (text, None) if found is None else (text[: found.start()] + "}", found[1])


def _principal(record: str, name: object) -> Principal:
    """The version with its name, or without one when that was erased."""
    if not isinstance(name, str | None):
        raise DamagedRecordError(f"expected a name as text, got `{name!r:.80}`")
    try:
        return _judged(record, name)
    except (InvalidPrincipalError, msgspec.MsgspecError, TypeError) as error:
        # TypeError: a damaged database can also hold a number, or a list, where a record was.
        raise DamagedRecordError(f"a principal cannot be read: {error}") from error


# Every request asks for a few, and gates for everybody's: judging one costs far more than reading it, and comes to the
# same for the same text.
@lru_cache(maxsize=1024)
def _judged(record: str, name: str | None) -> Principal:
    """Put together before it is judged, so that it is judged once."""
    return msgspec.convert({**msgspec.json.decode(record), "name": name}, Principal)
