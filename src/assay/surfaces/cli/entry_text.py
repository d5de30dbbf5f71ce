"""An entry on one line, as lists and searches print it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.flows.ledger.show_entries import ShownEntry

__all__ = ["entry_line"]

_SHORT = 100


def entry_line(entry: "ShownEntry") -> str:
    body = bytes(entry.body).decode()
    short = body if len(body) <= _SHORT else body[: _SHORT - 1] + "…"
    return f"{entry.sequence_number:>8}  {entry.timestamp:<27}  {entry.kind:<18}  {short}"
