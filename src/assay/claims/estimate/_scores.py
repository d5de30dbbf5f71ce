"""Scores and labels as arrays: finite, in range, as many as each other, or refused."""

from typing import TYPE_CHECKING

from assay.claims.errors import ClaimsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def checked_scores(scores: "ArrayLike") -> "NDArray[np.float64]":
    """A row of finite numbers, at least one."""
    import numpy as np  # noqa: PLC0415  loaded only with scores

    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ClaimsError.scores(f"expected a row of at least one score, got the shape {array.shape}")
    if not np.isfinite(array).all():
        raise ClaimsError.scores("expected finite scores, got NaN or an infinity")
    return array


def checked_shares(scores: "ArrayLike") -> "NDArray[np.float64]":
    array = checked_scores(scores)
    if array.min() < 0.0 or array.max() > 1.0:
        raise ClaimsError.scores(f"expected scores of 0 to 1, got {array.min():g} to {array.max():g}")
    return array


def checked_labels(labels: "ArrayLike", count: int) -> "NDArray[np.bool_]":
    """True and false, or 1 and 0, as many as there are scores."""
    import numpy as np  # noqa: PLC0415  loaded only with scores

    array = np.asarray(labels)
    if array.shape != (count,):
        raise ClaimsError.scores(f"expected {count} labels, got the shape {array.shape}")
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise ClaimsError.scores("expected labels that are true or false, got something else")
    return array.astype(np.bool_)


def checked_level(name: str, value: float) -> float:
    if not 0.0 < value < 1.0:
        raise ClaimsError.calibration_setting(f"expected {name} between 0 and 1, both left out, got {value!r}")
    return value
