"""`assay model eval`: every figure that is promised of a model, measured now."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from assay.kernel.digest import Digest
from assay.model.figures import Figures, Timing, check_targets
from assay.operations.model import EVALUATE_MODEL
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.text_file import read_bytes

if TYPE_CHECKING:
    from assay.flows.model.case_file import CaseFile
    from assay.flows.model.measure_model import Examinee, JudgeExaminee
    from assay.model.weights import Weights

_HONEST_NO = 1
_LARGEST = 64 * 1024 * 1024
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


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
