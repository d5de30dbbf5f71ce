"""The network in torch, computing exactly what the engine computes: integers, with gradients passed straight through.

Scales: an activation that enters a product is an integer of -127 to 127 in 32nds; a weight is one in 128ths; so sums
are in 4096ths and stay below 2^24, where float32 has every integer. The residual is in 256ths.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

__all__ = ["EXP_TABLE", "Judge", "Shape"]

_ACT = 127.0
EXP_TABLE = torch.round(255 * torch.exp(-torch.arange(256, dtype=torch.float64) / 40)).float()


class Shape:
    """Sizes of a network."""

    def __init__(self, *, vocabulary: int, width: int = 96, layers: int = 4, heads: int = 4, inner: int = 256) -> None:
        self.vocabulary, self.width, self.layers, self.heads, self.inner = vocabulary, width, layers, heads, inner


class _Rounded(Function):
    """floor(x * scale + 1/2) within [low, high]; the gradient passes where it was not cut."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float, low: float, high: float) -> Tensor:  # noqa: ANN401
        y = torch.floor(x * scale + 0.5)
        ctx.save_for_backward((y >= low) & (y <= high))
        ctx.scale = scale
        return y.clamp_(low, high)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:  # noqa: ANN401
        (inside,) = ctx.saved_tensors
        return grads[0] * inside * ctx.scale, None, None, None


class _Norm(Function):
    """floor(r * 3072 / sum|r| + 1/2), cut to 7 bits: the mean size becomes 32."""

    @staticmethod
    def forward(ctx: Any, r: Tensor, width: int) -> Tensor:  # noqa: ANN401
        total = r.abs().sum(-1, keepdim=True).clamp_min(8.0 * width)
        exact = r * (32.0 * width) / total
        y = torch.floor(exact + 0.5)
        inside = (y >= -_ACT) & (y <= _ACT)
        ctx.save_for_backward(r, total, inside)
        ctx.width = width
        return y.clamp_(-_ACT, _ACT)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:  # noqa: ANN401
        r, total, inside = ctx.saved_tensors
        grad = grads[0] * inside * (32.0 * ctx.width)
        along = (grad * r).sum(-1, keepdim=True) / total
        return (grad - r.sign() * along) / total, None


class _Exp(Function):
    """The table at floor(distance / 128): 255 * exp(-distance / 5120), rounded."""

    @staticmethod
    def forward(ctx: Any, distance: Tensor, table: Tensor) -> Tensor:  # noqa: ANN401
        p = table[(distance * (1 / 128)).floor().clamp_(0, 255).long()]
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:  # noqa: ANN401
        (p,) = ctx.saved_tensors
        return grads[0] * p * (-1 / 5120), None


def _cut(x: Tensor, scale: float, *, low: float = -_ACT) -> Tensor:
    return _Rounded.apply(x, scale, low, _ACT)  # type: ignore[no-any-return, no-untyped-call]


def _wide(x: Tensor, scale: float) -> Tensor:
    return _Rounded.apply(x, scale, -16383.0, 16383.0)  # type: ignore[no-any-return, no-untyped-call]


class _Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int, spread: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * spread)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        bias = _Rounded.apply(self.bias, 4096.0, -65535.0, 65535.0)  # type: ignore[no-untyped-call]
        return nn.functional.linear(x, _cut(self.weight, 128.0), bias)


class _Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.shape = shape
        self.qkv = _Linear(width, 3 * width, 1.4 * width**-0.5)
        self.out = _Linear(width, width, 0.7 * width**-0.5)
        self.up = _Linear(width, shape.inner, 1.4 * width**-0.5)
        self.down = _Linear(shape.inner, width, 0.7 * shape.inner**-0.5)

    def forward(self, r: Tensor, mask: Tensor, table: Tensor) -> Tensor:
        rows, long, width = r.shape
        heads = self.shape.heads
        x = _Norm.apply(r, width)  # type: ignore[no-untyped-call]
        qkv = _cut(self.qkv(x), 1 / 128).view(rows, long, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = q @ k.transpose(-1, -2) + mask
        distance = scores.detach().amax(-1, keepdim=True) - scores
        p = _Exp.apply(distance, table)  # type: ignore[no-untyped-call]
        seen = _cut((p @ v) / p.sum(-1, keepdim=True), 1.0)
        seen = seen.transpose(1, 2).reshape(rows, long, width)
        r = _wide(r + _wide(self.out(seen), 1 / 16), 1.0)
        x = _Norm.apply(r, width)  # type: ignore[no-untyped-call]
        inner = _cut(self.up(x), 1 / 128, low=0.0)
        return _wide(r + _wide(self.down(inner), 1 / 16), 1.0)


class Judge(nn.Module):
    """Tokens and positions in, integer scores of the next token out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token = nn.Parameter(torch.randn(shape.vocabulary, shape.width) * 0.5)
        self.comparison = nn.Parameter(torch.randn(32, shape.width) * 0.5)
        self.place = nn.Parameter(torch.randn(96, shape.width) * 0.5)
        self.blocks = nn.ModuleList(_Block(shape) for _ in range(shape.layers))
        self.head = _Linear(shape.width, shape.vocabulary, 0.5 * shape.width**-0.5)
        self.register_buffer("table", EXP_TABLE, persistent=False)

    def forward(self, tokens: Tensor, comparisons: Tensor, places: Tensor, asked: Tensor | None = None) -> Tensor:
        """Scores at the positions of `asked` (a mask), or at all."""
        embed = nn.functional.embedding
        r = embed(tokens, _wide(self.token, 256.0)) + embed(comparisons, _wide(self.comparison, 256.0))
        r = r + embed(places, _wide(self.place, 256.0))
        long = tokens.shape[1]
        mask = torch.full((long, long), -1e9).triu_(1)
        for block in self.blocks:
            r = block(r, mask, self.table)
        if asked is not None:
            r = r[asked]
        return self.head(_Norm.apply(r, self.shape.width))  # type: ignore[no-any-return, no-untyped-call]
