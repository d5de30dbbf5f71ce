"""A MAC over each stored credential, under a key outside the database."""

import re
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest, digest_of

_MAC = re.compile(r',"mac":"([0-9a-f]{64})"\}\Z', re.ASCII)


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


def add_mac(record: str, mac: str) -> str:
    return f'{record[:-1]},"mac":"{mac}"}}'


def split_mac(text: str) -> tuple[str, str | None]:
    """Return the record and its MAC, which is the last member of the JSON; records of 0.1.0 have none."""
    found = _MAC.search(text)
    return (text, None) if found is None else (text[: found.start()] + "}", found[1])


def commitment_of(text: str) -> Digest | None:
    """Return the hash of a stored record, which the ledger commits to; None where it has no MAC.

    Nobody who reads the ledger can test a guess: the MAC is part of what is hashed, and only the key gives it.
    """
    return None if split_mac(text)[1] is None else digest_of(text.encode())
