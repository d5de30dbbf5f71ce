r"""Weights: one file of integers, with a header that says which.

    ASSAYJ1\n, length of the header (4 bytes, big-endian), header as canonical JSON, tensors one after the other

An engine is made from the bytes alone, and only from exactly those that the header describes: weights are int8 and in
128ths, biases int32 in 4096ths, embeddings int16 in 256ths.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import MsgspecError, Struct, json

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.model.errors import WeightFormError
from assay.model.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from numpy import ndarray

_MAGIC = b"ASSAYJ1\n"
_LENGTH = 4
MAX_BYTES = 20 * 1024 * 1024
_SIZES = {"int8": 1, "int16": 2, "int32": 4}
_COMPARISONS = 32
_PLACES = 96
# Sums of products of two 7-bit values stay below 2^24 up to this many.
_MAX_SUM = 1040


class Shape(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sizes of a decoder-only transformer."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    inner: int


class Tensor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One array of the file; `type` is little-endian."""

    name: str
    type: Literal["int8", "int16", "int32"]
    shape: tuple[int, ...]


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file holds; `vocabulary_hash` ties it to the symbols it was trained with."""

    format: Literal["assay-judge-1"]
    shape: Shape
    vocabulary_hash: Digest
    tensors: tuple[Tensor, ...]


class Weights:
    """Weights that were read and found whole; `hash` is that of the file's bytes."""

    __slots__ = ("hash", "shape", "tensors")

    def __init__(self, shape: Shape, tensors: "Mapping[str, ndarray]", file_hash: Digest) -> None:
        self.shape = shape
        self.tensors = tensors
        self.hash = file_hash


def parse_weights(content: bytes, *, expected: Digest | None = None) -> Weights:
    """Refuses a file whose hash is not the expected one, before anything of it is looked at."""
    found = digest_of(content)
    if expected is not None and found != expected:
        raise WeightFormError(f"expected weights `{expected}`, got `{found}`")
    header, start = _read_header(content)
    _verify_header(header)
    return Weights(header.shape, _read_tensors(content, start, header.tensors), found)


def render_weights(shape: Shape, tensors: "Mapping[str, ndarray]") -> bytes:
    """The file of these tensors; the same for the same integers."""
    listed = tensors_of(shape)
    header = Header(format="assay-judge-1", shape=shape, vocabulary_hash=_vocabulary_hash(), tensors=listed)
    text = canonicalize(json.decode(json.encode(header)))
    parts = [tensors[one.name].astype(f"<i{_SIZES[one.type]}").tobytes() for one in listed]
    return b"".join((_MAGIC, len(text).to_bytes(_LENGTH, "big"), text, *parts))


def tensors_of(shape: Shape) -> tuple[Tensor, ...]:
    """All arrays of a network of that shape, in the order of the file."""
    width, inner = shape.width, shape.inner
    listed = [
        Tensor(name="token", type="int16", shape=(shape.vocabulary, width)),
        Tensor(name="comparison", type="int16", shape=(_COMPARISONS, width)),
        Tensor(name="place", type="int16", shape=(_PLACES, width)),
    ]
    linear = {"qkv": (3 * width, width), "out": (width, width), "up": (inner, width), "down": (width, inner)}
    for layer in range(shape.layers):
        for name, size in linear.items():
            listed += _linear(f"blocks.{layer}.{name}", size)
    return (*listed, *_linear("head", (shape.vocabulary, width)))


def _linear(name: str, size: tuple[int, int]) -> list[Tensor]:
    return [
        Tensor(name=f"{name}.weight", type="int8", shape=size),
        Tensor(name=f"{name}.bias", type="int32", shape=size[:1]),
    ]


def _vocabulary_hash() -> Digest:
    return digest_of(" ".join(VOCABULARY).encode())


def _read_header(content: bytes) -> tuple[Header, int]:
    start = len(_MAGIC) + _LENGTH
    if not content.startswith(_MAGIC) or len(content) < start or len(content) > MAX_BYTES:
        raise WeightFormError(f"expected a file of at most {MAX_BYTES} bytes that starts as weights do")
    end = start + int.from_bytes(content[len(_MAGIC) : start], "big")
    try:
        return json.decode(content[start:end], type=Header), end
    except MsgspecError as error:
        raise WeightFormError(f"expected a header of weights, got {error}") from error


def _verify_header(header: Header) -> None:
    shape = header.shape
    is_sound = (
        shape.vocabulary == len(VOCABULARY)
        and 0 < shape.width <= _MAX_SUM
        and 0 < shape.inner <= _MAX_SUM
        and 0 < shape.heads <= shape.width
        and shape.width % shape.heads == 0
        and shape.layers > 0
        and header.vocabulary_hash == _vocabulary_hash()
    )
    if not is_sound or header.tensors != tensors_of(shape):
        raise WeightFormError("expected the symbols, sizes and arrays of this architecture, got others")


def _read_tensors(content: bytes, start: int, listed: Sequence[Tensor]) -> "dict[str, ndarray]":
    import numpy as np  # noqa: PLC0415  numpy is loaded with the first engine, not with the package

    tensors, at = {}, start
    for one in listed:
        count = 1
        for size in one.shape:
            count *= size
        end = at + count * _SIZES[one.type]
        if end > len(content):
            break
        tensors[one.name] = np.frombuffer(content[at:end], f"<i{_SIZES[one.type]}").reshape(one.shape)
        at = end
    if len(tensors) != len(listed) or at != len(content):
        raise WeightFormError(f"expected {len(listed)} arrays and nothing else, got {len(content)} bytes")
    return tensors
