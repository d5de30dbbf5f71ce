"""One call of a tool, from a credential's text to JSON: authenticate, permit, perform the operation.

In a process that opened the node itself (`Toolbox`), or by the server that runs on it (`ServedToolbox`).
"""

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.admit_request import admit_request
from assay.flows.identity.authenticate import authenticate, authenticate_admitted
from assay.flows.request import Content, FieldsError
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.signed_request import SignedRequest
from assay.kernel.errors import Error
from assay.kernel.trace import TRACE_BYTES, new_trace
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Operation
from assay.operations.parse import parse_request
from assay.operations.table import BY_TOOL
from assay.surfaces.client import Client
from assay.surfaces.mcp.errors import InternalError, McpError, ReadOnlyError

_log = structlog.get_logger("assay.mcp")
_encoder = msgspec.json.Encoder(decimal_format="number")


class Called(Struct, frozen=True, kw_only=True):
    """The result of a call: JSON text, and whether it is a refusal with `code` and `message`."""

    text: str
    is_error: bool = False

    @property
    def value(self) -> Any:  # noqa: ANN401 - the tool's result
        return msgspec.json.decode(self.text)


class Tooling(Protocol):
    """The tools of one node; safe to use from many threads."""

    def sign_in(self, credential: str) -> tuple[str, str]:
        """Return tenant and principal of the credential; raise `identity.not_signed_in` unless it is valid now."""
        ...

    def admit(self, request: SignedRequest) -> tuple[str, str]:
        """Return who signed the request, once: its nonce is used up, and that is recorded."""
        ...

    def allowed(self, credential: str) -> tuple[Operation, ...]:
        """Return the operations that this credential may perform as tools now."""
        ...

    def call(self, credential: str, name: str, arguments: dict[str, Any] | None, key: str | None = None) -> Called:
        """Call a tool, a change once under an idempotency key.

        Never raises, since a refusal is an answer that the agent can read.
        """
        ...


class Toolbox:
    """Implements `Tooling` on an open node; one that only reads refuses operations that record something."""

    def __init__(self, tools: Tools, *, read_only: bool = False) -> None:
        self._tools = tools
        self._read_only = read_only
        self._dispatcher = Dispatcher(tools=tools)

    def sign_in(self, credential: str) -> tuple[str, str]:
        caller = authenticate(self._tools, credential, at=self._tools.clock.now())
        return caller.tenant_id, caller.principal.id

    def admit(self, request: SignedRequest) -> tuple[str, str]:
        if self._read_only:
            raise ReadOnlyError(
                "expected a server that records, since the nonce of a signed request is; use an API key"
            )
        caller = admit_request(self._tools, request, at=self._tools.clock.now())
        return caller.tenant_id, caller.principal.id

    def allowed(self, credential: str) -> tuple[Operation, ...]:
        caller = self._authenticate(credential)
        may = self._dispatcher.may
        return tuple(one for one in BY_TOOL.values() if may(one, caller) and not (one.writes and self._read_only))

    def call(self, credential: str, name: str, arguments: dict[str, Any] | None, key: str | None = None) -> Called:
        return _called(name, lambda: self._call(credential, name, arguments or {}, key))

    def _call(self, credential: str, name: str, arguments: dict[str, Any], key: str | None) -> object:
        # Who asks comes first: a stranger learns not even which tools there are.
        caller = self._authenticate(credential)
        operation = _tool(name)
        traced = replace(caller, trace=new_trace(self._tools.entropy.token(TRACE_BYTES)))
        permitted = self._dispatcher.permit(operation, traced)
        if operation.writes and self._read_only:
            raise ReadOnlyError(f"expected a server that records, since `{operation.tool}` does; this one only reads")
        return self._dispatcher.perform(operation, permitted, _parsed(operation, arguments), key=key).value

    def _authenticate(self, credential: str) -> Caller:
        """Also by a request that was admitted by its signature; nobody else can name one (`sign_in`)."""
        at = self._tools.clock.now()
        return authenticate_admitted(self._tools, credential, at=at)


class ServedToolbox:
    """Implements `Tooling` by the server that runs on the node's folder: every call is a request to it.

    `connect` opens a client of that server for one credential.
    """

    def __init__(self, connect: Callable[[str], AbstractContextManager[Client]]) -> None:
        self._connect = connect

    def sign_in(self, credential: str) -> tuple[str, str]:
        with self._connect(credential) as client:
            caller = client.whoami()
        return caller.tenant_id, caller.id

    def admit(self, request: SignedRequest) -> tuple[str, str]:
        del request
        raise NotSignedInError("expected an API key: a signature for this address is not one for the server behind it")

    def allowed(self, credential: str) -> tuple[Operation, ...]:
        with self._connect(credential) as client:
            names = {row.tool for row in client.permitted_operations(limit=500)}
        return tuple(one for one in BY_TOOL.values() if one.tool in names)

    def call(self, credential: str, name: str, arguments: dict[str, Any] | None, key: str | None = None) -> Called:
        return _called(name, lambda: self._call(credential, name, arguments or {}, key))

    def _call(self, credential: str, name: str, arguments: dict[str, Any], key: str | None) -> object:
        with self._connect(credential) as client:
            if name not in BY_TOOL:
                client.whoami()
            operation = _tool(name)
            return client.perform(operation, _parsed(operation, arguments), key=key)


def _tool(name: str) -> Operation:
    operation = BY_TOOL.get(name)
    if operation is None:
        raise McpError.unknown_tool(f"expected one of {', '.join(BY_TOOL)}, got `{ascii(name)[1:-1][:80]}`")
    return operation


def _parsed(operation: Operation, arguments: dict[str, Any]) -> Struct:
    try:
        return parse_request(operation, arguments)
    except FieldsError as error:
        raise McpError.arguments(f"expected the arguments of `{operation.tool}`: {error}") from error


def _called(name: str, work: Callable[[], object]) -> Called:
    try:
        return Called(text=_text(work()))
    except Error as error:
        return refused(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours; the agent learns nothing of it
        _log.error("tool", tool=name[:80], traceback="".join(traceback.format_exception(error)))
        return refused(InternalError("something went wrong here; the log says what"))


def _text(value: object) -> str:
    if isinstance(value, Content):
        return _encoder.encode({"content": value.body.decode(errors="replace")}).decode()
    return _encoder.encode(value).decode()


def refused(error: Error) -> Called:
    """A refusal as the result of a call."""
    told = {"error": {"code": error.code, "message": str(error)}}
    return Called(text=_encoder.encode(told).decode(), is_error=True)
