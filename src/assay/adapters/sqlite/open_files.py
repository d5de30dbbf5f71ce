"""Whether the names of a database's files still lead to the files that SQLite has open.

SQLite looks for its files by name when it opens them, and never again. Whatever else in this process closes the
database's file gives up SQLite's locks on it; the next process that closes the database then takes the log away, and
what is committed after that is in a file without a name, which ends with the process.
"""

import os
from pathlib import Path

from assay.adapters.sql.errors import FileTakenError


class OpenFiles:
    """The database and its log as they are now; made when SQLite has opened both."""

    def __init__(self, path: Path) -> None:
        self._identities = {str(one): _identity(str(one)) for one in (path, path.with_name(f"{path.name}-wal"))}

    def verify(self) -> None:
        """Asked after a commit and before anybody is told of it: a look at two names, some microseconds."""
        for name, identity in self._identities.items():
            if _identity(name) != identity:
                raise FileTakenError(f"`{name}` is not the file that was opened: the commit is not kept by that name")


def _identity(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)  # noqa: PTH116 - at each commit, and a path would be taken apart each time
    except OSError:
        return None
    return found.st_dev, found.st_ino
