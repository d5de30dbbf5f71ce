"""Principals and what proves them. Everything is added, nothing changed: the latest version counts."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation, PasswordRecord
from assay.identity.principal import Principal
from assay.identity.session import SessionId, SessionRecord, SessionRevocation
from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.credential_seal import StoredCredential

Credential = ApiKeyRecord | PasswordRecord | SessionRecord
Revocation = ApiKeyRevocation | SessionRevocation


class RecordedPrincipal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version as its row has it: the columns by which it is found, what it says, and the entry that it names."""

    principal_id: str
    version: int
    principal: Principal
    sequence_number: int


class IdentityStore(Protocol):
    """A version, credential or revocation that is already there is refused with `store.conflict`.

    A credential whose MAC does not hold is `store.damaged_record`: it is never returned.
    """

    def add_principal(self, principal: Principal, sequence_number: int) -> None:
        """Add version 1, or the version after the latest; any other is `store.conflict`.

        The name is kept apart from the record, with the entry that logged its commitment, and can be erased.
        """
        ...

    def find_principal(self, tenant_id: TenantId, principal_id: PrincipalId) -> Principal | None: ...

    def principal_history(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[Principal, ...]: ...

    def principals(
        self, tenant_id: TenantId, *, after: str | None = None, limit: int | None = None
    ) -> tuple[Principal, ...]:
        """The latest version of each, by id; at most so many, after this id."""
        ...

    def recorded_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        """The entries of all versions, in order; the last is the one in force."""
        ...

    def principal_log(self, tenant_id: TenantId) -> Iterator[RecordedPrincipal]:
        """Every version of everybody, in the order of their entries, streamed."""
        ...

    def named_in(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[int, ...]:
        """The entries that logged a name of this principal which is still kept, in order."""
        ...

    def erase_name(self, tenant_id: TenantId, sequence_number: int) -> None:
        """Forget the name that this entry logged; the version stays without it. Other entries have none."""
        ...

    def credential_log(self, tenant_id: TenantId) -> Iterator[Credential]:
        """Every credential of everybody, in no order, streamed; so is `revocation_log`."""
        ...

    def stored_credentials(self) -> Iterator[StoredCredential]:
        """The rows of every credential of every tenant, streamed, whether their MACs hold or not."""
        ...

    def broken_credentials(self, tenant_id: TenantId) -> Iterator[str]:
        """The ids of credentials whose MAC does not hold; a key that is not here is `key.file_missing`."""
        ...

    def revocation_log(self, tenant_id: TenantId) -> Iterator[Revocation]: ...

    def add_api_key(self, record: ApiKeyRecord) -> None: ...

    def find_api_key(self, prefix: ApiKeyPrefix) -> ApiKeyRecord | None: ...

    def principals_with(self, tenant_id: TenantId, names: Iterable[str]) -> tuple[Principal, ...]:
        """Of those whoever has one of these roles or ids, by id; perhaps others too, so the caller looks at each.

        One question, and those who clearly have none of them are not read.
        """
        ...

    def api_keys_of(self, tenant_id: TenantId, principal_ids: Iterable[PrincipalId]) -> tuple[ApiKeyRecord, ...]:
        """Of any of these principals. A few questions, however many they are."""
        ...

    def api_key_revocations_of(self, prefixes: Iterable[ApiKeyPrefix]) -> tuple[ApiKeyRevocation, ...]:
        """Of any of these keys; as `api_keys_of`."""
        ...

    def api_keys(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[ApiKeyRecord, ...]: ...

    def revoke_api_key(self, revocation: ApiKeyRevocation) -> None: ...

    def api_key_revocations(self, prefix: ApiKeyPrefix) -> tuple[ApiKeyRevocation, ...]: ...

    def add_password(self, record: PasswordRecord) -> None: ...

    def find_password(self, tenant_id: TenantId, principal_id: PrincipalId) -> PasswordRecord | None: ...

    def add_session(self, record: SessionRecord) -> None: ...

    def find_session(self, session_id: SessionId) -> SessionRecord | None: ...

    def revoke_session(self, revocation: SessionRevocation) -> None: ...

    def session_revocations(self, session_id: SessionId) -> tuple[SessionRevocation, ...]: ...
