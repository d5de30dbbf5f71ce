"""Whether credentials and their ends are what the ledger holds: none that nobody issued, no end taken away.

entries -> what was issued, what was revoked | rows -> the same, each once
Of a secret the ledger has nothing, not even a hash: one that was exchanged in a row is not found here.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from assay.flows.identity.identity_entry import CredentialIssued, CredentialKind, CredentialRevoked
from assay.flows.ledger.compare_rows import RowProblem
from assay.identity.credential import ApiKeyRecord, ApiKeyRevocation, PasswordRecord
from assay.identity.session import SessionRecord
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.kernel.entry import parse_entry
from assay.kernel.errors import KeyUseError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.identity_store import Credential, Revocation

T = TypeVar("T", bound=Struct)


class _Issued(NamedTuple):
    """What entry and row both say of a credential; `name` is its public half, and a password has none."""

    kind: CredentialKind
    name: str | None
    of: str
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None


class _Ended(NamedTuple):
    """What entry and row both say of the end of a credential."""

    kind: CredentialKind
    name: str
    at: Instant
    by: str
    reason: str


_Fact = _Issued | _Ended


def check_credentials(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """A row that no entry tells of, then entries whose row is gone or says something else."""
    logged = _logged(unit, tenant_id)
    left = Counter({fact: len(numbers) for fact, numbers in logged.items()})
    for fact in _stored(unit, tenant_id):
        if not left[fact]:
            yield _problem("row_unrecorded", fact, None)
        left[fact] -= 1
    for fact in +left:
        yield _problem("row_missing", fact, logged[fact][-1])
    yield from check_seals(unit, tenant_id)


def check_seals(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """Credentials whose MAC does not hold: their hash was exchanged, or nobody issued them. None without the key."""
    try:
        for credential_id in unit.identity.broken_credentials(tenant_id):
            message = f"expected the MAC of the credential `{credential_id}` to hold, got a row that was changed"
            yield RowProblem(code="identity.row_differs", message=message, entry=None)
    except KeyUseError:
        # A folder without its keys; everything else is checked.
        return


def _logged(unit: Unit, tenant_id: TenantId) -> dict[_Fact, list[int]]:
    """Each fact with the entries that tell it."""
    found: dict[_Fact, list[int]] = {}
    kinds = (EntryKind.CREDENTIAL_ISSUED, EntryKind.CREDENTIAL_REVOKED)
    for stored in unit.ledger.entries(tenant_id, kinds=kinds):
        if stored.kind == EntryKind.CREDENTIAL_ISSUED:
            found.setdefault(_issued(_body(stored.text, CredentialIssued)), []).append(stored.sequence_number)
        elif stored.kind == EntryKind.CREDENTIAL_REVOKED:
            found.setdefault(_ended(_body(stored.text, CredentialRevoked)), []).append(stored.sequence_number)
    return found


def _body(text: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(parse_entry(text).body, type=kind)


def _issued(told: CredentialIssued) -> _Issued:
    return _Issued(told.credential, told.credential_id, told.principal_id, told.scopes, told.issued_at, told.expires_at)


def _ended(told: CredentialRevoked) -> _Ended:
    return _Ended(told.credential, told.credential_id, told.revoked_at, told.revoked_by, told.reason)


def _stored(unit: Unit, tenant_id: TenantId) -> Iterator[_Fact]:
    return chain(
        map(_of_credential, unit.identity.credential_log(tenant_id)),
        map(_of_signing_key, unit.access.signing_key_log(tenant_id)),
        map(_of_revocation, unit.identity.revocation_log(tenant_id)),
        map(_of_key_end, unit.access.signing_key_end_log(tenant_id)),
    )


def _of_credential(row: Credential) -> _Issued:
    match row:
        case ApiKeyRecord():
            kind = CredentialKind.API_KEY
            return _Issued(kind, row.prefix, row.principal_id, row.scopes, row.issued_at, row.expires_at)
        case SessionRecord():
            return _Issued(CredentialKind.SESSION, row.id, row.principal_id, (), row.issued_at, row.expires_at)
        case PasswordRecord():
            return _Issued(CredentialKind.PASSWORD, None, row.principal_id, (), row.set_at, None)


def _of_signing_key(row: SigningKeyRecord) -> _Issued:
    kind = CredentialKind.SIGNING_KEY
    return _Issued(kind, row.key_id, row.principal_id, row.scopes, row.added_at, row.expires_at)


def _of_revocation(row: Revocation) -> _Ended:
    if isinstance(row, ApiKeyRevocation):
        return _Ended(CredentialKind.API_KEY, row.prefix, row.revoked_at, row.revoked_by, row.reason)
    return _Ended(CredentialKind.SESSION, row.session_id, row.revoked_at, row.revoked_by, row.reason)


def _of_key_end(row: SigningKeyEnd) -> _Ended:
    return _Ended(CredentialKind.SIGNING_KEY, row.key_id, row.ended_at, row.ended_by, row.reason)


def _problem(wrong: str, fact: _Fact, number: int | None) -> RowProblem:
    what = "credential" if isinstance(fact, _Issued) else "end of a credential"
    named = f"{fact.kind} `{fact.name}`" if fact.name is not None else f"{fact.kind} of `{fact.of}`"
    message = f"expected the {what} ({named}) in its table as the ledger has it: {wrong.replace('_', ' ')}"
    return RowProblem(code=f"identity.{wrong}", message=message, entry=number)
