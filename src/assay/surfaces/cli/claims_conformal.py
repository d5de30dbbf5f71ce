"""`assay claims conformal`: sets of answers with a promise, and settings with a bounded loss, from known cases."""

from pathlib import Path
from typing import BinaryIO

import click
from msgspec import Struct

from assay.claims.estimate.conform import RiskControl
from assay.flows.claims.calibrate_conformal import (
    AnswerCase,
    ConformalScore,
    GroupThreshold,
    LossCase,
    PredictedSet,
    calibrate_conformal,
    calibrate_risk,
    parse_lines,
    predict_answers,
)
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.output import Call, Command
from assay.surfaces.cli.text_file import read_bytes

_HONEST_NO = 1
_LARGEST = 256 * 1024 * 1024
_RISK = "risk"


class _Answer(Struct, frozen=True, kw_only=True):
    """What is printed as JSON."""

    score: ConformalScore
    thresholds: tuple[GroupThreshold, ...]
    sets: tuple[PredictedSet, ...]


@click.command(cls=Command)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option(
    "--score",
    type=click.Choice([*(one.value for one in ConformalScore), _RISK]),
    default=ConformalScore.LAC.value,
    show_default=True,
    help="How answers are scored; `risk` bounds the losses in FILE instead.",
)
@click.option("--alpha", type=float, default=0.1, show_default=True, help="How often the promise may fail.")
@click.option(
    "--predict",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="CASES",
    help="Give the set of each new case in this file.",
)
@click.pass_context
def conformal(context: click.Context, /, *, file: BinaryIO, score: str, alpha: float, predict: Path | None) -> None:
    """Calibrate sets of answers on FILE, one `{"probabilities": [0.7, 0.3], "right": 0, "group": "x"}` in each line.

    `group` may be left out; where it is there, each has a threshold of its own. With `--score risk` a line is
    `{"losses": [0.9, 0.4, 0.0]}`, a loss for each setting from mild to careful. Exit 1 where nothing can be promised.
    """
    call: Call = context.obj
    lines = file.read(_LARGEST + 1).splitlines()
    if score == _RISK:
        if predict is not None:
            raise click.UsageError("expected --predict with a score of answers, got `risk`")
        found = calibrate_risk(parse_lines(lines, LossCase), alpha=alpha)
        call.answer(found, _risk_text(found))
        context.exit(0 if found.place is not None else _HONEST_NO)
    kind = ConformalScore(score)
    thresholds = calibrate_conformal(parse_lines(lines, AnswerCase), kind, alpha=alpha)
    fresh = () if predict is None else parse_lines(read_bytes(predict, largest=_LARGEST).splitlines(), AnswerCase)
    sets = predict_answers(fresh, kind, thresholds, alpha=alpha) if fresh else ()
    call.answer(_Answer(score=kind, thresholds=thresholds, sets=sets), _text(thresholds, sets))
    context.exit(_HONEST_NO if any(one.threshold.is_infinite for one in thresholds) else 0)


def _text(thresholds: tuple[GroupThreshold, ...], sets: tuple[PredictedSet, ...]) -> str:
    lines = [one.promise if one.group is None else f"{plain(one.group)}: {one.promise}" for one in thresholds]
    told = [f"{', '.join(map(str, one.places)) or 'none'}: uncertainty {one.estimate.value:.3f}" for one in sets]
    return "\n".join([*lines, *told])


def _risk_text(found: RiskControl) -> str:
    if found.place is None:
        return f"no setting was shown to hold: the last is bounded by {found.bound:.3f} in {found.n} cases"
    return f"setting {found.place}: an expected loss of at most {found.bound:.3f}, from {found.n} cases"
