"""`assay graph` on a node: review, sign, load, impact, show, list, history, reviews, diff."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.verdicts.inspect_graphs import KeptGraph, compare_graphs
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import JsonValue
from assay.operations.table import BY_NAME
from assay.operations.verdicts import GRAPH_DOCUMENT, LOAD_GRAPH, RELEASE_GRAPH, SHOW_ACTIVE_GRAPH, SHOW_GRAPH
from assay.ports.graph_store import GraphActivation, GraphHead, RecordedReview
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.derive import common_options, derive_command
from assay.surfaces.cli.graph_file import is_hash, output_option, put_graph, read_graph_file
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.perform import perform, sign
from assay.surfaces.cli.sink import require_new_file
from assay.verdicts.graph.diff import FieldChange, GraphDiff
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import DRAFT, KnowledgeGraph, Node, node_type
from assay.verdicts.graph.hash import graph_hash, render_graph, render_node
from assay.verdicts.graph.node import Citation, Definition, Exemption, Jurisdiction, NodeId, Precedent, Rule, Subject
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.parse import parse_document, parse_graph

_DIFFERENT = 1
load = derive_command(LOAD_GRAPH)
review = derive_command(BY_NAME["graph.review"])
reviews = derive_command(BY_NAME["graph.reviews"])
impact = derive_command(BY_NAME["graph.impact"])
list_ = derive_command(BY_NAME["graphs.list"])
history = derive_command(BY_NAME["graphs.history"])


_MIDNIGHT, _LAST = "T00:00:00Z", "T23:59:59.999999Z"


class _Ways:
    """The edges of a graph by type and source, and its nodes by id; the first of several nodes counts."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.nodes: dict[NodeId, Node] = {}
        for node in graph.nodes():
            self.nodes.setdefault(node.id, node)
        self._out: defaultdict[tuple[EdgeType, NodeId], list[NodeId]] = defaultdict(list)
        for edge in graph.edges:
            self._out[edge.type, edge.source].append(edge.target)

    def follow(self, kind: EdgeType, source: NodeId) -> list[Node]:
        return [self.nodes[target] for target in self._out[kind, source] if target in self.nodes]


def graph_picture(graph: KnowledgeGraph, kept: KeptGraph | None) -> str:
    """Every rule below each subject it applies to; rules without a subject come last."""
    ways = _Ways(graph)
    rules: defaultdict[NodeId, list[Rule]] = defaultdict(list)
    loose = []
    for rule in graph.rules:
        subjects = ways.follow(EdgeType.APPLIES_TO, rule.id)
        for subject in subjects:
            rules[subject.id].append(rule)
        if not subjects:
            loose.append(rule)
    lines = list(_head_lines(graph, kept))
    for one in graph.subjects:
        lines += ["", _subject_line(one), *(line for rule in rules[one.id] for line in _rule_lines(ways, rule))]
    if loose:
        lines += ["", "without a subject", *(line for rule in loose for line in _rule_lines(ways, rule))]
    return plain("\n".join(lines))


def node_picture(graph: KnowledgeGraph, node: Node) -> str:
    """One node, field by field, and every edge from and to it."""
    fields = [f"  {name}: {value}" for name, value in render_node(node).items() if name not in ("id", "type")]
    out = [f"  {edge.type} {edge.target}" for edge in graph.edges if edge.source == node.id]
    into = [f"  from {edge.source} by {edge.type}" for edge in graph.edges if edge.target == node.id]
    return plain("\n".join([f"{node_type(node)} {node.id}", *fields, *out, *into]))


def demand_text(node: Obligation) -> str:
    """What an obligation asks, as near to a sentence as its type and operand are."""
    asked = node.obligation_type.replace("_", " ")
    value = "" if node.value is None else f" {_operand(node.value)}"
    unit = "" if node.unit is None else f" {node.unit}"
    window = "" if node.window_seconds is None else f" over {node.window_seconds} s"
    named = "" if node.predicate is None else f" ({node.predicate.name})"
    return f"{node.metric or 'a person judges'}: {asked}{named}{value}{unit}{window}"


def _head_lines(graph: KnowledgeGraph, kept: KeptGraph | None) -> Iterator[str]:
    yield f"{graph.metadata.get('name', 'without a name')} ({graph.form} form)"
    counts = [(graph.subjects, "subjects"), (graph.rules, "rules"), (graph.obligations, "obligations")]
    yield ", ".join(f"{len(nodes)} {word}" for nodes, word in counts)
    if graph.metadata.get(DRAFT) is True:
        yield "a draft: it is used only once people accepted it and an anchor signed it"
    if kept is None:
        return
    yield f"content   {kept.head.content_hash}"
    yield f"signed by {kept.head.signed_by or 'nobody'}"
    yield f"reviewed  {', '.join(f'{one.by} {one.choice}' for one in kept.reviews) or 'by nobody'}"
    if kept.is_in_use and kept.activation is not None:
        since = render_instant(kept.activation.activated_at)
        yield f"in use    since {since}, entry {kept.activation.sequence_number}, {kept.activation.mode}"
    else:
        yield "in use    no"


def _subject_line(subject: Subject) -> str:
    return f"subject {subject.id}" + ("" if subject.name is None else f": {subject.name}")


def _rule_lines(ways: _Ways, rule: Rule) -> Iterator[str]:
    yield f"  rule {rule.id} [{rule.risk_tier or 'no tier, so high'}]" + ("" if rule.name is None else f": {rule.name}")
    obligations = ways.follow(EdgeType.CONSISTS_OF, rule.id)
    if not obligations:
        yield "    no obligation"
    for one in obligations:
        if isinstance(one, Obligation):
            yield from _obligation_lines(ways, one)


def _obligation_lines(ways: _Ways, node: Obligation) -> Iterator[str]:
    places = [one.name or one.id for one in ways.follow(EdgeType.SCOPED_TO, node.id) if isinstance(one, Jurisdiction)]
    yield f"    {demand_text(node)}"
    yield f"      {_force(node)}, {', '.join(places) or 'everywhere'}"
    if node.summary is not None:
        yield f"      “{' '.join(node.summary.split())}”"
    for clause in _clauses(ways, node.id):
        yield f"      {clause}"
    for one in ways.follow(EdgeType.EXEMPTED_BY, node.id):
        if isinstance(one, Exemption):
            judged = "" if one.formal is not None else " (a person judges)"
            yield f"      except: {one.condition}{judged}"
    for one in ways.follow(EdgeType.DEFINED_BY, node.id):
        if isinstance(one, Definition):
            yield f"      {one.term} means {one.definition_text}"
    for one in ways.follow(EdgeType.INTERPRETED_BY, node.id):
        if isinstance(one, Precedent):
            yield f"      {one.relation}: {one.summary}"


def _clauses(ways: _Ways, source: NodeId) -> Iterator[str]:
    for one in ways.follow(EdgeType.CITED_BY, source):
        if isinstance(one, Citation):
            yield f"{one.source_document}, {one.source_clause}"


def _force(node: Obligation) -> str:
    start, end = node.effective_date_start, node.effective_date_end
    since = "no date of beginning" if start is None else f"from {_day(start)}"
    return since if end is None else f"{since} to {_day(end)}"


def _day(at: Instant) -> str:
    return render_instant(at).removesuffix(_MIDNIGHT).removesuffix(_LAST)


def _operand(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


class ShownGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A graph in the typed form, whatever it was written in; only one that a node keeps has a head."""

    graph: dict[str, JsonValue]
    head: GraphHead | None = None
    reviews: tuple[RecordedReview, ...] = ()
    activation: GraphActivation | None = None
    is_in_use: bool = False


@click.command(cls=NodeCommand)
@click.argument("target", metavar="FILE|HASH")
@output_option
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="KEYFILE",
    help="An Ed25519 key to sign with; else the node's review key.",
)
@common_options(LOAD_GRAPH)
@click.pass_obj
def sign_(call: Call, /, target: str, output: Path, key_file: Path | None, **where: str | None) -> None:
    """Sign the graph in FILE, or with the content HASH, as an operator: only what people here accepted.

    A node believes the signature if the key is one of its anchors.
    """
    require_new_file(output)
    content_hash = target if is_hash(target) else graph_hash(parse_document(read_graph_file(Path(target))))
    given: dict[str, Any] = {"content_hash": content_hash}
    if key_file is not None:
        from assay.adapters.keyfile import load_key_file

        given |= sign(call, RELEASE_GRAPH, given, load_key_file(key_file), **where)
    done = perform(call, RELEASE_GRAPH, given, **where)
    facts = {"content_hash": content_hash, "document_hash": done.head.document_hash, "signed_by": done.signed_by}
    put_graph(call, done.document.encode(), output, facts, f"{content_hash} signed by {done.signed_by}")


@click.command(cls=NodeCommand)
@click.argument("target", metavar="[HASH|FILE|ID]", required=False)
@click.option("--document", is_flag=True, help="Print the document alone, byte for byte as it was handed in.")
@common_options(SHOW_GRAPH)
@click.pass_obj
def show(call: Call, /, target: str | None, *, document: bool, **where: str | None) -> None:
    """Show a graph: for each subject its rules, limits, dates and clauses; or the node ID of the graph in use.

    Without an argument it is the graph in use; a HASH may be the beginning of one. A FILE needs no node.
    """
    if target is not None and not is_hash(target) and Path(target).is_file():
        _print(call, read_graph_file(Path(target)), None, alone=document)
        return
    named = target if target is not None and is_hash(target) else _in_use(call, where)
    content = perform(call, GRAPH_DOCUMENT, {"graph": named}, **where).body
    if target is None or is_hash(target):
        _print(call, content, perform(call, SHOW_GRAPH, {"graph": named}, **where), alone=document)
        return
    graph = parse_graph(content)
    node = _node(graph, target)
    call.answer(render_node(node), node_picture(graph, node))


@click.command(cls=NodeCommand)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@common_options(SHOW_GRAPH)
@click.pass_context
def diff(context: click.Context, /, before: str, after: str, **where: str | None) -> None:
    """What changed from graph A to graph B, in words and then field by field; exit 1 if anything did.

    Each is a file, or the hash of a document or content that the node keeps.
    """
    call: Call = context.obj
    found = compare_graphs(_named(call, before, where), _named(call, after, where))
    call.answer(found, "\n".join([*map(plain, found.words), "", *_diff_lines(found)]).strip() or "nothing changed")
    context.exit(0 if found.is_empty else _DIFFERENT)


def _in_use(call: Call, where: Mapping[str, str | None]) -> str:
    return str(perform(call, SHOW_ACTIVE_GRAPH, {}, **where).document_hash)


def _named(call: Call, name: str, where: Mapping[str, str | None]) -> KnowledgeGraph:
    if not is_hash(name):
        return parse_graph(read_graph_file(Path(name)))
    return parse_graph(perform(call, GRAPH_DOCUMENT, {"graph": name}, **where).body)


def _print(call: Call, document: bytes, kept: KeptGraph | None, *, alone: bool) -> None:
    if alone:
        click.echo(document, nl=False)
        return
    graph = parse_graph(document)
    shown = ShownGraph(graph=render_graph(graph))
    if kept is not None:
        shown = ShownGraph(
            graph=render_graph(graph),
            head=kept.head,
            reviews=kept.reviews,
            activation=kept.activation,
            is_in_use=kept.is_in_use,
        )
    call.answer(shown, graph_picture(graph, kept))


def _node(graph: KnowledgeGraph, name: str) -> Node:
    found = next((node for node in graph.nodes() if node.id == name), None)
    if found is None:
        raise NotFoundError(f"the graph in use has no node `{name[:80]}`")
    return found


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
