"""Principals, credentials and registered keys: no secret, no hash of one, no name in the clear is in an entry."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from assay.facts.kinds import Fact, Projected, Table, Transient
from assay.identity.credential import (
    ApiKeyPrefix,
    ApiKeyRecord,
    ApiKeyRevocation,
    CredentialKind,
    PasswordRecord,
    password_id,
)
from assay.identity.principal import Granted, Principal, principal_body
from assay.identity.session import SessionId, SessionRecord, SessionRevocation
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.kernel.commitment import COMMITMENT_KEY, seal_fields
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.access_store import SigningKeyRow
from assay.ports.credential_seal import commitment_of, split_mac
from assay.ports.identity_store import (
    Credential,
    CredentialEnd,
    CredentialRow,
    End,
    PasswordChange,
    PrincipalVersion,
)

# Where an entry about a principal holds the commitment of its name.
NAME_POINTER = "/name"


class CredentialIssued(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `credential.issued` entry; `credential_id` is the public half, and a password has none.

    `proved_by` is how the person of a session was authenticated: `password`, or `oidc` and the provider. `granted` says
    who gave the credential to another principal, and who approved it. `commitment` is the hash of the stored record
    with its MAC, which nobody can compute or test without the key of the MACs; entries of 0.1.0 have none.
    """

    credential: CredentialKind
    credential_id: str | None
    principal_id: PrincipalId
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None
    issued_by: PrincipalId
    proved_by: str | None = None
    granted: Granted | UnsetType = UNSET
    commitment: Digest | UnsetType = UNSET


class CredentialRevoked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `credential.revoked` entry; `revoked_at` may lie ahead of the entry's own time."""

    credential: CredentialKind
    credential_id: str
    principal_id: PrincipalId
    revoked_at: Instant
    revoked_by: PrincipalId
    reason: str


class _Facts(Struct, frozen=True, kw_only=True):
    """What an entry says of a credential, in place of the stored record."""

    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None
    issued_by: PrincipalId | None
    granted: Granted | UnsetType
    commitment: Digest | UnsetType


def principal_recorded(principal: Principal, salt: bytes | None) -> Draft:
    """One version as an entry. The name is personal, so only a salted commitment of it is logged for ever.

    The salt of the version before shows that the name is the same, and nothing else.
    """
    kind = EntryKind.PRINCIPAL_ADDED if principal.version == 1 else EntryKind.PRINCIPAL_CHANGED
    # A version recorded after an erasure has no name, and says so.
    personal = [] if salt is None else [NAME_POINTER]
    salts = [] if salt is None else [salt]
    body, disclosures = seal_fields(principal_body(principal), personal, salts)
    return draft_entry(principal.tenant_id, kind, body, at=principal.recorded_at, disclosures=disclosures)


def credential_issued(
    record: Credential, row: CredentialRow, *, by: PrincipalId, proved_by: str | None = None
) -> Draft:
    """The entry of a new credential, which commits to its row."""
    body = _issued(record, row, by=by, proved_by=proved_by)
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_ISSUED, body, at=body.issued_at)


def _issued(record: Credential, row: CredentialRow, *, by: PrincipalId, proved_by: str | None) -> CredentialIssued:
    facts = _FACTS_OF[CredentialKind(row.kind)](record, row)
    return CredentialIssued(
        credential=CredentialKind(row.kind),
        credential_id=None if isinstance(record, PasswordRecord) else row.credential_id,
        principal_id=record.principal_id,
        scopes=facts.scopes,
        issued_at=facts.issued_at,
        expires_at=facts.expires_at,
        issued_by=by,
        proved_by=proved_by,
        granted=facts.granted,
        commitment=facts.commitment,
    )


def signing_key_added(record: SigningKeyRecord) -> Draft:
    """The key's id is the SHA-256 of its public bytes, so the entry commits to the key."""
    body = CredentialIssued(
        credential=CredentialKind.SIGNING_KEY,
        credential_id=record.key_id,
        principal_id=record.principal_id,
        scopes=record.scopes,
        issued_at=record.added_at,
        expires_at=record.expires_at,
        issued_by=record.added_by,
        granted=record.granted,
    )
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_ISSUED, body, at=record.added_at)


def signing_key_row(record: SigningKeyRecord) -> SigningKeyRow:
    return SigningKeyRow(key_id=record.key_id, principal_id=record.principal_id, record=_json(record))


def credential_revoked(principal_id: PrincipalId, end: End, *, at: Instant) -> Draft:
    """The end of a credential; `at` is when it was decided."""
    kind, name, ended_at, by = _of_end(end)
    body = CredentialRevoked(
        credential=kind,
        credential_id=name,
        principal_id=principal_id,
        revoked_at=ended_at,
        revoked_by=by,
        reason=end.reason,
    )
    return draft_entry(end.tenant_id, EntryKind.CREDENTIAL_REVOKED, body, at=at)


def _of_end(end: End) -> tuple[CredentialKind, str, Instant, PrincipalId]:
    match end:
        case ApiKeyRevocation():
            return CredentialKind.API_KEY, end.prefix, end.revoked_at, end.revoked_by
        case SessionRevocation():
            return CredentialKind.SESSION, end.session_id, end.revoked_at, end.revoked_by
        case SigningKeyEnd():
            return CredentialKind.SIGNING_KEY, end.key_id, end.ended_at, end.ended_by


def _principal_rows(entry: Entry, body: dict[str, Any]) -> Iterator[PrincipalVersion]:
    name = body.get("name")
    principal = msgspec.convert({**body, "name": None}, Principal)
    yield PrincipalVersion(
        subject=principal.id,
        sequence_number=entry.sequence_number,
        principal=principal,
        name_hash=name.get(COMMITMENT_KEY) if isinstance(name, dict) else None,
    )


def _issued_rows(entry: Entry, body: CredentialIssued) -> Iterator[Struct]:
    number = entry.sequence_number
    by = body.issued_by if body.credential in _SAYS_BY else None
    facts = _Facts(
        scopes=body.scopes,
        issued_at=body.issued_at,
        expires_at=body.expires_at,
        issued_by=by,
        granted=body.granted,
        commitment=body.commitment,
    )
    name = password_id(body.principal_id) if body.credential_id is None else body.credential_id
    if body.credential is CredentialKind.SIGNING_KEY:
        yield SigningKeyRow(
            key_id=KeyId(name), principal_id=body.principal_id, record=_json(facts), sequence_number=number
        )
        return
    yield CredentialRow(
        credential_id=name,
        kind=body.credential,
        principal_id=body.principal_id,
        record=_json(facts),
        sequence_number=number,
    )
    if body.credential is CredentialKind.PASSWORD:
        yield PasswordChange(subject=body.principal_id, sequence_number=number, set_at=body.issued_at)


def _revoked_rows(entry: Entry, body: CredentialRevoked) -> Iterator[CredentialEnd]:
    end = _ENDS[body.credential](entry.tenant_id, body)
    yield CredentialEnd(subject=body.credential_id, sequence_number=entry.sequence_number, end=end)


def _sealed_credential(row: CredentialRow) -> CredentialRow:
    if row.kind not in _STORED:
        return row
    kind = CredentialKind(row.kind)
    record = msgspec.json.decode(split_mac(row.record)[0], type=_RECORDS[kind])
    if (record.principal_id, _id_of(record)) != (row.principal_id, row.credential_id):
        return row
    return replace(row, record=_json(_FACTS_OF[kind](record, row)))


def _sealed_signing_key(row: SigningKeyRow) -> SigningKeyRow:
    """That the public key is the one of `key_id` is checked when the record is decoded."""
    record = msgspec.json.decode(row.record, type=SigningKeyRecord)
    if (record.principal_id, record.key_id) != (row.principal_id, row.key_id):
        return row
    facts = _Facts(
        scopes=record.scopes,
        issued_at=record.added_at,
        expires_at=record.expires_at,
        issued_by=record.added_by,
        granted=record.granted,
        commitment=UNSET,
    )
    return replace(row, record=_json(facts))


def _id_of(record: Credential) -> str:
    match record:
        case ApiKeyRecord():
            return record.prefix
        case SessionRecord():
            return record.id
        case PasswordRecord():
            return password_id(record.principal_id)


def _api_key_facts(record: ApiKeyRecord, row: CredentialRow) -> _Facts:
    return _Facts(
        scopes=record.scopes,
        issued_at=record.issued_at,
        expires_at=record.expires_at,
        issued_by=None,
        granted=record.granted,
        commitment=commitment_of(row.record) or UNSET,
    )


def _password_facts(record: PasswordRecord, row: CredentialRow) -> _Facts:
    return _Facts(
        scopes=(),
        issued_at=record.set_at,
        expires_at=None,
        issued_by=record.set_by,
        granted=record.granted,
        commitment=commitment_of(row.record) or UNSET,
    )


def _session_facts(record: SessionRecord, row: CredentialRow) -> _Facts:
    return _Facts(
        scopes=(),
        issued_at=record.issued_at,
        expires_at=record.expires_at,
        issued_by=None,
        granted=UNSET,
        commitment=commitment_of(row.record) or UNSET,
    )


def _json(record: Struct) -> str:
    return msgspec.json.encode(record).decode()


def _api_key_end(tenant_id: TenantId, body: CredentialRevoked) -> ApiKeyRevocation:
    prefix = ApiKeyPrefix(body.credential_id)
    return ApiKeyRevocation(
        prefix=prefix, tenant_id=tenant_id, revoked_at=body.revoked_at, revoked_by=body.revoked_by, reason=body.reason
    )


def _session_end(tenant_id: TenantId, body: CredentialRevoked) -> SessionRevocation:
    name = SessionId(body.credential_id)
    return SessionRevocation(
        session_id=name, tenant_id=tenant_id, revoked_at=body.revoked_at, revoked_by=body.revoked_by, reason=body.reason
    )


def _signing_key_end(tenant_id: TenantId, body: CredentialRevoked) -> SigningKeyEnd:
    name = KeyId(body.credential_id)
    return SigningKeyEnd(
        key_id=name, tenant_id=tenant_id, ended_at=body.revoked_at, ended_by=body.revoked_by, reason=body.reason
    )


# The stored records of these say who issued them.
_SAYS_BY = frozenset({CredentialKind.PASSWORD, CredentialKind.SIGNING_KEY})
_RECORDS: Mapping[CredentialKind, type[Credential]] = MappingProxyType(
    {
        CredentialKind.API_KEY: ApiKeyRecord,
        CredentialKind.PASSWORD: PasswordRecord,
        CredentialKind.SESSION: SessionRecord,
    }
)
_STORED = frozenset(kind.value for kind in _RECORDS)
_FACTS_OF: Mapping[CredentialKind, Callable[[Any, CredentialRow], _Facts]] = MappingProxyType(
    {
        CredentialKind.API_KEY: _api_key_facts,
        CredentialKind.PASSWORD: _password_facts,
        CredentialKind.SESSION: _session_facts,
    }
)
_ENDS: Mapping[CredentialKind, Callable[[TenantId, CredentialRevoked], End]] = MappingProxyType(
    {
        CredentialKind.API_KEY: _api_key_end,
        CredentialKind.SESSION: _session_end,
        CredentialKind.SIGNING_KEY: _signing_key_end,
    }
)

FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.PRINCIPAL_ADDED, dict[str, Any], _principal_rows, into=(PrincipalVersion,)),
    Fact(EntryKind.PRINCIPAL_CHANGED, dict[str, Any], _principal_rows, into=(PrincipalVersion,)),
    Fact(
        EntryKind.CREDENTIAL_ISSUED, CredentialIssued, _issued_rows, into=(CredentialRow, SigningKeyRow, PasswordChange)
    ),
    Fact(EntryKind.CREDENTIAL_REVOKED, CredentialRevoked, _revoked_rows, into=(CredentialEnd,)),
)
VIEWS: tuple[type[Struct], ...] = (PrincipalVersion, PasswordChange, CredentialEnd)
TABLES = (
    Table(
        "credential",
        Projected(CredentialRow, seal=_sealed_credential),
        keys=("credential_id", "principal_id"),
        taken="the credential `{credential_id}`",
    ),
    Table(
        "signing_key",
        Projected(SigningKeyRow, seal=_sealed_signing_key),
        keys=("key_id", "principal_id"),
        taken="the signing key `{key_id}`",
    ),
    Table(
        "request_nonce",
        Transient(
            "nothing by a row that was made up or changed: a request is admitted by its signature, and the row can only"
            " refuse it. Somebody who deletes a row, and has recorded the request on the network, can send that same"
            " request again within ten minutes, and no other"
        ),
        columns=("key_id", "nonce", "signed_hash", "expires_at"),
    ),
    Table(
        "login_failure",
        Transient(
            "nothing: a row only delays attempts to log in. Without it more passwords can be tried, each against"
            " argon2id; somebody who can delete the row can read that hash, and try more passwords without the node"
        ),
        columns=("subject", "count", "failed_at"),
    ),
)
