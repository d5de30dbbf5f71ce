"""The MAC of stored credentials: who can write to the database, and no more, can neither make nor exchange one.

key outside the database -> HMAC-SHA-256 over id, kind, tenant, principal and record -> kept in the record
A node founded before there were MACs gets its key when it is first opened for writing: the MACs of the credentials that
it has then are kept beside the key, since rows of the database are never changed.
"""

import hmac
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import msgspec

from assay.adapters._private_file import create_file
from assay.adapters.keyfile import KeyFileMissingError, public_path
from assay.ports.credential_seal import StoredCredential
from assay.ports.signer import Signer

# What the credentials key signs; the SHA-256 of the signature, which is the same each time (RFC 8032), is the MAC key.
# So the key may be a file, or on a token that it never leaves.
_MESSAGE = b"assay credentials MAC key, version 1"
_OLD_SUFFIX = ".old.json"
_NEW_SUFFIX = ".new"


class HmacSeal:
    """Implements `ports.credential_seal.CredentialSeal`; `old` are the MACs of credentials from before the key."""

    def __init__(self, key: bytes, old: frozenset[str]) -> None:
        self._key = key
        self._old = old

    def mac(self, stored: StoredCredential) -> str:
        return hmac.new(self._key, msgspec.json.encode(stored), sha256).hexdigest()

    def holds(self, stored: StoredCredential, mac: str | None) -> bool:
        """Whether the record is as it was issued; one without a MAC is only where it was there before the key."""
        expected = self.mac(stored)
        return expected in self._old if mac is None else hmac.compare_digest(mac, expected)


class AbsentSeal:
    """Implements the same by refusing: a folder without its keys can be read, and nobody is authenticated there."""

    def __init__(self, place: str) -> None:
        self._place = place

    def mac(self, stored: StoredCredential) -> str:
        raise self._missing(stored)

    def holds(self, stored: StoredCredential, mac: str | None) -> bool:  # noqa: ARG002 - nothing can be said
        raise self._missing(stored)

    def _missing(self, stored: StoredCredential) -> KeyFileMissingError:
        return KeyFileMissingError(
            f"expected the credentials key `{self._place}` to check `{stored.credential_id}`, got none: put it there"
            " (mode 0600), or act as the operator of the folder without a credential"
        )


def make_seal(signer: Signer, old: frozenset[str] = frozenset()) -> HmacSeal:
    return HmacSeal(sha256(signer.sign(_MESSAGE)).digest(), old)


def load_old(path: Path) -> frozenset[str]:
    """The MACs of the credentials that were there before the key; none for a node that was founded with one."""
    try:
        return frozenset(msgspec.json.decode(path.with_name(path.name + _OLD_SUFFIX).read_bytes(), type=list[str]))
    except FileNotFoundError:
        return frozenset()


def introduce_seal(path: Path, create: Callable[[Path], Signer], stored: Iterable[StoredCredential]) -> HmacSeal:
    """Make the key of a node that has none, and the MACs of what it has stored; all is there, or nothing is.

    The key gets its name last: where this is cut short, the next opening begins anew.
    """
    new = path.with_name(path.name + _NEW_SUFFIX)
    kept = path.with_name(path.name + _OLD_SUFFIX)
    for left in (new, public_path(new), kept):
        left.unlink(missing_ok=True)
    signer = create(new)
    first = make_seal(signer)
    old = frozenset(first.mac(one) for one in stored)
    create_file(kept, msgspec.json.encode(sorted(old)))
    public_path(new).replace(public_path(path))
    new.replace(path)
    return make_seal(signer, old)
