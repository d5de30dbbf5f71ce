"""The network with gradients: the very integers of the engine forwards, straight through the rounding backwards.

A step of it is a pair of functions: one computes and keeps what the other needs to pass a gradient back. With `smooth`
nothing is rounded (limits stay): then the gradients are those of the function itself, as differences can show.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from assay.model.engine import exponentials
from assay.model.weights import Shape, tensors_of

if TYPE_CHECKING:
    from numpy import ndarray

Parameters: TypeAlias = "dict[str, ndarray]"
# What came in, given the gradient of what went out; gradients of parameters are added to the table on the way.
_Back: TypeAlias = "Callable[[ndarray], ndarray]"

SCALES = {"int8": 128.0, "int16": 256.0, "int32": 4096.0}
LIMITS = {"int8": 127.0, "int16": 16383.0, "int32": 65535.0}
_ACT = 127.0
_RESIDUAL = 16383.0
_HIDDEN = -1e9
_STEPS = 256
_FLAT = 5120.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of equal length, padded with 0; a target of 0 is none."""

    tokens: "ndarray"
    comparisons: "ndarray"
    places: "ndarray"
    targets: "ndarray"


def parameters_of(shape: Shape, tensors: "Mapping[str, ndarray]") -> Parameters:
    """Floats whose rounding gives these integers back."""
    import numpy as np  # noqa: PLC0415  numpy is loaded when something is learnt, not with the package

    return {one.name: tensors[one.name].astype(np.float32) / np.float32(SCALES[one.type]) for one in tensors_of(shape)}


def integers_of(shape: Shape, parameters: Parameters) -> "dict[str, ndarray]":
    """The integers that the network has computed with all along."""
    import numpy as np  # noqa: PLC0415  see above

    found = {}
    for one in tensors_of(shape):
        limit = LIMITS[one.type]
        found[one.name] = np.clip(np.floor(parameters[one.name] * SCALES[one.type] + 0.5), -limit, limit)
    return found


class Network:
    """Scores and gradients for parameters of one shape; nothing is kept between calls."""

    __slots__ = ("_smooth", "_table", "shape")

    def __init__(self, shape: Shape, *, smooth: bool = False) -> None:
        import numpy as np  # noqa: PLC0415  see above

        self.shape = shape
        self._smooth = smooth
        self._table = np.array(exponentials(), np.float32)

    def learn(self, parameters: Parameters, batch: Batch, share: float) -> "tuple[float, Parameters]":
        """The summed loss times `share`, and its gradients."""
        import numpy as np  # noqa: PLC0415  see above

        scores, back, grads = self._run(parameters, batch)
        targets = batch.targets[batch.targets > 0]
        logits = scores / 4096.0
        logits -= logits.max(-1, keepdims=True)
        chances = np.exp(logits)
        total = chances.sum(-1, keepdims=True)
        at = np.arange(len(targets))
        loss = float((np.log(total[:, 0]) - logits[at, targets]).sum(dtype=np.float64)) * share
        slope = chances / total
        slope[at, targets] -= 1
        back(slope * (share / 4096.0))
        return loss, grads

    def scores(self, parameters: Parameters, batch: Batch) -> "ndarray":
        """At every place with a target, one after the other."""
        return self._run(parameters, batch)[0]

    def _run(self, parameters: Parameters, batch: Batch) -> "tuple[ndarray, Callable[[ndarray], None], Parameters]":
        grads: Parameters = {}
        rounded, through = self._rounded(parameters)
        residual, embed_back = self._embed(rounded, batch, grads)
        backs: list[_Back] = []
        for layer in range(self.shape.layers):
            for step in (self._attend, self._think):
                residual, back = step(layer, rounded, residual, grads)
                backs.append(back)
        asked = batch.targets > 0
        normed, norm_back = self._normed(residual[asked])
        scores, head_back = _linear("head", rounded, normed, grads)

        def back_all(slope: "ndarray") -> None:
            import numpy as np  # noqa: PLC0415  see above

            spread = np.zeros_like(residual)
            spread[asked] = norm_back(head_back(slope))
            for back in reversed(backs):
                spread = back(spread)
            embed_back(spread)
            for name, grad in grads.items():
                grads[name] = through[name](grad)

        return scores, back_all, grads

    def _rounded(self, parameters: Parameters) -> "tuple[Parameters, dict[str, _Back]]":
        values, backs = {}, {}
        for one in tensors_of(self.shape):
            limit = LIMITS[one.type]
            values[one.name], backs[one.name] = self._cut(parameters[one.name], SCALES[one.type], -limit, limit)
        return values, backs

    def _cut(self, x: "ndarray", scale: float, low: float, high: float) -> "tuple[ndarray, _Back]":
        """Rounded half up and held between two limits; the gradient passes where it was not cut."""
        import numpy as np  # noqa: PLC0415  see above

        y = x * x.dtype.type(scale)
        if not self._smooth:
            y += x.dtype.type(0.5)
            np.floor(y, y)
        inside = (y >= low) & (y <= high)
        np.clip(y, low, high, out=y)
        return y, lambda slope: slope * inside * x.dtype.type(scale)

    def _normed(self, r: "ndarray") -> "tuple[ndarray, _Back]":
        """Scaled so that the mean size is 32."""
        import numpy as np  # noqa: PLC0415  see above

        width = r.shape[-1]
        total = np.maximum(np.abs(r).sum(-1, keepdims=True), r.dtype.type(8.0 * width))
        y, cut_back = self._cut(r * r.dtype.type(32.0 * width) / total, 1.0, -_ACT, _ACT)

        def back(slope: "ndarray") -> "ndarray":
            inner = cut_back(slope) * r.dtype.type(32.0 * width)
            along = (inner * r).sum(-1, keepdims=True) / total
            return (inner - np.sign(r) * along) / total  # type: ignore[no-any-return]  # numpy's arithmetic is Any

        return y, back

    def _added(self, r: "ndarray", change: "ndarray") -> "tuple[ndarray, Callable[[ndarray], tuple[ndarray, ndarray]]]":
        small, small_back = self._cut(change, 1 / 16, -_RESIDUAL, _RESIDUAL)
        y, sum_back = self._cut(r + small, 1.0, -_RESIDUAL, _RESIDUAL)

        def back(slope: "ndarray") -> "tuple[ndarray, ndarray]":
            whole = sum_back(slope)
            return whole, small_back(whole)

        return y, back

    def _embed(
        self, rounded: Parameters, batch: Batch, grads: Parameters
    ) -> "tuple[ndarray, Callable[[ndarray], None]]":
        import numpy as np  # noqa: PLC0415  see above

        looked = {"token": batch.tokens, "comparison": batch.comparisons, "place": batch.places}
        first, second, third = (rounded[name][places] for name, places in looked.items())

        def back(slope: "ndarray") -> None:
            flat = slope.reshape(-1, slope.shape[-1])
            for name, places in looked.items():
                grads[name] = np.zeros_like(rounded[name])
                np.add.at(grads[name], places.ravel(), flat)

        return first + second + third, back

    def _attend(
        self, layer: int, rounded: Parameters, residual: "ndarray", grads: Parameters
    ) -> "tuple[ndarray, _Back]":
        rows, long, width = residual.shape
        heads = self.shape.heads
        normed, norm_back = self._normed(residual)
        linear, linear_back = _linear(f"blocks.{layer}.qkv", rounded, normed, grads)
        qkv, qkv_back = self._cut(linear, 1 / 128, -_ACT, _ACT)
        split = qkv.reshape(rows, long, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        mixed, mix_back = self._mix(split[0], split[1], split[2])
        seen = mixed.transpose(0, 2, 1, 3).reshape(rows, long, width)
        out, out_back = _linear(f"blocks.{layer}.out", rounded, seen, grads)
        added, added_back = self._added(residual, out)

        def back(slope: "ndarray") -> "ndarray":
            import numpy as np  # noqa: PLC0415  see above

            kept, changed = added_back(slope)
            inner = out_back(changed).reshape(rows, long, heads, width // heads).transpose(0, 2, 1, 3)
            parts = np.stack(mix_back(inner)).transpose(1, 3, 0, 2, 4).reshape(rows, long, 3 * width)
            return kept + norm_back(linear_back(qkv_back(parts)))

        return added, back

    def _mix(
        self, queries: "ndarray", keys: "ndarray", values: "ndarray"
    ) -> "tuple[ndarray, Callable[[ndarray], tuple[ndarray, ndarray, ndarray]]]":
        """Attention: shares by the table of exponentials, then the mean of what was seen."""
        import numpy as np  # noqa: PLC0415  see above

        long = queries.shape[2]
        scores = queries @ keys.transpose(0, 1, 3, 2)
        np.copyto(scores, scores.dtype.type(_HIDDEN), where=np.triu(np.ones((long, long), bool), 1))
        shares = self._exponential(scores.max(-1, keepdims=True) - scores)
        total = shares.sum(-1, keepdims=True)
        mean = (shares @ values) / total
        mixed, cut_back = self._cut(mean, 1.0, -_ACT, _ACT)

        def back(slope: "ndarray") -> "tuple[ndarray, ndarray, ndarray]":
            inner = cut_back(slope) / total
            by_value = shares.transpose(0, 1, 3, 2) @ inner
            by_share = inner @ values.transpose(0, 1, 3, 2) - (inner * mean).sum(-1, keepdims=True)
            # A share is 255 * exp(-distance / 5120): its slope is itself, scaled; what is hidden has none.
            by_score = by_share * shares * (1 / _FLAT)
            return by_score @ keys, by_score.transpose(0, 1, 3, 2) @ queries, by_value

        return mixed, back

    def _exponential(self, distance: "ndarray") -> "ndarray":
        import numpy as np  # noqa: PLC0415  see above

        if self._smooth:
            return 255 * np.exp(-distance / _FLAT)
        return self._table[np.minimum(distance * (1 / 128), _STEPS - 1).astype(np.int32)]

    def _think(
        self, layer: int, rounded: Parameters, residual: "ndarray", grads: Parameters
    ) -> "tuple[ndarray, _Back]":
        normed, norm_back = self._normed(residual)
        up, up_back = _linear(f"blocks.{layer}.up", rounded, normed, grads)
        inner, inner_back = self._cut(up, 1 / 128, 0.0, _ACT)
        down, down_back = _linear(f"blocks.{layer}.down", rounded, inner, grads)
        added, added_back = self._added(residual, down)

        def back(slope: "ndarray") -> "ndarray":
            kept, changed = added_back(slope)
            return kept + norm_back(up_back(inner_back(down_back(changed))))

        return added, back


def _linear(name: str, rounded: Parameters, x: "ndarray", grads: Parameters) -> "tuple[ndarray, _Back]":
    weight, bias = rounded[f"{name}.weight"], rounded[f"{name}.bias"]

    def back(slope: "ndarray") -> "ndarray":
        flat = slope.reshape(-1, slope.shape[-1])
        grads[f"{name}.weight"] = flat.T @ x.reshape(-1, x.shape[-1])
        grads[f"{name}.bias"] = flat.sum(0)
        return slope @ weight

    return x @ weight.T + bias, back
