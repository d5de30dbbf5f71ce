"""A play for doors: the sample's week and what it leaves out, each request made through a door of choice.

a node of its own for each door -> the same requests in the same order -> what each answered, and the entries it wrote
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from litestar.testing import TestClient

from assay.adapters.keyfile import create_key_file
from assay.adapters.node_folder import replace_file
from assay.adapters.toml_text import set_toml_value
from assay.config import Config
from assay.flows.request import Content
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.node.acting import ActingNode, make_dispatcher
from assay.operations.kinds import Operation
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.surfaces import sample
from assay.surfaces.cli.output import Call
from assay.surfaces.cli.perform import perform_only
from assay.surfaces.client import Client
from assay.surfaces.client.render import render_call
from assay.surfaces.http.app import create_app
from assay.surfaces.local_socket import listen_locally
from assay.surfaces.mcp.call import Toolbox
from assay.surfaces.sample.stage import DAY, SMALL, TENANT, PastClock, Stage
from assay.wiring import CONFIG_FILE, init_node, open_evaluation, open_models, open_node
from tests.waiting import until

_URL = "http://testserver.local"
# Nobody has signed in yet, and a session token is kept nowhere; who has signed out is nobody.
NOT_AGAIN = {"session.start", "session.end"}
# A credential, or None for the operator of the folder; an idempotency key, or None.
Ask = Callable[[Operation, dict[str, Any], str | None, str | None], Any]


class RefusalError(Error):
    """A refusal as a door answered it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class Step:
    """One request: who made it of which operation, what was answered, the entries that were written, its fields."""

    who: str
    name: str
    code: str | None
    answer: Any
    entries: list[Any]
    given: dict[str, Any]


def _nowhere(operation: Operation, *_given: object) -> Any:  # noqa: ANN401 - never
    raise AssertionError(f"no door offers {operation.name}")


@dataclass
class Played(Stage):
    """A stage whose requests go through `asks`: step by step through the next of them.

    With `again`, a change is sent under an idempotency key and then once more through the next door: it must be
    answered the same and write nothing.
    """

    asks: list[tuple[str, Ask]] = field(default_factory=list)
    # For what none of these doors offers.
    other: Ask = _nowhere
    again: bool = False
    steps: list[Step] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    repeated: set[tuple[str, str, str]] = field(default_factory=set)

    def do(self, who: str, name: str, /, **given: Any) -> Any:  # noqa: ANN401 - an operation's own fields and result
        credential = self._credential(who)
        self._next()
        return self._through(who, name, given, credential)

    def local(self, name: str, /, **given: Any) -> Any:  # noqa: ANN401 - as above
        self._next()
        return self._through("the operator", name, given, None)

    def forget(self, who: str) -> None:
        """Log in anew with the next request of this person."""
        self._sessions.pop(who, None)

    def attempt(self, who: str, name: str, /, **given: Any) -> Any:  # noqa: ANN401 - as above
        """As `do`; a refusal is an answer that doors must agree about."""
        try:
            return self.do(who, name, **given)
        except Error:
            return None

    def _through(self, who: str, name: str, given: dict[str, Any], credential: str | None) -> Any:  # noqa: ANN401
        operation = BY_NAME[name]
        doors = self._offering(operation, credential)
        door, ask = doors[len(self.steps) % len(doors)]
        key = f"play-{len(self.steps)}" if self.again and operation.kind == "change" else None
        head = self._head()
        code, value = None, None
        try:
            value = ask(operation, given, credential, key)
        except Error as error:
            code = error.code
            raise
        finally:
            self.steps.append(Step(who, name, code, _plain(value), self._written(head), given))
        self.last[name] = value
        if key is not None and name not in NOT_AGAIN:
            self._repeat(operation, given, credential, key, first=door, value=value)
        return value

    def _repeat(
        self,
        operation: Operation,
        given: dict[str, Any],
        credential: str | None,
        key: str,
        *,
        first: str,
        value: Any,  # noqa: ANN401 - the operation's result
    ) -> None:
        head = self._head()
        for door, ask in self._offering(operation, credential):
            if door == first:
                continue
            found = ask(operation, given, credential, key)
            assert _without_secret(_plain(found)) == _without_secret(_plain(value)), (operation.name, first, door)
            assert self._head() == head, (operation.name, first, door)
            self.repeated.add((operation.name, first, door))

    def _offering(self, operation: Operation, credential: str | None) -> list[tuple[str, Ask]]:
        found = [(door, ask) for door, ask in self.asks if _offers(door, operation, credential)]
        return found or [("other", self.other)]

    def _head(self) -> int:
        return self.tools.database.read(lambda unit: unit.ledger.head(TENANT)).sequence_number

    def _written(self, head: int) -> list[Any]:
        rows = self.tools.database.read(lambda unit: list(unit.ledger.entries(TENANT, first=head + 1)))
        return [json.loads(row.text) for row in rows]


def _offers(door: str, operation: Operation, credential: str | None) -> bool:
    """A tool is offered for some operations; the operator of the folder comes by the socket or in the process."""
    if credential is None:
        return door in ("cli", "node")
    return door != "tool" or operation.tool is not None


def _plain(value: Any) -> Any:  # noqa: ANN401 - any result as JSON
    if isinstance(value, Content):
        return value.body.decode(errors="replace")
    if isinstance(value, Iterator):
        value = list(value)
    return msgspec.json.decode(msgspec.json.encode(value))


def _without_secret(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """A secret is shown once: the answer that is kept under a key is without it."""
    secrets = ("api_key", "session_token", "secret")
    return {name: one for name, one in value.items() if name not in secrets} if isinstance(value, dict) else value


@contextmanager
def opened_play(
    folder: Path, doors: tuple[str, ...], *, database: str | None = None, again: bool = False, end: Instant
) -> Iterator[Played]:
    """A new node in the folder, with these doors open; its clock is set back by a week."""
    clock = PastClock(Instant(end - sample.DAYS * DAY), until=end)
    init_node(folder, origin="port.example/assay", database=database, at=clock.now())
    signer = create_key_file(folder / "keys" / "graph.key")
    path = folder / CONFIG_FILE
    text = set_toml_value(path.read_text(encoding="utf-8"), "trust", "anchors", [signer.public_key.hex()])
    replace_file(path, f"{text.rstrip()}\n{sample.SETTINGS}".encode())
    with ExitStack() as stack:
        opened, config = stack.enter_context(open_node(folder))
        models = stack.enter_context(open_models(folder, config))
        evaluation = stack.enter_context(open_evaluation(folder, config, replace(opened, clock=clock)))
        tools = replace(evaluation.tools, clock=clock, engines=models.engines)
        asks = [(door, stack.enter_context(_DOORS[door](folder, tools, config))) for door in doors]
        other = stack.enter_context(_node(folder, tools, config))
        play = Played(tools, clock, folder, SMALL, asks=asks, other=other, again=again)
        play.graph_signer = signer
        yield play


@contextmanager
def _http(_folder: Path, tools: Tools, config: Config) -> Iterator[Ask]:
    with TestClient(create_app(tools, config, tools.engines), base_url=_URL) as client:

        def ask(operation: Operation, given: dict[str, Any], credential: str | None, key: str | None) -> Any:  # noqa: ANN401
            call = render_call(operation, parse_request(operation, given))
            headers = {"authorization": f"Bearer {credential}", **call.headers}
            if call.content is not None:
                headers.setdefault("content-type", "application/json")
            if key is not None:
                headers["idempotency-key"] = key
            answer = client.request(call.method, call.path, params=call.query, content=call.content, headers=headers)
            if answer.status_code >= 400:
                raise RefusalError(answer.json()["code"])
            value = call.read(answer.content)
            return Content(body=value) if operation.gives is Content else value

        yield ask


@contextmanager
def _client(_folder: Path, tools: Tools, config: Config) -> Iterator[Ask]:
    with TestClient(create_app(tools, config, tools.engines), base_url=_URL) as http:

        def ask(operation: Operation, given: dict[str, Any], credential: str | None, key: str | None) -> Any:  # noqa: ANN401
            client = Client(_URL, key=credential, http=http, retries=0)
            return client.perform(operation, parse_request(operation, given), key=key)

        yield ask


@contextmanager
def _cli(folder: Path, tools: Tools, config: Config) -> Iterator[Ask]:
    """What every command does with its parsed arguments: it finds the socket of the server, and asks there."""
    with listen_locally(folder) as bound:
        assert bound is not None
        app = create_app(tools, config, tools.engines)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"))
        thread = threading.Thread(target=lambda: server.run(sockets=[bound]), daemon=True)
        thread.start()
        until(lambda: server.started, seconds=60, what="a server on the socket")

        def ask(operation: Operation, given: dict[str, Any], credential: str | None, key: str | None) -> Any:  # noqa: ANN401
            return perform_only(Call(home=folder), operation, given, credential=credential, idempotency_key=key)

        try:
            yield ask
        finally:
            server.should_exit = True
            thread.join(60)


@contextmanager
def _tool(_folder: Path, tools: Tools, _config: Config) -> Iterator[Ask]:
    toolbox = Toolbox(tools)

    def ask(operation: Operation, given: dict[str, Any], credential: str | None, key: str | None) -> Any:  # noqa: ANN401
        arguments = {name: json.loads(one) if isinstance(one, bytes) else one for name, one in given.items()}
        called = toolbox.call(str(credential), str(operation.tool), arguments, key)
        if called.is_error:
            raise RefusalError(called.value["error"]["code"])
        return msgspec.json.decode(called.text, type=operation.gives)

    yield ask


class _Opened:
    """The part of an embedded node that its operations use, on tools that are open already."""

    read_only = False
    tenant_id = TENANT

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.dispatcher = make_dispatcher(tools)

    def judging_tools(self, *, may_wait: bool) -> Tools:
        del may_wait
        return self.tools

    def answering_tools(self) -> Tools:
        return self.tools

    def engines(self) -> Any:  # noqa: ANN401 - those of the tools
        return self.tools.engines

    def estimator(self) -> Any:  # noqa: ANN401 - that of the tools
        return self.tools.estimator


@contextmanager
def _node(_folder: Path, tools: Tools, _config: Config) -> Iterator[Ask]:
    opened: Any = _Opened(tools)

    def ask(operation: Operation, given: dict[str, Any], credential: str | None, key: str | None) -> Any:  # noqa: ANN401
        return ActingNode(opened, credential).perform(operation, parse_request(operation, given), key=key).value

    yield ask


_DOORS = {"http": _http, "client": _client, "cli": _cli, "tool": _tool, "node": _node}
