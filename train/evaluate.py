"""The evaluation: every figure that is promised, measured on sealed cases through the real path.

python -m train.evaluate [--weights FILE] [--count N] [--card FILE --steps N --version V] [--fresh SEED [--wide]]
With `--fresh` the cases are new ones; with `--wide` of a larger kind: sets of hundreds, more exemptions and conditions.
A case goes the way of a verdict: request, model, strict reading of the reply, verification.
"""

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay.kernel.digest import digest_of
from assay.model.card import ModelCard, TypeFigures
from assay.model.engine import Engine
from assay.model.errors import CaseSizeError
from assay.model.judge import judge, judge_many
from assay.model.tokenizer import read_case
from assay.model.weights import Weights, parse_weights
from assay.verdicts.envelope import ModelAnswer
from assay.verdicts.prompt import TEMPLATE_ID
from assay.verdicts.reason import build_request
from assay.verdicts.reply import parse_reply
from assay.verdicts.verify import Divergence, verify
from train.cases import USUAL, WIDE, Extent, OpenCase, draw_case, open_case
from train.sealed import SEALED, expected_of_case, load_sealed

__all__ = ["Report", "evaluate", "main"]

_WEIGHTS = Path(__file__).resolve().parents[1] / "src" / "assay" / "model" / "weights" / "judge.bin"
# Cases asked about together, and how many of two obligations are timed.
_TOGETHER = 32
_OBLIGATIONS = 2
_TIMED = 100
# What is said of a case in which something cannot be computed, whatever the model says.
_UNSURE = (Divergence.UNKNOWN_TYPE, Divergence.UNDETERMINED, Divergence.NOT_FORMAL)


class Report:
    """Counts, and the rates that follow from them."""

    def __init__(self) -> None:
        self.confusion: Counter[tuple[str, str]] = Counter()
        self.types: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.unparsable = 0
        self.disagreed = 0
        self.seconds: list[float] = []
        self.wrong: list[int] = []

    def rates(self) -> dict[str, float]:
        total = sum(self.confusion.values())
        right = sum(count for (expected, got), count in self.confusion.items() if expected == got)
        flags = sum(count for (expected, _), count in self.confusion.items() if expected == "FLAG")
        asserted = sum(counts["asserted"] for counts in self.types.values())
        return {
            "cases": total,
            "verdict_accuracy": right / total,
            "assertion_accuracy": sum(counts["right"] for counts in self.types.values()) / max(asserted, 1),
            "flag_recall": self.confusion["FLAG", "FLAG"] / max(flags, 1),
            "silent_clear": self.confusion["FLAG", "CLEAR"] / max(flags, 1),
            "agreement": 1 - self.disagreed / total,
            "unparsable": self.unparsable,
        }


def evaluate(engine: Engine, cases: Sequence[Mapping[str, Any]]) -> Report:
    """Many at a time, which changes no answer; times are those of single ones, up to so many."""
    report = Report()
    for first in range(0, len(cases), _TOGETHER):
        part = cases[first : first + _TOGETHER]
        opened = [open_case(case["case"]) for case in part]
        asked = [_asked(one) for one in opened]
        for place, answer in enumerate(judge_many(engine, asked)):
            _one(first + place, part[place]["expected"], opened[place], answer.text, report)
        for one, question in zip(opened, asked, strict=True):
            if len(one.docket.checks) == _OBLIGATIONS and len(report.seconds) < _TIMED:
                start = time.perf_counter()
                judge(engine, *question)
                report.seconds.append(time.perf_counter() - start)
    return report


def _asked(opened: OpenCase) -> tuple[str, bytes]:
    request = build_request(opened.docket, opened.telemetry, opened.facts, seed=0)
    return request.prompt, bytes(request.grammar)


def _one(number: int, expected: Mapping[str, Any], opened: OpenCase, text: str, report: Report) -> None:
    parsed = parse_reply(text, opened.docket.choices).answer
    if parsed is None:
        report.unparsable += 1
        report.confusion[expected["verdict"], "unparsable"] += 1
        return
    report.confusion[expected["verdict"], parsed.verdict.value] += 1
    is_agreed = not _divergences(opened, parsed)
    report.disagreed += not is_agreed
    if not is_agreed or parsed.verdict.value != expected["verdict"]:
        report.wrong.append(number)
    _count_types(opened, parsed, expected["truths"], report)


def _divergences(opened: OpenCase, parsed: ModelAnswer) -> Sequence[str]:
    result = verify(opened.docket, opened.telemetry, opened.facts, parsed).result
    return [line for line in result.divergences if not line.startswith(_UNSURE)]


def _count_types(opened: OpenCase, parsed: ModelAnswer, truths: Sequence[bool | None], report: Report) -> None:
    said = {one.obligation_id: one.satisfied for one in parsed.formalizable_assertions}
    for check, truth in zip(opened.docket.checks, truths, strict=True):
        if check.obligation_id in said:
            report.types[check.predicate]["asserted"] += 1
            report.types[check.predicate]["right"] += said[check.obligation_id] is (truth is True)


def _print(report: Report) -> None:
    for name, rate in report.rates().items():
        print(f"{name:20} {rate if isinstance(rate, int) else format(rate, '.4%')}")
    times = sorted(report.seconds)
    middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(f"{'two obligations':20} p50 {middle * 1000:.1f} ms, p95 {late * 1000:.1f} ms")
    for kind, counts in sorted(report.types.items()):
        print(f"{kind:28} {counts['right']:6} of {counts['asserted']:6}")
    names = sorted({name for pair in report.confusion for name in pair})
    print("expected \\ got".ljust(16), *(name.rjust(14) for name in names))
    for expected in names:
        print(expected.ljust(16), *(str(report.confusion[expected, got]).rjust(14) for got in names))
    print("wrong:", report.wrong[:20])


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
    engine = Engine(weights)
    cases = load_sealed() if options.fresh is None else _fresh(options.fresh, WIDE if options.wide else USUAL)
    report = evaluate(engine, list(islice(cases, options.count)))
    _print(report)
    if options.card is not None:
        card = _card(report, weights, steps=options.steps, version=options.version)
        options.card.write_bytes(msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n")


def _fresh(seed: str, extent: Extent) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    while True:
        case = draw_case(rng, extent)
        opened = open_case(case)
        try:
            read_case(opened.prompt)
        except CaseSizeError:
            continue
        yield {"case": case, "expected": expected_of_case(opened)}


def _card(report: Report, weights: Weights, *, steps: int, version: str) -> ModelCard:
    sources = sorted(Path(__file__).parent.glob("*.py"))
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
        types={
            kind: TypeFigures(asserted=counts["asserted"], right=counts["right"])
            for kind, counts in sorted(report.types.items())
        },
        **report.rates(),  # type: ignore[arg-type]  # the rates have the names of the card's fields
    )


if __name__ == "__main__":
    main()
