"""A picture of a simulation: standings over the days, one line for each kind of agent, as SVG text.

simulation + policy -> thin lines for agents, thick ones for the median of their kind -> SVG
Colours follow the reader's light or dark setting, and lines differ by dashes too, for whoever sees no colours. The text
is the same for the same simulation: coordinates are whole tenths of a unit.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from html import escape

from msgspec import Struct

from assay.trust._crowd import Behaviour
from assay.trust.policy import HIGHEST_STANDING, TrustPolicy
from assay.trust.simulate import AgentRun, Simulation
from assay.trust.standing import HIGHEST, in_micro
from assay.truth.contract import Standing

_WIDTH, _HEIGHT = 960, 540
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 64, 700, 480
_LEGEND_X, _LEGEND_STEP = 724, 42
_TEN = 10
_TICKS = 6


class _Look(Struct, frozen=True):
    """One kind of agent: its word in the legend, its colours on light and on dark paper, its dashes."""

    word: str
    light: str
    dark: str
    dashes: str


_LOOKS = {
    Behaviour.HONEST: _Look("honest", "#1a7f4b", "#4ade80", ""),
    Behaviour.LAZY: _Look("lazy", "#8a6d00", "#facc15", "10 5"),
    Behaviour.SPAMMER: _Look("spammers", "#c2262e", "#f87171", "3 4"),
    Behaviour.COLLUDER: _Look("colluders", "#7a3fc2", "#c4a1ff", "12 4 3 4"),
    Behaviour.SYBIL: _Look("sybils", "#0b6bb5", "#60b8ff", "6 3"),
}


def render_plot(simulation: Simulation, policy: TrustPolicy) -> str:
    """A whole SVG document that needs nothing else; `policy` is the one that was simulated."""
    kinds = [(kind, [run for run in simulation.runs if run.behaviour is kind]) for kind in Behaviour]
    present = [(kind, runs) for kind, runs in kinds if runs]
    thin = [
        _line(run.behaviour, run.first_round, run.standings, simulation.rounds, is_median=False)
        for run in simulation.runs
    ]
    thick = [
        _line(kind, runs[0].first_round, _medians(runs), simulation.rounds, is_median=True) for kind, runs in present
    ]
    title = f"Standing under {policy.id}, {simulation.rounds} days simulated"
    parts = [
        *_frame(title, simulation),
        *_axes(policy, simulation.rounds),
        *thin,
        *thick,
        *_legend(present),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _medians(runs: Sequence[AgentRun]) -> list[Decimal]:
    middle = (len(runs) - 1) // 2
    return [sorted(day)[middle] for day in zip(*(run.standings for run in runs), strict=True)]


def _frame(title: str, simulation: Simulation) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        ' aria-labelledby="title desc" font-family="system-ui, sans-serif" font-size="14">'
    )
    yield f'<title id="title">{escape(title)}</title>'
    yield (
        f'<desc id="desc">{len(simulation.runs)} agents, {simulation.keys} claims, {simulation.decided_wrong} decided'
        f" wrongly; of {simulation.attacks} lies told together {simulation.outvoted} were believed.</desc>"
    )
    yield f"<style>{_style()}</style>"
    yield f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    yield f'<text class="ink" x="{_LEFT}" y="34" font-size="18" font-weight="600">{escape(title)}</text>'


def _style() -> str:
    light = "".join(f".{kind}{{stroke:{look.light}}}" for kind, look in _LOOKS.items())
    dark = "".join(f".{kind}{{stroke:{look.dark}}}" for kind, look in _LOOKS.items())
    dashes = "".join(f".{kind}{{stroke-dasharray:{look.dashes}}}" for kind, look in _LOOKS.items() if look.dashes)
    return (
        ":root{color-scheme:light dark}.paper{fill:#ffffff}.ink{fill:#1b1f27}.soft{fill:#565d6b}.grid{stroke:#d5d9e0}"
        ".a{fill:none;stroke-width:1;stroke-opacity:.28}.m{fill:none;stroke-width:3;stroke-linejoin:round}"
        f"{light}{dashes}.a{{stroke-dasharray:none}}"
        "@media (prefers-color-scheme:dark){.paper{fill:#14171c}.ink{fill:#eef1f5}.soft{fill:#a7afbd}"
        f".grid{{stroke:#343a45}}{dark}}}"
    )


def _axes(policy: TrustPolicy, rounds: int) -> Iterator[str]:
    """Standings to the left, where each class begins as a line with its name, days below."""
    for value in range(0, int(HIGHEST_STANDING) + 1, 200):
        y = _tenths(_y(Decimal(value)))
        yield f'<text class="soft" x="{_LEFT - 10}" y="{y}" dy="5" text-anchor="end" fill="#565d6b">{value}</text>'
    for standing in Standing:
        y = _tenths(_y(policy.standings[standing]))
        yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}" stroke="#d5d9e0"/>'
        yield f'<text class="soft" x="{_LEFT + 6}" y="{y}" dy="-6" font-size="12" fill="#565d6b">{standing}</text>'
    for day in sorted({rounds * tick // _TICKS for tick in range(_TICKS + 1)}):
        x = _tenths(_x(day, rounds))
        yield f'<text class="soft" x="{x}" y="{_BOTTOM + 24}" text-anchor="middle" fill="#565d6b">{day}</text>'
    middle = (_LEFT + _RIGHT) // 2
    yield f'<text class="soft" x="{middle}" y="{_BOTTOM + 48}" text-anchor="middle" fill="#565d6b">days</text>'


def _legend(present: Sequence[tuple[Behaviour, Sequence[AgentRun]]]) -> Iterator[str]:
    """From the kind that ends highest down, each with where its median ended."""
    ends = sorted(((-_medians(runs)[-1], kind, len(runs)) for kind, runs in present), key=lambda end: end[:2])
    for place, (last, kind, count) in enumerate(ends):
        y = _TOP + 12 + place * _LEGEND_STEP
        look = _LOOKS[kind]
        x = _LEGEND_X + 44
        yield (
            f'<line class="m {kind}" x1="{_LEGEND_X}" x2="{_LEGEND_X + 34}" y1="{y}" y2="{y}" stroke="{look.light}"'
            ' stroke-width="3"/>'
        )
        yield f'<text class="ink" x="{x}" y="{y}" dy="5">{count} {look.word}</text>'
        yield f'<text class="soft" x="{x}" y="{y + 18}" dy="2" font-size="12" fill="#565d6b">median {-last:.0f}</text>'


def _line(kind: Behaviour, first: int, standings: Iterable[Decimal], rounds: int, *, is_median: bool) -> str:
    """The standing at the end of each day, drawn at the next day's beginning."""
    points = " ".join(
        f"{_tenths(_x(first + day, rounds))},{_tenths(_y(standing))}" for day, standing in enumerate(standings, start=1)
    )
    name, width = ("m", 3) if is_median else ("a", 1)
    drawn = f'fill="none" stroke="{_LOOKS[kind].light}" stroke-width="{width}"'
    return f'<polyline class="{name} {kind}" {drawn} points="{points}"/>'


def _x(day: int, rounds: int) -> int:
    """In tenths of a unit."""
    return _LEFT * _TEN + (_RIGHT - _LEFT) * _TEN * day // rounds


def _y(standing: Decimal) -> int:
    """In tenths of a unit; zero is at the bottom."""
    return _BOTTOM * _TEN - (_BOTTOM - _TOP) * _TEN * in_micro(standing) // HIGHEST


def _tenths(tenths: int) -> str:
    return f"{tenths // _TEN}.{tenths % _TEN}"
