"""A general model as the judge of telemetry, by the template `general-1`: thirty cases, ten of each verdict.

python -m bench.general_model WEIGHTS [--threads N] [--cases N]
Prints the verdicts that are right, the replies that could not be read, what is wrongly CLEAR after verifier and
governor at each tier, and seconds. The weights are a GGUF file that a llama.cpp server of our own loads.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assay.adapters.clock import SystemClock
from assay.adapters.inference.bounded import BoundedModel, Bounds
from assay.adapters.inference.llamacpp_process import LlamaCppProcess, LlamaCppWeights
from assay.adapters.reasoning.general import GeneralReasoner
from assay.flows.model.case_file import LabelledCase, parse_case_file
from assay.ports.model import ModelError
from assay.verdicts.case import OpenCase, open_case
from assay.verdicts.envelope import Verdict
from assay.verdicts.general import GENERAL_TEMPLATE_ID
from assay.verdicts.govern import govern, settle_held
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.reason import build_request
from assay.verdicts.reply import parse_reply
from assay.verdicts.sovereignty import Place, PlaceKind
from assay.verdicts.verify import verify

__all__ = ["main"]

_CASES = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "model" / "four_hands.jsonl.gz"
_VERDICTS = (Verdict.CLEAR, Verdict.FLAG, Verdict.DISCRETIONARY)
_MOST_OBLIGATIONS = 2
_SECONDS = 900.0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.general_model")
    parser.add_argument("weights", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cases", type=int, default=30)
    options = parser.parse_args(argv)
    weights = LlamaCppWeights(file=options.weights, threads=options.threads)
    counts: Counter[str] = Counter()
    taken: list[float] = []
    with BoundedModel(LlamaCppProcess(weights), Bounds(timeout_seconds=_SECONDS)) as model:
        reasoner = GeneralReasoner(model, SystemClock(), place=Place(kind=PlaceKind.UNIX_SOCKET))
        reasoner.check_grammar()
        for case in _chosen(options.cases // len(_VERDICTS)):
            started = time.monotonic()
            told = _measure(reasoner, open_case(case.case), case.expected.verdict)
            taken.append(time.monotonic() - started)
            counts.update(told)
            counts["cases"] += 1
            print(f"{len(taken)} {case.expected.verdict} {taken[-1]:.1f} s {sorted(told)}", file=sys.stderr, flush=True)
    taken.sort()
    print(json.dumps({**counts, "seconds_p50": round(taken[len(taken) // 2], 1), "seconds_max": round(taken[-1], 1)}))
    return 0


def _chosen(each: int) -> Iterator[LabelledCase]:
    """The first cases of each verdict with one or two obligations."""
    left = dict.fromkeys(_VERDICTS, each)
    for case in parse_case_file(_CASES.read_bytes()).cases:
        verdict = case.expected.verdict
        if left.get(verdict) and len(case.case.obligations) <= _MOST_OBLIGATIONS:
            left[verdict] -= 1
            yield case


def _measure(reasoner: GeneralReasoner, opened: OpenCase, expected: Verdict) -> set[str]:
    """What holds of one reply, as names that are counted."""
    request = build_request(opened.docket, opened.telemetry, opened.facts, seed=0, template_id=GENERAL_TEMPLATE_ID)
    try:
        reply = reasoner.complete(request)
    except ModelError as error:
        return {f"no reply: {error.code}"}
    read = parse_reply(reply.text, opened.docket.choices) if reply.is_complete else None
    if read is None or read.answer is None:
        return {"unreadable"}
    answer = read.answer
    told = {f"said {answer.verdict}"} | ({"right"} if answer.verdict is expected else set())
    status = verify(opened.docket, opened.telemetry, opened.facts, answer).result.status
    told.add(f"verifier {status}")
    for tier in RiskTier:
        ruling = govern(answer.verdict, status, tier)
        if tier is RiskTier.HIGH:
            # The most lenient reviewer there can be: one who attests everything.
            ruling = settle_held(ruling, status, is_attested=True)
        if ruling.verdict is Verdict.CLEAR and expected is not Verdict.CLEAR:
            told.add(f"wrongly CLEAR at {tier}")
    return told


if __name__ == "__main__":
    raise SystemExit(main())
