"""`assay truth compile`, `score` and `expire`: what makes states."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from assay.flows.truth.climb_ladder import Scored, climb_key
from assay.flows.truth.compile_all import CompiledAll, compile_all
from assay.flows.truth.compile_truth import compile_truth
from assay.flows.truth.expire_truth import expire_truth
from assay.identity.principal import BuiltInRole
from assay.ports.pool import Pool
from assay.surfaces.cli.acting import INSTANT, acting_as, session_option
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.text_file import read_bytes
from assay.surfaces.cli.truth_text import compiled_text
from assay.truth.contract import SimilarityMethod
from assay.truth.evidence import EvidenceRef

if TYPE_CHECKING:
    from assay.ports.validator import EvidenceFact

_HONEST_NO = 1
_LARGEST = 256 * 1024 * 1024


@click.command(cls=NodeCommand, name="compile")
@click.argument("truthkey", metavar="[KEY]", required=False)
@click.option("--all", "every", is_flag=True, help="Every key with records that are in no state yet.")
@click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Processes for --all; else one for each processor."
)
@click.option("--dask", metavar="ADDRESS", help="For --all: the scheduler of a Dask cluster, instead of processes.")
@click.option("--claim-type", metavar="ID", help="The version of the contract; else the newest that was observed.")
@click.option("--force", is_flag=True, help="Append a state although it says the same as the last one.")
@click.option("--fresh-trust", is_flag=True, help="Take today's trust although nothing new was recorded.")
@click.option(
    "--trust-through",
    type=click.IntRange(min=1),
    metavar="ENTRY",
    help="Count signals up to an entry, as --all says; else all of them. A record of the key counts in any case.",
)
@click.option("--signed-at", type=INSTANT, metavar="TIME", help="Another time of signing, with --signed-at-reason.")
@click.option("--signed-at-reason", metavar="TEXT", help="Why; recorded in the state's inputs.")
@tenant_option
@session_option
@click.pass_context
def compile_(
    context: click.Context,
    /,
    *,
    truthkey: str | None,
    every: bool,
    workers: int | None,
    dask: str | None,
    tenant: str | None,
    session: str | None,
    **asked: Any,  # noqa: ANN401  the options of one key, as the flow names them
) -> None:
    """Compile KEY, or --all, to signed states; nothing is appended where nothing new is to be said.

    Without a session this acts as the operator of the folder. Exit 1 if one of many could not be compiled.
    """
    call: Call = context.obj
    _require_usage(truthkey, every=every, is_pooled=bool(workers or dask), asked=asked)
    with call.open_node(writable=True) as (tools, config):
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        if truthkey is not None:
            done = compile_truth(tools, tenant_id, truthkey, at=at, **asked)
            call.answer(done, compiled_text(done))
            return
        with _pool(workers, dask) as pool, call.progress("compiling") as progress:
            done_all = compile_all(tools, tenant_id, pool, at=at, progress=progress)
    _answer_all(context, done_all)


def _require_usage(truthkey: str | None, *, every: bool, is_pooled: bool, asked: Mapping[str, object]) -> None:
    """Options that would be passed over are refused: somebody expected something of them."""
    if every is (truthkey is not None):
        raise click.UsageError("expected KEY or --all")
    given = [f"--{name.replace('_', '-')}" for name, value in asked.items() if value]
    if every and given:
        raise click.UsageError(f"expected {', '.join(given)} with KEY, got --all")
    if is_pooled and not every:
        raise click.UsageError("expected --workers and --dask with --all, got KEY")


@contextmanager
def _pool(workers: int | None, dask: str | None) -> Iterator[Pool]:
    """One worker is this very process: starting another would only cost time."""
    if dask is not None:
        from assay.adapters.dask_pool import DaskPool

        with DaskPool(dask) as cluster:
            yield cluster
        return
    from assay.adapters.process_pool import InlinePool, ProcessPool

    count = workers or os.cpu_count() or 1
    if count == 1:
        yield InlinePool()
        return
    with ProcessPool(count) as pool:
        yield pool


def _answer_all(context: click.Context, done: CompiledAll) -> None:
    call: Call = context.obj
    lines = [f"{one.truthkey}  could not be compiled: {one.problem} [{one.code}]" for one in done.stuck]
    words = f"{done.compiled} compiled, {done.unchanged} unchanged, {len(done.stuck)} could not be compiled"
    call.answer(done, "\n".join([*lines, words]))
    if done.stuck:
        context.exit(_HONEST_NO)


@click.command(cls=NodeCommand)
@click.argument("truthkey", metavar="KEY")
@click.option(
    "--evidence",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A piece of evidence to look at; known by its SHA-256. May be repeated.",
)
@tenant_option
@session_option
@click.pass_obj
def score(call: Call, truthkey: str, files: tuple[Path, ...], tenant: str | None, session: str | None) -> None:
    """Let machines judge every observation of KEY, rung by rung, as far as this node has engines.

    The engine `rules` is always there; models are named in assay.toml. A rung that nobody can answer stays open.
    """
    from assay.wiring import open_models

    facts = {fact.sha256: fact for fact in map(_examined, files)}
    with call.open_node(writable=True) as (tools, config), open_models(call.home, config) as models:
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        climbed = climb_key(tools, tenant_id, truthkey, models.engines, at=at, facts=facts)
    call.answer(climbed, "\n".join(map(_scored, climbed)) or "no rung is due")


def _examined(path: Path) -> "EvidenceFact":
    """What the bytes are, and how they look by every method that a contract may ask for."""
    from assay.adapters.validators.examine import examine_evidence
    from assay.adapters.validators.picture import decode_picture

    content = read_bytes(path, largest=_LARGEST)
    ref = EvidenceRef(uri="urn:local", sha256=sha256(content).hexdigest())
    facts = [examine_evidence(ref, content, method=one, decode=decode_picture) for one in SimilarityMethod]
    return replace(facts[0], fingerprints=tuple(mark for fact in facts for mark in fact.fingerprints))


def _scored(one: Scored) -> str:
    said = f"no score: {one.problem} [{one.code}]"
    if one.score is not None:
        failed = f", failed {', '.join(one.score.failed_checks)}" if one.score.failed_checks else ""
        said = f"{one.score.score} by {one.score.engine} {one.score.engine_version}{failed}"
    return f"{one.observation_hash[:16]}  {one.stage or '-':<10}  {said}"


@click.command(cls=NodeCommand)
@tenant_option
@session_option
@click.pass_context
def expire(context: click.Context, tenant: str | None, session: str | None) -> None:
    """Compile every key that time has made due: past its validity, or past the end of its window.

    A server does this by itself. Exit 1 if a key could not be compiled.
    """
    call: Call = context.obj
    with call.open_node(writable=True) as (tools, config):
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        aged = expire_truth(tools, tenant_id, at=at)
    lines = [f"{key}  compiled" for key in aged.compiled]
    lines += [f"{one.truthkey}  could not be compiled: {one.problem} [{one.code}]" for one in aged.stuck]
    call.answer(aged, "\n".join(lines) or "nothing is due")
    if aged.stuck:
        context.exit(_HONEST_NO)
