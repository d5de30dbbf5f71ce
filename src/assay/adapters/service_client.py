"""Services over HTTP: short patience, no redirects, and no more of an answer than a document can be."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from types import TracebackType
from typing import Self

import httpx

from assay.adapters.outgoing import OutgoingGuard, UnreachableAddressError, pin
from assay.kernel.conformance import Fetched
from assay.ports.service_client import Listening

_LARGEST_ANSWER = 1024 * 1024
_FIRST_LINE_SECONDS = 5.0
_MOST_EVENTS = 10_000
_ENDLESS = httpx.Timeout(5.0, read=None)


class HttpServiceClient:
    """Implements `ports.service_client.StreamClient`; use it in a `with`."""

    def __init__(self, *, timeout: float = 5.0, guard: OutgoingGuard | None = None) -> None:
        # For addresses that others chose: each is looked up once, checked, and connected to as it was checked.
        self._guard = guard
        # However steadily it drips: a document that takes longer than twice our patience is not served.
        self._longest_seconds = 2 * timeout
        self._timeout = timeout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if "_client" in self.__dict__:
            self._client.close()

    @cached_property
    def _client(self) -> httpx.Client:
        """Made with the first request: reading the certificates of the web takes longer than a round of watching."""
        return httpx.Client(timeout=self._timeout, follow_redirects=False, trust_env=False)

    def request(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Fetched | None:
        try:
            for target, named, options in self._targets(url):
                # Nothing was sent to an address that cannot be connected to, so the next one may be asked.
                with (
                    suppress(httpx.ConnectError, httpx.ConnectTimeout),
                    self._client.stream(
                        method, target, content=content, headers={**(headers or {}), **named}, extensions=options
                    ) as answer,
                ):
                    return _read(answer, self._longest_seconds)
        except (UnreachableAddressError, httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
            return None
        return None

    def _targets(self, url: str) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
        if self._guard is None:
            yield url, {}, {}
            return
        for one in self._guard.find_targets(url):
            pinned, host, name = pin(url, one)
            yield pinned, {"host": host}, {"sni_hostname": name}

    @contextmanager
    def listen(self, url: str, headers: dict[str, str]) -> Iterator[Listening]:
        with httpx.Client(follow_redirects=False, trust_env=False) as client:
            yield _Listening(client, url, headers)


class _Listening:
    """Reads one stream on a thread of its own until it is closed."""

    def __init__(self, client: httpx.Client, url: str, headers: dict[str, str]) -> None:
        self._events: list[bytes] = []
        self._news = threading.Condition()
        self._heard = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(client, url, headers), daemon=True)
        self._thread.start()
        self._heard.wait(_FIRST_LINE_SECONDS)

    def received(self, enough: Callable[[tuple[bytes, ...]], bool], *, seconds: float) -> tuple[bytes, ...]:
        with self._news:
            self._news.wait_for(lambda: enough(tuple(self._events)), timeout=seconds)
            return tuple(self._events)

    def _run(self, client: httpx.Client, url: str, headers: dict[str, str]) -> None:
        ends = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError, RuntimeError)
        # Whatever ends the stream, what came until then is what was received.
        with suppress(*ends), client.stream("GET", url, headers=headers, timeout=_ENDLESS) as answer:
            if answer.status_code == httpx.codes.OK:
                self._follow(answer)
        self._heard.set()

    def _follow(self, answer: httpx.Response) -> None:
        for line in answer.iter_lines():
            self._heard.set()
            name, _, value = line.partition(":")
            if name == "data" and len(self._events) < _MOST_EVENTS:
                with self._news:
                    self._events.append(value.removeprefix(" ").encode())
                    self._news.notify_all()


def _read(answer: httpx.Response, seconds: float) -> Fetched | None:
    parts, size, end = [], 0, time.monotonic() + seconds
    for part in answer.iter_bytes():
        size += len(part)
        if size > _LARGEST_ANSWER or time.monotonic() > end:
            return None
        parts.append(part)
    return Fetched(status=answer.status_code, content=b"".join(parts))
