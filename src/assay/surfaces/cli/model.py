"""`assay model`: the judge's weights, how good they are, and which of them judge."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from assay.flows.model.train_model import Progress, Trained
from assay.kernel.digest import Digest
from assay.model.figures import Figures, Timing, check_targets
from assay.model.learn.plan import Plan
from assay.operations.model import EVALUATE_MODEL, OPERATIONS
from assay.surfaces.cli.acting import credential_option, read_credential
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.text_file import read_bytes

if TYPE_CHECKING:
    from assay.adapters.weight_folder import CheckpointFile
    from assay.flows.model.case_file import CaseFile
    from assay.flows.model.measure_model import Examinee, JudgeExaminee
    from assay.model.weights import Weights

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


class _Measured(Struct, frozen=True, kw_only=True):
    """What is printed; `wrong` and `contested` are numbers of cases, `sequence_number` the entry it is recorded in."""

    model: str
    cases_hash: Digest
    figures: Figures
    timing: Timing
    wrong: tuple[int, ...] = ()
    contested: tuple[int, ...] = ()
    sequence_number: int | None = None


@click.command("eval", cls=NodeCommand)
@click.option(
    "--cases", "case_file", metavar="FILE", type=_FILE, help="Cases with their answers; else the sealed ones."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N cases.")
@click.option("--weights", metavar="HASH|FILE", help="Other weights than those in use, or than the shipped ones.")
@click.option(
    "--backend",
    type=click.Choice(["judge", "general"]),
    default="judge",
    show_default=True,
    help="`general` asks the model that assay.toml names.",
)
@click.option("--sweep", is_flag=True, help="Every size and position up to the judge's limits, instead of cases.")
@click.option("--every", type=click.IntRange(1), default=1, metavar="N", help="With --sweep: each N-th case only.")
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write a picture (SVG).")
@click.option("--record", is_flag=True, help="Record the figures in the ledger, as an operator; activation needs them.")
@common_options(EVALUATE_MODEL)
@click.pass_context
def evaluate(
    context: click.Context,
    /,
    *,
    case_file: Path | None,
    limit: int | None,
    weights: str | None,
    backend: str,
    sweep: bool,
    every: int,
    plot: Path | None,
    record: bool,
    **where: str | None,
) -> None:
    """Measure a model on cases: accuracy, FLAG recall, silent CLEARs, agreement, times, and the confusion matrix.

    Outside a node the shipped judge is measured. Exit 1 if it does not reach what a judge must reach. With --sweep the
    limits are printed, and exit 1 means that a case within them was wrongly called CLEAR or refused.
    """
    from assay.model.plot import plot_figures
    from assay.surfaces.cli.model_text import figures_text

    call: Call = context.obj
    if sweep:
        if case_file is not None or record or backend != "judge":
            raise click.UsageError("expected --sweep without --cases and --record, with the judge")
        context.exit(0 if _swept(call, weights, every) else _HONEST_NO)
    cases = _cases(case_file, limit)
    if record and backend != "judge":
        raise click.UsageError("expected --record with the judge: only its weights can be put into use")
    told = _recorded(call, case_file, limit, weights, where) if record else _measured(call, cases, weights, backend)
    unmet = check_targets(told.figures)
    if plot is not None:
        plot.write_text(plot_figures(told.figures, f"{told.model[:40]}… on {told.cases_hash[:23]}…"), encoding="utf-8")
    call.answer({"measured": told, "unmet": unmet}, figures_text(told.figures, told.timing))
    for reason in unmet:
        call.say(f"not reached: {reason}")
    if unmet:
        context.exit(_HONEST_NO)


def _swept(call: Call, weights: str | None, every: int) -> bool:
    from assay.flows.model.sweep_model import sweep_model
    from assay.surfaces.cli.model_text import sweep_text

    with _judge(call, weights) as (name, examinee), call.progress("sweeping") as progress:
        found = sweep_model(examinee.engine, every=every, report=lambda done: progress(done, None))
    call.answer({"model": name, "sweep": found}, sweep_text(found))
    return found.is_clean


def _cases(file: Path | None, limit: int | None) -> "CaseFile":
    import msgspec

    from assay.flows.model.case_file import load_sealed_cases, parse_case_file

    found = load_sealed_cases() if file is None else parse_case_file(read_bytes(file, largest=_LARGEST))
    return msgspec.structs.replace(found, cases=found.cases[:limit])


def _measured(call: Call, cases: "CaseFile", weights: str | None, backend: str) -> _Measured:
    from assay.flows.model.measure_model import measure_model

    opened = _general(call) if backend == "general" else _judge(call, weights)
    with opened as (name, examinee), call.progress("measuring") as progress:
        found = measure_model(examinee, cases.cases, report=progress)
    return _Measured(
        model=name,
        cases_hash=cases.hash,
        figures=found.figures,
        timing=found.timing,
        wrong=found.wrong,
        contested=found.contested,
    )


def _recorded(
    call: Call, file: Path | None, limit: int | None, weights: str | None, where: dict[str, str | None]
) -> _Measured:
    from assay.surfaces.cli.perform import perform

    given = {"cases": b"" if file is None else read_bytes(file, largest=_LARGEST), "weights": weights, "limit": limit}
    done = perform(call, EVALUATE_MODEL, {name: value for name, value in given.items() if value is not None}, **where)
    return _Measured(
        model=done.weight_hash,
        cases_hash=done.cases_hash,
        figures=done.figures,
        timing=done.timing,
        sequence_number=done.sequence_number,
    )


@contextmanager
def _judge(call: Call, weights: str | None) -> "Iterator[tuple[str, JudgeExaminee]]":
    """By a hash those of the registry; by a file these; else those in use, and outside a node the shipped ones."""
    from assay.flows.model.measure_model import JudgeExaminee
    from assay.model.engine import Engine
    from assay.model.weights import MAX_BYTES, parse_weights

    if weights is not None and not weights.startswith("sha256:"):
        found = parse_weights(read_bytes(Path(weights), largest=MAX_BYTES))
    else:
        found = _known(call, weights)
    yield found.hash, JudgeExaminee(Engine(found))


def _known(call: Call, weights: str | None) -> "Weights":
    from assay.flows.model.known_model import find_active_hash, load_weights, shipped_bytes, shipped_card
    from assay.kernel.digest import parse_digest
    from assay.model.weights import parse_weights
    from assay.wiring import CONFIG_FILE

    if weights is None and not (call.home / CONFIG_FILE).exists():
        return parse_weights(shipped_bytes(), expected=shipped_card().weight_hash)
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, None)
        in_use = find_active_hash(tools, tenant_id)
        return load_weights(tools, tenant_id, in_use if weights is None else parse_digest(weights))


@contextmanager
def _general(call: Call) -> "Iterator[tuple[str, Examinee]]":
    from assay.adapters.egress.places import place_of_model
    from assay.adapters.reasoning.general import GeneralReasoner
    from assay.flows.errors.verdicts import VerdictFlowError
    from assay.flows.model.measure_model import AskedReasoner
    from assay.wiring import open_models

    with call.open_node() as (tools, config), open_models(call.home, config) as models:
        if models.general is None or config.models.general is None:
            raise VerdictFlowError.no_model("expected a general model in assay.toml ([models.general]), got none")
        place = place_of_model(config.models.general.url)
        reasoner = GeneralReasoner(models.general, tools.clock, place=place)
        found = reasoner.identify()
        yield f"{found.backend_name} {found.model_weight_hash or 'of unknown weights'}", AskedReasoner(reasoner)


@click.group(cls=Group)
def model() -> None:
    """Models that judge: the one that ships with the package, and those that were added or trained here."""


add_operations(model, "model", OPERATIONS)


model.add_command(evaluate)


model.add_command(train)
