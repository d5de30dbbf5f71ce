"""`assay trust`: who is heard, and how much it counts."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "policy": Entrance(f"{_HERE}.trust_policy:policy", "write, lint, simulate, register and show policies"),
    "admit": Entrance(f"{_HERE}.trust_signal:admit", "make an agent known, at the policy's initial standing"),
    "grant": Entrance(f"{_HERE}.trust_signal:grant", "grant an agent a role of the policy"),
    "endorse": Entrance(f"{_HERE}.trust_signal:endorse", "vouch for another agent"),
    "dispute": Entrance(f"{_HERE}.trust_signal:dispute", "dispute a final state, so that people look again"),
    "penalise": Entrance(f"{_HERE}.trust_signal:penalise", "ask people to lower an agent's standing"),
    "signal": Entrance(f"{_HERE}.trust_signal:signal", "log a signal from a file"),
    "standings": Entrance(f"{_HERE}.trust_read:standings", "where all agents stand"),
    "show": Entrance(f"{_HERE}.trust_read:show", "where one agent stands"),
    "credits": Entrance(f"{_HERE}.trust_read:credits_", "what agents have earned by the credits of contracts"),
    "snapshot": Entrance(f"{_HERE}.trust_read:snapshot", "the trust that a compilation would take now"),
    "counterfactual": Entrance(f"{_HERE}.trust_policy:counterfactual", "what another policy would make of the log"),
    "verify": Entrance(f"{_HERE}.trust_read:verify", "whether trust is what the ledger says"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def trust() -> None:
    """Trust: signals in, standings out; truth only ever sees a frozen snapshot of it."""
