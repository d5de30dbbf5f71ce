"""The operations of an embedded node: each is dispatched here, as over HTTP, for the caller of this view."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from assay.flows.identity.authenticate import authenticate
from assay.flows.request import Content
from assay.flows.tools import Tools
from assay.identity.caller import Caller, local_caller
from assay.kernel.errors import Error
from assay.kernel.trace import TRACE_BYTES, TraceId, new_trace
from assay.node.errors import ReadOnlyNodeError
from assay.operations.calls import Calls
from assay.operations.dispatch import Dispatcher, Outcome
from assay.operations.kinds import Operation
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME

if TYPE_CHECKING:
    from assay.node.opened import OpenedNode


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
        for name in remedies:
            self._dispatch(BY_NAME[name], parse_request(BY_NAME[name], {}), None)
        return self._dispatch(operation, request, key)

    def _dispatch(self, operation: Operation, request: msgspec.Struct, key: str | None) -> Outcome:
        node = self._node
        if operation.writes and node.read_only:
            raise ReadOnlyNodeError("expected a node that is open for writing, got one that is only read")
        dispatcher, caller = (
            replace(node.dispatcher, tools=tools_for(node, operation)),
            caller_of(node, self._credential),
        )
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


def caller_of(node: "OpenedNode", credential: str | None) -> Caller:
    """The caller of one request: a credential's principal, or the operator of the folder."""
    at, trace = node.tools.clock.now(), _new_trace(node.tools)
    if credential is None:
        return local_caller(node.tenant_id, at=at, trace=trace)
    return msgspec.structs.replace(authenticate(node.tools, credential, at=at), trace=trace)


def tools_for(node: "OpenedNode", operation: Operation) -> Tools:
    """The tools with what the operation uses; models are opened for the first operation that needs them."""
    tools = node.judging_tools() if "judge" in operation.uses else node.tools
    if "answerers" in operation.uses:
        tools = replace(tools, delivery=node.answering_tools().delivery)
    return tools


def make_dispatcher(tools: Tools) -> Dispatcher:
    return Dispatcher(tools=tools)


def _new_trace(tools: Tools) -> TraceId:
    return new_trace(tools.entropy.token(TRACE_BYTES))
