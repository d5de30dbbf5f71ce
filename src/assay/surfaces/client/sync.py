"""A node over HTTP, called.

with assay.Client("http://127.0.0.1:4585", key=key) as node:
    node.evaluate(record)
    for entry in node.entries(): …
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import httpx
import msgspec
from msgspec import Struct

from assay.adapters.clock import OsEntropy
from assay.adapters.learn_types import learn_types
from assay.flows.request import BulkLine, Content
from assay.operations.calls import Calls
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


class Client(Calls):
    """Every call of `/api/v1` as a method with its types; lists are iterators over all pages. Safe for threads.

    What a node refuses is raised as the error it was there (`error.code`, `error.problem`). A change has an
    `Idempotency-Key` of its own, so that sending it again when no answer came changes nothing twice.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        uds: Path | None = None,
        timeout: float = _TIMEOUT,
        retries: int = MOST_RETRIES,
        http: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        learn_types()
        self._url = url.rstrip("/")
        self._key = identifying(key, tenant)
        self._retries = retries
        transport = None if uds is None else httpx.HTTPTransport(uds=str(uds))
        self._http = http or httpx.Client(timeout=timeout, trust_env=False, transport=transport)
        self._sleep = sleep

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def perform(self, operation: Operation, request: Struct, *, key: str | None = None) -> Any:  # noqa: ANN401
        """Make one request of the node, under this idempotency key or a new one, and return its result."""
        call = render_call(operation, request)
        if key is not None:
            call = msgspec.structs.replace(call, headers={**call.headers, KEY_HEADER: key})
        value = self._send(call)
        return Content(body=value) if operation.gives is Content else value

    def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        found = BY_NAME[operation]
        value = self.perform(found, parse_request(found, given))
        return value.body if isinstance(value, Content) else value

    def _walk(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._perform(operation, given if cursor is None else {**given, "cursor": cursor})
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def _each(self, operation: str, records: Iterable[Given]) -> Iterator[BulkLine]:
        found = BY_NAME[operation]
        return self._lines(Lines(path=path(found.path[1:]), most=found.lines_at_once), records)

    def _follow(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        """Follow a stream; a lost connection is resumed where it ended, a lasting refusal is raised."""
        found = BY_NAME[operation]
        following = Following(render_call(found, parse_request(found, given)), found.item, retries=self._retries)
        while True:
            failure: ClientError | None = None
            try:
                yield from self._connected(following)
            except ClientError as error:
                failure = error
            self._sleep(following.wait_before_return(failure))

    def _send(self, call: Call[T]) -> T:
        headers = headers_of(call, OsEntropy().token(_KEY_BYTES).hex())  # type: ignore[arg-type]  # its answer is read here
        return call.read(self._again(lambda: self._request(call.method, call.path, call.query, call.content, headers)))

    def _lines(self, lines: Lines, records: Iterable[Given]) -> Iterator[BulkLine]:
        """Every record has an id, or is known by its content: a request that got no answer is sent again."""
        before, headers = 0, {"content-type": _LINES}
        for batch in batches(records, lines.most):
            content = joined(batch)
            body = self._again(partial(self._request, "POST", lines.path, {}, content, headers))
            yield from read_bulk(body, before=before)
            before += len(batch)

    def _again(self, send: Callable[[], bytes]) -> bytes:
        retry = 0
        while True:
            try:
                return send()
            except ClientError as error:
                retry += 1
                seconds = wait_before(retry, error, most=self._retries)
                if seconds is None:
                    raise
                self._sleep(seconds)

    def _request(self, method: str, path: str, query: Asked, content: bytes | None, headers: dict[str, str]) -> bytes:
        try:
            response = self._http.request(
                method, self._url + path, params=query, content=content, headers={**self._key, **headers}
            )
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise unreachable(error) from error
        raise_for(response, response.content)
        return response.content

    def _connected(self, following: Following) -> Iterator[Any]:
        """One connection, to its end."""
        headers = {**self._key, **following.headers}
        try:
            with self._http.stream(
                "GET", self._url + following.path, params=following.query, headers=headers
            ) as response:
                if response.is_error:
                    raise_for(response, response.read())
                for line in response.iter_lines():
                    item = following.take(line)
                    if item is not None:
                        yield item
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise unreachable(error) from error
