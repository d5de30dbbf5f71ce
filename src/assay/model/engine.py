"""The engine: a transformer whose every sum is one of small integers, so that every machine computes the same bits.

rows of tokens -> Session (keys and values of what was read) -> extend -> integer scores of the next token

Why it is exact: what enters a product has 7 bits and a sign, sums stay below 2^24, and float32 has every integer up to
there, whatever the order of adding, the threads or the library. Between products each step is one operation of IEEE
754 (which are rounded correctly everywhere), and the exponential is a table of integers.
"""

from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, TypeAlias

from assay.model.errors import CaseSizeError
from assay.model.weights import Weights

if TYPE_CHECKING:
    from numpy import ndarray

# Token, number of the comparison, place in it.
Position: TypeAlias = tuple[int, int, int]
# 255 * 127 * 512 < 2^24: the longest row over which attention adds exactly.
MAX_ROW = 512
# A score is in 4096ths of a nat.
SCORE_UNIT = 4096
_LIMIT = 127.0
_RESIDUAL = 16383.0
_STEPS = 256
# How many rows are computed at once: more would cost memory, and save no time. Attention needs a place for each pair of
# positions of each row, so that there are fewer rows at once where rows are long.
_ROWS_AT_ONCE = 32
_PAIRS_AT_ONCE = 32 * 128 * 128


class Session:
    """What rows have read so far; made by `Engine.open`."""

    __slots__ = ("keys", "lengths", "values")

    def __init__(self, keys: "list[ndarray]", values: "list[ndarray]", lengths: "ndarray") -> None:
        self.keys = keys
        self.values = values
        self.lengths = lengths


class Engine:
    """Immutable after it was made; sessions are not shared between callers."""

    __slots__ = ("_layers", "_table", "_weights", "shape", "weight_hash")

    def __init__(self, weights: Weights) -> None:
        import numpy as np  # noqa: PLC0415  numpy is loaded with the first engine, not with the package

        self.shape = weights.shape
        self.weight_hash = weights.hash
        floats = {name: np.ascontiguousarray(part, np.float32) for name, part in weights.tensors.items()}
        self._weights = {
            name: np.ascontiguousarray(part.T) if name.endswith(".weight") else part for name, part in floats.items()
        }
        self._layers = range(self.shape.layers)
        self._table = np.array(exponentials(), np.float32)

    def open(self, rows: int, longest: int) -> Session:
        """Room for so many rows of at most so many tokens."""
        import numpy as np  # noqa: PLC0415  see above

        if longest > MAX_ROW:
            raise CaseSizeError(f"expected a row of at most {MAX_ROW} tokens, got {longest}")
        heads = self.shape.heads
        size = (rows, heads, longest + 1, self.shape.width // heads)
        keys = [np.zeros(size, np.float32) for _ in self._layers]
        values = [np.zeros(size, np.float32) for _ in self._layers]
        return Session(keys, values, np.zeros(rows, np.int64))

    def extend(self, session: Session, numbers: Sequence[int], chunks: Sequence[Sequence[Position]]) -> "ndarray":
        """Read one chunk in each of the numbered rows; the scores of what follows each, as integers."""
        residual = self._read(session, numbers, chunks)
        return self._scores(residual[range(len(chunks)), [len(chunk) - 1 for chunk in chunks]])

    def score_rows(self, rows: Sequence[Sequence[Position]], asked: Sequence[Sequence[int]]) -> "list[ndarray]":
        """Read whole rows in one pass; of each, the scores of what follows each of the asked places."""
        scored: list[ndarray] = []
        for numbers in split_rows([len(row) for row in rows]):
            part = [rows[number] for number in numbers]
            session = self.open(len(part), max(len(row) for row in part))
            residual = self._read(session, range(len(part)), part)
            scored += [self._scores(residual[at, list(asked[number])]) for at, number in enumerate(numbers)]
        return scored

    def _scores(self, residual: "ndarray") -> "ndarray":
        import numpy as np  # noqa: PLC0415  see above

        return self._linear("head", _normed(residual)).astype(np.int64)

    def _read(self, session: Session, numbers: Sequence[int], chunks: Sequence[Sequence[Position]]) -> "ndarray":
        """What every token of each chunk comes to; the rows remember what they read."""
        import numpy as np  # noqa: PLC0415  see above

        rows = np.array(numbers)
        counts = np.array([len(chunk) for chunk in chunks])
        wide = int(counts.max())
        padded = np.zeros((len(chunks), wide, 3), np.int64)
        for place, chunk in enumerate(chunks):
            padded[place, : len(chunk)] = chunk
        starts = session.lengths[rows]
        # What only pads a row goes to the last slot, which nothing reads.
        steps = np.arange(wide)
        at = np.where(steps < counts[:, None], starts[:, None] + steps, session.keys[0].shape[2] - 1)
        residual = self._embed(padded)
        seen = int((starts + counts).max())
        # INVARIANT: a token attends to itself and to what its own row has read before it.
        hidden = np.arange(seen) > at[:, :, None]
        for layer in self._layers:
            residual = self._attend(layer, residual, session, rows, at, hidden)
            residual = self._think(layer, residual)
        session.lengths[rows] = starts + counts
        return residual

    def _embed(self, padded: "ndarray") -> "ndarray":
        part = self._weights
        return (  # type: ignore[no-any-return]  # numpy's arithmetic is Any
            part["token"][padded[..., 0]] + part["comparison"][padded[..., 1]] + part["place"][padded[..., 2]]
        )

    def _linear(self, name: str, x: "ndarray") -> "ndarray":
        return x @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _attend(
        self, layer: int, residual: "ndarray", session: Session, rows: "ndarray", at: "ndarray", hidden: "ndarray"
    ) -> "ndarray":
        import numpy as np  # noqa: PLC0415  see above

        count, wide, width = residual.shape
        heads = self.shape.heads
        qkv = _cut(self._linear(f"blocks.{layer}.qkv", _normed(residual)), 1 / 128, -_LIMIT, _LIMIT)
        split = qkv.reshape(count, wide, 3, heads, width // heads)
        session.keys[layer][rows[:, None], :, at] = split[:, :, 1]
        session.values[layer][rows[:, None], :, at] = split[:, :, 2]
        seen = hidden.shape[2]
        keys, values = session.keys[layer][rows, :, :seen], session.values[layer][rows, :, :seen]
        scores = split[:, :, 0].transpose(0, 2, 1, 3) @ keys.transpose(0, 1, 3, 2)
        np.copyto(scores, np.float32(-1e9), where=hidden[:, None])
        distance = scores.max(-1, keepdims=True) - scores
        distance *= np.float32(1 / 128)
        # Whole steps: the conversion cuts what is behind the point, and what is hidden falls on the last, which is 0.
        shares = self._table[np.minimum(distance, np.float32(_STEPS - 1)).astype(np.int32)]
        mixed = (shares @ values) / shares.sum(-1, keepdims=True)
        mixed = _cut(mixed, 1.0, -_LIMIT, _LIMIT).transpose(0, 2, 1, 3).reshape(count, wide, width)
        return _added(residual, self._linear(f"blocks.{layer}.out", mixed))

    def _think(self, layer: int, residual: "ndarray") -> "ndarray":
        inner = _cut(self._linear(f"blocks.{layer}.up", _normed(residual)), 1 / 128, 0.0, _LIMIT)
        return _added(residual, self._linear(f"blocks.{layer}.down", inner))


def split_rows(lengths: Sequence[int]) -> Iterator[range]:
    """Split rows of these lengths into consecutive groups that are each small enough to be computed at once."""
    start, longest = 0, 0
    for number, length in enumerate(lengths):
        longest, count = max(longest, length), number - start
        if count == _ROWS_AT_ONCE or (count and (count + 1) * longest**2 > _PAIRS_AT_ONCE):
            yield range(start, number)
            start, longest = number, length
    if start < len(lengths):
        yield range(start, len(lengths))


def _cut(x: "ndarray", scale: float, low: float, high: float) -> "ndarray":
    """Rounded half up to an integer, and held between two others."""
    import numpy as np  # noqa: PLC0415  see above

    y = x * np.float32(scale)
    y += np.float32(0.5)
    np.floor(y, y)
    np.maximum(y, np.float32(low), out=y)
    return np.minimum(y, np.float32(high), out=y)


def _added(residual: "ndarray", change: "ndarray") -> "ndarray":
    return _cut(residual + _cut(change, 1 / 16, -_RESIDUAL, _RESIDUAL), 1.0, -_RESIDUAL, _RESIDUAL)


def _normed(residual: "ndarray") -> "ndarray":
    """Scaled so that the mean size is 32; the sum of sizes is an exact integer, and then there is one division."""
    import numpy as np  # noqa: PLC0415  see above

    width = residual.shape[-1]
    total = np.maximum(np.abs(residual).sum(-1, keepdims=True), np.float32(8.0 * width))
    return _cut(residual * np.float32(32.0 * width) / total, 1.0, -_LIMIT, _LIMIT)


def exponentials() -> list[int]:
    """255 * exp(-step / 40), rounded: computed in decimal, which is the same everywhere."""
    exact = Context(prec=40)
    return [int((255 * exact.exp(Decimal(-step) / 40)).to_integral_value()) for step in range(_STEPS)]
