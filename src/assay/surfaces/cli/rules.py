"""`assay rules`: the registry that answers and outcomes rest on."""

from pathlib import Path

import click

from assay.operations.delivery import CERTIFICATION_REQUEST, OPERATIONS, PROOF_MEASURE, RULE_CERTIFY
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.perform import perform, show
from assay.surfaces.cli.source_texts import source_texts


@click.group(cls=Group)
def rules() -> None:
    """The rule registry: versions, certifications, and what came of answers that used them."""


add_operations(rules, "rules", OPERATIONS)


@click.command(cls=NodeCommand)
@click.argument("rule_id", metavar="RULE")
@click.option("--seen", metavar="HASH", help="The hash of what you were shown; without it the rule is only shown.")
@click.option("--reason", metavar="TEXT", help="Why; it is recorded with the answer.")
@common_options(RULE_CERTIFY)
@click.pass_obj
def _certify(call: Call, /, rule_id: str, seen: str | None, reason: str | None, **where: str | None) -> None:
    """Certify the version of RULE in force, as a person in session who saw it; without --seen, show it."""
    given = {"rule_id": rule_id, "seen": seen, "reason": reason}
    operation = CERTIFICATION_REQUEST if seen is None else RULE_CERTIFY
    asked = {"rule_id": rule_id} if seen is None else {name: one for name, one in given.items() if one is not None}
    show(call, operation, asked, perform(call, operation, asked, **where))


# Two steps of one person: the question, and their answer to what it shows.
rules.add_command(_certify, "certify")


@click.command(cls=NodeCommand)
@click.argument("source", metavar="SRC", type=click.Path(path_type=Path, exists=True))
@common_options(PROOF_MEASURE)
@click.pass_obj
def _proof(call: Call, /, source: Path, **where: str | None) -> None:
    """Measure which certified rules SRC implements, and record it: the proof strand of this node; exit 1 if too few."""
    texts = {"texts": dict(source_texts(source))}
    show(call, PROOF_MEASURE, texts, perform(call, PROOF_MEASURE, texts, **where))


# The files are those of this machine, so the command reads them; the operation takes their texts.
rules.add_command(_proof, "proof")
