"""The training loop: resumable, a checkpoint every two minutes, a line of progress with exactness by type.

python -m train.run --folder FOLDER [--steps N] [--threads 1] [--rate 0.003] [--start WEIGHTS] [--mined N]
With `--start` a new run begins at the weights of a file, else at random. With `--mined`, of so many drawn comparisons
of numbers those are trained on that the model is least sure of, beside the drawn cases.
"""

import argparse
import json
import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from assay.model.learn.network import parameters_of
from assay.model.learn.row import Row, draw_closing
from assay.model.vocabulary import VOCABULARY
from assay.model.weights import Weights, parse_weights
from train.comparisons import draw_comparison_rows
from train.network import Judge, Shape
from train.sealed import sealed_lines
from train.sequences import draw_rows

__all__ = ["Batch", "Trainer", "batches", "collate", "draw_pool", "exactness", "main", "mine", "train"]

_CHECKPOINT_SECONDS = 120
_BUFFER = 6144
_MIXED = 4
_SHARPNESS = 1 / 4096
_KEPT = 0.99
_MINED_SHARE = 0.5
# The share of closing rows among drawn cases; twice as many where mined rows take half of the pool.
_CLOSING, _CLOSING_BESIDE = 0.12, 0.24

Batch = tuple[Tensor, Tensor, Tensor, Tensor]


def collate(rows: Sequence[Row]) -> Batch:
    long = max(len(row.tokens) for row in rows)
    parts = [torch.zeros(len(rows), long, dtype=torch.long) for _ in range(4)]
    for number, row in enumerate(rows):
        for part, values in zip(parts, (row.tokens, row.comparisons, row.places, row.targets), strict=True):
            part[number, : len(values)] = torch.tensor(values)
    return parts[0], parts[1], parts[2], parts[3]


def draw_pool(rng: random.Random, count: int, closing: float = _CLOSING) -> list[tuple[Row, str]]:
    pool: list[tuple[Row, str]] = []
    hidden = sealed_lines()
    while len(pool) < count:
        if rng.random() < closing * 3.5:
            pool.append((draw_closing(rng), "closing"))
        pool.extend(draw_rows(rng, hidden))
    return pool


@torch.no_grad()
def mine(model: Judge, rng: random.Random, count: int, kept: int) -> list[Row]:
    """Of `count` drawn comparisons those with the smallest margin between a target and the next best token."""
    rows = [row for row, _ in draw_comparison_rows(rng, count, sealed_lines())]
    rows.sort(key=lambda row: len(row.tokens))
    margins: list[float] = []
    for start in range(0, len(rows), 128):
        tokens, comparisons, places, targets = collate(rows[start : start + 128])
        asked = targets > 0
        scores = model(tokens, comparisons, places, asked)
        wanted = scores.gather(1, targets[asked][:, None])
        others = scores.scatter(1, targets[asked][:, None], -math.inf).amax(1, keepdim=True)
        smallest = torch.full(targets.shape, math.inf)
        smallest[asked] = (wanted - others)[:, 0]
        margins += smallest.amin(1).tolist()
    order = sorted(range(len(rows)), key=margins.__getitem__)
    return [rows[number] for number in order[:kept]]


def batches(rng: random.Random, tokens: int, model: Judge | None = None, mined: int = 0) -> Iterator[list[Batch]]:
    """Parts of rows of like length, as many tokens in all; parts are mixed, since like lengths are like types."""
    while True:
        hard = mine(model, rng, mined, int(_BUFFER * _MINED_SHARE)) if model is not None and mined else []
        drawn = draw_pool(rng, _BUFFER - len(hard), _CLOSING_BESIDE if hard else _CLOSING)
        pool = [row for row, _ in drawn] + hard
        pool.sort(key=lambda row: len(row.tokens))
        found, start = [], 0
        while start < len(pool):
            size = max(8, tokens // _MIXED // len(pool[min(start + 32, len(pool) - 1)].tokens))
            found.append(pool[start : start + size])
            start += size
        rng.shuffle(found)
        for first in range(0, len(found) - _MIXED + 1, _MIXED):
            yield [collate(rows) for rows in found[first : first + _MIXED]]


@torch.no_grad()
def exactness(model: Judge, pool: Sequence[tuple[Row, str]]) -> tuple[float, dict[str, str]]:
    """The share of rows in which every target is the arg-max, in all and by type (only those below 100 %)."""
    right, seen = Counter[str](), Counter[str]()
    for start in range(0, len(pool), 64):
        part = pool[start : start + 64]
        tokens, comparisons, places, targets = collate([row for row, _ in part])
        best = model(tokens, comparisons, places).argmax(-1)
        good = ((best == targets) | (targets == 0)).all(-1).tolist()
        for is_good, (_, kind) in zip(good, part, strict=True):
            seen[kind] += 1
            right[kind] += is_good
    told = {kind: f"{right[kind]}/{seen[kind]}" for kind in sorted(seen) if right[kind] < seen[kind]}
    return sum(right.values()) / sum(seen.values()), told


class Trainer:
    """Model, its running mean and the optimizer, as one thing that can be stored and gone on with."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.shape = Shape(vocabulary=len(VOCABULARY), width=options.width, layers=options.layers)
        self.model, self.mean = Judge(self.shape), Judge(self.shape)
        self.mean.load_state_dict(self.model.state_dict())
        rate = options.rate
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
        self.step = 0
        self.path: Path = options.folder / "checkpoint.pt"
        if self.path.exists():
            self._load()
        elif options.start is not None:
            self._begin_at(parse_weights(options.start.read_bytes()))

    def _load(self) -> None:
        state = torch.load(self.path)
        self.model.load_state_dict(state["model"])
        self.mean.load_state_dict(state["mean"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]

    def _begin_at(self, weights: Weights) -> None:
        state = {name: torch.from_numpy(part) for name, part in parameters_of(weights.shape, weights.tensors).items()}
        for part in (self.model, self.mean):
            part.load_state_dict(state)

    def store(self) -> None:
        parts = {"model": self.model, "mean": self.mean, "optimizer": self.optimizer}
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save(state | {"step": self.step, "shape": vars(self.shape)}, self.path.with_suffix(".new"))
        self.path.with_suffix(".new").rename(self.path)

    def learn(self, parts: Sequence[Batch]) -> float:
        """One step; the loss before it."""
        share = 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * self.step / self.options.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.rate * share * min(1.0, (self.step + 1) / 100)
        self.optimizer.zero_grad(set_to_none=True)
        count = sum(int((targets > 0).sum()) for *_, targets in parts)
        total = 0.0
        for tokens, comparisons, places, targets in parts:
            asked = targets > 0
            scores = self.model(tokens, comparisons, places, asked) * _SHARPNESS
            loss = torch.nn.functional.cross_entropy(scores, targets[asked], reduction="sum") / count
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self._average()
        self.step += 1
        return total

    @torch.no_grad()
    def _average(self) -> None:
        kept = min(_KEPT, (self.step + 1) / (self.step + 2))
        for name, parameter in self.model.named_parameters():
            if name.endswith("weight"):
                # Beyond the range of the integers there would be no gradient to come back by.
                parameter.clamp_(-0.99, 0.99)
            self.mean.get_parameter(name).lerp_(parameter, 1 - kept)


def train(trainer: Trainer, options: argparse.Namespace) -> None:
    # A run that goes on draws other cases than the one it goes on from.
    rng = random.Random(f"{options.seed}-{trainer.step}")
    held_out = draw_pool(random.Random(f"held-out-{options.seed}"), 1200)
    held_out.sort(key=lambda pair: len(pair[0].tokens))
    saved, started = time.monotonic(), time.monotonic()
    losses: list[float] = []
    with (options.folder / "log.jsonl").open("a") as log:
        for parts in batches(rng, options.tokens, trainer.model, options.mined):
            if trainer.step >= options.steps:
                break
            losses.append(trainer.learn(parts))
            if trainer.step % 50 == 0:
                report = {"step": trainer.step, "loss": sum(losses) / len(losses)}
                log.write(json.dumps(report | _measured(trainer, held_out, time.monotonic() - started)) + "\n")
                log.flush()
                losses.clear()
            if time.monotonic() - saved > _CHECKPOINT_SECONDS:
                saved = time.monotonic()
                trainer.store()
    trainer.store()


def _measured(trainer: Trainer, held_out: Sequence[tuple[Row, str]], seconds: float) -> dict[str, object]:
    if trainer.step % 200:
        return {"seconds": seconds}
    share, told = exactness(trainer.mean, held_out)
    return {"seconds": seconds, "exact": share, "exact_now": exactness(trainer.model, held_out[::4])[0], "wrong": told}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--tokens", type=int, default=6000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mined", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    train(Trainer(options), options)


if __name__ == "__main__":
    main()
