"""Vectors: scores of the shipped weights as the network in torch computes them, for the engine to be held to.

python -m train.vectors writes tests/vectors/model/scores.json anew
"""

import json
import random
from pathlib import Path

import torch

from assay.model.learn.row import Row, draw_closing
from assay.model.weights import parse_weights, tensors_of
from train.network import Judge, Shape
from train.run import collate
from train.sequences import draw_rows

__all__ = ["WEIGHTS", "main", "network_of"]

_ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = _ROOT / "src" / "assay" / "model" / "weights" / "judge.bin"
_VECTORS = _ROOT / "tests" / "vectors" / "model" / "scores.json"
_SCALES = {"int8": 128.0, "int16": 256.0, "int32": 4096.0}


def network_of(content: bytes) -> Judge:
    """The weights of a file in torch: an integer over its scale rounds back to itself."""
    weights = parse_weights(content)
    shape = weights.shape
    sizes = {name: getattr(shape, name) for name in ("vocabulary", "width", "layers", "heads", "inner")}
    model = Judge(Shape(**sizes))
    state = {
        one.name: torch.tensor(weights.tensors[one.name].astype("float32")) / _SCALES[one.type]
        for one in tensors_of(shape)
    }
    model.load_state_dict(state)
    return model


def main() -> None:
    content = WEIGHTS.read_bytes()
    model, rng = network_of(content), random.Random("vectors")
    rows: list[Row] = [draw_closing(rng)]
    while len(rows) < 12:
        rows += [row for row, _ in draw_rows(rng, frozenset())]
    cases = []
    with torch.no_grad():
        for row in rows[:12]:
            tokens, comparisons, places, _ = collate([row])
            scores = model(tokens, comparisons, places)[0, -1].to(torch.int64).tolist()
            read = list(zip(row.tokens, row.comparisons, row.places, strict=True))
            cases.append({"read": read, "scores": scores})
    document = {
        "about": "integer scores after the last token of each row, for the shipped weights",
        "origin": f"computed by train/network.py in torch {torch.__version__}, which shares no code with the engine",
        "weight_hash": parse_weights(content).hash,
        "cases": cases,
    }
    _VECTORS.write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
