"""Which file is the memory of a service: one small file at its node names it, for every worker that starts.

place + memory -> the same as before, or the first, or the former one is gone -> claimed;   else refused
"""

import fcntl
import os
from pathlib import Path

from assay.kernel.errors import Blame, StoreError

_LONGEST = 16 * 1024


class OtherMemoryError(StoreError):
    """The workers of this service share another file: with two, a switch that fired in one would hold in one."""

    code = "store.other_memory"
    blame = Blame.USAGE


def claim_memory(place: Path, memory: Path) -> bool:
    """Whether it could be noted that `memory` is the one; refuses where another is noted that is still there.

    A memory that was moved or given up is gone from its old path, and then the next one that is named takes its place.
    """
    wanted = str(memory.resolve())
    try:
        place.parent.mkdir(mode=0o755, exist_ok=True)
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError:
        return False
    try:
        # Two workers that start at once: one notes its memory, and the other reads what was noted.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _claim(descriptor, wanted)
    finally:
        os.close(descriptor)
    return True


def _claim(descriptor: int, wanted: str) -> None:
    known = os.read(descriptor, _LONGEST).decode("utf-8", errors="replace").strip()
    if known == wanted:
        return
    if known and Path(known).exists():
        raise OtherMemoryError(f"expected the memory `{known}` that this service has, got `{wanted}`")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{wanted}\n".encode(), 0)
    os.fsync(descriptor)
