"""What stands at the door: signing keys, nonces that were used, and failed logins.

Keys and their ends are facts and only ever added; nonces and failures are memory, and are forgotten in time.
"""

from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct

from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.identity.throttle import Failures
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant


class UsedNonce(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`signed_hash` is that of the signature the nonce came with; after `expires_at` nothing with it is fresh."""

    key_id: KeyId
    nonce: str
    signed_hash: Digest
    expires_at: Instant


class AccessStore(Protocol):
    """A key, an end or a nonce that is already there is refused with `store.conflict`."""

    def add_signing_key(self, record: SigningKeyRecord) -> None: ...

    def find_signing_key(self, key_id: KeyId) -> SigningKeyRecord | None: ...

    def signing_keys(self, tenant_id: TenantId, principal_id: PrincipalId) -> tuple[SigningKeyRecord, ...]:
        """All that were ever registered, by id."""
        ...

    def signing_key_log(self, tenant_id: TenantId) -> Iterator[SigningKeyRecord]:
        """Every key of everybody, in no order, streamed; so is `signing_key_end_log`."""
        ...

    def signing_key_end_log(self, tenant_id: TenantId) -> Iterator[SigningKeyEnd]: ...

    def end_signing_key(self, end: SigningKeyEnd) -> None: ...

    def find_signing_key_end(self, key_id: KeyId) -> SigningKeyEnd | None: ...

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
