"""The gradients of numpy beside those of torch, at the shipped weights: the same network, written twice.

python -m train.gradients prints, for each array, the largest difference as a share of its largest gradient
"""

import random

import numpy as np
import torch

from assay.model.learn.batch import collate as collate_numpy
from assay.model.learn.network import Network, parameters_of
from assay.model.learn.row import draw_closing
from assay.model.weights import parse_weights
from train.run import collate
from train.sequences import draw_rows
from train.vectors import WEIGHTS, network_of

__all__ = ["differences", "main"]

_ALLOWED = 1e-9


def differences(content: bytes, seed: str = "gradients", count: int = 24) -> dict[str, float]:
    """By array, in double precision on both sides: what is left is the order of adding, and nothing else."""
    rng = random.Random(seed)
    rows = [draw_closing(rng) for _ in range(6)]
    while len(rows) < count:
        rows += [row for row, _ in draw_rows(rng, frozenset())]
    weights, model = parse_weights(content), network_of(content).double()
    tokens, comparisons, places, targets = collate(rows)
    asked = targets > 0
    scores = model(tokens, comparisons, places, asked) / 4096
    loss = torch.nn.functional.cross_entropy(scores, targets[asked], reduction="sum")
    loss.backward()
    floats = parameters_of(weights.shape, weights.tensors)
    parameters = {name: part.astype(np.float64) for name, part in floats.items()}
    told, grads = Network(weights.shape).learn(parameters, collate_numpy(rows), 1.0)
    if abs(told - loss.item()) > _ALLOWED * max(1, abs(told)):
        raise SystemExit(f"expected the loss {loss.item()}, got {told}")
    return {name: _difference(grads[name], model.get_parameter(name)) for name in grads}


def _difference(ours: np.ndarray, theirs: torch.nn.Parameter) -> float:
    given = np.zeros_like(ours) if theirs.grad is None else theirs.grad.numpy()
    return float(np.abs(ours - given).max() / max(float(np.abs(given).max()), 1e-30))


def main() -> None:
    found = differences(WEIGHTS.read_bytes())
    for name, share in found.items():
        print(f"{name:24} {share:.1e}")
    worst = max(found.values())
    print(f"torch {torch.__version__}, numpy {np.__version__}: at most {worst:.1e} of an array's largest gradient")
    if worst > _ALLOWED:
        raise SystemExit(f"expected at most {_ALLOWED}")


if __name__ == "__main__":
    main()
