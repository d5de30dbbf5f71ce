"""The picture of an evaluation as SVG text: assertions that were wrong by type, and verdicts by expected and got.

Colours follow the reader's light or dark setting. The same figures give the same text.
"""

from collections.abc import Iterator
from html import escape

from assay.model.figures import Figures

_WIDTH, _ROW, _LEFT, _CELL = 720, 22, 210, 104
_BAR = 380
_FEWEST = 1e-4
_STYLE = (
    ":root{color-scheme:light dark}text{font:13px sans-serif}.paper{fill:#ffffff}.ink{fill:#1b1f27}.soft{fill:#565d6b}"
    ".right{fill:#0b6bb5}.wrong{fill:#b3261e}.back{fill:#e7eaef}"
    "@media (prefers-color-scheme:dark){.paper{fill:#14171c}.ink{fill:#eef1f5}.soft{fill:#a7afbd}.right{fill:#60b8ff}"
    ".wrong{fill:#ff8a80}.back{fill:#2a2f38}}"
)


def plot_figures(figures: Figures, title: str) -> str:
    """Bars are shares of assertions that were right; beside each, how many were wrong."""
    bars, matrix = list(_bars(figures)), list(_matrix(figures))
    top = 70 + _ROW * len(bars)
    height = top + 50 + _ROW * (len(matrix) + 1)
    names = _names(figures)
    rates = f"verdicts right {figures.verdict_accuracy:.2%}, assertions {figures.assertion_accuracy:.2%}"
    told = f"{figures.cases} cases, {rates}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><desc>{escape(told)}</desc><style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
        f'<text class="ink" x="12" y="24" font-weight="bold">{escape(title)}</text>',
        f'<text class="soft" x="12" y="46">{escape(told)}</text>',
        *(_placed(bar, 66 + _ROW * number) for number, bar in enumerate(bars)),
        f'<text class="soft" x="12" y="{top + 14}">expected, and what came</text>',
        *(_heading(name, number, top + 14) for number, name in enumerate(names)),
        *(_placed(line, top + 20 + _ROW * number) for number, line in enumerate(matrix)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _placed(content: str, down: int) -> str:
    return f'<g transform="translate(0 {down})">{content}</g>'


def _heading(name: str, number: int, down: int) -> str:
    return f'<text class="soft" x="{_LEFT + _CELL * number}" y="{down}" style="font-size:11px">{escape(name)}</text>'


def _bars(figures: Figures) -> Iterator[str]:
    for kind, one in figures.types.items():
        share = one.right / one.asserted
        kind_class = "right" if one.right == one.asserted else "wrong"
        yield (
            f'<text class="ink" x="12" y="14">{escape(kind)}</text>'
            f'<rect class="back" x="{_LEFT}" y="3" width="{_BAR}" height="14"/>'
            f'<rect class="{kind_class}" x="{_LEFT}" y="3" width="{round(_BAR * max(share, _FEWEST), 1)}" height="14"/>'
            f'<text class="soft" x="{_LEFT + _BAR + 8}" y="14">{one.right} of {one.asserted}</text>'
        )


def _names(figures: Figures) -> list[str]:
    return sorted({name for row in figures.confusion.values() for name in row} | set(figures.confusion))


def _matrix(figures: Figures) -> Iterator[str]:
    names = _names(figures)
    for expected, row in figures.confusion.items():
        cells = [
            f'<text class="{"right" if got == expected else "wrong" if row.get(got) else "soft"}" '
            f'x="{_LEFT + _CELL * number}" y="14">{row.get(got, 0)}</text>'
            for number, got in enumerate(names)
        ]
        yield f'<text class="ink" x="12" y="14">{escape(expected)}</text>{"".join(cells)}'
