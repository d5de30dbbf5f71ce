"""A MAC over each stored credential, under a key outside the database."""

from typing import Protocol

from msgspec import Struct


class StoredCredential(Struct, frozen=True, kw_only=True, array_like=True):
    """What a MAC covers: the row of a credential, so that no part of it can be moved to another."""

    credential_id: str
    kind: str
    tenant_id: str
    principal_id: str
    record: str


class CredentialSeal(Protocol):
    def mac(self, stored: StoredCredential) -> str:
        """64 hex digits."""
        ...

    def holds(self, stored: StoredCredential, mac: str | None) -> bool: ...
