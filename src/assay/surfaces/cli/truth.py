"""`assay truth`: from observations to signed states, and back from a state to everything it was compiled from."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "key": Entrance(f"{_HERE}.truth_key:key", "the key of an observation, or the parts of a key"),
    "observe": Entrance(f"{_HERE}.truth_write:observe", "record observations"),
    "fingerprint": Entrance(f"{_HERE}.truth_write:fingerprint", "record how a piece of evidence looks, to find copies"),
    "score": Entrance(f"{_HERE}.truth_compile:score", "let machines judge the observations of a key"),
    "compile": Entrance(f"{_HERE}.truth_compile:compile_", "compile keys to signed states"),
    "window": Entrance(f"{_HERE}.truth_write:window", "open, extend, close or abort the window for votes"),
    "vote": Entrance(f"{_HERE}.truth_write:vote", "vote on a claim, as a person"),
    "expire": Entrance(f"{_HERE}.truth_compile:expire", "compile what time has made due"),
    "show": Entrance(f"{_HERE}.truth_read:show", "what is known of a key, now or then"),
    "history": Entrance(f"{_HERE}.truth_read:history", "every state of a key"),
    "map": Entrance(f"{_HERE}.truth_read:map_", "the latest state of every key, as GeoJSON"),
    "replay": Entrance(f"{_HERE}.truth_check:replay", "compile a state again from the ledger, and compare"),
    "prove": Entrance(f"{_HERE}.truth_check:prove", "make the file that proves a state, for `truth verify`"),
    "verify": Entrance(f"{_HERE}.truth_check:verify", "verify a state or its proof, offline with --trust"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def truth() -> None:
    """Truth: observations in, signed states out, each of which can be compiled again by anyone."""
