"""Where a command is performed: the server that runs on the folder, a node elsewhere, or the folder itself.

`--node URL` -> HTTP;  `assay.sock` in the folder -> the socket, as its operator;  else the node is opened here
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from assay.config import Config
from assay.flows.request import Content, Page
from assay.flows.tools import Tools
from assay.identity.authorise import require_same_tenant
from assay.identity.caller import Caller, local_caller
from assay.kernel.errors import Error
from assay.kernel.ids import parse_tenant_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.trace import TRACE_BYTES, new_trace
from assay.operations.calls import Calls
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Column, Listing, Operation
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.ports.signer import Signer
from assay.surfaces.cli.output import EXIT_CODES, Call
from assay.surfaces.cli.sink import write_output
from assay.surfaces.local_socket import find_local

# What stands in for the host in addresses of requests over the socket.
_LOCAL_URL = "http://localhost"
_TIMEOUT = 600.0
_WARNING = "warning: "
# Performs one operation with named values.
Perform = Callable[[Operation, Mapping[str, Any]], Any]


def perform(call: Call, operation: Operation, given: Mapping[str, Any], **where: str | None) -> Any:  # noqa: ANN401
    """Perform the operation for this call, and return its result; what is in its way is remedied first.

    `where` are the options that every command has: `tenant`, `credential`, `node`, `idempotency_key`.
    """
    try:
        return perform_only(call, operation, given, **where)
    except Error as error:
        remedies = operation.remedies.get(error.code, ())
        if not remedies:
            raise
        refusal = error
    try:
        for name in remedies:
            perform_only(call, BY_NAME[name], {}, **{**where, "idempotency_key": None})
    except Error as error:
        # A caller who may not remedy it is told what is missing.
        raise refusal from error
    return perform_only(call, operation, given, **where)


def perform_only(
    call: Call,
    operation: Operation,
    given: Mapping[str, Any],
    *,
    tenant: str | None = None,
    credential: str | None = None,
    node: str | None = None,
    idempotency_key: str | None = None,
) -> Any:  # noqa: ANN401 - the operation's result
    """As `perform`, without any remedy."""
    request = parse_request(operation, given)
    return _perform(call, operation, request, key=idempotency_key, tenant=tenant, credential=credential, node=node)


def _perform(
    call: Call,
    operation: Operation,
    request: Struct,
    *,
    tenant: str | None,
    credential: str | None,
    node: str | None,
    key: str | None,
) -> Any:  # noqa: ANN401 - the operation's result
    if node is not None:
        return _elsewhere(operation, request, url=node, credential=credential, key=key)
    with find_local(call.home) as local:
        if local is not None:
            return _elsewhere(operation, request, credential=credential, key=key, uds=local, tenant=tenant)
    if not operation.needs_node and not call.has_node:
        return _without_node(operation, request)
    return _here(call, operation, request, tenant=tenant, credential=credential, key=key)


def follow(
    call: Call,
    operation: Operation,
    given: Mapping[str, Any],
    *,
    most: int | None = None,
    tenant: str | None = None,
    credential: str | None = None,
    node: str | None = None,
    idempotency_key: str | None = None,
) -> None:
    """Print the items of a stream as they come, with --json one object a line; end after `most`."""
    del idempotency_key
    shows = operation.shows or object_text
    with opened(call, tenant=tenant, credential=credential, node=node, writable=False) as calls:
        for item in islice(getattr(calls, operation.python_name)(**given), most):
            call.answer_one_of_many(item, shows(item))


@contextmanager
def opened(
    call: Call, *, tenant: str | None, credential: str | None, node: str | None, writable: bool
) -> Iterator[Calls]:
    """The operations as methods, for commands that perform many: by the server, a node elsewhere, or the folder."""
    with find_local(call.home) if node is None else nullcontext() as local:
        if node is not None or local is not None:
            from assay.surfaces.client import Client

            with Client(node or _LOCAL_URL, key=credential, timeout=_TIMEOUT, uds=local, tenant=tenant) as client:
                yield client
            return
    from assay.node.facade import Node

    with Node(call.home, credential=credential, tenant=tenant, read_only=not writable) as folder:
        yield folder


def sign(call: Call, operation: Operation, given: Mapping[str, Any], signer: Signer, **where: Any) -> dict[str, Any]:  # noqa: ANN401
    """Have the node prepare the message of this request, sign it here, and return the fields that this adds."""
    assert operation.prepared_by is not None  # noqa: S101 - only such commands take a key
    name, more = operation.prepared_by
    prepares = BY_NAME[name]
    known = {field.info.name for field in prepares.fields}
    asked = {name: value for name, value in {**given, **more}.items() if name in known}
    prepared = perform(call, prepares, asked, **{**where, "idempotency_key": None})
    own = {field.info.name for field in operation.fields} - set(given)
    added = {name: getattr(prepared, name) for name in prepared.__struct_fields__ if name in own}
    if "public_key" in own and signer.public_key is not None:
        added["public_key"] = signer.public_key.hex()
    return {**added, "signature": signer.sign(bytes.fromhex(prepared.message)).hex()}


def _elsewhere(
    operation: Operation,
    request: Struct,
    *,
    url: str = _LOCAL_URL,
    credential: str | None,
    key: str | None,
    uds: Path | None = None,
    tenant: str | None = None,
) -> Any:  # noqa: ANN401 - the operation's result
    from assay.surfaces.client import Client

    with Client(url, key=credential, timeout=_TIMEOUT, uds=uds, tenant=tenant) as client:
        return client.perform(operation, request, key=key)


def _without_node(operation: Operation, request: Struct) -> Any:  # noqa: ANN401 - the operation's result
    """Perform what needs no node: nobody is asked who they are, and nothing is read or recorded."""
    from assay.adapters.clock import SystemClock

    caller = local_caller(parse_tenant_id("default"), at=SystemClock().now())
    return operation.flow(None, caller, request)


def _here(
    call: Call, operation: Operation, request: Struct, *, tenant: str | None, credential: str | None, key: str | None
) -> Any:  # noqa: ANN401 - the operation's result
    with _opened(call, (operation,), tenant=tenant, credential=credential) as act:
        return act(operation, request, key)


@contextmanager
def performing(
    call: Call,
    operations: Sequence[Operation],
    *,
    tenant: str | None = None,
    credential: str | None = None,
    node: str | None = None,
    idempotency_key: str | None = None,  # noqa: ARG001 - each of several requests has a key of its own
) -> Iterator[Perform]:
    """Perform any number of these operations over one connection, or on the node of the folder, opened once."""
    with find_local(call.home) if node is None else nullcontext() as local:
        if node is not None or local is not None:
            from assay.surfaces.client import Client

            url, named = node or _LOCAL_URL, tenant if node is None else None
            with Client(url, key=credential, timeout=_TIMEOUT, uds=local, tenant=named) as client:
                yield lambda operation, given: client.perform(operation, parse_request(operation, given))
            return
    with _opened(call, operations, tenant=tenant, credential=credential) as act:
        yield lambda operation, given: act(operation, parse_request(operation, given), None)


@contextmanager
def _opened(
    call: Call, operations: Sequence[Operation], *, tenant: str | None, credential: str | None
) -> Iterator[Callable[[Operation, Struct, str | None], Any]]:
    """The node of the folder, with what the operations use."""
    from assay.flows.identity.authenticate import authenticate

    writable = any(one.writes or one.rehearses for one in operations)
    with (
        call.open_node(writable=writable) as (opened, config),
        _with_models(call, config, opened, operations) as tools,
    ):
        dispatcher, tenant_id = Dispatcher(tools=tools), call.tenant_of(config, tenant)

        def act(operation: Operation, request: Struct, key: str | None) -> Any:  # noqa: ANN401 - its result
            at, trace = tools.clock.now(), new_trace(tools.entropy.token(TRACE_BYTES))
            caller: Caller
            if credential is None:
                caller = local_caller(tenant_id, at=at, trace=trace)
            else:
                caller = msgspec.structs.replace(authenticate(tools, credential, at=at), trace=trace)
                if tenant is not None:
                    require_same_tenant(caller.principal, tenant_id)
            value = dispatcher(operation, caller, request, key=key).value
            if operation.then is not None:
                operation.then(tools, caller)
            return value

        yield act


@contextmanager
def _with_models(call: Call, config: Config, tools: Tools, operations: Sequence[Operation]) -> Iterator[Tools]:
    """The tools with the model that an operation uses: the judge, or the general one.

    Strict mode refuses to begin while a check is unmet; advisory mode begins, and each is a warning (SKI 6.1).
    """
    uses = {use for one in operations for use in one.uses}
    if "estimator" in uses and config.models.general is not None:
        from assay.wiring import open_models, plug_model

        with open_models(call.home, config) as models:
            yield plug_model(tools, config, models.general)
        return
    if "engines" in uses:
        from assay.wiring import open_models

        with open_models(call.home, config) as models:
            yield replace(tools, engines=models.engines)
        return
    if not uses & {"judge", "any_judge"}:
        yield tools
        return
    from assay.wiring import open_evaluation

    with open_evaluation(call.home, config, tools, may_wait="judge" not in uses) as evaluation:
        is_asked = "judge" in uses and evaluation.tools.reasoner is not None
        for one in evaluation.findings if is_asked else ():
            if not one.is_met:
                call.warn(f"sovereignty is advisory: {one.check} is not met: {one.detail}")
        for warning in evaluation.warnings:
            call.warn(warning)
        yield evaluation.tools


def show(
    call: Call,
    operation: Operation,
    given: Mapping[str, Any],
    value: Any,  # noqa: ANN401 - the operation's result
    *,
    output: Path | None = None,
) -> None:
    """Print a result: text for people, JSON or CSV where asked for; exit as the result means.

    A document goes to `output` where that is given.
    """
    if callable(operation.notes):
        for line in (operation.notes(given, value) or "").splitlines():
            # What a person must know is said even where a program reads the answer.
            (call.warn if line.startswith(_WARNING) else call.say)(line.removeprefix(_WARNING))
    elif operation.notes is not None:
        call.say(operation.notes.format_map(_Named(value)))
    if isinstance(value, Content):
        _write(call, value.body, output)
    else:
        _print(call, operation, value)
    blame = None if operation.blames is None else operation.blames(value)
    if blame is not None:
        raise click.exceptions.Exit(EXIT_CODES[blame])


def _print(call: Call, operation: Operation, value: Any) -> None:  # noqa: ANN401 - the operation's result
    if isinstance(operation, Listing) and isinstance(value, Page):
        _show_page(call, operation, value)
    elif operation.shows is not None:
        call.answer(value, operation.shows(value))
    elif operation.says is not None:
        call.answer(value, operation.says.format_map(_Named(value)))
    else:
        call.answer(value, object_text(value))


def _write(call: Call, body: bytes, output: Path | None) -> None:
    if output is None:
        # Through click, so that a reader that went away is handled as everywhere else.
        click.echo(body, nl=False)
        return
    write_output(output, body)
    call.answer({"output": str(output), "bytes": len(body)}, f"wrote {output}: {len(body)} bytes")


def _show_page(call: Call, operation: Operation, page: Page[Any]) -> None:
    columns = [_column(operation, one) for one in operation.columns or operation.item.__struct_fields__]
    heads = [head for head, _ in columns]
    rows = [[show_cell(item) for _, show_cell in columns] for item in page.items]
    if call.as_csv:
        call.answer_table(page.items, heads, rows, nothing="")
        return
    call.answer_table(page, heads, rows, nothing=operation.nothing)
    if page.next is not None and not call.as_json:
        call.say(f"more: --cursor {page.next}")


def _column(operation: Operation, given: str | Column) -> Column:
    if not isinstance(given, str):
        return given
    head = given.removesuffix("_at").removesuffix("_id").replace("_", " ").upper()
    row = operation.row
    return head, (lambda item: cell(getattr(item, given))) if row is None else (lambda item: row(item)[given])


def object_text(value: object) -> str:
    """An object as lines of name and value."""
    fields = msgspec.to_builtins(value) if isinstance(value, Struct) else value
    if not isinstance(fields, Mapping):
        return str(fields)
    width = max((len(name) for name in fields), default=0)
    return "\n".join(f"{name:<{width}}  {cell(one)}" for name, one in fields.items() if one not in (None, [], {}))


def cell(value: object) -> str:  # noqa: PLR0911 - one return for each kind of value
    """A value as people read it in a table."""
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return render_instant(Instant(value))
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ",".join(cell(one) for one in value)
    if isinstance(value, Struct | Mapping):
        return msgspec.json.encode(value).decode()
    return str(value)


class _Named(dict[str, Any]):
    """Fields of a result by their names, for templates."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self._value = value

    def __missing__(self, name: str) -> object:
        return cell(getattr(self._value, name))
