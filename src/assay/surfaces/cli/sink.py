"""Where exported files go: nothing that exists is overwritten, but for one file that was named as the output."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click


class FolderSink:
    """Writes named files below a new or empty folder."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise click.UsageError(f"expected a new or empty folder, got `{folder}`")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def put(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def open_file_sink(path: Path) -> Iterator[Callable[[str, bytes], None]]:
    """One file that grows; `-` is standard output."""
    if str(path) == "-":
        yield _appending_to(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise click.UsageError(f"expected a new file, got `{path}`, which exists") from error
    except OSError as error:
        raise click.UsageError(f"`{path}` cannot be written: {error.strerror}") from error
    with file:
        yield _appending_to(file)


def require_new_file(path: Path) -> None:
    """Before something is recorded that the file is to hold; `-` is standard output."""
    if str(path) != "-" and path.exists():
        raise click.UsageError(f"expected a new file, got `{path}`, which exists")


def write_output(path: Path, content: bytes) -> None:
    """The file that `--output` names, new or in place of what it held."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise click.UsageError(f"`{path}` cannot be written: {error.strerror}") from error


def _appending_to(file: BinaryIO) -> Callable[[str, bytes], None]:
    def put(_name: str, content: bytes) -> None:
        file.write(content)

    return put
