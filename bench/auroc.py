"""AUROC with mid-ranks beside scikit-learn's: equal to the last digits, and how much faster."""

import numpy as np

from assay.claims.estimate.calibrate import auroc
from bench._frame import Figure, compare, print_table

__all__ = ["figures"]

_SIZES = (1_000, 100_000, 1_000_000)
_CLOSE = 1e-12


def _sample(n: int, values: int) -> tuple[np.typing.NDArray[np.float64], np.typing.NDArray[np.bool_]]:
    """Uncertainties that tell something, with ties where they take few values."""
    generator = np.random.default_rng(n)
    wrong = generator.random(n) < 0.2
    scores = np.clip(generator.normal(0.4 + 0.2 * wrong, 0.2), 0.0, 1.0)
    return np.round(scores * values) / values, wrong


def figures() -> list[Figure]:
    try:
        from sklearn.metrics import roc_auc_score  # noqa: PLC0415  a peer that may be absent
    except ImportError:
        return []
    found = []
    for n in _SIZES:
        for values, words in ((2**40, "no ties"), (20, "many ties")):
            scores, wrong = _sample(n, values)
            difference = abs(auroc(scores, wrong) - float(roc_auc_score(wrong, scores)))
            if difference > _CLOSE:
                message = f"AUROC differs from scikit-learn's by {difference}"
                raise AssertionError(message)
            found.append(
                compare(
                    f"AUROC of {n:,}, {words}",
                    lambda scores=scores, wrong=wrong: auroc(scores, wrong),  # type: ignore[misc]
                    lambda scores=scores, wrong=wrong: roc_auc_score(wrong, scores),  # type: ignore[misc]
                    peer_name="scikit-learn",
                    target=1.0,
                    seconds=0.2,
                    rounds=3,
                    note=f"equal within {_CLOSE:g}",
                )
            )
    return found


if __name__ == "__main__":
    print_table(figures())
