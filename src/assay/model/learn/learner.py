"""The learner: parameters, their running mean and the optimiser's memory, as one thing that can be gone on with.

batches -> step -> loss; learner -> render_checkpoint -> bytes -> parse_checkpoint -> the same learner
"""

import math
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from msgspec import Struct, json

from assay.model.errors import CheckpointError
from assay.model.learn.network import Batch, Network, Parameters, integers_of, parameters_of
from assay.model.learn.plan import Plan
from assay.model.weights import Shape, Weights, render_weights, tensors_of

if TYPE_CHECKING:
    from numpy import ndarray

_FIRST, _SECOND, _TINY = 0.9, 0.98, 1e-8
_DECAY = 0.01
_LONGEST_STEP = 1.0
_KEPT = 0.98
_LEAST_RATE = 0.03
_WARM = 10
# Beyond the range of the integers there would be no gradient to come back by.
_EDGE = 0.99
_TABLES = ("parameters", "mean", "first", "second")


class Learner:
    """Starts from the weights it is to improve."""

    __slots__ = ("first", "mean", "network", "parameters", "plan", "second", "step")

    def __init__(self, weights: Weights, plan: Plan) -> None:
        import numpy as np  # noqa: PLC0415  numpy is loaded when something is learnt, not with the package

        self.network = Network(weights.shape)
        self.plan = plan
        self.step = 0
        self.parameters = parameters_of(weights.shape, weights.tensors)
        self.mean = {name: part.copy() for name, part in self.parameters.items()}
        self.first = {name: np.zeros_like(part) for name, part in self.parameters.items()}
        self.second = {name: np.zeros_like(part) for name, part in self.parameters.items()}

    def learn(self, batches: Sequence[Batch]) -> float:
        """One step; the loss before it, in nats a token."""
        count = sum(int((batch.targets > 0).sum()) for batch in batches)
        total = 0.0
        sums: Parameters = {}
        for batch in batches:
            loss, grads = self.network.learn(self.parameters, batch, 1 / count)
            total += loss
            sums = {name: sums[name] + grad if name in sums else grad for name, grad in grads.items()}
        self._move(_clipped(sums))
        self.step += 1
        return total

    def weights(self) -> bytes:
        """The weight file of the running mean."""
        return render_weights(self.network.shape, integers_of(self.network.shape, self.mean))

    def _move(self, grads: Parameters) -> None:
        import numpy as np  # noqa: PLC0415  see above

        at, rate = self.step + 1, self._rate()
        for name, grad in grads.items():
            value, first, second = self.parameters[name], self.first[name], self.second[name]
            first += (1 - _FIRST) * (grad - first)
            second += (1 - _SECOND) * (grad * grad - second)
            steady = np.sqrt(second / (1 - _SECOND**at)) + _TINY
            value -= rate * (first / (1 - _FIRST**at) / steady + _DECAY * value)
            if name.endswith(".weight"):
                np.clip(value, -_EDGE, _EDGE, out=value)
            self.mean[name] += (1 - min(_KEPT, at / (at + 9))) * (value - self.mean[name])

    def _rate(self) -> float:
        share = _LEAST_RATE + (1 - _LEAST_RATE) * 0.5 * (1 + math.cos(math.pi * self.step / self.plan.steps))
        return self.plan.rate * share * min(1.0, (self.step + 1) / _WARM)


def render_checkpoint(learner: Learner) -> bytes:
    """All that is needed to go on exactly where it was left."""
    import numpy as np  # noqa: PLC0415  see above

    arrays = {f"{table}/{name}": part for table in _TABLES for name, part in getattr(learner, table).items()}
    told = json.encode({"plan": learner.plan, "step": learner.step})
    file = BytesIO()
    np.savez(file, about=np.frombuffer(told, np.uint8), **arrays)
    return file.getvalue()


def parse_checkpoint(content: bytes, weights: Weights, plan: Plan) -> Learner:
    """Refuses a checkpoint of another training: going on with other cases or weights would be neither."""
    import numpy as np  # noqa: PLC0415  see above

    learner = Learner(weights, plan)
    try:
        with np.load(BytesIO(content), allow_pickle=False) as stored:
            about = _about(stored["about"].tobytes())
            if about.plan != plan:
                raise CheckpointError(f"expected a checkpoint of this training, got one of {about.plan}")
            for table in _TABLES:
                getattr(learner, table).update(_table(stored, table, weights.shape))
    except (BadZipFile, EOFError, KeyError, OSError, ValueError) as error:
        raise CheckpointError(f"expected a checkpoint, got a damaged one: {error}") from error
    learner.step = about.step
    return learner


class _About(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    plan: Plan
    step: int


def _about(text: bytes) -> _About:
    return json.decode(text, type=_About)


def _table(stored: "dict[str, ndarray]", table: str, shape: Shape) -> Parameters:
    found = {one.name: stored[f"{table}/{one.name}"] for one in tensors_of(shape)}
    if any(found[one.name].shape != one.shape for one in tensors_of(shape)):
        raise CheckpointError("expected arrays of this architecture, got others")
    return found


def _clipped(grads: Parameters) -> Parameters:
    long = math.sqrt(sum(float((grad.astype("float64") ** 2).sum()) for grad in grads.values()))
    if long <= _LONGEST_STEP:
        return grads
    return {name: grad * grad.dtype.type(_LONGEST_STEP / long) for name, grad in grads.items()}
