"""`assay graph validate` and `diff`: graphs in files; a node is needed only for what is named by hash."""

from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.digest import Digest
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.graph_file import file_argument, parse_hash, read_graph_file
from assay.surfaces.cli.output import Call, Command, NodeCommand, report_error, tenant_option
from assay.verdicts.graph.describe import describe_diff
from assay.verdicts.graph.diff import FieldChange, GraphDiff, diff_graphs
from assay.verdicts.graph.graph import KnowledgeGraph, Notice
from assay.verdicts.graph.hash import graph_hash
from assay.verdicts.graph.issue import Issue, is_rejected
from assay.verdicts.graph.parse import check_form, parse_document, parse_graph
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


@click.command(cls=NodeCommand)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@tenant_option
@click.pass_context
def diff(context: click.Context, before: str, after: str, tenant: str | None) -> None:
    """What changed from graph A to graph B, in words and then field by field; exit 1 if anything did.

    Each is a file, or the hash of a document or content that this node keeps.
    """
    call: Call = context.obj
    old, new = _named(call, before, tenant), _named(call, after, tenant)
    found = replace(diff_graphs(old, new), words=describe_diff(old, new))
    call.answer(found, "\n".join([*map(plain, found.words), "", *_diff_lines(found)]).strip() or "nothing changed")
    context.exit(0 if found.is_empty else _DIFFERENT)


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


def _named(call: Call, name: str, tenant: str | None) -> KnowledgeGraph:
    wanted = parse_hash(name)
    if wanted is None:
        return parse_graph(read_graph_file(Path(name)))
    from assay.flows.verdicts.inspect_graph import show_graph

    with call.open_node() as (tools, config):
        return parse_graph(show_graph(tools, call.tenant_of(config, tenant), wanted).document)


def _diff_lines(found: GraphDiff) -> Iterator[str]:
    for change in found.metadata:
        yield plain(f"metadata {_field(change)}")
    for node in found.nodes:
        yield plain(f"{node.change} {node.type} {node.node}")
        yield from (plain(f"    {_field(change)}") for change in node.fields)
    for word, edges in (("added", found.edges_added), ("removed", found.edges_removed)):
        yield from (plain(f"{word} edge {edge.source} {edge.type} {edge.target}") for edge in edges)


def _field(change: FieldChange) -> str:
    return f"{change.field}: {_value(change.before)} -> {_value(change.after)}"


def _value(value: object) -> str:
    return "nothing" if value is None else str(value)
