"""`assay ledger`: one chain per tenant, and what can be done with it."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

__all__ = ["ledger"]

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "append": Entrance(f"{_HERE}.ledger_write:append", "append JSON objects; returns when they are on disk"),
    "show": Entrance(f"{_HERE}.ledger_read:show", "show entries"),
    "search": Entrance(f"{_HERE}.ledger_search:search", "find entries by what is in them; prove that none is missing"),
    "index": Entrance(f"{_HERE}.ledger_search:index", "index new entries, so that searches can be proven"),
    "verify": Entrance(f"{_HERE}.ledger_read:verify", "verify chain, tree, values and checkpoints"),
    "checkpoint": Entrance(f"{_HERE}.ledger_write:checkpoint", "sign a checkpoint of the whole ledger"),
    "prove": Entrance(f"{_HERE}.ledger_proof:prove", "make the file that proves one entry"),
    "export": Entrance(f"{_HERE}.ledger_proof:export", "write texts, a tile log, or a proof for each entry"),
    "watch": Entrance(f"{_HERE}.ledger_read:watch", "print new entries as they come"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def ledger() -> None:
    """The ledger: append, show, search, verify, checkpoint, prove, export, watch."""
