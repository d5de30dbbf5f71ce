"""The plot of a training: loss and exactness by step, as one SVG.

python -m train.plot --log FILE --picture FILE
"""

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main", "picture"]

_WIDE, _HIGH, _LEFT, _BELOW = 640, 300, 60, 40
_STYLE = "font:12px sans-serif;fill:#555"
_LEAST = 1e-4


def picture(reports: Sequence[dict[str, float]]) -> str:
    """Both on a logarithmic scale: the mean loss, and the share of rows in which some token was wrong."""
    last = max(report["step"] for report in reports)
    losses = [(report["step"], report["loss"]) for report in reports]
    wrong = [(report["step"], 1 - report["exact"]) for report in reports if "exact" in report]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" role="img">',
        "<title>Loss and share of rows with a wrong token, by step of training</title>",
        *(_level(value) for value in (1, 0.1, 0.01, 0.001, 0.0001)),
        f'<text x="{_LEFT}" y="{_HIGH - 8}" style="{_STYLE}">step 0</text>',
        f'<text x="{_WIDE - 90}" y="{_HIGH - 8}" style="{_STYLE}">step {last:.0f}</text>',
        _line(losses, last, "#2a6fbb"),
        _line(wrong, last, "#c0392b"),
        f'<text x="{_WIDE - 250}" y="24" style="{_STYLE};fill:#2a6fbb">loss (nats a token)</text>',
        f'<text x="{_WIDE - 250}" y="42" style="{_STYLE};fill:#c0392b">rows with a wrong token</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _y(value: float) -> float:
    share = (math.log10(max(value, _LEAST)) - math.log10(_LEAST)) / (math.log10(4) - math.log10(_LEAST))
    return round((_HIGH - _BELOW) - share * (_HIGH - _BELOW - 10), 1)


def _level(value: float) -> str:
    y = _y(value)
    return (
        f'<line x1="{_LEFT}" x2="{_WIDE - 10}" y1="{y}" y2="{y}" stroke="#ddd"/>'
        f'<text x="8" y="{y + 4}" style="{_STYLE}">{value:g}</text>'
    )


def _line(points: Sequence[tuple[float, float]], last: float, colour: str) -> str:
    wide = _WIDE - _LEFT - 10
    told = " ".join(f"{_LEFT + wide * step / last:.1f},{_y(value)}" for step, value in points)
    return f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="2"/>'


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--picture", type=Path, required=True)
    options = parser.parse_args()
    found = {report["step"]: report for report in map(json.loads, options.log.read_text().splitlines())}
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(picture([found[step] for step in sorted(found)]))


if __name__ == "__main__":
    main()
