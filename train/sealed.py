"""The sealed cases: drawn once, never trained on, and the lines with digits that training must pass over.

python -m train.sealed writes tests/vectors/model/sealed.jsonl.gz anew; the same seed gives the same bytes.
"""

import gzip
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from assay.verdicts.verify import expected_verdict, judge_all
from train.cases import OpenCase, case_lines, draw_case, is_sealed, open_case
from train.labels import class_of

__all__ = ["SEALED", "expected_of_case", "load_sealed", "sealed_lines", "store_sealed"]

SEALED = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "model" / "sealed.jsonl.gz"
_COUNT = 2000


def load_sealed() -> Iterator[dict[str, Any]]:
    with gzip.open(SEALED, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


@cache
def sealed_lines() -> frozenset[str]:
    """Lines with digits of sealed cases, without their number; others are so few that both sides have them all."""
    found = {line.partition(" ")[2] for case in load_sealed() for line in case_lines(open_case(case["case"]).prompt)}
    return frozenset(line for line in found if "++" in line or "--" in line or "+-" in line or "-+" in line)


def store_sealed(seed: str = "sealed-1", count: int = _COUNT) -> None:
    """Cases that fall into the sealed share by their hash, each once, with the verifier's judgement of them."""
    rng, seen, lines = random.Random(seed), set[tuple[str, ...]](), list[str]()
    while len(lines) < count:
        case = draw_case(rng)
        opened = open_case(case)
        shown = case_lines(opened.prompt)
        if not is_sealed(shown) or shown in seen:
            continue
        seen.add(shown)
        told = {"case": case, "expected": expected_of_case(opened)}
        lines.append(json.dumps(told, sort_keys=True, ensure_ascii=True))
    SEALED.parent.mkdir(parents=True, exist_ok=True)
    content = ("\n".join(lines) + "\n").encode()
    SEALED.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


def expected_of_case(opened: OpenCase) -> dict[str, Any]:
    """What the verifier makes of a case by itself."""
    judgements = judge_all(opened.docket, opened.telemetry, opened.facts)
    return {
        "verdict": expected_verdict(judgements, is_mapped=True).value,
        "classes": [class_of(judgement) for judgement in judgements],
        "truths": [judgement.truth for judgement in judgements],
    }


if __name__ == "__main__":
    store_sealed()
