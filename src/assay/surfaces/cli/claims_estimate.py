"""`assay claims estimate` and `calibrate`: how uncertain an answer is, and where to draw the line."""

from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from assay.adapters.keyfile import load_key_file
from assay.claims.bundle import Recommendation, UncertaintyMethod
from assay.claims.errors import CalibrationSettingError
from assay.claims.estimate.entropy import GATING_ANSWERS, Correction, Weighting
from assay.claims.estimate.estimate import Estimate
from assay.claims.estimate.plot import plot_reliability, plot_risk_coverage, plot_roc
from assay.claims.estimate.stated import Calibrator
from assay.claims.policy import DEFAULT_POLICY
from assay.flows.claims.calibrate_policy import (
    Calibrated,
    CalibratorName,
    LabelledCase,
    calibrate_policy,
    fit_calibrator,
    parse_cases,
)
from assay.flows.claims.estimate_uncertainty import Sampling, estimate_uncertainty
from assay.flows.verdicts.estimate_verdict import JudgeSampling, estimate_verdict, weights_of_verdict
from assay.ports.model import ModelUnavailableError
from assay.ports.signer import Signer
from assay.surfaces.cli.claims_policy_file import read_policy_file
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.sink import open_file_sink
from assay.surfaces.cli.text_file import read_text

_HONEST_NO = 1
_LARGEST = 256 * 1024 * 1024
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_DRAWN = (
    UncertaintyMethod.SEMANTIC_ENTROPY,
    UncertaintyMethod.MODEL_DISAGREEMENT,
    UncertaintyMethod.CONFIDENCE_SCORE,
)


@click.command(cls=NodeCommand)
@click.argument("question", metavar="QUESTION", required=False)
@click.option(
    "--verdict", "telemetry_id", metavar="ID", help="Ask the judge instead, about its verdict on this record."
)
@click.option("--rule", "rule_id", metavar="ID", help="Of this rule, where several judged the record.")
@click.option(
    "--temperature",
    type=click.FloatRange(0.0, 10.0, min_open=True),
    default=1.0,
    show_default=True,
    help="With --verdict: at which the replies are drawn; model disagreement has its own.",
)
@click.option(
    "--method",
    type=click.Choice([one.value for one in _DRAWN]),
    default=UncertaintyMethod.SEMANTIC_ENTROPY.value,
    show_default=True,
    help="How it is estimated; docs/claims.md says which to choose when.",
)
@click.option("--answers", type=click.IntRange(2, 100), default=GATING_ANSWERS, show_default=True, help="How many.")
@click.option("--stop-after", type=click.IntRange(2, 100), help="Draw no more once so many all mean the same.")
@click.option(
    "--weighting",
    type=click.Choice([one.value for one in Weighting]),
    default=Weighting.COUNTS.value,
    show_default=True,
    help="Of semantic entropy: each answer once, or by its likelihood.",
)
@click.option(
    "--correction",
    type=click.Choice([one.value for one in Correction]),
    default=Correction.NONE.value,
    show_default=True,
    help="Of semantic entropy by counts: add what a small sample hides.",
)
@click.option(
    "--calibrator", type=_FILE, metavar="FILE", help="Of the confidence score: as `calibrate --calibrator` wrote it."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed is another sample.")
@tenant_option
@click.pass_context
def estimate(
    context: click.Context,
    /,
    *,
    question: str | None,
    telemetry_id: str | None,
    rule_id: str | None,
    temperature: float,
    method: str,
    answers: int,
    stop_after: int | None,
    weighting: str,
    correction: str,
    calibrator: Path | None,
    seed: int,
    tenant: str | None,
) -> None:
    """Ask the node's own model QUESTION several times, and tell how uncertain it is; exit 1 where that calls for DEFER.

    The model is `[models.general]` of assay.toml, the judge `[claims] judge`. With --verdict the model that judges
    records draws its replies to the recorded question again, by the weights that judged; the same seed, the same.
    """
    if (question is None) is (telemetry_id is None):
        raise click.UsageError("expected a QUESTION, or --verdict")
    if telemetry_id is not None:
        sampled = JudgeSampling(
            method=UncertaintyMethod(method), answers=answers, temperature=Decimal(str(temperature)), seed=seed
        )
        _estimate_verdict(context, telemetry_id, rule_id, tenant, sampled)
        return
    sampling = Sampling(
        answers=answers,
        stop_after=stop_after,
        weighting=Weighting(weighting),
        correction=Correction(correction),
        seed=seed,
    )
    _estimate_question(context, question or "", UncertaintyMethod(method), sampling, calibrator)


def _estimate_question(
    context: click.Context, question: str, method: UncertaintyMethod, sampling: Sampling, calibrator: Path | None
) -> None:
    from assay.wiring import load_config, open_judge, open_models

    call: Call = context.obj
    config = load_config(call.home)
    fitted = None if calibrator is None else _read_calibrator(calibrator)
    with open_models(call.home, config) as models:
        if models.general is None:
            raise ModelUnavailableError("expected a model under `[models.general]`, got none")
        judge = open_judge(config, models.general)
        found = estimate_uncertainty(
            models.general, question, method, judge=judge, sampling=sampling, calibrator=fitted
        )
    call.answer(found, _estimate_text(found))
    context.exit(_exit_of(found))


def _estimate_verdict(
    context: click.Context, telemetry_id: str, rule_id: str | None, tenant: str | None, sampling: JudgeSampling
) -> None:
    from assay.wiring import open_scorer

    call: Call = context.obj
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        weights = weights_of_verdict(tools, tenant_id, telemetry_id, rule_id)
        judge = open_scorer(folder=call.home, named=weights)
        found = estimate_verdict(tools, tenant_id, telemetry_id, judge, rule_id=rule_id, sampling=sampling)
    drawn = ", ".join(f"{one.verdict} (seed {one.drawing.seed} at {one.drawing.temperature})" for one in found.drawn)
    head = f"entry {found.sequence_number}, rule {found.rule_id}: {found.verdict} is recorded"
    call.answer(found, f"{head}\ndrawn: {drawn}\n{_estimate_text(found.estimate)}")
    context.exit(_exit_of(found.estimate))


def _estimate_text(found: Estimate) -> str:
    judge = "" if found.judge is None else f"\njudge: {found.judge}"
    cost = f"{found.cost.answers} answers, {found.cost.judge_calls} questions to the judge"
    return f"{found.value:.3f} by {found.method}: {found.recommendation}\n{found.interpretation}\n{cost}{judge}"


def _exit_of(found: Estimate) -> int:
    return _HONEST_NO if found.recommendation in (Recommendation.DEFER, Recommendation.REFUSE) else 0


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--alpha", type=float, default=0.1, show_default=True, help="At most this share of the published wrong,")
@click.option("--delta", type=float, default=0.1, show_default=True, help="with confidence 1 - delta.")
@click.option(
    "--method",
    type=click.Choice([one.value for one in UncertaintyMethod]),
    default=UncertaintyMethod.SEMANTIC_ENTROPY.value,
    show_default=True,
    help="Which method the uncertainties in FILE are of.",
)
@click.option(
    "--calibrator",
    nargs=2,
    type=(click.Choice([one.value for one in CalibratorName]), click.Path(path_type=Path, dir_okay=False)),
    metavar="KIND FILE",
    help="First fit temperature, platt or isotonic on every second case, and write it to a new file.",
)
@click.option("--base", type=_FILE, metavar="POLICY", help="The policy to change; else the specification's.")
@click.option("--version", "version", default="calibrated-1", show_default=True, help="The new policy's version.")
@click.option(
    "--key", "key_file", type=_FILE, metavar="KEYFILE", help="Sign the policy with this key; else with the node's."
)
@click.option("--key-passphrase", envvar="ASSAY_REVIEWER_PASSPHRASE", hidden=True)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the policy to a new file."
)
@click.option(
    "--plots", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Draw ROC, reliability and risk."
)
@click.pass_context
def calibrate(
    context: click.Context,
    /,
    *,
    file: BinaryIO,
    alpha: float,
    delta: float,
    method: str,
    calibrator: tuple[str, Path] | None,
    base: Path | None,
    version: str,
    key_file: Path | None,
    key_passphrase: str | None,
    output: Path | None,
    plots: Path | None,
) -> None:
    """Fit a threshold to the cases in FILE, one `{"uncertainty": 0.2, "wrong": false}` in each line.

    Tells what share of answers is deferred for it, and writes a policy with it, signed with --key, or in a node's
    folder with the node's review key; a policy that nobody signs is not written. Exit 1 where no threshold holds: then
    there is too little data, or the uncertainty tells too little.
    """
    call: Call = context.obj
    signer = _signer(call, key_file, key_passphrase)
    if signer is None and output is not None:
        raise click.UsageError("a policy is signed: give --key KEYFILE, or run it in a node's folder (--home)")
    policy = DEFAULT_POLICY if base is None else read_policy_file(base)
    cases = parse_cases(file.read(_LARGEST).splitlines())
    if calibrator is not None:
        cases = _calibrated(call, cases, *calibrator)
    done = calibrate_policy(
        cases,
        policy,
        method=UncertaintyMethod(method),
        version=version,
        alpha=alpha,
        delta=delta,
        signer=signer,
    )
    if output is not None and done.policy_text is not None:
        with open_file_sink(output) as put:
            put(output.name, done.policy_text.encode())
        call.say(f"wrote {output}")
    if plots is not None:
        _draw(call, plots, done)
    call.answer(done, _text(done))
    context.exit(0 if done.policy is not None else _HONEST_NO)


def _signer(call: Call, key_file: Path | None, passphrase: str | None) -> Signer | None:
    """The key that was named, else the review key of the node in the home folder; None where there is neither."""
    if key_file is not None:
        return load_key_file(key_file, passphrase=passphrase)
    from assay.wiring import CONFIG_FILE

    if not (call.home / CONFIG_FILE).is_file():
        return None
    with call.open_node() as (tools, _):
        return tools.review_signer


def _calibrated(call: Call, cases: tuple[LabelledCase, ...], name: str, output: Path) -> tuple[LabelledCase, ...]:
    made, told = fit_calibrator(cases, CalibratorName(name))
    with open_file_sink(output) as put:
        put(output.name, msgspec.json.encode(made))
    call.say(f"wrote {output}")
    return told


def _read_calibrator(path: Path) -> Calibrator:
    try:
        made: Calibrator = msgspec.json.decode(read_text(path), type=Calibrator)
    except msgspec.MsgspecError as error:
        raise CalibrationSettingError(f"expected a calibrator in `{path.name}`, got: {error}") from error
    return made


def _draw(call: Call, folder: Path, done: Calibrated) -> None:
    if done.report is None:
        call.say("nothing to draw: the cases are all right or all wrong")
        return
    pictures = {"roc": plot_roc, "reliability": plot_reliability, "risk_coverage": plot_risk_coverage}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, draw in pictures.items():
            (folder / f"{name}.svg").write_text(draw(done.report), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"`{folder}` cannot be written: {error.strerror}") from error
    call.say(f"drew {', '.join(pictures)} in {folder}")


def _text(done: Calibrated) -> str:
    fitted, report = done.fitted, done.report
    lines = [f"{fitted.n} cases"]
    if report is not None:
        ranked = report.auroc
        lines.append(f"AUROC {ranked.value:.3f} ({ranked.low:.3f} to {ranked.high:.3f}), {report.wrong} wrong")
        lines.append(f"calibration error {report.calibration_error:.3f}, Brier {report.brier:.3f}")
    wanted = f"at most {fitted.alpha:g} of the published wrong, with confidence {1.0 - fitted.delta:g}"
    if fitted.threshold is None:
        return "\n".join([*lines, f"no threshold was shown to hold: {wanted}; everything would be deferred"])
    lines.append(f"defer above {fitted.threshold:g}: {wanted}")
    lines.append(
        f"{fitted.published} of {fitted.n} published, {fitted.wrong} of them wrong;"
        f" {fitted.defer_rate:.1%} deferred is what it costs"
    )
    return "\n".join([*lines, "", done.policy_text or "no policy: nobody signs it, give --key"]).rstrip("\n")
