"""Pairs of a kind that the shipped judge was never shown: exemptions of eight to twelve numeric conditions.

python -m train.pairs --count 400 --seed pairs-1 > pairs.jsonl
What `assay model train --pairs pairs.jsonl` makes of them is in docs/model.md.
"""

import argparse
import sys

from assay.flows.model.case_file import LabelledCase, RightAnswer, render_case_file
from assay.model.cases.draw import Draw, SeededDraw
from assay.verdicts.case import Case, expected_of, open_case, parse_case

__all__ = ["draw_pair", "main"]


def draw_pair(rng: Draw) -> LabelledCase:
    """A limit, and an exemption of which at most one condition does not hold."""
    case = _draw(rng)
    return LabelledCase(case=case, expected=RightAnswer(verdict=expected_of(open_case(case)).verdict))


def _draw(rng: Draw) -> Case:
    count = rng.randint(8, 12)
    kind = rng.choice(("must_not_exceed", "must_be_below"))
    measurement: dict[str, int] = {"m": rng.choice((60, 51, 70, rng.randint(40, 99)))}
    failing = rng.choice((None, rng.randint(0, count - 1)))
    conditions = []
    for place in range(count):
        limit = rng.randint(10, 99)
        measurement[f"c{place}"] = limit + rng.randint(1, 9) if place == failing else limit - rng.randint(0, 9)
        conditions.append(f"c{place} <= {limit}")
    return parse_case(
        {
            "obligations": [{"id": "ob-0", "type": kind, "metric": "m", "value": 50}],
            "measurement": measurement,
            "exemptions": {"ob-0": [" and ".join(conditions)]},
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", default="pairs-1")
    options = parser.parse_args()
    rng = SeededDraw(options.seed)
    sys.stdout.buffer.write(render_case_file(tuple(draw_pair(rng) for _ in range(options.count))))


if __name__ == "__main__":
    main()
