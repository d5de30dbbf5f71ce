"""Principals and credentials in SQL: versions and ends from entries of the ledger, secrets from their table.

subject -> numbers of its entries (an index over the hashed text of the ledger) -> views of these entries
So a row that somebody deletes brings no earlier version and no revoked credential back.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import replace

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.record import read_record, write_record
from assay.adapters.sql.rows import Rows
from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord, CredentialKind, PasswordRecord, password_id
from assay.identity.principal import Principal
from assay.identity.session import SessionId, SessionRecord
from assay.kernel.commitment import commit
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.ledger import EntryKind, Link
from assay.ports.credential_seal import CredentialSeal, StoredCredential, add_mac, split_mac
from assay.ports.damage import DamagedRecordError
from assay.ports.identity_store import (
    Credential,
    CredentialEnd,
    CredentialRow,
    E,
    End,
    Holder,
    PasswordChange,
    PrincipalVersion,
)

C = TypeVar("C", ApiKeyRecord, PasswordRecord, SessionRecord)
View: TypeAlias = PrincipalVersion | PasswordChange | CredentialEnd
FindPending: TypeAlias = Callable[[TenantId, frozenset[EntryKind]], list[Link]]
_VERSIONS = frozenset({EntryKind.PRINCIPAL_ADDED, EntryKind.PRINCIPAL_CHANGED})
_KINDS = _VERSIONS | {EntryKind.CREDENTIAL_ISSUED, EntryKind.CREDENTIAL_REVOKED}
_NAME = "/name"
_LOGGED = (
    "SELECT l.subject, l.sequence_number, d.salt, d.value FROM identity_logged AS l LEFT JOIN disclosure AS d"  # noqa: S608 - our constants
    f" ON d.tenant_id = l.tenant_id AND d.sequence_number = l.sequence_number AND d.pointer = '{_NAME}'"
)
_OF_VERSIONS = f"kind IN ({', '.join(f'{kind.value!r}' for kind in sorted(_VERSIONS))})"
# More than any table holds.
_EVERY = 2**31


class _Named(NamedTuple):
    """A view with the disclosure of the name that its entry commits to; None where the entry has none, or no more."""

    view: View
    salt: str | None
    name: str | None

    @property
    def principal(self) -> Principal:
        version = cast("PrincipalVersion", self.view)
        return _named(version, self.salt, self.name)


class SqlIdentityStore:
    """Implements `ports.identity_store.IdentityStore`."""

    def __init__(self, rows: Rows, seal: CredentialSeal | None = None, find_pending: FindPending | None = None) -> None:
        """With a `seal`, credentials are stored with a MAC, and one whose MAC does not hold is never returned."""
        self._rows = rows
        self._session = rows.session
        self._seal = seal
        self._find_pending = find_pending

    def find_holder(self, tenant_id: TenantId, principal_id: PrincipalId, credential_id: str) -> Holder | None:
        newest: _Named | None = None
        set_at = None
        ends: list[End] = []
        for logged in self._logged(tenant_id, (principal_id, credential_id)):
            view = logged.view
            if type(view) is PrincipalVersion:
                newest = logged
            elif type(view) is PasswordChange:
                set_at = view.set_at
            elif type(view) is CredentialEnd:
                ends.append(view.end)
        if newest is None:
            return None
        return Holder(principal=newest.principal, ends=tuple(ends), password_set_at=set_at)

    def find_principal(self, tenant_id: TenantId, principal_id: PrincipalId) -> Principal | None:
        versions = self._versions(tenant_id, principal_id)
        return versions[-1].principal if versions else None

    def principal_history(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[Principal, ...]:
        return tuple(logged.principal for logged in self._versions(tenant_id, principal_id))

    def recorded_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        return tuple(logged.view.sequence_number for logged in self._versions(tenant_id, principal_id))

    def named_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        versions = self._versions(tenant_id, principal_id)
        return tuple(logged.view.sequence_number for logged in versions if logged.name is not None)

    def forget_names(self) -> None:
        _named.cache_clear()

    def principals(
        self, tenant_id: TenantId, *, after: str | None = None, limit: int | None = None
    ) -> tuple[Principal, ...]:
        numbers = self._newest(tenant_id, after or "", _EVERY if limit is None else limit)
        found = {logged.view.sequence_number: logged for logged in self._of_numbers(tenant_id, numbers)}
        return tuple(found[number].principal for number in numbers)

    def principals_with(self, tenant_id: TenantId, names: Iterable[str]) -> tuple[Principal, ...]:
        wanted = tuple(dict.fromkeys(names))
        if not wanted:
            return ()
        # A role is a JSON string in the entry. What LIKE takes for a wildcard only lets more through.
        is_named = " OR ".join(["l.said LIKE ? ESCAPE '!'"] * len(wanted))
        quoted = (f"%{msgspec.json.encode(name).decode().replace('!', '!!')}%" for name in wanted)
        rows = self._session.query(
            f"SELECT l.subject, l.sequence_number FROM identity_logged AS l WHERE l.tenant_id = ? AND l.{_OF_VERSIONS}"  # noqa: S608 - our constants and marks
            f" AND ({is_named}) AND NOT EXISTS (SELECT 1 FROM identity_logged AS n WHERE n.subject = l.subject"
            f" AND n.tenant_id = l.tenant_id AND n.sequence_number > l.sequence_number AND n.{_OF_VERSIONS})",
            (tenant_id, *quoted),
        )
        found = self._with_pending(tenant_id, rows)
        views = self._rows.views(tenant_id, [found[subject] for subject in sorted(found)])
        versions = (cast("PrincipalVersion", view).principal for view in views)
        return tuple(one for one in versions if one.id in wanted or not set(wanted).isdisjoint(one.roles))

    def histories(self, tenant_id: TenantId) -> tuple[tuple[Principal, ...], ...]:
        sql = f"SELECT sequence_number FROM identity_logged WHERE tenant_id = ? AND {_OF_VERSIONS}"  # noqa: S608 - ours
        numbers = [number for (number,) in self._session.query(sql, (tenant_id,))]
        numbers += [link.sequence_number for link in self._pending(tenant_id, _VERSIONS)]
        found: dict[str, list[Principal]] = {}
        for view in self._rows.views(tenant_id, sorted(numbers)):
            found.setdefault(cast("PrincipalVersion", view).subject, []).append(
                cast("PrincipalVersion", view).principal
            )
        return tuple(tuple(found[subject]) for subject in sorted(found))

    def ends(self, tenant_id: TenantId, credential_ids: Iterable[str], kind: type[E]) -> tuple[E, ...]:
        found: list[E] = []
        for part in in_parts(credential_ids):
            views = [logged.view for logged in self._logged(tenant_id, tuple(part))]
            ends = [view.end for view in views if isinstance(view, CredentialEnd)]
            found += [end for end in ends if isinstance(end, kind)]
        return tuple(found)

    def sealed(self, record: Credential) -> CredentialRow:
        kind, name = _kind_of(record)
        text = write_record(record)
        if self._seal is not None:
            text = add_mac(text, self._seal.mac(_stored(name, kind, record, text)))
        return CredentialRow(credential_id=name, kind=kind, principal_id=record.principal_id, record=text)

    def stored_credentials(self) -> Iterator[StoredCredential]:
        return (stored for stored, _ in self._all_stored("", ()))

    def broken_credentials(self, tenant_id: TenantId) -> Iterator[str]:
        if self._seal is None:
            return
        for stored, mac in self._all_stored("WHERE tenant_id = ?", (tenant_id,)):
            if not self._seal.holds(stored, mac):
                yield stored.credential_id

    def find_api_key(self, prefix: ApiKeyPrefix) -> ApiKeyRecord | None:
        row = self._rows.one(CredentialRow, "WHERE credential_id = ? AND kind = 'api_key'", (prefix,))
        return None if row is None else self._open(row, ApiKeyRecord)

    def api_keys_of(self, tenant_id: TenantId, principal_ids: Iterable[PrincipalId]) -> tuple[ApiKeyRecord, ...]:
        rest = "AND kind = 'api_key' ORDER BY principal_id, sequence_number"
        rows = self._rows.among(CredentialRow, "principal_id", principal_ids, tenant_id, rest)
        return tuple(self._open(row, ApiKeyRecord) for row in rows)

    def find_password(self, tenant_id: TenantId, principal_id: PrincipalId) -> PasswordRecord | None:
        views = [logged.view for logged in self._logged(tenant_id, (principal_id,))]
        numbers = [view.sequence_number for view in views if isinstance(view, PasswordChange)]
        if not numbers:
            return None
        rest = "WHERE tenant_id = ? AND sequence_number = ?"
        row = self._rows.one(CredentialRow, rest, (tenant_id, numbers[-1]))
        if row is None:
            raise DamagedRecordError(
                f"expected the password of `{principal_id}` that entry {numbers[-1]} set, got none"
            )
        return self._open(row, PasswordRecord)

    def find_session(self, session_id: SessionId) -> SessionRecord | None:
        row = self._rows.one(CredentialRow, "WHERE credential_id = ? AND kind = 'session'", (session_id,))
        return None if row is None else self._open(row, SessionRecord)

    def _open(self, row: CredentialRow, kind: type[C]) -> C:
        return cast("C", _opened(cast("Hashable", self._seal), row, kind))

    def _versions(self, tenant_id: TenantId, principal_id: PrincipalId) -> list[_Named]:
        found = self._logged(tenant_id, (principal_id,))
        return [logged for logged in found if type(logged.view) is PrincipalVersion]

    def _logged(self, tenant_id: TenantId, subjects: tuple[str, ...]) -> list[_Named]:
        """What the ledger says about these subjects, in order, by one query."""
        rest = f"WHERE l.subject IN ({marks(subjects)}) AND l.tenant_id = ? ORDER BY l.sequence_number"
        rows = self._session.query(f"{_LOGGED} {rest}", (*subjects, tenant_id))
        found = self._with_names(tenant_id, [(number, salt, name) for _, number, salt, name in rows])
        if self._find_pending is not None:
            pending = self._with_names(tenant_id, map(_disclosed, self._pending(tenant_id, _KINDS)))
            found += [logged for logged in pending if logged.view.subject in subjects]
        return found

    def _of_numbers(self, tenant_id: TenantId, numbers: Sequence[int]) -> list[_Named]:
        pending = {link.sequence_number: link for link in self._pending(tenant_id, _VERSIONS)}
        found: list[tuple[int, str | None, str | None]] = [
            _disclosed(pending[one]) for one in numbers if one in pending
        ]
        for part in in_parts(one for one in numbers if one not in pending):
            rest = f"WHERE sequence_number IN ({marks(part)}) AND tenant_id = ? AND pointer = '{_NAME}'"
            sql = f"SELECT sequence_number, salt, value FROM disclosure {rest}"  # noqa: S608 - marks
            names = {number: (salt, value) for number, salt, value in self._session.query(sql, (*part, tenant_id))}
            found += [(number, *names.get(number, (None, None))) for number in part]
        return self._with_names(tenant_id, found)

    def _with_names(self, tenant_id: TenantId, found: Iterable[tuple[int, str | None, str | None]]) -> list[_Named]:
        named = {number: (salt, name) for number, salt, name in found}
        views = cast("list[View]", self._rows.views(tenant_id, tuple(named)))
        return [_Named(view, *named[view.sequence_number]) for view in views]

    def _newest(self, tenant_id: TenantId, after: str, limit: int) -> list[int]:
        """The entries of the newest versions of principals, by id."""
        rows = self._session.query(
            "SELECT subject, max(sequence_number) FROM identity_logged"  # noqa: S608 - our constants
            f" WHERE tenant_id = ? AND subject > ? AND {_OF_VERSIONS} GROUP BY subject ORDER BY subject LIMIT ?",
            (tenant_id, after, limit),
        )
        found = self._with_pending(tenant_id, rows)
        return [found[subject] for subject in sorted(found) if subject > after][:limit]

    def _with_pending(self, tenant_id: TenantId, rows: Iterable[Sequence[Any]]) -> dict[str, int]:
        """The newest version of each subject; those that the open transaction has appended replace stored ones."""
        found: dict[str, int] = {str(subject): int(number) for subject, number in rows}
        pending = [link.sequence_number for link in self._pending(tenant_id, _VERSIONS)]
        if pending:
            views = self._rows.views(tenant_id, pending)
            found.update({cast("View", view).subject: cast("View", view).sequence_number for view in views})
        return found

    def _pending(self, tenant_id: TenantId, kinds: frozenset[EntryKind]) -> list[Link]:
        return [] if self._find_pending is None else self._find_pending(tenant_id, kinds)

    def _all_stored(self, where: str, parameters: tuple[str, ...]) -> Iterator[tuple[StoredCredential, str | None]]:
        """As they are in the table: an audit compares them with their entries."""
        sql = f"SELECT credential_id, kind, tenant_id, principal_id, record FROM credential {where}"  # noqa: S608 - ours
        for row in self._session.stream(sql, parameters):
            name, kind, tenant_id, principal_id, text = map(str, row)
            record, mac = split_mac(text)
            stored = StoredCredential(
                credential_id=name, kind=kind, tenant_id=tenant_id, principal_id=principal_id, record=record
            )
            yield stored, mac


def _kind_of(record: Credential) -> tuple[CredentialKind, str]:
    match record:
        case ApiKeyRecord():
            return CredentialKind.API_KEY, record.prefix
        case SessionRecord():
            return CredentialKind.SESSION, record.id
        case PasswordRecord():
            return CredentialKind.PASSWORD, password_id(record.principal_id)


def _stored(credential_id: str, kind: str, record: Credential, text: str) -> StoredCredential:
    return StoredCredential(
        credential_id=credential_id,
        kind=kind,
        tenant_id=record.tenant_id,
        principal_id=record.principal_id,
        record=text,
    )


# The same row under the same key always gives the same answer, and every request reads one.
@lru_cache(maxsize=4096)
def _opened(seal: Hashable, row: CredentialRow, kind: type[Credential]) -> Credential:
    """Return the record of a row whose MAC holds; `seal` is a `CredentialSeal` or None."""
    text, mac = split_mac(row.record)
    record = read_record(text, kind)
    if seal is not None and not cast("CredentialSeal", seal).holds(
        _stored(row.credential_id, row.kind, record, text), mac
    ):
        raise DamagedRecordError(
            f"expected the {row.kind} `{row.credential_id}` in table `credential` as it was issued,"
            " got a row whose MAC does not hold: revoke it and issue another"
        )
    return record


@lru_cache(maxsize=1024)
def _named(version: PrincipalVersion, salt: str | None, value: str | None) -> Principal:
    """Return the version with its name, which the entry commits to; without one where that was erased."""
    if salt is None or value is None:
        return version.principal
    try:
        name = msgspec.json.decode(value, type=str)
        if commit(name, bytes.fromhex(salt)) == version.name_hash:
            return replace(version.principal, name=name)
    except (Error, msgspec.MsgspecError, ValueError, TypeError) as error:
        # TypeError: a damaged database can also hold a number where a text was.
        raise DamagedRecordError(f"the name of `{version.subject}` cannot be read: {error}") from error
    raise DamagedRecordError(f"`disclosure`: the name of `{version.subject}` is not what its entry commits to")


def _disclosed(link: Link) -> tuple[int, str | None, str | None]:
    """The name in an entry that is not stored yet."""
    for one in link.draft.disclosures:
        if one.pointer == _NAME:
            return link.sequence_number, one.salt, bytes(one.value).decode()
    return link.sequence_number, None, None
