"""A node's folder from the outside: built beside its place and moved there whole, files replaced all or nothing."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.adapters._durable import sync_folder
from assay.kernel.errors import Blame, Error

_PRIVATE = 0o600
_PUBLIC = 0o644


class FolderTakenError(Error):
    """A new folder needs a place that is free or empty."""

    code = "config.folder_taken"
    blame = Blame.USAGE


class StagedFolder:
    """A folder in the making; leaving without `publish` removes it, and the place it is for stays as it was."""

    def __init__(self, target: Path) -> None:
        target = target.resolve()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FolderTakenError(f"expected a new or empty folder, got `{target}`")
        self._target = target
        self._exists = target.exists()
        # On the file system of the target, so that moving needs no copying: inside it where it exists, which may be
        # somebody's current folder or a mounted volume, else beside it. Only we can enter it.
        where = target if self._exists else target.parent
        where.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".new", dir=where))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def put(self, name: str, content: bytes, *, private: bool = True) -> None:
        """Add a file that only its owner may read, unless told otherwise; the caller vouches for the name."""
        path = self.path / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE if private else _PUBLIC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)

    def publish(self) -> None:
        """Move everything to its place; the configuration comes last, since it is what makes the folder a node."""
        sync_folder(self.path)
        try:
            if self._exists:
                with suppress(OSError):  # a mounted volume may not let us
                    self._target.chmod(0o700)
                for child in sorted(self.path.iterdir(), key=lambda path: (path.suffix == ".toml", path.name)):
                    child.rename(self._target / child.name)
            else:
                self.path.rename(self._target)
        except OSError as error:
            raise FolderTakenError(f"`{self._target}` is not free any more: {error.strerror}") from error
        sync_folder(self._target if self._exists else self._target.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file's content all or nothing, durably, keeping its mode."""
    draft = path.with_name(f".{path.name}.new")
    # Private from the start: a configuration may hold the address of a database, password included.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    shutil.copymode(path, draft)
    draft.replace(path)
    sync_folder(path.parent)
