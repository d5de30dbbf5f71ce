"""The pictures of docs/claims.md, drawn again: `python -m tests.claims.pictures`.

The sample is made up, with a fixed seed: 1,000 answers whose uncertainty tells something, and is too sure of itself.
"""

from pathlib import Path

import numpy as np

from assay.claims.estimate.calibrate import make_report
from assay.claims.estimate.conform import calibrate_split
from assay.claims.estimate.plot import plot_coverage, plot_reliability, plot_risk_coverage, plot_roc

__all__ = ["drawn"]

_FOLDER = Path(__file__).parents[2] / "docs" / "claims"


def drawn() -> dict[str, str]:
    """Each picture by the name of its file."""
    generator = np.random.default_rng(2026)
    chance = generator.beta(1.2, 3.0, 1000)
    wrong = generator.random(1000) < chance
    said = np.clip(chance**1.4 + generator.normal(0.0, 0.05, 1000), 0.0, 1.0)
    report = make_report(said, wrong, seed=1)
    return {
        "roc.svg": plot_roc(report),
        "reliability.svg": plot_reliability(report),
        "risk_coverage.svg": plot_risk_coverage(report),
        "coverage.svg": plot_coverage(calibrate_split(generator.random(199), 0.1)),
    }


if __name__ == "__main__":
    for name, text in drawn().items():
        (_FOLDER / name).write_text(text)
