"""Signing keys, used nonces and failed logins.

Keys are facts and only ever added; nonces and failures are deleted when they are old.
"""

from typing import Protocol

from msgspec import Struct

from assay.identity.signing_key import SigningKeyRecord
from assay.identity.throttle import Failures
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant


class SigningKeyRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A registered public key; `record` is a `SigningKeyRecord`."""

    key_id: KeyId
    principal_id: PrincipalId
    record: str
    sequence_number: int = 0


class UsedNonce(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`signed_hash` is that of the signature the nonce came with; after `expires_at` nothing with it is fresh."""

    key_id: KeyId
    nonce: str
    signed_hash: Digest
    expires_at: Instant


class AccessStore(Protocol):
    """A nonce that is already there is refused with `store.conflict`."""

    def find_signing_key(self, key_id: KeyId) -> SigningKeyRecord | None: ...

    def signing_keys(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[SigningKeyRecord, ...]:
        """Return all that were ever registered, by id."""
        ...

    def use_nonce(self, used: UsedNonce) -> None: ...

    def find_nonce(self, key_id: KeyId, nonce: str) -> UsedNonce | None: ...

    def forget_nonces(self, *, before: Instant) -> int:
        """Forget those that expired before; the answer is how many."""
        ...

    def find_failures(self, subject: Digest) -> Failures | None: ...

    def put_failures(self, subject: Digest, failures: Failures) -> None: ...

    def clear_failures(self, subject: Digest) -> None: ...

    def forget_failures(self, *, before: Instant) -> int:
        """Forget those whose last was before; the answer is how many."""
        ...
