"""Principals and their credentials. Versions and ends are read from the ledger; stored secrets from their table."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct

from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation, PasswordRecord
from assay.identity.principal import Principal
from assay.identity.session import SessionId, SessionRecord, SessionRevocation
from assay.identity.signing_key import SigningKeyEnd
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.credential_seal import StoredCredential

Credential: TypeAlias = ApiKeyRecord | PasswordRecord | SessionRecord
End: TypeAlias = ApiKeyRevocation | SessionRevocation | SigningKeyEnd
E = TypeVar("E", ApiKeyRevocation, SessionRevocation, SigningKeyEnd)


class CredentialRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stored credential: `record` has the hash of the secret, and the MAC of the row as its last member."""

    credential_id: str
    kind: str
    principal_id: PrincipalId
    record: str
    sequence_number: int = 0


class PrincipalVersion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A view: one version of a principal, without its name; `name_hash` is the commitment of that."""

    subject: str
    sequence_number: int
    principal: Principal
    name_hash: Digest | None


class PasswordChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A view: the principal has a new password since `set_at`; its row has the same number."""

    subject: str
    sequence_number: int
    set_at: Instant


class CredentialEnd(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A view: the credential `subject` ends, as `end` says."""

    subject: str
    sequence_number: int
    end: End


class Holder(Struct, frozen=True, kw_only=True):
    """What decides on a credential besides its record: its principal, its ends, and since when the password is set."""

    principal: Principal
    ends: tuple[End, ...]
    password_set_at: Instant | None


class IdentityStore(Protocol):
    """The newest version of a principal and the ends of credentials are those that the ledger has.

    A credential whose MAC does not hold, or that its entry does not commit to, is `store.damaged_record`.
    """

    def find_holder(self, tenant_id: TenantId, principal_id: PrincipalId, credential_id: str) -> Holder | None:
        """Return what decides on a credential, by one query; None for an unknown principal."""
        ...

    def find_principal(self, tenant_id: TenantId, principal_id: PrincipalId) -> Principal | None: ...

    def principal_history(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[Principal, ...]: ...

    def principals(
        self, tenant_id: TenantId, *, after: str | None = None, limit: int | None = None
    ) -> tuple[Principal, ...]:
        """Return the newest version of each principal, by id; at most `limit`, after this id."""
        ...

    def principals_with(self, tenant_id: TenantId, names: Iterable[str]) -> tuple[Principal, ...]:
        """Return the principals that have one of these roles or ids, by id, without their names."""
        ...

    def histories(self, tenant_id: TenantId) -> tuple[tuple[Principal, ...], ...]:
        """Return all versions of each principal, without their names."""
        ...

    def recorded_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        """Return the entries of all versions, in order; the last one is in force."""
        ...

    def named_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        """Return the entries that logged a name of this principal which is not erased, in order."""
        ...

    def forget_names(self) -> None:
        """Drop names from memory; call it when one was erased."""
        ...

    def ends(self, tenant_id: TenantId, credential_ids: Iterable[str], kind: type[E]) -> tuple[E, ...]:
        """Return the ends of these credentials, in the order of their entries; a few queries, however many ids."""
        ...

    def sealed(self, record: Credential) -> CredentialRow:
        """Return the row of a new credential with its MAC, for `unit.record`."""
        ...

    def stored_credentials(self) -> Iterator[StoredCredential]:
        """Stream the rows of every credential of every tenant, whether their MACs hold or not."""
        ...

    def broken_credentials(self, tenant_id: TenantId) -> Iterator[str]:
        """Stream the ids of credentials whose MAC does not hold; without the key it is `key.file_missing`."""
        ...

    def find_api_key(self, prefix: ApiKeyPrefix) -> ApiKeyRecord | None: ...

    def api_keys_of(self, tenant_id: TenantId, principal_ids: Iterable[PrincipalId]) -> tuple[ApiKeyRecord, ...]:
        """Return the keys of these principals, by principal and in order; a few queries, however many principals."""
        ...

    def find_password(self, tenant_id: TenantId, principal_id: PrincipalId) -> PasswordRecord | None: ...

    def find_session(self, session_id: SessionId) -> SessionRecord | None: ...
