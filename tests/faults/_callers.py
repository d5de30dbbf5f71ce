"""Sixty-four who all ask a served node at once, over `/api/v1`: each remembers what it sent and what it was told.

caller -> a piece of work (one request or several) -> sent under a key of its own -> told, or never heard of again
Every third request is sent twice, by turns at the same time and after its answer, as senders do who heard nothing.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

from tests.faults._work import WORK, Asked

__all__ = ["CALLERS", "PREFIX", "Book", "Caller", "Told", "connected", "run_callers", "send"]

CALLERS = 64
PREFIX = "/api/v1"
_SECONDS = 60
# A server ends what is idle for five seconds, and may do so just when it is used again.
_IDLE_SECONDS = 2
# Of so many requests one is sent twice at the same time, and one again after its answer.
_TWICE = 6
_TRIES, _PAUSE_SECONDS = 500, 0.02
_OK, _MADE, _CONFLICT = 200, 201, 409


@dataclass(frozen=True)
class Told:
    """An answer that came: the promise of a node."""

    asked: Asked
    status: int
    content: bytes

    @property
    def answer(self) -> Any:  # noqa: ANN401  any JSON
        lines = [json.loads(line) for line in self.content.splitlines()]
        return lines if self.asked.is_lines else lines[0]


@dataclass
class Book:
    """What all callers together know, by key.

    `pending` was sent and not answered; `unheard` took effect in a process that ended before it answered.
    """

    told: dict[str, Told] = field(default_factory=dict)
    pending: dict[str, Asked] = field(default_factory=dict)
    unheard: dict[str, Asked] = field(default_factory=dict)


@dataclass
class Caller:
    """One connection's worth of a sender. The end of the server ends it; so does `is_over`."""

    name: str
    client: httpx.AsyncClient
    keys: Mapping[str, str]
    book: Book
    is_over: Callable[[], bool]
    _sent: int = 0

    async def work(self, first: int) -> None:
        """One piece of work after the other, each caller beginning with another."""
        for number in count(first):
            if self.is_over():
                return
            piece = WORK[number % len(WORK)]
            try:
                await piece(self.ask, f"{self.name}-{number}", number)
            except httpx.TransportError:
                return

    async def ask(self, asked: Asked) -> Any:  # noqa: ANN401  any JSON
        """The answer; what is to be changed is noted before it is sent, and again when it was promised."""
        if asked.body is None:
            return await self._read(asked)
        self.book.pending[asked.key] = asked
        first, again = await self._send_twice(asked)
        assert first.status_code in (_OK, _MADE), f"{asked.path}: {first.status_code} {first.text}"
        assert (again.status_code, again.content) == (first.status_code, first.content)
        self.book.told[asked.key] = told = Told(asked, first.status_code, first.content)
        del self.book.pending[asked.key]
        return told.answer

    async def _send_twice(self, asked: Asked) -> tuple[httpx.Response, httpx.Response]:
        self._sent += 1
        turn = None if asked.is_lines else self._sent % _TWICE
        if turn == 0:
            first, again = await asyncio.gather(self._send(asked), self._send(asked))
            return first, again
        first = await self._send(asked)
        return first, await self._send(asked) if turn == _TWICE // 2 else first

    async def _read(self, asked: Asked) -> Any:  # noqa: ANN401  any JSON
        response = await _answer(self.client, "GET", asked, {"x-api-key": self.keys[asked.by]})
        assert response.status_code == _OK, f"{asked.path}: {response.status_code} {response.text}"
        return response.json()

    async def _send(self, asked: Asked) -> httpx.Response:
        return await send(self.client, self.keys, asked)


async def send(client: httpx.AsyncClient, keys: Mapping[str, str], asked: Asked) -> httpx.Response:
    """Send it; while a twin of it is still in hand, come again as the node says, only sooner."""
    for _ in range(_TRIES):
        response = await _answer(client, "POST", asked, _headers(keys, asked))
        if response.status_code != _CONFLICT or response.json()["code"] != "request.in_hand":
            return response
        await asyncio.sleep(_PAUSE_SECONDS)
    message = f"`{asked.key}` stayed in hand"
    raise AssertionError(message)


async def _answer(client: httpx.AsyncClient, method: str, asked: Asked, headers: Mapping[str, str]) -> httpx.Response:
    """A connection that was idle may end while it is used: then nothing was heard, and it is sent again as it was."""
    try:
        return await client.request(method, PREFIX + asked.path, content=asked.body, headers=headers)
    except (httpx.ReadError, httpx.RemoteProtocolError, httpx.WriteError):
        return await client.request(method, PREFIX + asked.path, content=asked.body, headers=headers)


def _headers(keys: Mapping[str, str], asked: Asked) -> dict[str, str]:
    own = {"x-api-key": keys[asked.by]}
    if asked.is_lines:
        return {**own, "content-type": "application/x-ndjson"}
    return {**own, "content-type": "application/json", "idempotency-key": asked.key}


def connected(url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(
        max_connections=2 * CALLERS, max_keepalive_connections=2 * CALLERS, keepalive_expiry=_IDLE_SECONDS
    )
    return httpx.AsyncClient(base_url=url, trust_env=False, timeout=_SECONDS, limits=limits)


async def run_callers(url: str, keys: Mapping[str, str], book: Book, name: str, is_over: Callable[[], bool]) -> None:
    """All of them at once, until it is over or the server is gone; what one of them finds wrong ends it for all."""
    async with connected(url) as client:
        callers = [Caller(f"{name}-{number}", client, keys, book, is_over) for number in range(CALLERS)]
        async with asyncio.TaskGroup() as group:
            for number, caller in enumerate(callers):
                group.create_task(caller.work(number))
