"""The table is complete: what doors offer comes from it, and what is generated from it is current."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import assay.surfaces
from assay.node import AsyncNode, Node
from assay.operations.kinds import Local, Operation
from assay.operations.local import LOCAL
from assay.operations.table import TABLE
from assay.surfaces.cli.main import cli
from assay.surfaces.cli.operations import row_of
from assay.surfaces.client import AsyncClient, Client
from assay.surfaces.http.app import every_route
from tests.surfaces.cli.running import ask
from tools import calls, operations

# Of HTTP itself and of browsers: health, metrics, the description, logins.
_PROTOCOL = {
    "GET /",
    "GET /auth/oidc/callback",
    "GET /auth/oidc/login",
    "GET /auth/session",
    "GET /healthz",
    "GET /metrics",
    "GET /openapi.json",
    "GET /readyz",
    "POST /auth/login",
    "POST /auth/logout",
}
# What a node or a client itself has: opening, closing, and what the methods are made of.
_OWN_METHODS = {"answering_tools", "engines", "estimator", "close", "judging_tools", "perform"}


_ROWS: tuple[Operation | Local, ...] = (*TABLE, *LOCAL)


def _served() -> dict[str, object]:
    """Every route with the operation it performs, or None."""
    return {
        f"{method} {re.sub(r':[a-z]+}', '}', path)}": getattr(handler, "opt", {}).get("operation")
        for handler in every_route()
        for path in getattr(handler, "paths", ())
        for method in getattr(handler, "http_methods", ())
        if method != "OPTIONS"
    }


def test_no_route_of_the_interface_is_outside_the_table() -> None:
    declared = {f"{one.http_method} /api/v1{one.path}" for one in TABLE if one.route is not None}
    served = {route for route in _served() if "/api/v1/" in route}
    assert served == declared


def test_every_other_route_is_a_dialect_of_an_operation() -> None:
    """A route of a specification parses into an operation's request and renders its result, and has no rule."""
    served = {route: performs for route, performs in _served().items() if "/api/v1/" not in route}
    assert {route for route, performs in served.items() if performs is None} == _PROTOCOL
    declared = {route: one for one in TABLE for route in one.dialects}
    assert {route: one for route, one in served.items() if one is not None} == declared


def test_every_command_comes_from_the_table_or_is_local() -> None:
    declared = {one.command for one in _ROWS if one.command is not None}
    offered = set(_commands(cli))
    assert offered == declared


def test_every_method_comes_from_the_table_or_is_local() -> None:
    remote = {one.python_name for one in TABLE if one.route is not None}
    local = {one.method for one in LOCAL if one.method is not None}
    node = {name for name in dir(Node) if not name.startswith("_") and callable(getattr(Node, name))}
    assert node - remote - local - _OWN_METHODS == set()
    assert remote <= node
    for client in (Client("http://localhost"), AsyncClient("http://localhost")):
        offered = {name for name in dir(client) if not name.startswith("_")}
        assert offered - remote - _OWN_METHODS == set()
        assert remote <= offered


def test_what_is_local_has_a_command_or_a_method_and_no_second_name() -> None:
    names = [one.name for one in _ROWS]
    assert len(names) == len(set(names))
    assert all(one.command or one.method for one in LOCAL)
    commands = [one.command for one in _ROWS if one.command]
    assert len(commands) == len(set(commands))


def _commands(group: click.Group, *path: str) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, *path, name)
        else:
            yield " ".join((*path, name))


@pytest.mark.parametrize("is_async", [False, True])
def test_the_methods_of_nodes_and_clients_are_current(*, is_async: bool) -> None:
    """`python tools/calls.py` writes them."""
    path = calls.ASYNC if is_async else calls.SYNC
    assert path.read_text() == calls.formatted(is_async=is_async)


def test_the_page_of_operations_is_current() -> None:
    """`make docs` writes it."""
    assert operations.PAGE.read_text() == operations.render_page()
    tools = operations.TOOLS_PAGE.read_text()
    assert tools == operations.render_tools(tools)


def test_the_command_lists_every_operation_with_its_doors() -> None:
    told = ask("operations", "--json").json
    assert [one["name"] for one in told["items"]] == [one.name for one in _ROWS]
    revoke = next(one for one in told["items"] if one["name"] == "key.revoke")
    assert revoke["route"] == "POST /api/v1/keys/{prefix}/revoke"
    assert (revoke["command"], revoke["roles"], revoke["session"]) == ("assay principal key revoke", ["admin"], True)
    assert "key.revoke" in ask("operations", "key").out


def test_an_operation_that_writes_asks_for_more_than_reading() -> None:
    """A machine that is limited to reading by the node's switch changes nothing; asking a question is reading."""
    reading = [one for one in TABLE if one.writes and one.needs.scope is not None and one.needs.tier < 2]
    # A service that the node's switch limits to reading still reports that its own switch fired.
    assert [one.name for one in reading if not str(one.needs.scope).endswith((":read", ":query"))] == ["switch.report"]
    assert all(row_of(one).kind for one in TABLE)


# What reads or writes a database: calls on it, and units of work.
_STORE_CALLS = {"read", "write", "append", "submit"}


def _store_calls(tree: ast.AST) -> list[str]:
    """Where a module calls a database or names a unit of work, rather than a flow."""
    found = [
        f"{node.lineno}: .{node.value.attr}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in _STORE_CALLS
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "database"
    ]
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return found + [
        f"{node.lineno}: import of Unit" for node in imported if any(name.name == "Unit" for name in node.names)
    ]


def test_no_door_calls_a_store() -> None:
    """Doors translate; what is read or written is read and written by flows."""
    folder = Path(str(assay.surfaces.__file__)).parent
    found = {
        str(path.relative_to(folder)): calls
        for path in folder.rglob("*.py")
        if (calls := _store_calls(ast.parse(path.read_text())))
    }
    assert found == {}


@pytest.mark.parametrize(
    "code",
    [
        "tools.database.read(lambda unit: unit.ledger.tenants())",
        "self._tools.database.write(work)",
        "from assay.ports.database import Unit",
    ],
)
def test_a_store_call_in_a_door_is_found(code: str) -> None:
    assert _store_calls(ast.parse(code)) != []


def test_nodes_and_clients_have_the_same_methods_with_the_same_types() -> None:
    """`AsyncNode` and `AsyncClient` await what `Node` and `Client` return."""
    names = [one.python_name for one in TABLE if one.route is not None]
    for name in names:
        for one, other in ((Node, Client), (AsyncNode, AsyncClient)):
            # Of one and the same generated class, unless a door has a reason of its own.
            assert _signature(one, name) == _signature(other, name), name
        assert _parameters(Node, name) == _parameters(AsyncNode, name), name


def _signature(kind: type, name: str) -> tuple[list[str], str]:
    return _parameters(kind, name), str(inspect.signature(getattr(kind, name)).return_annotation)


def _parameters(kind: type, name: str) -> list[str]:
    return [str(one) for one in inspect.signature(getattr(kind, name)).parameters.values()]
