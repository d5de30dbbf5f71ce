"""Ed25519 keys in files: PKCS#8 PEM, mode 0600, with the public half beside it as `.pub`."""

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from assay.adapters._private_file import KeyFileError, KeyFileMissingError, create_file, load_private_file
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.key import SigningMethod, key_id_of

__all__ = ["KeyFileError", "KeyFileMissingError", "KeyFileSigner", "create_key_file", "load_key_file", "public_path"]

_PUBLIC_MODE = 0o644


class KeyFileSigner:
    """Signs with a key held in this process's memory; safe to share between threads."""

    def __init__(self, private_key: Ed25519PrivateKey) -> None:
        self._private_key = private_key
        self._public_key = private_key.public_key().public_bytes_raw()
        self._key_id = key_id_of(self._public_key)

    def __repr__(self) -> str:
        return f"KeyFileSigner({self._key_id!r})"

    @property
    def key_id(self) -> KeyId:
        return self._key_id

    @property
    def method(self) -> SigningMethod:
        return SigningMethod.ED25519

    @property
    def public_key(self) -> bytes:
        return self._public_key

    def sign(self, message: bytes) -> bytes:
        return self._private_key.sign(message)


def create_key_file(path: Path, *, passphrase: str | None = None) -> KeyFileSigner:
    """Make a new key, durable on disk before this returns; an existing file is refused, never overwritten.

    The private file comes first: a crash between the two leaves a usable key whose public half can be derived.
    """
    private_key = Ed25519PrivateKey.generate()
    encrypted = private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(passphrase))
    create_file(path, encrypted)
    public = private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    create_file(public_path(path), public, mode=_PUBLIC_MODE)
    return KeyFileSigner(private_key)


def load_key_file(path: Path, *, passphrase: str | None = None) -> KeyFileSigner:
    """Read a private key that only we can read; the `.pub` beside it is for people and is not consulted."""
    content = load_private_file(path)
    secret = None if passphrase is None else passphrase.encode()
    try:
        private_key = load_pem_private_key(content, password=secret)
    except TypeError as error:
        # The library's way to say that a passphrase was given for a plain key, or none for an encrypted one.
        expected, got = ("a passphrase", "none") if secret is None else ("no passphrase", "one")
        raise KeyFileError.passphrase(f"expected {expected} for `{path}`, got {got}") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _unreadable(path, content, has_passphrase=secret is not None) from error
    if not isinstance(private_key, Ed25519PrivateKey):
        raise KeyFileError.file_malformed(f"expected an Ed25519 key in `{path}`, got another kind")
    return KeyFileSigner(private_key)


def public_path(path: Path) -> Path:
    """Where the public half is written: `ledger.key` has `ledger.key.pub`."""
    return path.with_name(path.name + ".pub")


def _encryption(passphrase: str | None) -> KeySerializationEncryption:
    if passphrase is None:
        return NoEncryption()
    if not passphrase:
        raise KeyFileError.passphrase("expected a passphrase or none at all, got an empty one")
    return BestAvailableEncryption(passphrase.encode())


def _unreadable(path: Path, content: bytes, *, has_passphrase: bool) -> Error:
    if has_passphrase and b"BEGIN ENCRYPTED PRIVATE KEY" in content:
        return KeyFileError.passphrase(f"`{path}` does not open with this passphrase, or is damaged")
    return KeyFileError.file_malformed(f"expected a PKCS#8 PEM private key in `{path}`, got something else")
