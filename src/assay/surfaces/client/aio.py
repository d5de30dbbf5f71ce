"""A node over HTTP, awaited.

async with assay.AsyncClient("http://127.0.0.1:4585", key=key) as node:
    await node.evaluate(record)
    async for entry in node.entries(): …
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import httpx
import msgspec
from msgspec import Struct

from assay.adapters.clock import OsEntropy
from assay.flows.request import BulkLine, Content
from assay.operations.async_calls import AsyncCalls
from assay.operations.kinds import Operation
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.surfaces.client.answers import batches, joined, raise_for, read_bulk, unreachable
from assay.surfaces.client.call import Asked, Call, Given, Lines, path
from assay.surfaces.client.errors import ClientError
from assay.surfaces.client.following import Following
from assay.surfaces.client.render import identifying, render_call
from assay.surfaces.client.retry import KEY_HEADER, MOST_RETRIES, headers_of, wait_before

P = ParamSpec("P")
T = TypeVar("T")
_TIMEOUT = 60.0
_LINES = "application/x-ndjson"
_KEY_BYTES = 16


class AsyncClient(AsyncCalls):
    """As `Client`, on an event loop: calls are awaited, lists and lines are iterated with `async for`."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        uds: Path | None = None,
        timeout: float = _TIMEOUT,
        retries: int = MOST_RETRIES,
        http: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self._key = identifying(key, tenant)
        self._retries = retries
        transport = None if uds is None else httpx.AsyncHTTPTransport(uds=str(uds))
        self._http = http or httpx.AsyncClient(timeout=timeout, trust_env=False, transport=transport)
        self._sleep = sleep

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def perform(self, operation: Operation, request: Struct, *, key: str | None = None) -> Any:  # noqa: ANN401
        """Make one request of the node, under this idempotency key or a new one, and return its result."""
        call = render_call(operation, request)
        if key is not None:
            call = msgspec.structs.replace(call, headers={**call.headers, KEY_HEADER: key})
        value = await self._send(call)
        return Content(body=value) if operation.gives is Content else value

    async def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        found = BY_NAME[operation]
        value = await self.perform(found, parse_request(found, given))
        return value.body if isinstance(value, Content) else value

    async def _walk(self, operation: str, given: Mapping[str, Any]) -> AsyncIterator[Any]:
        cursor: str | None = None
        while True:
            page = await self._perform(operation, given if cursor is None else {**given, "cursor": cursor})
            for item in page.items:
                yield item
            cursor = page.next
            if cursor is None:
                return

    async def _each(self, operation: str, records: Iterable[Given]) -> AsyncIterator[BulkLine]:
        found = BY_NAME[operation]
        async for line in self._lines(Lines(path=path(found.path[1:]), most=found.lines_at_once), records):
            yield line

    async def _follow(self, operation: str, given: Mapping[str, Any]) -> AsyncIterator[Any]:
        """Follow a stream; a lost connection is resumed where it ended, a lasting refusal is raised."""
        found = BY_NAME[operation]
        following = Following(render_call(found, parse_request(found, given)), found.item, retries=self._retries)
        while True:
            failure: ClientError | None = None
            try:
                async for item in self._connected(following):
                    yield item
            except ClientError as error:
                failure = error
            await self._sleep(following.wait_before_return(failure))

    async def _send(self, call: Call[T]) -> T:
        headers = headers_of(call, OsEntropy().token(_KEY_BYTES).hex())  # type: ignore[arg-type]  # its answer is read here
        body = await self._again(lambda: self._request(call.method, call.path, call.query, call.content, headers))
        return call.read(body)

    async def _lines(self, lines: Lines, records: Iterable[Given]) -> AsyncIterator[BulkLine]:
        """Every record has an id, or is known by its content: a request that got no answer is sent again."""
        before, headers = 0, {"content-type": _LINES}
        for batch in batches(records, lines.most):
            content = joined(batch)
            body = await self._again(partial(self._request, "POST", lines.path, {}, content, headers))
            for one in read_bulk(body, before=before):
                yield one
            before += len(batch)

    async def _again(self, send: Callable[[], Awaitable[bytes]]) -> bytes:
        retry = 0
        while True:
            try:
                return await send()
            except ClientError as error:
                retry += 1
                seconds = wait_before(retry, error, most=self._retries)
                if seconds is None:
                    raise
                await self._sleep(seconds)

    async def _request(
        self, method: str, path: str, query: Asked, content: bytes | None, headers: dict[str, str]
    ) -> bytes:
        try:
            response = await self._http.request(
                method, self._url + path, params=query, content=content, headers={**self._key, **headers}
            )
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise unreachable(error) from error
        raise_for(response, response.content)
        return response.content

    async def _connected(self, following: Following) -> AsyncIterator[Any]:
        """One connection, to its end."""
        headers, url = {**self._key, **following.headers}, self._url + following.path
        try:
            async with self._http.stream("GET", url, params=following.query, headers=headers) as response:
                if response.is_error:
                    raise_for(response, await response.aread())
                async for line in response.aiter_lines():
                    item = following.take(line)
                    if item is not None:
                        yield item
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise unreachable(error) from error
