"""A file of a fixed size that is written in place: a full disk has no room for new files, and needs none for this one.

length (8 hex digits) + SHA-256 of the record + record + zeros; a length of zero is no record
"""

import os
from hashlib import sha256
from pathlib import Path

from assay.adapters._durable import sync_folder
from assay.adapters.folder_memory import FolderWriteError

_SIZE = 16 * 1024
_LENGTH = 8
_HASH = 32
_START = _LENGTH + _HASH


class LatchFile:
    """Implements `ports.latch.Latch`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def prepare(self) -> None:
        try:
            if self._path.exists() and self._path.stat().st_size == _SIZE:
                return
            # Bytes that are written have their blocks, which a file that was only made longer does not.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            _write(descriptor, b"0" * _LENGTH + bytes(_SIZE - _LENGTH))
            sync_folder(self._path.parent)
        except OSError as error:
            raise FolderWriteError(f"`{self._path}` cannot be written: {error.strerror}") from error

    def load(self) -> bytes | None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            length = int(content[:_LENGTH], 16)
        except ValueError:
            return None
        record = content[_START : _START + length]
        return record if length and sha256(record).digest() == content[_LENGTH:_START] else None

    def store(self, record: bytes) -> None:
        if len(record) > _SIZE - _START:
            raise FolderWriteError(f"expected at most {_SIZE - _START} bytes for `{self._path}`, got {len(record)}")
        self._put(b"%08x" % len(record) + sha256(record).digest() + record)

    def clear(self) -> None:
        self._put(b"0" * _LENGTH)

    def _put(self, content: bytes) -> None:
        try:
            _write(os.open(self._path, os.O_WRONLY | os.O_CLOEXEC), content)
        except OSError as error:
            raise FolderWriteError(f"`{self._path}` cannot be written: {error.strerror}") from error


def _write(descriptor: int, content: bytes) -> None:
    try:
        os.pwrite(descriptor, content, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
