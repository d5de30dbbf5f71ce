"""Small files beside the database: the last checkpoint of each tenant, and the last verification mark."""

import os
from contextlib import suppress
from pathlib import Path

from assay.adapters._durable import sync_folder
from assay.kernel.errors import StoreError
from assay.kernel.ids import TenantId, parse_tenant_id


class FolderWriteError(StoreError):
    """The system does not let us write a file beside the database; what it held before still stands."""

    code = "store.folder_write"


class FolderMemory:
    """Implements `CheckpointMemory` and `MarkMemory`: one file per tenant, replaced all or nothing, durably."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tenants(self) -> tuple[TenantId, ...]:
        if not self._folder.is_dir():
            return ()
        # A file that is being replaced has a name no tenant can have.
        names = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        return tuple(parse_tenant_id(name) for name in names)

    def load(self, tenant_id: TenantId) -> bytes | None:
        try:
            return (self._folder / parse_tenant_id(tenant_id)).read_bytes()
        except FileNotFoundError:
            return None

    def store(self, tenant_id: TenantId, content: bytes) -> None:
        replace_file(self._folder / parse_tenant_id(tenant_id), content)

    def can_store(self) -> bool:
        existing = next(place for place in (self._folder, *self._folder.parents) if place.exists())
        return os.access(existing, os.W_OK)


def replace_file(path: Path, content: bytes) -> None:
    """The file holds the new content, on disk, when this returns; whenever it is read, it is the old or the new one."""
    draft = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise FolderWriteError(f"`{path}` cannot be written: {error.strerror}") from error
