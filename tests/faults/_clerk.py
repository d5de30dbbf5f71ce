"""A program that holds a node open and appends one entry for each line it is given, answering each with one line."""

import os
import sys
from pathlib import Path

from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import open_node

TENANT = TenantId("default")


def main() -> None:
    try:
        with open_node(Path(sys.argv[1])) as (tools, _):
            _answer("ready")
            for line in sys.stdin:
                draft = draft_entry(TENANT, EntryKind.NOTE, {"line": line, "pid": os.getpid()}, at=tools.clock.now())
                try:
                    receipt = tools.database.append(draft)
                except Error as error:
                    _answer(f"no {error.code}")
                else:
                    _answer(f"ack {receipt.sequence_number} {receipt.entry_hash}")
    except Error as error:
        _answer(f"no {error.code}")


def _answer(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
