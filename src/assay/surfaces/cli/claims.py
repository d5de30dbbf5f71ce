"""`assay claims`: bundles through the gates, people's approvals, evidence, uncertainty and the policy of it all."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "gate": Entrance(f"{_HERE}.claims_gate:gate", "gate a bundle, on record"),
    "explain": Entrance(f"{_HERE}.claims_gate:explain", "what the gates would say, with nothing recorded"),
    "resume": Entrance(f"{_HERE}.claims_gate:resume", "gate a bundle again, or another in its place"),
    "show": Entrance(f"{_HERE}.claims_read:show", "a bundle and every decision about it"),
    "list": Entrance(f"{_HERE}.claims_read:list_", "the latest bundles"),
    "export": Entrance(f"{_HERE}.claims_export:export", "an answer, a state or verdicts as a bundle"),
    "attach": Entrance(f"{_HERE}.claims_people:attach", "keep a piece of evidence under its hash"),
    "approve": Entrance(f"{_HERE}.claims_people:approve", "approve, resume or reject a bundle, as a person"),
    "estimate": Entrance(f"{_HERE}.claims_estimate:estimate", "how uncertain the node's model is about a question"),
    "calibrate": Entrance(f"{_HERE}.claims_estimate:calibrate", "fit thresholds to known cases, as a signed policy"),
    "conformal": Entrance(f"{_HERE}.claims_conformal:conformal", "sets of answers with a promise, from known cases"),
    "policy": Entrance(f"{_HERE}.claims_policy:policy", "the policy of the gates: new, lint, sign, release, show"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def claims() -> None:
    """Claims: bundles of what an agent says, gated before anybody acts on them."""
