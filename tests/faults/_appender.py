"""A program that appends from many threads until it is killed, and writes down every acknowledgement it was given.

open node -> threads: append -> (it returned) -> one line in the file of acknowledgements

Lines: `ack THREAD SEQUENCE HASH TOKEN`, `no THREAD CODE`, `checkpoint SIZE`, `end`. Each is one write(2) of its own, so
that it is in the file when the next append begins, however the process ends.
"""

import argparse
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from assay.adapters.clock import SystemClock
from assay.adapters.sqlite.database import SqliteDatabase
from assay.facts.table import PROJECTOR
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Database
from assay.wiring import open_node

TENANT = TenantId("default")
# After a refusal a thread asks again this often: a stopped writer must go on saying no.
_MORE_ATTEMPTS = 3


class Journal:
    """The file of acknowledgements; every line is one system call."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, *words: object) -> None:
        os.write(self._descriptor, (" ".join(map(str, words)) + "\n").encode())


def main() -> None:
    asked = _parse()
    if asked.file_limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked.file_limit, asked.file_limit))
    journal = Journal(asked.journal)
    with _open(asked) as (database, tools):
        journal.write("ready")
        jobs = [threading.Thread(target=_append, args=(database, journal, n, asked)) for n in range(asked.threads)]
        if tools is not None:
            threading.Thread(target=_checkpoint, args=(tools, journal, asked.checkpoints), daemon=True).start()
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
    journal.write("end")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--limit", type=int, default=0, help="entries per thread; 0 is no limit")
    parser.add_argument("--checkpoints", type=int, default=0, help="how many to sign beside the load")
    parser.add_argument("--file-limit", type=int, default=0)
    parser.add_argument("--unsafe-synchronous-off", action="store_true")
    return parser.parse_args()


@contextmanager
def _open(asked: argparse.Namespace) -> Iterator[tuple[Database, Tools | None]]:
    if not asked.unsafe_synchronous_off:
        with open_node(asked.folder) as (tools, _):
            yield tools.database, tools
        return
    database = SqliteDatabase(asked.folder / "assay.db", PROJECTOR, at=SystemClock().now(), unsafe_synchronous_off=True)
    try:
        yield database, None
    finally:
        database.close()


def _append(database: Database, journal: Journal, thread: int, asked: argparse.Namespace) -> None:
    clock, refused = SystemClock(), 0
    for number in count(1):
        token = f"token-{os.getpid()}-{thread}-{number}."
        try:
            receipt = database.append(draft_entry(TENANT, EntryKind.NOTE, {"token": token}, at=clock.now()))
        except Error as error:
            journal.write("no", thread, error.code)
            refused += 1
        else:
            journal.write("ack", thread, receipt.sequence_number, receipt.entry_hash, token)
        if refused > _MORE_ATTEMPTS or number == asked.limit:
            return


def _checkpoint(tools: Tools, journal: Journal, how_many: int) -> None:
    for _ in range(how_many):
        try:
            signed = sign_checkpoint(tools, TENANT, at=tools.clock.now())
        except Error as error:
            journal.write("no", "checkpoint", error.code)
            return
        journal.write("checkpoint", signed.checkpoint.size)


if __name__ == "__main__":
    main()
