"""What a file system needs to be told before a new name survives a crash."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """A new or changed name is durable only when the folder that holds it is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
