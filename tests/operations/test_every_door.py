"""Every operation through each of its doors: the same permission, the same refusal, the same entries.

Each door has a node of its own, made from one prepared folder, and is asked the same in the same order: by HTTP, by the
client, as a tool, in Python, and by the command line through the socket of a real server.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest
from litestar.testing import TestClient
from msgspec import Struct

import assay
from assay.flows.request import Content
from assay.flows.tools import Tools
from assay.identity.access import find_unmet
from assay.identity.caller import local_caller
from assay.identity.principal import LOCAL_OPERATOR, PrincipalChange, PrincipalKind
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Bulk, Listing, Operation, Place, Stream
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME, TABLE
from assay.surfaces.cli.output import Call
from assay.surfaces.cli.perform import perform_only
from assay.surfaces.client import Client
from assay.surfaces.client.render import render_call
from assay.surfaces.http.app import create_app
from assay.surfaces.mcp.call import Toolbox
from assay.wiring import open_models, open_node
from tests.acting import add_principal, caller_of, issue_api_key, log_in
from tests.flows._people import quick_passwords
from tests.surfaces.http.served import ACME, make_node, serving

_PASSWORD = "correct horse battery"
_URL = "http://testserver.local"
# Who asks: without a role, with a scope for nothing, with each role alone, and two people in sessions of their own.
_ROLES = ("auditor", "operator", "reviewer", "admin")
_CALLERS = ("nobody", "narrow", *_ROLES, "omar", "ada")
# A session that is ended answers nothing any more, and whether a login waits depends on the address: tested apart.
_APART = {"session.end", "session.start"}
_SAMPLES: dict[Any, object] = {str: "x", int: 1, bool: False, float: 0.5, datetime: "2026-01-07T12:00:00Z"}
# By what the description of a text says: a format or a pattern.
_DESCRIBED = {
    "principal-id": "service:subject",
    "^sha256:": f"sha256:{'0' * 64}",
    "date-time": "2026-01-07T12:00:00Z",
}
_OPERATIONS = [
    one for one in TABLE if one.route is not None and not isinstance(one, Bulk | Stream) and one.name not in _APART
]

# What a door answers: the code of a refusal, or None and the result.
Answer = tuple[str | None, Any]
Ask = Callable[[Operation, dict[str, Any], str], Any]


@dataclass
class Door:
    """One way in, and the node behind it."""

    name: str
    ask: Ask
    tools: Callable[[], Tools]

    def answer(self, operation: Operation, given: dict[str, Any], credential: str) -> Answer:
        try:
            return None, self.ask(operation, given, credential)
        except Error as error:
            return error.code, None

    def kinds(self, after: int) -> list[str]:
        """The kinds of the entries after a number."""
        tools = self.tools()
        rows = tools.database.read(lambda unit: list(unit.ledger.entries(ACME, first=after + 1, last=10**9)))
        return [row.kind for row in rows]

    def head(self) -> int:
        return self.tools().database.read(lambda unit: unit.ledger.head(ACME)).sequence_number


@dataclass
class Doors:
    doors: list[Door]
    keys: dict[str, str]

    def offering(self, operation: Operation) -> list[Door]:
        return [door for door in self.doors if door.name != "tool" or operation.tool is not None]


@pytest.fixture(scope="module", autouse=True)
def _passwords_are_quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        yield


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("doors")
    keys = _prepared(folder / "prepared")
    homes = {name: folder / name for name in ("http", "client", "tool", "node", "cli")}
    for home in homes.values():
        shutil.copytree(folder / "prepared", home)
    with ExitStack() as stack:
        made = [stack.enter_context(_MAKERS[name](home, folder)) for name, home in homes.items()]
        yield Doors(made, keys)


def _prepared(home: Path) -> dict[str, str]:
    make_node(home)
    keys: dict[str, str] = {}
    with open_node(home) as (tools, _):
        at = tools.clock.now()
        for name in ("subject", "nobody", "narrow", *_ROLES):
            who = PrincipalId(f"service:{name}")
            roles = (name,) if name in _ROLES else _ROLES if name == "narrow" else ()
            granted = PrincipalChange(roles=roles)
            add_principal(
                tools, ACME, who, kind=PrincipalKind.SERVICE, name=name, granted=granted, by=LOCAL_OPERATOR, at=at
            )
            scopes = ("nothing:read",) if name == "narrow" else ("*",)
            keys[name] = issue_api_key(tools, ACME, who, scopes=scopes, by=LOCAL_OPERATOR, at=at)[0]
        for name, role in (("omar", "operator"), ("ada", "admin")):
            who = PrincipalId(f"user:{name}")
            add_principal(
                tools,
                ACME,
                who,
                kind=PrincipalKind.PERSON,
                name=name,
                granted=PrincipalChange(roles=(role,)),
                password=_PASSWORD,
                by=LOCAL_OPERATOR,
                at=at,
            )
            keys[name] = log_in(tools, ACME, who, _PASSWORD, at=at)[0]
        # An embedded node would make both where they are missing, and a server would refuse.
        local = local_caller(ACME, at=tools.clock.now())
        for name in ("index.seal", "checkpoint.sign"):
            Dispatcher(tools=tools)(BY_NAME[name], local, parse_request(BY_NAME[name], {}))
    return keys


@contextmanager
def _served(home: Path) -> Iterator[tuple[Tools, TestClient[Any]]]:
    """An application with the engines that `assay serve` gives it."""
    with (
        open_node(home) as (tools, config),
        open_models(home, config) as models,
        TestClient(create_app(tools, config, models.engines), base_url=_URL) as client,
    ):
        yield tools, client


@contextmanager
def _http(home: Path, _folder: Path) -> Iterator[Door]:
    with _served(home) as (tools, client):

        def ask(operation: Operation, given: dict[str, Any], credential: str) -> Any:  # noqa: ANN401 - a result
            call = render_call(operation, parse_request(operation, given))
            headers = {"authorization": f"Bearer {credential}", **call.headers}
            if call.content is not None:
                headers.setdefault("content-type", "application/json")
            told = client.request(call.method, call.path, params=call.query, content=call.content, headers=headers)
            if told.status_code >= 400:
                raise _RefusalError(told.json()["code"])
            value = call.read(told.content)
            return Content(body=value) if operation.gives is Content else value

        yield Door("http", ask, lambda: tools)


@contextmanager
def _client(home: Path, _folder: Path) -> Iterator[Door]:
    with _served(home) as (tools, http):

        def ask(operation: Operation, given: dict[str, Any], credential: str) -> Any:  # noqa: ANN401 - a result
            client = Client(_URL, key=credential, http=http, retries=0)
            return client.perform(operation, parse_request(operation, given))

        yield Door("client", ask, lambda: tools)


@contextmanager
def _tool(home: Path, _folder: Path) -> Iterator[Door]:
    with open_node(home) as (tools, _):
        toolbox = Toolbox(tools)

        def ask(operation: Operation, given: dict[str, Any], credential: str) -> Any:  # noqa: ANN401 - a result
            arguments = {name: _json(value) for name, value in given.items()}
            called = toolbox.call(credential, str(operation.tool), arguments)
            if called.is_error:
                raise _RefusalError(called.value["error"]["code"])
            return msgspec.json.decode(called.text, type=operation.gives)

        yield Door("tool", ask, lambda: tools)


@contextmanager
def _node(home: Path, _folder: Path) -> Iterator[Door]:
    with assay.open(home) as node:

        def ask(operation: Operation, given: dict[str, Any], credential: str) -> Any:  # noqa: ANN401 - a result
            return node.acting(credential).perform(operation, parse_request(operation, given)).value

        yield Door("node", ask, lambda: node.tools)


@contextmanager
def _cli(home: Path, folder: Path) -> Iterator[Door]:
    """What every command does with its parsed arguments: it finds the socket of the server, and asks there."""
    with ExitStack() as stack:
        stack.enter_context(serving("--home", str(home), "serve", "--port", "0", folder=folder))
        tools, _ = stack.enter_context(open_node(home, writable=False))
        call = Call(home=home)

        def ask(operation: Operation, given: dict[str, Any], credential: str) -> Any:  # noqa: ANN401 - a result
            return perform_only(call, operation, given, credential=credential)

        yield Door("cli", ask, lambda: tools)


_MAKERS = {"http": _http, "client": _client, "tool": _tool, "node": _node, "cli": _cli}


class _RefusalError(Error):
    """A refusal as a door told it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def _json(value: object) -> object:
    return json.loads(value) if isinstance(value, bytes) else value


def _given(operation: Operation) -> dict[str, Any]:
    """A request of the operation: its example, and for what the example leaves out a value of the field's type."""
    example = dict(operation.example or {})
    given: dict[str, Any] = {}
    for field in operation.fields:
        name = field.info.name
        if field.place is Place.DOCUMENT:
            given[name] = json.dumps(operation.example or {}).encode()
        elif field.name in example or name in example:
            given[name] = example.get(field.name, example.get(name))
        elif field.info.required:
            given[name] = _sample(field.info.type)
    return given


def _sample(kind: Any) -> Any:  # noqa: ANN401, PLR0911 - of any type; one return for each form of type
    described = str(getattr(kind, "__metadata__", ""))
    for part, sample in _DESCRIBED.items():
        if part in described:
            return sample
    if hasattr(kind, "__metadata__"):
        return _sample(kind.__origin__)
    if hasattr(kind, "__supertype__"):
        return _sample(kind.__supertype__)
    if get_origin(kind) in (tuple, list):
        return [_sample(get_args(kind)[0])]
    if get_origin(kind) is dict or kind is dict:
        return {}
    if get_args(kind):
        return _sample(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, Struct):
        return {info.encode_name: _sample(info.type) for info in msgspec.structs.fields(kind) if info.required}
    if isinstance(kind, type) and hasattr(kind, "__members__"):
        return next(iter(kind.__members__.values())).value
    return _SAMPLES.get(kind, "x")


@pytest.mark.parametrize("operation", _OPERATIONS, ids=lambda one: one.name)
def test_doors_agree_about_who_may_what_comes_of_it_and_what_is_recorded(doors: Doors, operation: Operation) -> None:
    given = _given(operation)
    offering = doors.offering(operation)
    for caller in _CALLERS:
        unmet = _unmet(offering[0], operation, doors.keys[caller])
        heads = {door.name: door.head() for door in offering}
        answers = {door.name: door.answer(operation, given, doors.keys[caller]) for door in offering}
        codes = {name: _code(code) for name, (code, _) in answers.items()}
        assert len(set(codes.values())) == 1, (caller, codes)
        if unmet is not None:
            assert set(codes.values()) == {unmet}, (caller, codes)
        shapes = {name: _shape(operation, value) for name, (_, value) in answers.items()}
        assert len(set(map(str, shapes.values()))) == 1, (caller, shapes)
        written = {door.name: door.kinds(heads[door.name]) for door in offering}
        assert len(set(map(str, written.values()))) == 1, (caller, written)
        if not operation.writes or unmet is not None:
            assert set(map(str, written.values())) == {"[]"}, (caller, written)


def _code(code: str | None) -> str | None:
    """A tool says that its arguments are wrong where other doors name the fields."""
    return "http.fields" if code == "mcp.arguments" else code


def _unmet(door: Door, operation: Operation, credential: str) -> str | None:
    tools = door.tools()
    caller = caller_of(tools, credential, at=tools.clock.now())
    found = find_unmet(Dispatcher(tools=tools).requirements(operation, caller))
    return None if found is None else str(found.code)


def _shape(operation: Operation, value: Any) -> object:  # noqa: ANN401 - of any type
    """What two nodes answer alike: the type of a result and, of a list, how many items there are."""
    if operation.name == "checkpoints.list" and value is not None:
        # A server signs by itself when it starts.
        return type(value).__name__
    if isinstance(operation, Listing) and value is not None:
        return len(value.items)
    return type(value).__name__
