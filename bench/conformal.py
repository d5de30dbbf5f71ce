"""Conformal calibration and prediction at 1e4 to 1e6 scores, beside numpy's own quantile, MAPIE and crepes.

The target is against numpy's quantile: the rank of a finite sample should cost no more than twice the plain one. All of
them are given scores that a model has made already.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np

from assay.claims.estimate.conform import calibrate_split, lac_scores, predict_sets
from bench._frame import Aim, Figure, load, print_table

__all__ = ["figures"]

_ALPHA = 0.1
_SIZES = (10_000, 100_000, 1_000_000)
_CLASSES = 10
_ROUNDS = 7


def _seconds(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float, float]:
    """The best CPU time of each in turns, and all of it; a warm-up comes first."""
    ours()
    peer()
    best = [float("inf"), float("inf")]
    began = time.process_time()
    for _ in range(_ROUNDS):
        for place, fn in enumerate((ours, peer)):
            start = time.process_time()
            fn()
            best[place] = min(best[place], time.process_time() - start)
    return best[0], best[1], time.process_time() - began


def _figure(
    name: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    peer_name: str,
    target: float,
    note: str = "",
) -> Figure:
    mine, theirs, spent = _seconds(ours, peer)
    return Figure(
        name=name,
        ours=mine * 1e3,
        peer=theirs * 1e3,
        peer_name=peer_name,
        unit="ms",
        ratio=mine / theirs,
        target=target,
        cpu_seconds=spent,
        load=load(),
        aim=Aim.AT_MOST,
        note=note,
    )


def _calibrations(n: int) -> list[Figure]:
    scores = np.random.default_rng(n).random(n)
    figures = [
        _figure(
            f"conformal: calibrate, {n:,} scores",
            lambda: calibrate_split(scores, _ALPHA),
            lambda: np.quantile(scores, 1.0 - _ALPHA),
            peer_name="numpy quantile",
            target=2.0,
        )
    ]
    crepes = _crepes(scores)
    if crepes is not None:
        figures.append(
            _figure(
                f"conformal: calibrate, {n:,} scores",
                lambda: calibrate_split(scores, _ALPHA),
                crepes,
                peer_name="crepes",
                target=1.0,
            )
        )
    return figures


def _crepes(scores: np.typing.NDArray[np.float64]) -> Callable[[], object] | None:
    """Its fit, and one interval, since it sorts when it fits and takes the rank when it predicts."""
    try:
        from crepes import ConformalRegressor  # noqa: PLC0415  a peer that may be absent
    except ImportError:
        return None
    one = np.zeros(1)

    def run() -> object:
        fitted = ConformalRegressor()
        fitted.fit(residuals=scores)
        return fitted.predict_int(one, confidence=1.0 - _ALPHA)

    return run


def _mapie(n: int) -> Figure | None:
    """MAPIE's split classifier around a model that only looks up what it should say: calibrate and predict."""
    try:
        from mapie.classification import SplitConformalClassifier  # noqa: PLC0415  a peer that may be absent
        from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: PLC0415  comes with that peer
    except ImportError:
        return None

    class Saying(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # ships no types
        """The features are the probabilities."""

        def fit(self, _features: object, labels: np.typing.NDArray[np.int64]) -> "Saying":
            self.classes_ = np.unique(labels)
            return self

        def predict_proba(self, features: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
            return features

        def predict(self, features: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.int64]:
            likeliest: np.typing.NDArray[np.int64] = features.argmax(axis=1)
            return likeliest

    rows, labels = _probabilities(n)
    model = Saying().fit(rows, np.arange(_CLASSES))

    def theirs() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of what does not matter here
            fitted = SplitConformalClassifier(estimator=model, confidence_level=1.0 - _ALPHA, prefit=True)
            fitted.conformalize(rows, labels)
            return fitted.predict_set(rows)

    def ours() -> object:
        scores = lac_scores(rows)
        threshold = calibrate_split(scores[np.arange(n), labels], _ALPHA)
        return predict_sets(scores, threshold)

    return _figure(
        f"conformal: calibrate and predict {n:,} sets of {_CLASSES}", ours, theirs, peer_name="MAPIE", target=1.0
    )


def _probabilities(n: int) -> tuple[np.typing.NDArray[np.float64], np.typing.NDArray[np.int64]]:
    generator = np.random.default_rng(n)
    rows = generator.dirichlet(np.full(_CLASSES, 0.3), n)
    labels = (rows.cumsum(axis=1) > generator.random((n, 1))).argmax(axis=1)
    return rows, labels


def figures() -> list[Figure]:
    found = [figure for n in _SIZES for figure in _calibrations(n)]
    return [*found, *(figure for n in _SIZES[:2] if (figure := _mapie(n)) is not None)]


if __name__ == "__main__":
    print_table(figures())
