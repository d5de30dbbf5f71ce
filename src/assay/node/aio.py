"""The journeys of a node, awaited: each on a thread of its own, so that the event loop goes on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

import msgspec

from assay.flows.request import BulkLine
from assay.node.acting import POLL_SECONDS, batches_of
from assay.operations.async_calls import AsyncCalls, Given
from assay.operations.table import BY_NAME

if TYPE_CHECKING:
    from assay.node.facade import Node

P = ParamSpec("P")
T = TypeVar("T")
# Each holds its thread until its commit is durable, and as many as wait at once share one commit.
_THREADS = 32
_APPEND = "note.append"


class _Walking(AsyncCalls):
    """Lists by `_perform`, page by page."""

    async def _walk(self, operation: str, given: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        cursor: str | None = None
        while True:
            page = await self._perform(operation, given if cursor is None else {**given, "cursor": cursor})
            for item in page.items:
                yield item
            cursor = page.next
            if cursor is None:
                return

    async def _each(self, operation: str, records: Iterable[Given]) -> AsyncGenerator[BulkLine, None]:
        for before, given in batches_of(BY_NAME[operation], records):
            for number, line in enumerate(await self._perform(operation, given), start=1):
                yield msgspec.structs.replace(line, line=before + number)

    async def _follow(self, operation: str, given: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        """Perform a stream operation again and again; no thread is held while there is nothing new."""
        while True:
            part = await self._perform(operation, given)
            for item in part.items:
                yield item
            if part.after == given.get("after"):
                await asyncio.sleep(POLL_SECONDS)
            given = {**given, "after": part.after}


class AsyncActingNode(_Walking):
    """The operations of a node for one caller, awaited."""

    def __init__(self, owner: "AsyncNode", credential: str | None) -> None:
        self._owner = owner
        self._acting = owner.node.acting(credential)

    async def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        return await self._owner.run(partial(self._acting.perform_named, operation, given))


class AsyncNode(_Walking):
    """Every method of `Node` under the same name, to be awaited; closing ends what was begun."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="assay-node")
        self._bind_ledger(node)
        self._bind_claims(node)
        self._bind_answers(node)

    def _bind_ledger(self, node: "Node") -> None:
        self.subscribe = self._awaited(node.subscribe)
        self.subscribers = self._awaited(node.subscribers)
        self.verify = self._awaited(node.verify)

    def _bind_claims(self, node: "Node") -> None:
        self.estimate_verdict = self._awaited(node.estimate_verdict)

    def _bind_answers(self, node: "Node") -> None:
        self.answers = node.answers
        self.strand = node.strand

    def acting(self, credential: str | None) -> AsyncActingNode:
        """The operations for another caller: this API key or session token; None for the operator of the folder."""
        return AsyncActingNode(self, credential)

    async def close(self) -> None:
        """Close the node; twice does nothing."""
        await asyncio.to_thread(self.node.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def end_threads(self) -> None:
        """Wait for what was begun, and begin nothing more."""
        self._threads.shutdown(wait=True)

    async def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        if operation == _APPEND:
            # While the commit is awaited no thread is held, so thousands may wait at once.
            return await (await self.run(partial(self.node.submit_note, **given)))
        return await self.run(partial(self.node.perform_named, operation, given))

    def _awaited(self, work: Callable[P, T]) -> Callable[P, Awaitable[T]]:
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return await self.run(partial(work, *args, **kwargs))

        return call

    async def run(self, work: Callable[[], T]) -> T:
        """Do work on a thread of this node."""
        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError:
            # A node that was closed says so by its own error, rather than its threads by theirs.
            self.node.tools  # noqa: B018 - it raises
            raise
        return await running
