"""`assay model train`: a model learns from pairs, on this machine, and is measured before and after."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.flows.model.train_model import Progress, Trained
from assay.model.learn.plan import Plan
from assay.surfaces.cli.acting import credential_option, read_credential
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.text_file import read_bytes

if TYPE_CHECKING:
    from assay.adapters.weight_folder import CheckpointFile

_HONEST_NO = 1
_LARGEST = 64 * 1024 * 1024
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("train", cls=NodeCommand)
@click.option(
    "--pairs", metavar="FILE", type=_FILE, required=True, help="Cases with answers, one a line; or exported pairs."
)
@click.option("--cases", metavar="FILE", type=_FILE, help="Measure on these instead of the sealed cases.")
@click.option("--parent", metavar="HASH", help="The weights to start from; else those in use.")
@click.option("--steps", type=click.IntRange(1, 100_000), default=400, show_default=True)
@click.option("--rate", type=click.FloatRange(0, 0.1, min_open=True), default=6e-4, show_default=True)
@click.option("--tokens", type=click.IntRange(100, 100_000), default=3000, show_default=True, help="Read in each step.")
@click.option(
    "--pair-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.4,
    show_default=True,
    help="How much of a step is of the pairs; the rest is drawn anew, so that nothing is forgotten.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Fixes everything that is drawn.")
@click.option("--version", help="What the new model is called; else it follows from its parent and its plan.")
@credential_option
@click.pass_context
def train(
    context: click.Context,
    /,
    *,
    pairs: Path,
    cases: Path | None,
    parent: str | None,
    version: str | None,
    credential: str | None,
    **settings: Any,  # noqa: ANN401  the numbers of the plan
) -> None:
    """Fine-tune a model on the pairs in FILE, as an operator, and record what came of it. It is not put into use.

    A training that was stopped goes on from its checkpoint when it is called the same way. Exit 1 if the new model is
    worse, on the sealed cases or on the pairs that were held out.
    """
    from assay.flows.identity.authenticate import authenticate, require_scope
    from assay.flows.model.record_training import record_training
    from assay.surfaces.cli.model_text import training_text

    call: Call = context.obj
    token = read_credential(credential)
    # The node is open for reading only while it learns: others go on writing.
    trained, base = _trained(call, pairs, cases, parent, settings)
    with call.open_node(writable=True) as (tools, _):
        caller = authenticate(tools, token, at=tools.clock.now())
        require_scope(caller, "models:write")
        done = record_training(
            tools,
            caller,
            trained,
            name=base[0],
            version=version or f"{base[1].partition('+')[0]}+{_name_of(trained.plan)[:8]}",
        )
    _checkpoint(call, trained.plan).drop()
    call.answer(done, training_text(done))
    if done.worse:
        context.exit(_HONEST_NO)


def _trained(
    call: Call, pairs: Path, cases: Path | None, parent: str | None, settings: dict[str, Any]
) -> tuple[Trained, tuple[str, str]]:
    from assay.flows.model.case_file import load_sealed_cases, parse_case_file
    from assay.flows.model.judge_pairs import parse_pair_file
    from assay.flows.model.known_model import find_active_hash, find_manifest, load_weights
    from assay.flows.model.train_model import train_model
    from assay.kernel.digest import parse_digest

    taught = parse_pair_file(read_bytes(pairs, largest=_LARGEST))
    sealed = load_sealed_cases() if cases is None else parse_case_file(read_bytes(cases, largest=_LARGEST))
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, None)
        in_use = find_active_hash(tools, tenant_id)
        chosen = in_use if parent is None else parse_digest(parent)
        weights = load_weights(tools, tenant_id, chosen)
        manifest = find_manifest(tools, tenant_id, chosen)
    plan = Plan(
        parent_hash=chosen,
        pairs_hash=taught.hash,
        replay_seed=settings["seed"],
        steps=settings["steps"],
        rate=settings["rate"],
        tokens=settings["tokens"],
        pair_share=settings["pair_share"],
    )
    with call.progress("training") as progress:
        report = _reporting(call, progress)
        trained = train_model(weights, taught, sealed, plan, place=_checkpoint(call, plan), report=report)
    return trained, (manifest.name, manifest.version)


def _reporting(call: Call, progress: Callable[[int, int], None]) -> Callable[[Progress], None]:
    """A bar where a person looks; and a line now and then, which stays in a log."""
    seen: set[str] = set()

    def report(one: Progress) -> None:
        progress(one.done, one.total)
        if one.doing not in seen:
            seen.add(one.doing)
            call.say(f"{one.doing}: {one.total}")
        if one.loss is not None and (one.done % 50 == 0 or one.done == one.total):
            call.say(f"step {one.done} of {one.total}, loss {one.loss:.5f}")

    return report


def _checkpoint(call: Call, plan: Plan) -> "CheckpointFile":
    from assay.adapters.weight_folder import WeightFolder

    return WeightFolder(call.home / "models").checkpoint(_name_of(plan))


def _name_of(plan: Plan) -> str:
    from assay.kernel.canonical import canonical_digest

    return canonical_digest(plan).removeprefix("sha256:")[:16]
