"""Files that people write by hand: read whole, as UTF-8, or refused with a code."""

from pathlib import Path

from assay.kernel.errors import Blame, Error

_LARGEST = 4 * 1024 * 1024


class TextFileError(Error):
    """A file cannot be read, is too large, or is not UTF-8."""

    code = "cli.text_file"
    blame = Blame.INPUT


def read_text(path: Path, *, largest: int = _LARGEST) -> str:
    try:
        return read_bytes(path, largest=largest).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TextFileError(f"expected UTF-8 in `{path}`, got something else at byte {error.start}") from error


def read_bytes(path: Path, *, largest: int = _LARGEST) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise TextFileError(f"`{path}` cannot be read: {error.strerror}") from error
    if len(content) > largest:
        raise TextFileError(f"expected at most {largest} bytes in `{path}`, got more")
    return content
