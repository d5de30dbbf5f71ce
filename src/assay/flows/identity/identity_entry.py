"""How people and their credentials are written into the ledger: no secret, no hash of one, no name in the clear."""

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from assay.identity.credential import ApiKeyRecord, ApiKeyRevocation, PasswordRecord
from assay.identity.principal import Granted, Principal, principal_body
from assay.identity.session import SessionRecord, SessionRevocation
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.kernel.commitment import seal_fields
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry

# Where an entry about a principal holds the commitment of its name.
NAME_POINTER = "/name"


class CredentialKind(StrEnum):
    API_KEY = "api_key"
    PASSWORD = "password"  # noqa: S105  the name of a kind
    SESSION = "session"
    SIGNING_KEY = "signing_key"


class CredentialIssued(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `credential.issued` entry; `credential_id` is the public half, and a password has none.

    `proved_by` is how the person of a session was known: `password`, or `oidc` and the provider. `granted` says who
    gave the credential to another principal, and who approved it.
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


class CredentialRevoked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `credential.revoked` entry; `revoked_at` may lie ahead of the entry's own time."""

    credential: CredentialKind
    credential_id: str
    principal_id: PrincipalId
    revoked_at: Instant
    revoked_by: PrincipalId
    reason: str


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


def api_key_issued(record: ApiKeyRecord, *, by: PrincipalId) -> Draft:
    body = CredentialIssued(
        credential=CredentialKind.API_KEY,
        credential_id=record.prefix,
        principal_id=record.principal_id,
        scopes=record.scopes,
        issued_at=record.issued_at,
        expires_at=record.expires_at,
        issued_by=by,
        granted=record.granted,
    )
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_ISSUED, body, at=record.issued_at)


def api_key_revoked(record: ApiKeyRecord, revocation: ApiKeyRevocation, *, at: Instant) -> Draft:
    body = CredentialRevoked(
        credential=CredentialKind.API_KEY,
        credential_id=record.prefix,
        principal_id=record.principal_id,
        revoked_at=revocation.revoked_at,
        revoked_by=revocation.revoked_by,
        reason=revocation.reason,
    )
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_REVOKED, body, at=at)


def password_set(record: PasswordRecord) -> Draft:
    body = CredentialIssued(
        credential=CredentialKind.PASSWORD,
        credential_id=None,
        principal_id=record.principal_id,
        scopes=(),
        issued_at=record.set_at,
        expires_at=None,
        issued_by=record.set_by,
        granted=record.granted,
    )
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_ISSUED, body, at=record.set_at)


def session_issued(record: SessionRecord, *, proved_by: str) -> Draft:
    """A session is issued by the person who proved to be that person."""
    body = CredentialIssued(
        credential=CredentialKind.SESSION,
        credential_id=record.id,
        principal_id=record.principal_id,
        scopes=(),
        issued_at=record.issued_at,
        expires_at=record.expires_at,
        issued_by=record.principal_id,
        proved_by=proved_by,
    )
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_ISSUED, body, at=record.issued_at)


def session_revoked(record: SessionRecord, revocation: SessionRevocation, *, at: Instant) -> Draft:
    body = CredentialRevoked(
        credential=CredentialKind.SESSION,
        credential_id=record.id,
        principal_id=record.principal_id,
        revoked_at=revocation.revoked_at,
        revoked_by=revocation.revoked_by,
        reason=revocation.reason,
    )
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_REVOKED, body, at=at)


def signing_key_added(record: SigningKeyRecord) -> Draft:
    """The key's id is the SHA-256 of its public bytes: whoever has the key can tell that it is this one."""
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


def signing_key_ended(record: SigningKeyRecord, end: SigningKeyEnd) -> Draft:
    body = CredentialRevoked(
        credential=CredentialKind.SIGNING_KEY,
        credential_id=record.key_id,
        principal_id=record.principal_id,
        revoked_at=end.ended_at,
        revoked_by=end.ended_by,
        reason=end.reason,
    )
    return draft_entry(record.tenant_id, EntryKind.CREDENTIAL_REVOKED, body, at=end.ended_at)
