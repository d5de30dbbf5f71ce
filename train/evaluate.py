"""The card of the shipped weights, and figures on fresh cases; `assay model eval` measures everything else.

python -m train.evaluate [--weights FILE] [--count N] [--card FILE --steps N --version V] [--fresh SEED [--wide]]
With `--fresh` the cases are new ones; with `--wide` of a larger kind: sets of hundreds, more exemptions and conditions.
"""

import argparse
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from assay.flows.model.case_file import LabelledCase, RightAnswer, load_sealed_cases
from assay.flows.model.measure_model import JudgeExaminee, measure_model
from assay.kernel.digest import digest_of
from assay.model.card import ModelCard
from assay.model.cases.draw_case import draw_case
from assay.model.cases.extent import USUAL, WIDE, Extent
from assay.model.engine import Engine
from assay.model.errors import CaseSizeError
from assay.model.figures import Figures
from assay.model.form import SECOND
from assay.model.tokenizer import read_case
from assay.model.weights import Weights, parse_weights
from assay.surfaces.cli.model_text import measured_text
from assay.verdicts.case import expected_of, open_case, parse_case
from assay.verdicts.prompt import TEMPLATE_ID
from train.sealed import SEALED

__all__ = ["main"]

_SOURCE = Path(__file__).resolve().parents[1] / "src" / "assay" / "model"
_WEIGHTS = _SOURCE / "weights" / "judge.bin"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=Path, default=_WEIGHTS)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--card", type=Path)
    parser.add_argument("--fresh")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--version", default="1.0.0")
    options = parser.parse_args()
    weights = parse_weights(options.weights.read_bytes())
    extent = WIDE if options.wide else USUAL
    cases = iter(load_sealed_cases().cases) if options.fresh is None else _fresh(options.fresh, extent)
    measured = measure_model(JudgeExaminee(Engine(weights)), list(islice(cases, options.count)))
    print(measured_text(measured))
    if options.card is not None:
        card = _card(measured.figures, weights, steps=options.steps, version=options.version)
        options.card.write_bytes(msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n")


def _fresh(seed: str, extent: Extent) -> Iterator[LabelledCase]:
    rng = random.Random(seed)
    while True:
        case = parse_case(draw_case(rng, extent))
        opened = open_case(case)
        try:
            read_case(opened.prompt)
        except CaseSizeError:
            continue
        yield LabelledCase(case=case, expected=RightAnswer(verdict=expected_of(opened).verdict))


def _card(figures: Figures, weights: Weights, *, steps: int, version: str) -> ModelCard:
    drawing = (Path(__file__).parent, _SOURCE / "cases", _SOURCE / "learn")
    sources = [path for folder in drawing for path in sorted(folder.glob("*.py"))]
    return ModelCard(
        name="assay-judge",
        version=version,
        weight_hash=weights.hash,
        shape=weights.shape,
        parameters=sum(tensor.size for tensor in weights.tensors.values()),
        prompt_template_id=TEMPLATE_ID,
        trained_steps=steps,
        training_hash=digest_of(b"".join(path.read_bytes() for path in sources)),
        sealed_hash=digest_of(SEALED.read_bytes()),
        cases=figures.cases,
        verdict_accuracy=figures.verdict_accuracy,
        assertion_accuracy=figures.assertion_accuracy,
        flag_recall=figures.flag_recall,
        silent_clear=figures.silent_clear,
        agreement=figures.agreement,
        unparsable=figures.unparsable,
        types=figures.types,
        limits=SECOND.limits,
        refused=figures.refusals,
    )


if __name__ == "__main__":
    main()
