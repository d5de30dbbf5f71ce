"""Weights are named by their bytes."""

from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path

from assay.kernel.digest import Digest, digest_from_raw
from assay.ports.model import ModelWeightsError


def hash_weights(place: Path) -> Digest:
    """Of a file its SHA-256; of a folder the SHA-256 of the lines `hash  path`, sorted by path."""
    try:
        if not place.is_dir():
            with place.open("rb") as file:
                return hash_open_file(file)
        files = sorted((path.relative_to(place).as_posix(), path) for path in place.rglob("*") if path.is_file())
        if not files:
            raise ModelWeightsError(f"expected weights in `{place}`, got an empty folder")
        lines = [f"{hash_weights(path).removeprefix('sha256:')}  {name}\n" for name, path in files]
    except OSError as error:
        raise ModelWeightsError(f"expected readable weights at `{place}`, got {error.strerror}") from error
    return digest_from_raw(sha256("".join(lines).encode()).digest())


def hash_open_file(file: BufferedReader) -> Digest:
    return digest_from_raw(file_digest(file, "sha256").digest())


def require_pinned(got: Digest, pinned: Digest | None) -> None:
    if pinned is not None and got != pinned:
        raise ModelWeightsError(f"expected weights with the hash {pinned}, got {got}")
