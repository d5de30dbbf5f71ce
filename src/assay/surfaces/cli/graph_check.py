"""`assay graph validate`: a graph in a file; no node is needed."""

from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import Struct

from assay.kernel.digest import Digest
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.graph_file import file_argument, read_graph_file
from assay.surfaces.cli.output import Call, Command, report_error
from assay.verdicts.graph.graph import Notice
from assay.verdicts.graph.hash import graph_hash
from assay.verdicts.graph.issue import Issue, is_rejected
from assay.verdicts.graph.parse import check_form, parse_document
from assay.verdicts.graph.problem import Problem
from assay.verdicts.graph.upgrade import Upgrade, suggest_upgrades
from assay.verdicts.graph.validate import Prover, validate_graph

_DIFFERENT = 1
# As users of other validators know them; only here, everywhere else the codes of `assay --help` hold.
_MISSING, _NO_GRAPH, _REJECTED = 1, 2, 3


class ValidatedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`holds` says that the graph may be signed; a text that is no graph has `problems` and nothing else."""

    file: str
    holds: bool
    form: str | None = None
    content_hash: Digest | None = None
    problems: tuple[Problem, ...] = ()
    issues: tuple[Issue, ...] = ()
    notices: tuple[Notice, ...] = ()
    upgrades: tuple[Upgrade, ...] = ()


@click.command(cls=Command)
@file_argument
@click.option("--schema", type=click.Choice(["v3"]), default="v3", help="The schema to validate by: SKI 3.0.")
@click.option("--suggest-upgrades", is_flag=True, help="Also what a flat graph of version 2 needs to become typed.")
@click.option("--prove", is_flag=True, help="Prove contradictions by z3; needs the extra `prove`.")
@click.pass_context
def validate(context: click.Context, file: Path, schema: str, *, suggest_upgrades: bool, prove: bool) -> None:
    """Tell every issue of the graph in FILE: where, what is wrong, and what to do; no node is needed.

    Exit 0: it may be signed. 1: there is no such file. 2: it is not a graph. 3: an issue is high or critical.
    """
    del schema  # one is supported; the option is what users of other validators type
    call: Call = context.obj
    if not file.is_file():
        report_error("cli.text_file", f"expected a file, got `{file}`", as_json=call.as_json)
        context.exit(_MISSING)
    found = _validated(file, load_prover() if prove else None, is_upgrading=suggest_upgrades)
    call.answer(found, "\n".join(_lines(found)))
    call.say(_summary(found))
    context.exit(_NO_GRAPH if found.form is None else 0 if found.holds else _REJECTED)


def load_prover() -> Prover:
    """The solver, or `graph.prover_missing`."""
    from assay.adapters.prove_z3 import Z3Prover

    return Z3Prover()


def _validated(file: Path, prover: Prover | None, *, is_upgrading: bool) -> ValidatedGraph:
    document = read_graph_file(file)
    finding = check_form(document)
    graph = finding.graph
    if graph is None:
        return ValidatedGraph(file=str(file), holds=False, problems=finding.problems)
    issues = validate_graph(graph, prover=prover)
    return ValidatedGraph(
        file=str(file),
        holds=not is_rejected(issues),
        form=graph.form,
        content_hash=graph_hash(parse_document(document)),
        issues=issues,
        notices=graph.notices,
        upgrades=suggest_upgrades(graph) if is_upgrading else (),
    )


def _lines(found: ValidatedGraph) -> Iterator[str]:
    for problem in found.problems:
        yield plain(f"{found.file}: error: {problem.path or 'document'}: {problem.message} [{problem.code}]")
    for issue in found.issues:
        yield plain(f"{issue.severity} {issue.code} {_place(issue)}: {issue.message}")
        yield plain(f"    do: {issue.action}")
        if issue.proof is not None:
            yield plain(f"    proof: {issue.proof}")
    for step in found.upgrades:
        yield plain(f"upgrade {step.code} {step.rule}: {step.message}")
    if found.content_hash is not None:
        yield f"{found.file}: {found.content_hash}"


def _place(issue: Issue) -> str:
    named: list[str] = [] if issue.node is None else [issue.node]
    if issue.other is not None:
        named.append(f"and {issue.other}")
    if issue.edge is not None:
        named.append(f"edge {issue.edge.source} {issue.edge.type} {issue.edge.target}")
    return " ".join(named) or "graph"


def _summary(found: ValidatedGraph) -> str:
    if found.form is None:
        return f"not a knowledge graph: {len(found.problems)} problems"
    worst = "may be signed once people accepted it" if found.holds else "may not be signed"
    return f"{len(found.issues)} issues; {worst}"
