"""A picture of a calibration: how sure states were, beside how often they were right, as SVG text.

Calibration -> ten bins with their exact bounds, the diagonal, the fitted map -> SVG
Colours follow the reader's light or dark setting; the text is the same for the same calibration.
"""

from collections.abc import Iterator
from decimal import Decimal
from html import escape

from assay.truth.calibrate import Calibration

_SIZE, _LEFT, _TOP, _SIDE = 520, 64, 48, 400
_STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#1d2330}.soft{stroke:#c3c9d4}.bin{stroke:#0b6bb5;fill:#0b6bb5}"
    ".map{stroke:#1a7f4b;fill:none}@media(prefers-color-scheme:dark){text{fill:#e6e9ef}.soft{stroke:#4a5160}"
    ".bin{stroke:#60b8ff;fill:#60b8ff}.map{stroke:#4ade80}}</style>"
)


def render_reliability(calibration: Calibration) -> str:
    """A whole SVG document: points are shares that were right, their lines the bounds, the green line is the map."""
    title = f"{calibration.claim_type}: {calibration.right} of {calibration.cases} known cases were right"
    gaps = (
        f"calibration error {calibration.before.value:.3f} ({calibration.before.low:.3f} to "
        f"{calibration.before.high:.3f}), after the map {calibration.after.value:.3f}"
    )
    box = f'viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="{escape(title)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        _STYLE,
        f'<text x="{_LEFT}" y="22">{escape(title)}</text><text x="{_LEFT}" y="40">{escape(gaps)}</text>',
        f'<rect class="soft" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none"/>',
        _line("soft", Decimal(0), Decimal(0), Decimal(1), Decimal(1)),
        *_bins(calibration),
        f'<polyline class="map" stroke-width="2" points="{_points(calibration)}"/>',
        *_axes(),
        "</svg>",
    ]
    return "\n".join(parts)


def _bins(calibration: Calibration) -> Iterator[str]:
    for one in calibration.bins:
        share = Decimal(one.right) / one.cases
        yield _line("bin", one.mean_confidence, one.right_low, one.mean_confidence, one.right_high)
        words = f"{one.right} of {one.cases} right at a confidence of {one.mean_confidence:.3f}"
        yield (
            f'<circle class="bin" cx="{_x(one.mean_confidence)}" cy="{_y(share)}" r="4">'
            f"<title>{escape(words)}</title></circle>"
        )


def _points(calibration: Calibration) -> str:
    first, last = calibration.knots[0], calibration.knots[-1]
    knots = [
        (Decimal(0), first.value),
        *((knot.at, knot.value) for knot in calibration.knots),
        (Decimal(1), last.value),
    ]
    return " ".join(f"{_x(at)},{_y(value)}" for at, value in knots)


def _axes() -> Iterator[str]:
    for tick in range(0, 11, 2):
        share = Decimal(tick) / 10
        yield f'<text x="{_x(share)}" y="{_TOP + _SIDE + 20}" text-anchor="middle">{share}</text>'
        yield f'<text x="{_LEFT - 8}" y="{_y(share)}" dy="4" text-anchor="end">{share}</text>'
    yield f'<text x="{_LEFT + _SIDE // 2}" y="{_TOP + _SIDE + 44}" text-anchor="middle">confidence</text>'
    yield f'<text x="{_LEFT}" y="{_TOP + _SIDE + 64}">upright: share that was right</text>'


def _line(name: str, x1: Decimal, y1: Decimal, x2: Decimal, y2: Decimal) -> str:
    return f'<line class="{name}" x1="{_x(x1)}" y1="{_y(y1)}" x2="{_x(x2)}" y2="{_y(y2)}"/>'


def _x(share: Decimal) -> str:
    return f"{(_LEFT + share * _SIDE):.1f}"


def _y(share: Decimal) -> str:
    return f"{(_TOP + _SIDE - share * _SIDE):.1f}"
