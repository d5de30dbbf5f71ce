"""The export: a checkpoint's mean weights as the integers that the engine runs on.

python -m train.export --checkpoint FILE --weights FILE
The card that belongs to the file is written by `train.evaluate --card`, which needs no torch.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from assay.model.vocabulary import VOCABULARY
from assay.model.weights import Shape, render_weights, tensors_of

__all__ = ["integers", "main"]

_SCALES = {"int8": (128.0, 127.0), "int16": (256.0, 16383.0), "int32": (4096.0, 65535.0)}


def integers(state: dict[str, torch.Tensor], shape: Shape) -> dict[str, np.ndarray]:
    """The rounding of `network`, in the same operations."""
    found = {}
    for tensor in tensors_of(shape):
        scale, limit = _SCALES[tensor.type]
        found[tensor.name] = torch.floor(state[tensor.name] * scale + 0.5).clamp(-limit, limit).numpy()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--which", choices=("mean", "model"), default="mean")
    options = parser.parse_args()
    state = torch.load(options.checkpoint)
    sizes = state["shape"]
    shape = Shape(
        vocabulary=len(VOCABULARY),
        width=sizes["width"],
        layers=sizes["layers"],
        heads=sizes["heads"],
        inner=sizes["inner"],
    )
    options.weights.parent.mkdir(parents=True, exist_ok=True)
    options.weights.write_bytes(render_weights(shape, integers(state[options.which], shape)))
    print(f"step {state['step']}: {options.weights.stat().st_size} bytes")


if __name__ == "__main__":
    main()
