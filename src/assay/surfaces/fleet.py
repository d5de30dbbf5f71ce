"""Who can do what, asked without a round trip: a client that holds the registry's index, and follows its changes.

    fleet = assay.Fleet("http://127.0.0.1:4585")
    fleet.who_can("BOOK,MANIFEST", tier=2)

`AsyncFleet` is the same for an event loop. Both answer from their own snapshot, which they ask for anew, by its tag,
once it is older than `max_age` seconds. A registry that is down is put up with until it is `max_stale` seconds old.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self

import httpx

from assay.registry.discover import Explanation
from assay.registry.fleet import FleetChange
from assay.registry.network import NetworkState
from assay.surfaces.forja.errors import UnreachableError
from assay.surfaces.forja.fleet_view import FleetView, Needs, Waiting, as_mask, parse_network

_TIMEOUT = 5.0


class Fleet:
    """Safe for threads. `close` it, or use it in a `with`."""

    def __init__(
        self, url: str, *, max_age: float = 5.0, max_stale: float = 60.0, client: httpx.Client | None = None
    ) -> None:
        self._view = FleetView(url, max_age=max_age, max_stale=max_stale)
        self._client = client or httpx.Client(timeout=_TIMEOUT, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._view.closed.set()
        self._client.close()

    @property
    def revision(self) -> int | None:
        """Of the snapshot that is held; None before the first."""
        return self._view.revision

    def refresh(self) -> bool:
        """Ask the registry now; whether anything has changed. Raises `fleet.unreachable`."""
        try:
            answer = self._client.get(self._view.snapshot_url, headers=self._view.condition())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._view.missed(error) from error
        return self._view.take(answer)

    def who_can(self, needs: Needs, *, tier: int = 0) -> tuple[str, ...]:
        """The services that have all these bits (`"BOOK,MANIFEST"`, names, or a mask) and at least that tier active."""
        self._keep_fresh()
        return self._view.index.who_can(as_mask(needs), tier=tier)

    def who_answers(self, query: str, *, domain: str | None = None) -> tuple[str, ...]:
        self._keep_fresh()
        return self._view.index.who_answers(query, domain=domain)

    def who_does(self, action: str, *, domain: str | None = None) -> tuple[str, ...]:
        self._keep_fresh()
        return self._view.index.who_does(action, domain=domain)

    def explain(self, service_id: str, needs: Needs, *, tier: int = 0) -> Explanation:
        """Which bit or tier is missing."""
        self._keep_fresh()
        return self._view.index.explain(service_id, as_mask(needs), tier=tier)

    def network(self) -> NetworkState:
        """Counts by domain and presence, from the registry itself."""
        try:
            return parse_network(self._client.get(self._view.network_url))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._view.missed(error) from error

    def watch(self) -> Iterator[FleetChange]:
        """Every change of the fleet as it happens, until `close`; the snapshot follows. A cut line is taken up again.

        The first change is from what was known before to the fleet as it is.
        """
        waiting = Waiting()
        while not self._view.closed.is_set():
            try:
                with self._client.stream("GET", self._view.watch_url, **self._view.stream_options()) as answer:
                    waiting.reset()
                    for line in self._view.lines(answer).iter_lines():
                        change = self._view.hear(line)
                        if change is not None:
                            yield change
            except (httpx.HTTPError, httpx.StreamError, RuntimeError) as error:
                self._view.require_open(error)
            finally:
                self._view.is_streaming = False
            self._view.closed.wait(waiting.next_seconds())

    def _keep_fresh(self) -> None:
        if self._view.is_fresh():
            return
        try:
            self.refresh()
        except UnreachableError:
            self._view.require_usable()


class AsyncFleet:
    """As `Fleet`, on an event loop; use it in an `async with`."""

    def __init__(
        self, url: str, *, max_age: float = 5.0, max_stale: float = 60.0, client: httpx.AsyncClient | None = None
    ) -> None:
        self._view = FleetView(url, max_age=max_age, max_stale=max_stale)
        self._client = client or httpx.AsyncClient(timeout=_TIMEOUT, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._view.closed.set()
        await self._client.aclose()

    @property
    def revision(self) -> int | None:
        return self._view.revision

    async def refresh(self) -> bool:
        try:
            answer = await self._client.get(self._view.snapshot_url, headers=self._view.condition())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._view.missed(error) from error
        return self._view.take(answer)

    async def who_can(self, needs: Needs, *, tier: int = 0) -> tuple[str, ...]:
        await self._keep_fresh()
        return self._view.index.who_can(as_mask(needs), tier=tier)

    async def who_answers(self, query: str, *, domain: str | None = None) -> tuple[str, ...]:
        await self._keep_fresh()
        return self._view.index.who_answers(query, domain=domain)

    async def who_does(self, action: str, *, domain: str | None = None) -> tuple[str, ...]:
        await self._keep_fresh()
        return self._view.index.who_does(action, domain=domain)

    async def explain(self, service_id: str, needs: Needs, *, tier: int = 0) -> Explanation:
        await self._keep_fresh()
        return self._view.index.explain(service_id, as_mask(needs), tier=tier)

    async def network(self) -> NetworkState:
        try:
            return parse_network(await self._client.get(self._view.network_url))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._view.missed(error) from error

    async def watch(self) -> AsyncIterator[FleetChange]:
        """As `Fleet.watch`; cancelling the task that reads it ends it too."""
        waiting = Waiting()
        while not self._view.closed.is_set():
            try:
                async with self._client.stream("GET", self._view.watch_url, **self._view.stream_options()) as answer:
                    waiting.reset()
                    async for line in self._view.lines(answer).aiter_lines():
                        change = self._view.hear(line)
                        if change is not None:
                            yield change
            except (httpx.HTTPError, httpx.StreamError, RuntimeError) as error:
                self._view.require_open(error)
            finally:
                self._view.is_streaming = False
            if not self._view.closed.is_set():
                await asyncio.sleep(waiting.next_seconds())

    async def _keep_fresh(self) -> None:
        if self._view.is_fresh():
            return
        try:
            await self.refresh()
        except UnreachableError:
            self._view.require_usable()
