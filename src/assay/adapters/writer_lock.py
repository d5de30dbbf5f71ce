"""Who holds the writer's lock of an SQLite database, seen without touching it."""

from pathlib import Path

_LOCKS = Path("/proc/locks")


def find_lock_holder(database: Path) -> int | None:
    """The process id that the kernel names, or None when nobody holds it or nothing can be seen.

    Trying to take the lock would tell too, but could make a writer that starts just then fail.
    """
    try:
        file = database.resolve()
        inode = file.with_name(file.name + ".writer").stat().st_ino
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        # 1: FLOCK  ADVISORY  WRITE 1234 08:01:567 0 EOF
        fields = line.split()
        if "FLOCK" in fields and fields[-3].rpartition(":")[2] == str(inode) and "->" not in fields:
            return int(fields[-4])
    return None
