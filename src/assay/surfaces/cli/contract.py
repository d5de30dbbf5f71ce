"""`assay contract`: claim types as people write them, and as they were released."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "new": Entrance(f"{_HERE}.contract_new:new", "write a commented template that can be used as it is"),
    "lint": Entrance(f"{_HERE}.contract_file:lint", "tell every problem, with file and line"),
    "hash": Entrance(f"{_HERE}.contract_file:hash_", "print the hash that states name"),
    "lock": Entrance(f"{_HERE}.contract_file:lock", "write or check the lock of released contracts"),
    "release": Entrance(f"{_HERE}.contract_release:release", "make contracts law on this node, for ever"),
    "list": Entrance(f"{_HERE}.contract_release:list_", "list what was released"),
    "show": Entrance(f"{_HERE}.contract_release:show", "show a released contract"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def contract() -> None:
    """Contracts: what a claim type asks for, how its claims are derived, and who decides."""
