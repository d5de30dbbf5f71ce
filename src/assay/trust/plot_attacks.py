"""A picture of rehearsed attacks: for each kind the lies told, believed and verified, as SVG text.

AttackReport -> one bar for each kind -> SVG
Colours follow the reader's light or dark setting; the text is the same for the same report.
"""

from collections.abc import Iterator
from html import escape

from assay.trust.attack import Attack, AttackReport

_WIDTH, _LEFT, _TOP, _STEP, _LENGTH = 760, 130, 64, 46, 380
_STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#1d2330}.told{fill:#d5d9e0}.believed{fill:#8a6d00}"
    ".verified{fill:#c2262e}@media(prefers-color-scheme:dark){text{fill:#e6e9ef}.told{fill:#4a5160}"
    ".believed{fill:#facc15}.verified{fill:#f87171}}</style>"
)


def render_attacks(report: AttackReport) -> str:
    """A whole SVG document; the length of a bar is the share of the lies, in words beside it."""
    request, height = report.request, _TOP + _STEP * len(report.attacks) + 20
    title = f"{report.claim_type}: {request.honest} honest agents, {request.attackers} attackers, seed {request.seed}"
    box = f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        _STYLE,
        f'<text x="16" y="24">{escape(title)}</text>',
        '<text x="16" y="44">grey: lies told; yellow: believed; red: verified</text>',
    ]
    for place, attack in enumerate(report.attacks):
        parts.extend(_bar(attack, _TOP + place * _STEP))
    return "\n".join([*parts, "</svg>"])


def _bar(attack: Attack, y: int) -> Iterator[str]:
    yield f'<text x="{_LEFT - 10}" y="{y + 17}" text-anchor="end">{escape(attack.kind.replace("_", " "))}</text>'
    lies = max(1, attack.lies)
    for name, count, top, size in (
        ("told", lies, 0, 24),
        ("believed", attack.believed, 4, 16),
        ("verified", attack.verified, 8, 8),
    ):
        yield f'<rect class="{name}" x="{_LEFT}" y="{y + top}" width="{_LENGTH * count // lies}" height="{size}"/>'
    recovery = "never over" if attack.recovery is None else f"over after {attack.recovery} keys"
    words = f"{attack.believed} of {attack.lies} believed, {attack.harmed} harmed, {recovery}"
    yield f'<text x="{_LEFT + _LENGTH + 10}" y="{y + 17}">{escape(words)}</text>'
