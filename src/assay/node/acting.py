"""The operations of an embedded node: each is dispatched here, as over HTTP, for the caller of this view."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from time import sleep
from typing import TYPE_CHECKING, Any

import msgspec

from assay.flows.identity.authenticate import authenticate
from assay.flows.request import BulkLine, Content
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import has_graph_in_use
from assay.identity.caller import Caller, local_caller
from assay.kernel.errors import Error
from assay.kernel.trace import TRACE_BYTES, TraceId, new_trace
from assay.node.errors import NodeError
from assay.operations.calls import Calls, Given
from assay.operations.dispatch import Dispatcher, Outcome
from assay.operations.kinds import Operation, Place
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.ports.mark_memory import MarkMemory

if TYPE_CHECKING:
    from assay.node.opened import OpenedNode

POLL_SECONDS = 0.2


class ActingNode(Calls):
    """The operations of a node for one caller: a credential's principal, or the operator of the folder."""

    def __init__(self, node: "OpenedNode", credential: str | None) -> None:
        self._node = node
        self._credential = credential

    def perform(self, operation: Operation, request: msgspec.Struct, *, key: str | None = None) -> Outcome:
        """Dispatch one request, once under an idempotency key; what is in its way is remedied first."""
        try:
            return self._dispatch(operation, request, key)
        except Error as error:
            remedies = operation.remedies.get(error.code, ())
            if not remedies or self._node.read_only:
                raise
            refusal = error
        try:
            for name in remedies:
                self._dispatch(BY_NAME[name], parse_request(BY_NAME[name], {}), None)
        except Error as error:
            # A caller who may not remedy it is told what is missing, as through every other door.
            raise refusal from error
        return self._dispatch(operation, request, key)

    def _dispatch(self, operation: Operation, request: msgspec.Struct, key: str | None) -> Outcome:
        node = self._node
        if operation.writes and node.read_only:
            raise NodeError.read_only("expected a node that is open for writing, got one that is only read")
        caller = caller_of(node, self._credential)
        # Before a model is opened: who may not ask is told so, and no model is opened for them.
        node.dispatcher.permit(operation, caller)
        dispatcher = replace(node.dispatcher, tools=tools_for(node, operation))
        outcome = dispatcher(operation, caller, request, key=key)
        if operation.then is not None:
            operation.then(dispatcher.tools, caller)
        return outcome

    def perform_named(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        """Perform an operation by its name."""
        return self._perform(operation, given)

    def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
        found = BY_NAME[operation]
        value = self.perform(found, parse_request(found, given)).value
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
        """Perform a bulk operation on batches of records."""
        for before, given in batches_of(BY_NAME[operation], records):
            for number, line in enumerate(self._perform(operation, given), start=1):
                yield msgspec.structs.replace(line, line=before + number)

    def _follow(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        """Perform a stream operation again and again, and wait a moment where there is nothing new."""
        while True:
            part = self._perform(operation, given)
            yield from part.items
            if part.after == given.get("after"):
                sleep(POLL_SECONDS)
            given = {**given, "after": part.after}


def batches_of(operation: Operation, records: Iterable[Given]) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Requests of a bulk operation with at most so many lines each, and how many lines came before."""
    document = next(field.info.name for field in operation.fields if field.place is Place.DOCUMENT)
    rest, before = iter(records), 0
    while batch := list(islice(rest, operation.lines_at_once)):
        yield before, {document: b"\n".join(_line(record) for record in batch)}
        before += len(batch)


def _line(record: Given) -> bytes:
    """A record as the text of one line."""
    content = record.encode() if isinstance(record, str) else record
    return (content if isinstance(content, bytes) else msgspec.json.encode(content)).replace(b"\n", b" ")


def caller_of(node: "OpenedNode", credential: str | None) -> Caller:
    """The caller of one request: a credential's principal, or the operator of the folder."""
    at, trace = node.tools.clock.now(), _new_trace(node.tools)
    if credential is None:
        return local_caller(node.tenant_id, at=at, trace=trace)
    return msgspec.structs.replace(authenticate(node.tools, credential, at=at), trace=trace)


def tools_for(node: "OpenedNode", operation: Operation) -> Tools:
    """The tools with what the operation uses; models are opened for the first operation that needs them."""
    tools = node.tools
    if "judge" in operation.uses:
        tools = node.judging_tools(may_wait=not has_graph_in_use(tools))
    elif "any_judge" in operation.uses:
        tools = node.judging_tools(may_wait=True)
    if node.read_only:
        tools = replace(tools, marks=_Unmarked(tools.marks))
    if "engines" in operation.uses:
        tools = replace(tools, engines=node.engines())
    if "answerers" in operation.uses:
        tools = replace(tools, delivery=node.answering_tools().delivery)
    if "estimator" in operation.uses:
        tools = replace(tools, estimator=node.estimator())
    return tools


class _Unmarked:
    """Implements `MarkMemory` for a node that is only read: it leaves no mark."""

    def __init__(self, marks: MarkMemory) -> None:
        self.load = marks.load
        self.store = marks.store

    def can_store(self) -> bool:
        return False


def make_dispatcher(tools: Tools) -> Dispatcher:
    return Dispatcher(tools=tools)


def _new_trace(tools: Tools) -> TraceId:
    return new_trace(tools.entropy.token(TRACE_BYTES))
