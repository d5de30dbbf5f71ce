"""`assay graph new`, `upgrade` and `units`: graphs to begin with; no node is needed."""

import re
from pathlib import Path

import click

from assay.kernel.json_text import JsonValue
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.graph_file import file_argument, graph_text, output_option, put_graph, read_graph_file
from assay.surfaces.cli.output import Call, Command
from assay.verdicts.errors import GraphFormError
from assay.verdicts.graph.draft_units import draft_units
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.issue import is_rejected
from assay.verdicts.graph.parse import parse_document
from assay.verdicts.graph.upgrade_document import upgrade_document

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


@click.command(cls=Command)
@click.argument("name", metavar="NAME")
@click.option("--sector", metavar="TEXT", default="general", show_default=True, help="What it is about.")
@output_option
@click.pass_obj
def new(call: Call, name: str, sector: str, output: Path) -> None:
    """Write a typed graph called NAME with one rule, its obligation and its citation; it is valid as it is."""
    if not _NAME.fullmatch(name):
        raise click.UsageError(f"expected a name of a-z, 0-9, dot, dash and underscore, got `{name[:80]}`")
    document = stamp_versions(_template(name, sector))
    put_graph(call, graph_text(document), output, {"name": name}, "edit it, then `assay graph validate` tells the rest")


@click.command(cls=Command)
@file_argument
@output_option
@click.pass_obj
def upgrade(call: Call, file: Path, output: Path) -> None:
    """Write the graph in FILE, flat or typed, of this or another implementation, as a typed draft (SKI 11.2).

    Every change goes to standard error, and into `changes` with --json, with what is left to people.
    """
    found = upgrade_document(read_graph_file(file))
    if found.problems:
        raise GraphFormError(found.problems)
    severe = [one for one in found.issues if is_rejected((one,))]
    call.say("\n".join(plain(f"{one.node or 'graph'}: {one.message} [{one.code}]") for one in found.changes))
    call.say("\n".join(plain(f"left to people: {one.node or 'graph'}: {one.message} [{one.code}]") for one in severe))
    what = "it may be reviewed" if found.is_valid else f"{len(severe)} issues are left to people"
    told = {"changes": found.changes, "issues": found.issues, "is_valid": found.is_valid}
    put_graph(call, graph_text(found.document), output, told, f"{len(found.changes)} changes; {what}")


@click.command(cls=Command)
@file_argument
@click.option(
    "--from", "names", multiple=True, required=True, metavar="UNIT", help="A unit that records use; repeat it."
)
@output_option
@click.pass_obj
def units(call: Call, file: Path, names: tuple[str, ...], output: Path) -> None:
    """Add exact conversions from each UNIT into the units of the obligations to the graph in FILE; needs `units`.

    They are declared in the graph's metadata, reviewed and signed with it; verdicts use these numbers and nothing else.
    """
    from assay.adapters.units_pint import PintUnits

    found = draft_units(parse_document(read_graph_file(file)), names, PintUnits())
    call.say("\n".join(plain(f"{source} into {target}") for source, target in found.drafted))
    call.say("\n".join(plain(f"no conversion found for {name}") for name in found.unknown))
    told: dict[str, object] = {"drafted": found.drafted, "unknown": found.unknown}
    put_graph(call, graph_text(found.document), output, told, f"{len(found.drafted)} conversions; review and sign it")


def _template(name: str, sector: str) -> dict[str, JsonValue]:
    start = "2026-01-01T00:00:00Z"
    return {
        "metadata": {"name": name, "schema_version": "3.0", "sector": sector, "compiled_at": start},
        "nodes": {
            "subjects": [{"id": "unit-1", "type": "subject", "name": "what telemetry is about"}],
            "rules": [{"id": f"{name}.limit", "type": "rule", "name": "a limit", "risk_tier": "medium"}],
            "obligations": [
                {
                    "id": f"{name}.limit.value",
                    "type": "obligation",
                    "obligation_type": "must_not_exceed",
                    "metric": "value",
                    "value": 100,
                    "unit": "mg/m3",
                    "effective_date_start": start,
                    "summary": "what the text says, in its own words",
                }
            ],
            "definitions": [],
            "exemptions": [],
            "precedents": [],
            "jurisdictions": [],
            "citations": [
                {
                    "id": f"{name}.clause",
                    "type": "citation",
                    "source_document": "the regulation",
                    "source_clause": "Article 1(1)",
                }
            ],
        },
        "edges": [
            {"type": "applies_to", "from": f"{name}.limit", "to": "unit-1"},
            {"type": "consists_of", "from": f"{name}.limit", "to": f"{name}.limit.value"},
            {"type": "cited_by", "from": f"{name}.limit.value", "to": f"{name}.clause"},
        ],
    }
