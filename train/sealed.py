"""The sealed cases: drawn once, never trained on, and the lines with digits that training must pass over.

python -m train.sealed writes src/assay/model/weights/sealed.jsonl.gz anew; the same seed gives the same bytes.
"""

import gzip
import json
import random
from functools import cache
from pathlib import Path

import msgspec

from assay.flows.model.case_file import load_sealed_cases
from assay.flows.model.teach_cases import digit_lines
from assay.model.cases.draw_case import case_lines, draw_case, is_sealed
from assay.verdicts.case import expected_of, open_case, parse_case

__all__ = ["SEALED", "sealed_lines", "store_sealed"]

SEALED = Path(__file__).resolve().parents[1] / "src" / "assay" / "model" / "weights" / "sealed.jsonl.gz"
_COUNT = 2000


@cache
def sealed_lines() -> frozenset[str]:
    return digit_lines([one.case for one in load_sealed_cases().cases])


def store_sealed(seed: str = "sealed-2", count: int = _COUNT) -> None:
    """Cases that fall into the sealed share by their hash, each once, with the verifier's judgement of them."""
    rng, seen, lines = random.Random(seed), set[tuple[str, ...]](), list[str]()
    while len(lines) < count:
        case = draw_case(rng)
        opened = open_case(parse_case(case))
        shown = case_lines(opened.prompt)
        if not is_sealed(shown) or shown in seen:
            continue
        seen.add(shown)
        told = {"case": case, "expected": msgspec.to_builtins(expected_of(opened))}
        lines.append(json.dumps(told, sort_keys=True, ensure_ascii=True))
    SEALED.parent.mkdir(parents=True, exist_ok=True)
    content = ("\n".join(lines) + "\n").encode()
    SEALED.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


if __name__ == "__main__":
    store_sealed()
