"""`assay graph review`, `sign`, `load` and `impact`: a graph on its way into use on this node."""

from collections.abc import Iterator
from pathlib import Path

import click

from assay.flows.tools import Tools
from assay.flows.verdicts.change_graphs import GraphInReview, LoadedGraph, load_graph, release_graph, review_graph
from assay.flows.verdicts.graph_impact import GraphImpact, RuleImpact, VerdictChange, graph_impact
from assay.flows.verdicts.inspect_graph import list_graph_reviews
from assay.kernel.instant import render_instant
from assay.ports.graph_store import RecordedReview
from assay.ports.signer import Signer
from assay.surfaces.cli.acting import columns, credential_option, plain, read_credential, within
from assay.surfaces.cli.graph_check import load_prover
from assay.surfaces.cli.graph_file import file_argument, output_option, parse_hash, put_graph, read_graph_file
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.sink import require_new_file
from assay.verdicts.graph.hash import graph_hash
from assay.verdicts.graph.parse import parse_document

_MOST_AFFECTED = 10

_HONEST_NO = 1
_prove_option = click.option("--prove", is_flag=True, help="Prove contradictions by z3; needs the extra `prove`.")


@click.command(cls=NodeCommand)
@click.argument("target", metavar="FILE|HASH")
@_prove_option
@credential_option
@tenant_option
@click.pass_context
def review(context: click.Context, target: str, credential: str | None, tenant: str | None, *, prove: bool) -> None:
    """Put the graph in FILE to the reviewers, as an operator; or tell who said what about the content HASH.

    A graph with high or critical issues is refused before anyone is asked. The review desk takes the answers; with a
    HASH the exit code is 1 while nobody has spoken.
    """
    call: Call = context.obj
    content_hash = parse_hash(target)
    if content_hash is not None:
        with call.open_node() as (tools, config):
            found = list_graph_reviews(tools, call.tenant_of(config, tenant), content_hash)
        call.answer(found, _reviews_text(found))
        context.exit(0 if found else _HONEST_NO)
    prover = load_prover() if prove else None
    token, document = read_credential(credential), read_graph_file(Path(target))
    with call.open_node(writable=True) as (tools, _):
        asked = review_graph(
            tools, document, credential=within(tools, token, "graphs:write"), at=tools.clock.now(), prover=prover
        )
    call.answer(asked, _asked_text(asked))


@click.command(cls=NodeCommand)
@click.argument("target", metavar="FILE|HASH")
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="KEYFILE",
    help="An Ed25519 key to sign with; else the node's review key.",
)
@output_option
@credential_option
@click.pass_obj
def sign(call: Call, target: str, key: Path | None, output: Path, credential: str | None) -> None:
    """Sign the graph in FILE, or with the content HASH, as an operator: only what people here accepted.

    A node believes the signature if the key is one of its anchors.
    """
    require_new_file(output)
    token = read_credential(credential)
    wanted = parse_hash(target) or graph_hash(parse_document(read_graph_file(Path(target))))
    with call.open_node(writable=True) as (tools, _):
        signer = _signer(tools, key)
        done = release_graph(
            tools, wanted, signer, credential=within(tools, token, "graphs:write"), at=tools.clock.now()
        )
    facts: dict[str, object] = {"content_hash": wanted, "document_hash": done.head.document_hash}
    facts["signed_by"] = signer.key_id
    put_graph(call, done.document, output, facts, f"{wanted} signed by {signer.key_id}")


@click.command(cls=NodeCommand)
@file_argument
@click.option("--downgrade-reason", metavar="TEXT", help="Why a lesser or older graph may follow; a person's session.")
@_prove_option
@credential_option
@click.pass_obj
def load(call: Call, file: Path, downgrade_reason: str | None, credential: str | None, *, prove: bool) -> None:
    """Put the graph in FILE into use, as an operator (SKI 3.5).

    Strict mode takes only what an anchor of this node signed, what is valid, what people here accepted, and no step
    back. Advisory mode also takes an unsigned graph, with a warning; its verdicts carry the hash of no bytes.
    """
    token, document = read_credential(credential), read_graph_file(file)
    prover = load_prover() if prove else None
    with call.open_node(writable=True) as (tools, _):
        loaded = load_graph(
            tools,
            document,
            credential=within(tools, token, "graphs:write"),
            at=tools.clock.now(),
            downgrade_reason=downgrade_reason,
            prover=prover,
        )
    for notice in loaded.notices:
        call.warn(plain(f"{notice.code}: {notice.message}"))
    call.answer(loaded, _loaded_text(loaded))


@click.command(cls=NodeCommand)
@click.argument("file", metavar="NEW_GRAPH", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--from", "first", type=click.IntRange(min=1), default=1, metavar="N", help="From this ledger entry on.")
@click.option("--to", "last", type=click.IntRange(min=1), metavar="N", help="Up to this ledger entry.")
@click.option("--limit", type=click.IntRange(min=0), default=100, show_default=True, help="How many changes to list.")
@credential_option
@click.pass_context
def impact(
    context: click.Context, file: Path, first: int, last: int | None, limit: int, credential: str | None
) -> None:
    """Judge every recorded record again by NEW_GRAPH and tell which verdicts would change; exit 1 if any would.

    No model is asked and nothing is recorded: what changes is what the rules say.
    """
    call: Call = context.obj
    token, document = read_credential(credential), read_graph_file(file)
    with call.open_node() as (tools, _):
        found = graph_impact(
            tools,
            document,
            credential=within(tools, token, "verdicts:read"),
            at=tools.clock.now(),
            first=first,
            last=last,
            limit=limit,
        )
    call.answer(found, _impact_text(found))
    context.exit(_HONEST_NO if found.changed else 0)


def _signer(tools: Tools, key: Path | None) -> Signer:
    """The review key is the node's own word for what its people decided."""
    if key is None:
        return tools.review_signer
    from assay.adapters.keyfile import load_key_file

    return load_key_file(key)


def _asked_text(asked: GraphInReview) -> str:
    remarks = [plain(f"{one.severity} {one.code} {one.node or ''}: {one.message}") for one in asked.issues]
    facts = [
        ("content", str(asked.content_hash)),
        ("ticket", str(asked.ticket.id)),
        ("to answer", f"assay review answer {asked.ticket.id} accept --seen {asked.ticket.shown_hash}"),
    ]
    return "\n".join([*remarks, columns(list(facts))])


def _reviews_text(found: tuple[RecordedReview, ...]) -> str:
    rows = [(one.by, str(one.choice), render_instant(one.reviewed_at), one.ticket_id, plain(one.note)) for one in found]
    heads = ("WHO", "SAID", "WHEN", "TICKET", "WHY")
    return columns([heads, *rows]) if rows else "nobody has reviewed this content"


def _loaded_text(loaded: LoadedGraph) -> str:
    one = loaded.activation
    facts = [
        ("in use", f"from entry {one.sequence_number} on, {one.mode}"),
        ("content", str(one.content_hash)),
        ("envelopes say", str(one.kg_version_hash)),
        ("accepted by", "1 person" if one.reviewers == 1 else f"{one.reviewers} people"),
        ("remarks", f"{len(loaded.issues)} of the validator"),
    ]
    return columns(list(facts))


def _impact_text(found: GraphImpact) -> str:
    counts = f"{found.records} records, {found.verdicts} verdicts, {found.changed} would change"
    head = f"{counts} under {found.content_hash}"
    moves = [f"  {count} x {move}" for move, count in found.moves.items()]
    rules = [line for one in found.rules[:_MOST_AFFECTED] for line in _rule_lines(one)]
    subjects = [f"  {one.changed} about {plain(one.subject)}" for one in found.subjects[:_MOST_AFFECTED]]
    rows = [_change_row(one) for one in found.changes]
    more = [] if len(rows) == found.changed else [f"and {found.changed - len(rows)} more"]
    return "\n".join([head, *moves, *rules, *subjects, *([columns(rows)] if rows else []), *more])


def _rule_lines(one: RuleImpact) -> Iterator[str]:
    moves = ", ".join(f"{count} x {move}" for move, count in one.moves.items())
    examples = ", ".join(plain(example.telemetry_id) for example in one.examples)
    yield f"  {one.changed} of rule {plain(one.rule_id or 'none')}: {moves}; such as {examples}"


def _change_row(one: VerdictChange) -> tuple[str, ...]:
    move = f"{one.before or 'no verdict'} -> {one.after or 'no verdict'}"
    return plain(one.telemetry_id), plain(one.subject), plain(one.rule_id or "no rule"), move
