"""What servers answer, as far as it is read; the shapes they share, and what would make an answer a lie."""

from math import isfinite
from typing import TypeVar

import msgspec
from msgspec import Struct

from assay.adapters.inference.backend import Request
from assay.ports.model import FinishReason, ModelReplyError, TokenChance, TokenLogprob

_Reply = TypeVar("_Reply")
_BYTES_BESIDE = 1 << 16
_BYTES_PER_TOKEN = 512


class _WireChance(Struct, frozen=True):
    token: str
    logprob: float


class WireToken(Struct, frozen=True):
    """A token as OpenAI-compatible servers, llama.cpp and Ollama write it; what else they say is not read."""

    token: str
    logprob: float
    top_logprobs: tuple[_WireChance, ...] = ()


def decode_reply(content: bytes, shape: type[_Reply]) -> _Reply:
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.MsgspecError as error:
        raise ModelReplyError(f"expected the server's documented answer: {error}") from error


def finish_of(reason: str | None) -> FinishReason:
    """Only two ends are a generation; a filter, a tool call or an abort is none."""
    try:
        return FinishReason(reason or "")
    except ValueError as error:
        raise ModelReplyError(f"expected a text that ended by `stop` or `length`, got `{str(reason)[:80]}`") from error


def token_logprobs(tokens: tuple[WireToken, ...]) -> tuple[TokenLogprob, ...]:
    return tuple(
        TokenLogprob(
            token=one.token,
            logprob=_logarithm(one.logprob),
            top=tuple(TokenChance(token=other.token, logprob=_logarithm(other.logprob)) for other in one.top_logprobs),
        )
        for one in tokens
    )


def most_bytes_of(request: Request) -> int:
    """No honest answer is longer."""
    return _BYTES_BESIDE + request.max_tokens * _BYTES_PER_TOKEN * (1 + request.logprobs)


def _logarithm(value: float) -> float:
    if not isfinite(value) or value > 0:
        raise ModelReplyError(f"expected the logarithm of a probability, got {value}")
    return value
