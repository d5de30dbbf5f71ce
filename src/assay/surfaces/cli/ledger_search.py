"""`assay ledger search` and `assay ledger index`: entries by what is in them, and the proof that none was left out."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.entry_text import entry_line
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.sink import write_output

if TYPE_CHECKING:
    from assay.flows.ledger.search_entries import SearchAnswer
    from assay.flows.tools import Tools
    from assay.kernel.ids import TenantId
    from assay.kernel.search_proof import SearchProof
    from assay.ports.index_store import IndexSegment

__all__ = ["index", "search"]


@click.command(cls=NodeCommand)
@click.argument("terms", metavar="NAME=VALUE...", nargs=-1, required=True)
@click.option("--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Only entries after this one.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@click.option(
    "--proof",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the file that shows all that is found, and that nothing is missing, for `assay verify`.",
)
@tenant_option
@click.pass_obj
def search(
    call: Call, terms: tuple[str, ...], after: int, limit: int, proof: Path | None, *, tenant: str | None
) -> None:
    """Find the entries that have every term, oldest first; with --json one object for each, a line each.

    A term names a member of an entry, however deep, and its value: `kind=verdict`, `rule_id=EN-1`, `day=2026-03-01`.
    A proof reaches as far as the newest index that a checkpoint covers (`assay ledger index`); where there is none,
    both are made first.
    """
    if proof is not None:
        _write_proof(call, terms, proof, tenant)
        return
    from assay.flows.ledger.search_entries import search_entries

    with call.open_node() as (tools, config):
        answer = search_entries(tools, call.tenant_of(config, tenant), terms, after=after, limit=limit)
    for entry in answer.entries:
        call.answer_one_of_many(entry, entry_line(entry))
    call.say(_summary(answer))


@click.command(cls=NodeCommand)
@tenant_option
@click.pass_obj
def index(call: Call, *, tenant: str | None) -> None:
    """Index the entries that no index covers yet, log the root of each index, and sign a checkpoint over them.

    A server does this by itself whenever a ledger has grown by some thousand entries.
    """
    with call.open_node(writable=True) as (tools, config):
        sealed = _seal(tools, call.tenant_of(config, tenant))
    words = f"indexed entries {sealed[0].first} to {sealed[-1].last}" if sealed else "nothing was left to index"
    call.answer({"indexes": sealed}, words)


def _seal(tools: "Tools", tenant_id: "TenantId") -> "tuple[IndexSegment, ...]":
    from assay.flows.ledger.seal_index import seal_index
    from assay.flows.ledger.sign_checkpoint import sign_checkpoint

    sealed = seal_index(tools, tenant_id, at=tools.clock.now())
    sign_checkpoint(tools, tenant_id, at=tools.clock.now())
    return sealed


def _write_proof(call: Call, terms: tuple[str, ...], output: Path, tenant: str | None) -> None:
    from assay.kernel.check_search import read_seal
    from assay.kernel.search_proof import render_search

    proof = _prove(call, terms, tenant)
    write_output(output, render_search(proof))
    _, newest = read_seal(proof.newest.entry.encode())
    value = {"output": str(output), "entries": len(proof.entries), "covered": newest.last}
    call.answer(value, f"wrote {output}: {len(proof.entries)} of entries 1 to {newest.last}")


def _prove(call: Call, terms: tuple[str, ...], tenant: str | None) -> "SearchProof":
    """Reading first, which also works beside a server; only a missing index needs the writer's place."""
    from assay.flows.errors.ledger import NoIndexError
    from assay.flows.ledger.prove_search import prove_search

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        try:
            return prove_search(tools, tenant_id, terms)
        except NoIndexError:
            pass
    with call.open_node(writable=True) as (tools, _):
        _seal(tools, tenant_id)
        return prove_search(tools, tenant_id, terms)


def _summary(answer: "SearchAnswer") -> str:
    more = f", and more after entry {answer.entries[-1].sequence_number}" if answer.more else ""
    found = f"{len(answer.entries)} found{more}"
    return f"{found}; that none is missing can be proven up to entry {answer.covered} of {answer.size}"
