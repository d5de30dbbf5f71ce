"""`assay graph new` and `upgrade`: graphs to begin with; no node is needed."""

import re
from pathlib import Path

import click

from assay.kernel.json_text import JsonValue
from assay.surfaces.cli.graph_file import file_argument, graph_text, output_option, put_graph, read_graph_file
from assay.surfaces.cli.output import Call, Command
from assay.verdicts.graph.graph import DRAFT
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.upgrade import suggest_upgrades, upgrade_graph

__all__ = ["new", "upgrade"]

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
    """Write the flat graph of version 2 in FILE in the typed form, as a draft that people complete (SKI 11.2).

    What each rule still needs goes to standard error, and into `steps` with --json.
    """
    graph = parse_graph(read_graph_file(file))
    document = stamp_versions(_as_draft(upgrade_graph(graph)))
    steps = suggest_upgrades(graph)
    call.say("\n".join(f"{one.rule}: {one.message} [{one.code}]" for one in steps))
    put_graph(call, graph_text(document), output, {"steps": steps}, f"{len(steps)} steps are left to people")


def _as_draft(document: dict[str, JsonValue]) -> dict[str, JsonValue]:
    metadata = document.get("metadata")
    return {**document, "metadata": {**(metadata if isinstance(metadata, dict) else {}), DRAFT: True}}


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
