"""`assay graph extract`: the text of a regulation as a draft that people correct and accept."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.adapters.documents import read_document
from assay.flows.verdicts.extract_graph import ExtractedGraph, extract_graph
from assay.kernel.instant import Instant
from assay.surfaces.cli.acting import INSTANT, plain
from assay.surfaces.cli.graph_file import file_argument, graph_text, output_option, put_graph
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.text_file import read_bytes
from assay.verdicts.graph.extract_drafting import ExtractSettings
from assay.verdicts.graph.extract_report import render_report

if TYPE_CHECKING:
    from assay.ports.model import Model


@click.command(cls=NodeCommand)
@file_argument
@click.option("--document", metavar="TEXT", help="How citations name the text; else its title.")
@click.option("--name", metavar="TEXT", help="The name of the graph; else the document's.")
@click.option("--url", metavar="URL", help="Where the text stands.")
@click.option("--effective", type=INSTANT, metavar="TIME", help="Since when, where the text does not say it.")
@click.option("--jurisdiction", metavar="TEXT", help="Where, where the text does not say it.")
@click.option("--subject", metavar="TEXT", help="The one subject of telemetry that all of it is about.")
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="Write the draft as notes in Markdown.")
@click.option("--model", "with_model", is_flag=True, help="Ask the node's general model about what rules cannot read.")
@output_option
@click.pass_obj
def extract(
    call: Call,
    *,
    file: Path,
    document: str | None,
    name: str | None,
    url: str | None,
    effective: Instant | None,
    jurisdiction: str | None,
    subject: str | None,
    output: Path,
    report: Path | None,
    with_model: bool,
) -> None:
    """Draft a graph from the regulation in FILE: plain text, Markdown, HTML, XML or PDF.

    Every node names its clause and its words. Doubts and passages without a node go to standard error, into the draft's
    metadata, and with `--report` into notes for the person who corrects it. Nobody can load a draft before people
    accepted it and an anchor signed it. A model's suggestions stand beside the nodes and change none.
    """
    settings = ExtractSettings(
        document=document, name=name, url=url, effective=effective, jurisdiction=jurisdiction, subject=subject
    )
    with _model(call, with_model=with_model) as model:
        found = extract_graph(read_document(read_bytes(file), name=file.name), settings, model=model)
    if report is not None:
        report.write_text(render_report(found.draft), encoding="utf-8")
    call.say("\n".join(_remarks(found)))
    facts: dict[str, object] = {
        "doubts": found.draft.doubts,
        "passed_over": found.draft.passed_over,
        "suggestions": found.suggestions,
        "model_failure": found.model_failure,
    }
    words = f"{len(found.draft.doubts)} doubts; a draft for people to read"
    put_graph(call, graph_text(found.draft.document), output, facts, words)


@contextmanager
def _model(call: Call, *, with_model: bool) -> "Iterator[Model | None]":
    if not with_model:
        yield None
        return
    from assay.wiring import load_config, open_models

    with open_models(call.home, load_config(call.home)) as models:
        if models.general is None:
            raise click.UsageError("expected a model under [models.general] of assay.toml for --model, got none")
        yield models.general


def _remarks(found: ExtractedGraph) -> Iterator[str]:
    for one in found.draft.doubts:
        yield plain(f"doubt {one.node}: {one.about}")
    for passed in found.draft.passed_over:
        yield plain(f"no obligation in {passed.clause}, line {passed.line} ({passed.reason}): {passed.sentence}")
    for said in found.suggestions:
        operand = "" if said.value is None else f" {said.value} {said.unit or ''}".rstrip()
        yield plain(f"{said.model} suggests for {said.node}: {said.metric} {said.obligation_type}{operand}")
    if found.model_failure is not None:
        yield f"the model gave no more answers: {found.model_failure}"
