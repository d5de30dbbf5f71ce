"""The files of an installed package as they are on disk: their hashes, and compiled code that is not their source's.

folder of `assay` -> every file by name and sha256 (with `assay_examples` beside it) + bytecode that was tampered with
"""

import marshal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

_CACHE = "__pycache__"
_EXAMPLES = "assay_examples"
# Magic number, flags, and the source's time and size or its hash (PEP 552).
_HEADER_SIZE = 16
_LINK = "a symbolic link to a folder"


@dataclass(frozen=True, kw_only=True)
class PackageFiles:
    """Name -> sha256 in hex. `bytecode` are compiled files that differ from what their source compiles to."""

    digests: dict[str, str]
    bytecode: tuple[str, ...]


def installed_folder() -> Path:
    """Where the package that runs now was imported from."""
    return Path(__file__).resolve().parents[1]


def load_package_files(folder: Path) -> PackageFiles:
    """Every file below the folder, whatever it is: one that nobody expects is as telling as one that changed.

    Compiled code is judged by compiling its source again, since the interpreter runs it instead of the source.
    """
    beside = folder.parent / _EXAMPLES
    found = [*_walk(folder, "assay"), *(_walk(beside, _EXAMPLES) if beside.is_dir() else ())]
    caches = [(name, path) for name, path in found if _is_cache(path)]
    plain = {name: _digest(path) for name, path in found if not _is_cache(path)}
    return PackageFiles(digests=plain, bytecode=tuple(name for name, path in caches if not _is_true_cache(path)))


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.iterdir()):
        name = f"{prefix}/{path.name}"
        # Python would import through a link; following it could lead round in circles, so it is told by itself.
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path, name)
        else:
            yield name, path


def _is_cache(path: Path) -> bool:
    return path.parent.name == _CACHE and path.suffix == ".pyc"


def _digest(path: Path) -> str:
    return _LINK if path.is_dir() else sha256(path.read_bytes()).hexdigest()


def _is_true_cache(path: Path) -> bool:
    """Whether this interpreter makes the same of the source; what another one compiled cannot be told, so it is not."""
    stem, _, tag = path.name.removesuffix(".pyc").partition(".")
    tag, _, level = tag.partition(".opt-")
    source = path.parent.parent / f"{stem}.py"
    if tag != sys.implementation.cache_tag or level not in {"", "1", "2"} or not source.is_file():
        return False
    expected = compile(source.read_bytes(), str(source), "exec", dont_inherit=True, optimize=int(level or "0"))
    try:
        # Loading is not running; and what is loaded here, the next import would load and run.
        return bool(marshal.loads(path.read_bytes()[_HEADER_SIZE:]) == expected)  # noqa: S302 - the interpreter does the same
    except (EOFError, ValueError, TypeError):
        return False
