"""`assay verdict`: what was decided and why, what waits for a person, and that person's answer."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "show": Entrance(f"{_HERE}.verdict_read:show", "everything about the verdicts on a record, and how to prove them"),
    "list": Entrance(f"{_HERE}.verdict_read:list_", "verdicts, the newest first"),
    "hold-list": Entrance(f"{_HERE}.verdict_read:hold_list", "verdicts of high risk that wait for a person"),
    "attest": Entrance(f"{_HERE}.verdict_attest:attest", "attest or decline a held verdict, as a person"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def verdict() -> None:
    """Verdicts: one for each rule and record, on the ledger; one of high risk is none until a person attests it."""
