"""Files that only their owner may read: created once, durable before anyone relies on them, checked when opened.

Symbolic links are followed, as mounted secrets are links; what they lead to must be a regular file of ours and private.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from assay.adapters._durable import sync_folder
from assay.kernel.errors import Blame, Code, KeyUseError

_PRIVATE = 0o600
_OTHERS = 0o077
_LIMIT = 64 * 1024


class KeyFileError(KeyUseError):
    """The system does not let us read or write a key file."""

    code = "key.file"
    blame = Blame.OURS
    file_mode = Code(
        "key.file_mode", "Others can read or replace a private key, or it belongs to another user.", Blame.INPUT
    )
    file_malformed = Code("key.file_malformed", "A key file does not hold the kind of key we read.", Blame.INPUT)
    exists = Code(
        "key.exists", "A key file is never overwritten: what it signed could not be explained any more.", Blame.USAGE
    )
    passphrase = Code("key.passphrase", "A key file needs a passphrase, another one, or none.", Blame.USAGE)


class KeyFileMissingError(KeyFileError):
    """There is no key file at this path, and none is made up."""

    code = "key.file_missing"
    blame = Blame.USAGE


def create_file(path: Path, content: bytes, *, mode: int = _PRIVATE) -> None:
    """Write a new file and make it durable, its name included; an existing one is refused and untouched.

    A failed write leaves nothing behind, so that a half-written key cannot be mistaken for a key.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    except FileExistsError as error:
        raise KeyFileError.exists(f"expected no file at `{path}`, got one; key files are never overwritten") from error
    except OSError as error:
        raise KeyFileError(f"`{path}` cannot be created: {error.strerror}") from error
    try:
        _write_durably(descriptor, path, content, mode)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise KeyFileError(f"`{path}` cannot be written: {error.strerror}") from error


def load_private_file(path: Path) -> bytes:
    """Read a regular file that belongs to us (or root) and to which group and others have no access at all."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise KeyFileMissingError(f"expected a key file at `{path}`, got none") from error
    except OSError as error:
        raise KeyFileError(f"`{path}` cannot be opened: {error.strerror}") from error
    try:
        # Checked on the open file and not on the path, so that nothing can be swapped in between.
        _require_private(path, os.fstat(descriptor))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(_LIMIT + 1)
    except OSError as error:
        raise KeyFileError(f"`{path}` cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(content) > _LIMIT:
        raise KeyFileError.file_malformed(f"expected at most {_LIMIT} bytes in `{path}`, got more")
    return content


def _write_durably(descriptor: int, path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)  # the umask may have taken bits away
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    sync_folder(path.parent)


def _require_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileError.file_malformed(f"expected a regular file at `{path}`, got something else")
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OTHERS:
        raise KeyFileError.file_mode(f"expected mode 0600 on `{path}`, got {mode:04o}; run `chmod 600` on it")
    if status.st_uid not in (os.geteuid(), 0):
        raise KeyFileError.file_mode(f"expected `{path}` to belong to this user or root, got uid {status.st_uid}")
