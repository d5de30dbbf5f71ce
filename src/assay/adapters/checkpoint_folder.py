"""The last checkpoint of each tenant in a folder, which never goes back to a smaller one."""

from pathlib import Path
from threading import Lock

from assay.adapters.folder_memory import FolderMemory
from assay.kernel.checkpoint import ShrunkLogError, parse_checkpoint
from assay.kernel.ids import TenantId


class CheckpointFolder(FolderMemory):
    """Implements `CheckpointMemory`; writing is for one process at a time, the one that holds the writer's place."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._lock = Lock()

    def store(self, tenant_id: TenantId, content: bytes) -> None:
        """Compare and replace as one step; a smaller checkpoint is refused."""
        size = parse_checkpoint(content).checkpoint.size
        with self._lock:
            kept = self.load(tenant_id)
            known = 0 if kept is None else parse_checkpoint(kept).checkpoint.size
            if size < known:
                raise ShrunkLogError(f"expected a checkpoint over at least {known} entries, got one over {size}")
            super().store(tenant_id, content)
