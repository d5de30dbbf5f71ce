"""`assay graph` on a node: review, sign, load, impact, show, list, history, reviews, diff."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.verdicts.inspect_graphs import KeptGraph, compare_graphs
from assay.kernel.json_text import JsonValue
from assay.operations.table import BY_NAME
from assay.operations.verdicts import GRAPH_DOCUMENT, LOAD_GRAPH, RELEASE_GRAPH, SHOW_ACTIVE_GRAPH, SHOW_GRAPH
from assay.ports.graph_store import GraphActivation, GraphHead, RecordedReview
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.derive import common_options, derive_command
from assay.surfaces.cli.graph_file import is_hash, output_option, put_graph, read_graph_file
from assay.surfaces.cli.graph_text import graph_picture, node_picture
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.perform import perform, sign
from assay.surfaces.cli.sink import require_new_file
from assay.verdicts.graph.diff import FieldChange, GraphDiff
from assay.verdicts.graph.graph import KnowledgeGraph, Node
from assay.verdicts.graph.hash import graph_hash, render_graph, render_node
from assay.verdicts.graph.parse import parse_document, parse_graph

_DIFFERENT = 1

load = derive_command(LOAD_GRAPH)
review = derive_command(BY_NAME["graph.review"])
reviews = derive_command(BY_NAME["graph.reviews"])
impact = derive_command(BY_NAME["graph.impact"])
list_ = derive_command(BY_NAME["graphs.list"])
history = derive_command(BY_NAME["graphs.history"])


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
