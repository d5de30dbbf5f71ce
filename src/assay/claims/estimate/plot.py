"""Pictures of calibration as SVG text: ROC, reliability, risk against coverage, and what a conformal set promises.

report | threshold -> lines on a unit square -> SVG
Colours follow the reader's light or dark setting, and lines differ by dashes too. The same numbers give the same text:
coordinates are whole tenths of a unit.
"""

from collections.abc import Iterator, Sequence
from html import escape
from math import exp, lgamma, log

from msgspec import Struct

from assay.claims.errors import ClaimsError
from assay.claims.estimate.calibrate import CalibrationReport
from assay.claims.estimate.conform import ConformalThreshold, render_threshold

_WIDTH, _HEIGHT = 640, 520
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 60, 600, 440
_TICKS = 5
_STEPS = 200
_STYLE = (
    ":root{color-scheme:light dark}.paper{fill:#ffffff}.ink{fill:#1b1f27}.soft{fill:#565d6b}.grid{stroke:#d5d9e0}"
    ".ours{stroke:#0b6bb5}.base{stroke:#565d6b}.dot{fill:#0b6bb5}"
    "@media (prefers-color-scheme:dark){.paper{fill:#14171c}.ink{fill:#eef1f5}.soft{fill:#a7afbd}.grid{stroke:#343a45}"
    ".ours{stroke:#60b8ff}.base{stroke:#a7afbd}.dot{fill:#60b8ff}}"
)


class _Picture(Struct, frozen=True, kw_only=True):
    """Points lie in the unit square of their axes; `ends` are what the axes say at 0 and 1."""

    title: str
    desc: str
    across: str
    upward: str
    line: tuple[tuple[float, float], ...]
    base: tuple[tuple[float, float], ...] = ()
    dots: tuple[tuple[float, float], ...] = ()
    across_ends: tuple[float, float] = (0.0, 1.0)
    upward_ends: tuple[float, float] = (0.0, 1.0)


def plot_roc(report: CalibrationReport) -> str:
    """How many wrong answers are caught for how many false alarms; the diagonal is chance."""
    told = f"Wrong caught: AUROC {report.auroc.value:.3f} ({report.auroc.low:.3f} to {report.auroc.high:.3f})"
    return _drawn(
        _Picture(
            title=told,
            desc=f"{report.n} answers, {report.wrong} of them wrong. {told}.",
            across="share of right answers above the value",
            upward="share of wrong answers above it",
            line=tuple((point.false_alarms, point.caught) for point in report.roc),
            base=((0.0, 0.0), (1.0, 1.0)),
        )
    )


def plot_reliability(report: CalibrationReport) -> str:
    """What was said against what was so; on the diagonal an uncertainty is the share that is wrong."""
    points = tuple((one.said, one.wrong) for one in report.bins)
    return _drawn(
        _Picture(
            title=f"Said and so: calibration error {report.calibration_error:.3f}, Brier {report.brier:.3f}",
            desc=f"{report.n} answers in {len(points)} bins of uncertainty.",
            across="uncertainty said",
            upward="share that was wrong",
            line=points,
            base=((0.0, 0.0), (1.0, 1.0)),
            dots=points,
        )
    )


def plot_risk_coverage(report: CalibrationReport) -> str:
    """What publishing more costs: the share that is wrong among the most certain."""
    highest = max((point.risk for point in report.curve), default=0.0) or 1.0
    overall = report.wrong / report.n
    return _drawn(
        _Picture(
            title=f"Wrong among the published, area {report.area_under_risk:.3f}",
            desc=f"{report.n} answers; publishing all of them, {overall:.1%} are wrong.",
            across="share published, the most certain first",
            upward="share of them wrong",
            line=tuple((point.coverage, point.risk / highest) for point in report.curve),
            base=((0.0, overall / highest), (1.0, overall / highest)),
            upward_ends=(0.0, highest),
        )
    )


def plot_coverage(threshold: ConformalThreshold) -> str:
    """How likely which coverage is, over calibration samples of this size; refused where the set is everything."""
    if threshold.is_infinite:
        raise ClaimsError.calibration_setting(f"expected a finite threshold, got none: {render_threshold(threshold)}")
    a, b = threshold.rank, threshold.n + 1 - threshold.rank
    low = max(0.0, threshold.coverage_low - 0.1)
    places = [low + (1.0 - low) * (step + 0.5) / _STEPS for step in range(_STEPS)]
    heights = [_density(x, a, b) for x in places]
    top = max(heights)
    wanted = (1.0 - threshold.alpha - low) / (1.0 - low)
    return _drawn(
        _Picture(
            title=f"Coverage promised by {threshold.n} cases at {1.0 - threshold.alpha:.0%}",
            desc=render_threshold(threshold),
            across="coverage of new cases",
            upward="how likely, the highest as 1",
            line=tuple(((x - low) / (1.0 - low), height / top) for x, height in zip(places, heights, strict=True)),
            base=((wanted, 0.0), (wanted, 1.0)),
            across_ends=(low, 1.0),
        )
    )


def _density(x: float, a: float, b: float) -> float:
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * log(x) + (b - 1) * log(1.0 - x))


def _drawn(picture: _Picture) -> str:
    parts = [
        *_frame(picture),
        *_axes(picture),
        _polyline(picture.base, "base", "6 5") if picture.base else "",
        _polyline(picture.line, "ours", ""),
        *(_dot(point) for point in picture.dots),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _frame(picture: _Picture) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        ' aria-labelledby="title desc" font-family="system-ui, sans-serif" font-size="14">'
    )
    yield f'<title id="title">{escape(picture.title)}</title>'
    yield f'<desc id="desc">{escape(picture.desc)}</desc>'
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    yield f'<text class="ink" x="{_LEFT}" y="34" font-size="16" font-weight="600">{escape(picture.title)}</text>'


def _axes(picture: _Picture) -> Iterator[str]:
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        x, y = _x(share), _y(share)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}" stroke="#d5d9e0"/>'
        words = _label(picture.upward_ends, share)
        yield f'<text class="soft" x="{_LEFT - 8}" y="{y}" dy="5" text-anchor="end" fill="#565d6b">{words}</text>'
        words = _label(picture.across_ends, share)
        yield f'<text class="soft" x="{x}" y="{_BOTTOM + 22}" text-anchor="middle" fill="#565d6b">{words}</text>'
    middle = (_LEFT + _RIGHT) // 2
    across, upward = escape(picture.across), escape(picture.upward)
    yield f'<text class="soft" x="{middle}" y="{_BOTTOM + 48}" text-anchor="middle" fill="#565d6b">{across}</text>'
    yield f'<text class="soft" x="{_LEFT}" y="{_TOP - 8}" fill="#565d6b" font-size="12">{upward}</text>'


def _label(ends: tuple[float, float], share: float) -> str:
    return f"{ends[0] + (ends[1] - ends[0]) * share:.2f}"


def _polyline(points: Sequence[tuple[float, float]], name: str, dashes: str) -> str:
    drawn = " ".join(f"{_x(x)},{_y(y)}" for x, y in points)
    colour = "#0b6bb5" if name == "ours" else "#565d6b"
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline class="{name}" fill="none" stroke="{colour}" stroke-width="2"{dashed} points="{drawn}"/>'


def _dot(point: tuple[float, float]) -> str:
    return f'<circle class="dot" cx="{_x(point[0])}" cy="{_y(point[1])}" r="4" fill="#0b6bb5"/>'


def _x(share: float) -> str:
    return _tenths(_LEFT * 10 + round((_RIGHT - _LEFT) * 10 * share))


def _y(share: float) -> str:
    return _tenths(_BOTTOM * 10 - round((_BOTTOM - _TOP) * 10 * share))


def _tenths(tenths: int) -> str:
    return f"{tenths // 10}.{tenths % 10}"
