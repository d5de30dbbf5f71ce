"""What the agents of this folder share: a tool that deletes a record, and how a run ends.

The tool notes each deletion in `deleted.log`, so that a reader sees how often it ran.
"""

import os
import sys
from pathlib import Path

import assay

__all__ = ["AGENT", "SAYS", "TIERS", "connect", "delete_record", "ended"]

AGENT = "ai:cleaner"
TIERS = {"delete_record": "DELETE"}
SAYS = {"delete_record": "delete the record {name} for good"}


def connect() -> tuple[assay.Client, Path, str]:
    """The node at URL with the key in ASSAY_CREDENTIAL, the folder of records, and the name of this piece of work."""
    url, folder, run = sys.argv[1:]
    return assay.Client(url, key=os.environ["ASSAY_CREDENTIAL"]), Path(folder), run


def delete_record(folder: Path, name: str) -> str:
    with (folder / "deleted.log").open("a") as log:
        log.write(f"{name}\n")
        log.flush()
        os.fsync(log.fileno())
    (folder / name).unlink(missing_ok=True)
    return f"deleted {name}"


def ended(told: str, tickets: list[str] | None = None) -> int:
    """Say how the run ended: 0 done, 1 it waits for people."""
    sys.stdout.write(f"waiting {' '.join(tickets)}\n" if tickets is not None else f"done {told}\n")
    return 0 if tickets is None else 1
