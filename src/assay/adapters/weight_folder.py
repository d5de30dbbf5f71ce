"""Weights beside the database: `models/HEX.bin`, written once and durably; and the checkpoint of a training."""

from pathlib import Path

from assay.adapters.folder_memory import replace_file
from assay.kernel.digest import Digest, digest_of, parse_digest
from assay.ports.model import ModelWeightsError


class WeightFolder:
    """Implements `ports.weight_files.WeightFiles`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_of(self, weight_hash: Digest) -> Path:
        return self._folder / f"{parse_digest(weight_hash).removeprefix('sha256:')}.bin"

    def put(self, content: bytes) -> Digest:
        weight_hash = digest_of(content)
        path = self.path_of(weight_hash)
        if not path.exists() or digest_of(path.read_bytes()) != weight_hash:
            replace_file(path, content)
        return weight_hash

    def find(self, weight_hash: Digest) -> bytes | None:
        try:
            content = self.path_of(weight_hash).read_bytes()
        except FileNotFoundError:
            return None
        found = digest_of(content)
        if found != weight_hash:
            raise ModelWeightsError(f"expected the weights `{weight_hash}`, got `{found}`: the file was substituted")
        return content

    def checkpoint(self, name: str) -> "CheckpointFile":
        """The place of a training that is not finished; the caller vouches for the name."""
        return CheckpointFile(self._folder / f"training-{name}.npz")


class CheckpointFile:
    """Implements `ports.weight_files.CheckpointPlace`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None

    def store(self, content: bytes) -> None:
        replace_file(self._path, content)

    def drop(self) -> None:
        """When its weights are kept, nobody goes on from it."""
        self._path.unlink(missing_ok=True)
