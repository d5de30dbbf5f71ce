"""A real node in a temporary folder, as `assay init` makes it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.wiring import init_node, open_node

__all__ = ["TENANT", "append_notes", "damage", "new_node", "opened"]

TENANT = TenantId("default")


def new_node(folder: Path) -> Path:
    home = folder / "node"
    init_node(home)
    return home


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
