"""A real node in a temporary folder, as `assay init` makes it."""

import atexit
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import cycle
from pathlib import Path

from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.wiring import init_node, open_node

__all__ = ["TENANT", "append_notes", "damage", "new_node", "opened"]

TENANT = TenantId("default")
_TURNS = cycle(range(4))


def new_node(folder: Path, *, database: str | None = None) -> Path:
    """As `assay init` leaves it: on another database than SQLite made anew, otherwise a copy of one made by it.

    Founding a node takes longer than most tests. Of several nodes of one test no two have the same keys.
    """
    home = folder / "node"
    if database is not None:
        init_node(home, database=database)
        return home
    shutil.copytree(_founded(next(_TURNS)), home)
    return home


@cache
def _founded(_number: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="assay-node-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    init_node(folder / "node")
    return folder / "node"


@contextmanager
def opened(home: Path, *, writable: bool = True) -> Iterator[Tools]:
    with open_node(home, writable=writable) as (tools, _):
        yield tools


def append_notes(tools: Tools, count: int, *, tenant: TenantId = TENANT) -> list[Receipt]:
    at = tools.clock.now()
    drafts = [draft_entry(tenant, EntryKind.NOTE, {"n": n}, at=at) for n in range(count)]
    return [waiting.result() for waiting in [tools.database.submit(draft) for draft in drafts]]


def damage(home: Path, *statements: str) -> None:
    """Change the file behind the node's back, with every trigger away; what else it says stays as it was."""
    with closing(sqlite3.connect(home / "assay.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, text in triggers:
            connection.execute(text)
        connection.execute("COMMIT")
