"""`assay graph show`, `list` and `history`: reading works beside a running server."""

from pathlib import Path

import click
from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.verdicts.inspect_graph import (
    GraphEvent,
    GraphEventKind,
    KeptGraph,
    ListedGraph,
    list_graph_history,
    list_graphs,
    show_graph,
)
from assay.kernel.instant import render_instant
from assay.kernel.json_text import JsonValue
from assay.ports.graph_store import GraphActivation, GraphHead, RecordedReview
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.graph_file import parse_hash, read_graph_file
from assay.surfaces.cli.graph_text import graph_picture, node_picture
from assay.surfaces.cli.output import Call, ListCommand, NodeCommand, tenant_option
from assay.verdicts.graph.graph import KnowledgeGraph, Node
from assay.verdicts.graph.hash import render_graph, render_node
from assay.verdicts.graph.parse import parse_graph

_MOST_SENTENCES = 3


class ShownGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A graph in the typed form, whatever it was written in; only one that this node keeps has a head."""

    graph: dict[str, JsonValue]
    head: GraphHead | None = None
    reviews: tuple[RecordedReview, ...] = ()
    activation: GraphActivation | None = None
    is_in_use: bool = False


@click.command(cls=NodeCommand)
@click.argument("target", metavar="[HASH|FILE|ID]", required=False)
@click.option("--document", is_flag=True, help="Print the document alone, byte for byte as it was handed in.")
@tenant_option
@click.pass_obj
def show(call: Call, target: str | None, tenant: str | None, *, document: bool) -> None:
    """Show a graph: for each subject its rules, limits, dates and clauses; or the node ID of the graph in use.

    Without an argument it is the graph in use. A FILE needs no node.
    """
    wanted = None if target is None else parse_hash(target)
    if target is not None and wanted is None and Path(target).is_file():
        content = read_graph_file(Path(target))
        _print(call, content, None, alone=document)
        return
    with call.open_node() as (tools, config):
        kept = show_graph(tools, call.tenant_of(config, tenant), wanted)
    if target is None or wanted is not None:
        _print(call, kept.document, kept, alone=document)
        return
    graph = parse_graph(kept.document)
    node = _node(graph, target)
    call.answer(render_node(node), node_picture(graph, node))


@click.command(cls=ListCommand, name="list")
@tenant_option
@click.pass_obj
def list_(call: Call, tenant: str | None) -> None:
    """List every version of a tenant's graphs, who signed it, who spoke about it, and which one is in use."""
    with call.open_node() as (tools, config):
        found = list_graphs(tools, call.tenant_of(config, tenant))
    heads = ("CONTENT", "FORM", "SIGNED BY", "REVIEWS", "ADDED", "BY", "IN USE")
    call.answer_table(found, heads, map(_row, found), nothing="no graph is kept")


@click.command(cls=ListCommand, name="history")
@tenant_option
@click.pass_obj
def history(call: Call, tenant: str | None) -> None:
    """List what happened to a tenant's graphs: handed in, reviewed by whom, put into use, and what that changed."""
    with call.open_node() as (tools, config):
        found = list_graph_history(tools, call.tenant_of(config, tenant))
    heads = ("ENTRY", "WHEN", "WHAT", "GRAPH", "BY", "DETAIL")
    call.answer_table(found, heads, map(_event_row, found), nothing="no graph is kept")


def _event_row(one: GraphEvent) -> tuple[str, ...]:
    accepted = f"accepted by {', '.join(one.reviewers) or 'nobody'}" if one.kind is GraphEventKind.ACTIVATED else ""
    detail = "; ".join(part for part in (one.note, accepted, *one.changes[:_MOST_SENTENCES]) if part)
    more = len(one.changes) - _MOST_SENTENCES
    detail += f"; and {more} more changes" if more > 0 else ""
    what = (str(one.kind), plain(one.name or one.content_hash), one.by, plain(detail))
    return (str(one.sequence_number), render_instant(one.at), *what)


def _print(call: Call, document: bytes, kept: KeptGraph | None, *, alone: bool) -> None:
    if alone:
        click.echo(document, nl=False)
        return
    graph = parse_graph(document)
    if kept is None:
        call.answer(ShownGraph(graph=render_graph(graph)), graph_picture(graph, None))
        return
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


def _row(one: ListedGraph) -> tuple[str, ...]:
    head = one.head
    spoke = ", ".join(f"{review.by} {review.choice}" for review in one.reviews) or "none"
    when = f"from entry {one.activations[-1]}" if one.activations else "never"
    in_use = when if one.is_in_use else "was" if one.activations else "never"
    signed, added = head.signed_by or "nobody", render_instant(head.added_at)
    return (head.content_hash, head.form, signed, spoke, added, head.by, in_use)
