"""Batches: rows of like length beside each other, so that little of what is computed only pads."""

from collections.abc import Sequence

from assay.model.learn.network import Batch
from assay.model.learn.row import Row

_PARTS = 4


def collate(rows: Sequence[Row]) -> Batch:
    """Rows under each other, padded at the end: a token attends to what is before it, so padding changes nothing."""
    import numpy as np  # noqa: PLC0415  numpy is loaded when something is learnt, not with the package

    long = max(len(row.tokens) for row in rows)
    parts = np.zeros((4, len(rows), long), np.int64)
    for number, row in enumerate(rows):
        parts[:, number, : len(row.tokens)] = (row.tokens, row.comparisons, row.places, row.targets)
    return Batch(parts[0], parts[1], parts[2], parts[3])


def split_rows(rows: Sequence[Row]) -> list[Batch]:
    """All of them, in a few batches by length."""
    ordered = sorted(rows, key=lambda row: len(row.tokens))
    size = -(-len(ordered) // _PARTS)
    return [collate(ordered[first : first + size]) for first in range(0, len(ordered), size)]
