"""Archives as ZIP files: any tool opens them, and members are written and read as streams."""

import os
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from assay.adapters._durable import sync_folder
from assay.kernel.errors import Blame, Code
from assay.ports.archive import BackupError

_CHUNK = 1 << 20
_LONGEST_LINE = 64 * 1024 * 1024
_PRIVATE = 0o600


class DamagedArchiveError(BackupError):
    """The archive is not a ZIP file, or is damaged."""

    code = "backup.damaged"
    file = Code("backup.file", "The archive's file cannot be written or read.", Blame.USAGE)


class BackupWriter:
    """Implements `ArchiveWriter`: a private file that gets its name only when it is whole and on disk."""

    def __init__(self, path: Path) -> None:
        if path.exists():
            raise DamagedArchiveError.file(f"expected a new file, got `{path}`, which exists")
        self._path = path
        self._draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            # Backups hold personal values, so they are as private as keys.
            descriptor = os.open(self._draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
        except OSError as error:
            raise DamagedArchiveError.file(f"`{path}` cannot be written: {error.strerror}") from error
        self._file = os.fdopen(descriptor, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._publish()
            return
        with suppress(OSError, ValueError, zipfile.BadZipFile):
            self._zip.close()
        self._file.close()
        self._draft.unlink(missing_ok=True)

    @contextmanager
    def member(self, name: str) -> Iterator[Callable[[bytes], object]]:
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = _PRIVATE << 16
        # Sizes are known only at the end, and a ledger may be larger than 4 GiB.
        with self._zip.open(info, "w", force_zip64=True) as stream:
            yield stream.write

    def _publish(self) -> None:
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.rename(self._path)
        sync_folder(self._path.parent)


class BackupReader:
    """Implements `ArchiveReader`. Nothing is ever extracted by a name that the archive chose."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise DamagedArchiveError.file(f"`{path}` cannot be read: {error.strerror}") from error
        except (zipfile.BadZipFile, ValueError) as error:
            raise DamagedArchiveError(f"`{path}` is not a backup: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def names(self) -> tuple[str, ...]:
        return tuple(info.filename for info in self._zip.infolist())

    def chunks(self, name: str) -> Generator[bytes, None, None]:
        with self._open(name) as stream, _in_our_words(name):
            while chunk := stream.read(_CHUNK):
                yield chunk

    def lines(self, name: str) -> Generator[bytes, None, None]:
        with self._open(name) as stream, _in_our_words(name):
            while line := stream.readline(_LONGEST_LINE + 1):
                if len(line) > _LONGEST_LINE:
                    raise DamagedArchiveError(f"expected lines of at most {_LONGEST_LINE} bytes in `{name}`")
                yield line

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        with _in_our_words(name):
            stream = self._zip.open(name)
        with stream:
            yield stream


@contextmanager
def _in_our_words(name: str) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise DamagedArchiveError(f"expected a member `{name[:80]}`, got none") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DamagedArchiveError(f"member `{name[:80]}` is damaged: {error}") from error
