"""Published files in a folder, in a bucket (extra `lake`), or behind a URL, which can only be read."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from assay.adapters._durable import sync_folder
from assay.kernel.errors import Blame, Code, Error
from assay.ports.object_store import ObjectStore

_NAME = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[A-Za-z0-9._=:@-]+(?:/[A-Za-z0-9._=:@-]+)*", re.ASCII)
_SECONDS = 30.0


class ObjectStoreError(Error):
    """A place for published files cannot be used."""

    unreachable = Code("objects.unreachable", "A bucket or a URL does not answer, or refuses.", Blame.ANSWER)
    read_only = Code("objects.read_only", "Files behind a URL can only be read.", Blame.USAGE)
    name = Code("objects.name", "A name leads out of the store, or is none that we give.", Blame.INPUT)
    reader_missing = Code("objects.reader_missing", "A bucket needs a package that is not installed.", Blame.USAGE)


def open_object_store(place: str) -> ObjectStore:
    """A folder, or the URL of a bucket (`s3://…`, `gs://…`, `az://…`) or of a web server (`https://…`)."""
    if place.startswith(("http://", "https://")):
        return WebObjects(place)
    return BucketObjects(place) if "://" in place else FolderObjects(Path(place))


class FolderObjects:
    """Objects as files below a folder, which is made when something is written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        try:
            return self._path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.new")
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            # Readers follow the newest checkpoint or manifest: what it names must be on the disk before it.
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)

    def remove(self, name: str) -> None:
        path = self._path(name)
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()

    def names(self, prefix: str) -> list[str]:
        start = self._folder / prefix.rpartition("/")[0]
        found = (path for path in start.rglob("*") if path.is_file() and not path.name.startswith("."))
        names = (path.relative_to(self._folder).as_posix() for path in found)
        return sorted(name for name in names if name.startswith(prefix))

    def _path(self, name: str) -> Path:
        return self._folder / _checked(name)


class BucketObjects:
    """Objects of a bucket; access comes from the environment, as the cloud's own programs read it."""

    def __init__(self, url: str) -> None:
        try:
            import obstore  # noqa: PLC0415 - an extra, imported when it is used
            from obstore.store import from_url  # noqa: PLC0415 - the same
        except ImportError as error:
            raise ObjectStoreError.reader_missing('obstore is missing: pip install "assay[lake]"') from error
        self._api: Any = obstore
        self._url = url
        try:
            self._store = from_url(url)
        except (obstore.exceptions.BaseError, ValueError) as error:
            raise ObjectStoreError.unreachable(f"expected the URL of a bucket, got `{url}`: {_first(error)}") from error

    def read(self, name: str) -> bytes | None:
        try:
            return bytes(self._api.get(self._store, _checked(name)).bytes())
        except FileNotFoundError:
            return None
        except self._api.exceptions.BaseError as error:
            raise self._failed(error) from error

    def write(self, name: str, content: bytes) -> None:
        try:
            self._api.put(self._store, _checked(name), content)
        except (self._api.exceptions.BaseError, FileNotFoundError) as error:
            raise self._failed(error) from error

    def remove(self, name: str) -> None:
        try:
            self._api.delete(self._store, _checked(name))
        except FileNotFoundError:
            return
        except self._api.exceptions.BaseError as error:
            raise self._failed(error) from error

    def names(self, prefix: str) -> list[str]:
        # A bucket lists by whole parts of a path: the rest of the prefix is compared here.
        folder = prefix.rpartition("/")[0]
        try:
            parts = [one for part in self._api.list(self._store, prefix=folder or None) for one in part]
        except (self._api.exceptions.BaseError, FileNotFoundError) as error:
            raise self._failed(error) from error
        return sorted(one["path"] for one in parts if one["path"].startswith(prefix))

    def _failed(self, error: Exception) -> Error:
        return ObjectStoreError.unreachable(f"`{self._url}`: {_first(error)}")


class WebObjects:
    """Objects behind a URL, such as a folder that a web server gives out, or `/log` of a node."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._client = httpx.Client(timeout=_SECONDS)

    def read(self, name: str) -> bytes | None:
        try:
            answer = self._client.get(f"{self._url}/{_checked(name)}")
        except httpx.HTTPError as error:
            raise ObjectStoreError.unreachable(f"`{self._url}`: {error}") from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.status_code != httpx.codes.OK:
            raise ObjectStoreError.unreachable(f"`{self._url}/{name}`: expected status 200, got {answer.status_code}")
        return answer.content

    def write(self, name: str, content: bytes) -> None:  # noqa: ARG002 - of the contract
        raise ObjectStoreError.read_only(f"`{name}` cannot be written to `{self._url}`: name a folder or a bucket")

    def remove(self, name: str) -> None:
        raise ObjectStoreError.read_only(f"`{name}` cannot be removed from `{self._url}`: name a folder or a bucket")

    def names(self, prefix: str) -> list[str]:
        raise ObjectStoreError.read_only(f"a web server lists no names below `{prefix}`: name a folder or a bucket")


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ObjectStoreError.name(f"expected a name inside the store, got `{ascii(name)[1:-1][:80]}`")
    return name


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0]
