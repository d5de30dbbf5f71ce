"""An operation is declared once; every door follows from the declaration and asks the same of a caller."""

import asyncio
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import httpx
import msgspec
import pytest
from click.testing import CliRunner
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.errors import RequestInHandError
from assay.flows.tools import Tools
from assay.identity.principal import LOCAL_OPERATOR, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.trace import find_trace
from assay.operations import kinds, table
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.surfaces.cli.derive import derive_command
from assay.surfaces.cli.output import Call
from assay.surfaces.client import AsyncClient, Client, ProblemError
from assay.surfaces.http.app import create_app
from assay.surfaces.mcp.call import Toolbox
from assay.wiring import load_config, open_node
from tests.acting import add_principal, caller_of, issue_api_key
from tests.flows._node import TENANT, new_node
from tests.operations import new_operation
from tests.operations.new_operation import COUNT, CountEntries

_MOST_LINES = 25
_URL = "http://testserver.local"


@dataclass
class Doors:
    """One node, reached by each of its doors, with an operator's key and one of somebody without a role."""

    home: Path
    tools: Tools
    http: "TestClient[Litestar]"
    toolbox: Toolbox
    allowed: str
    refused: str

    def client(self, key: str) -> Client:
        return Client(_URL, key=key, http=self.http)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    home = new_node(tmp_path_factory.mktemp("doors"))
    with pytest.MonkeyPatch.context() as patch:
        grown = (*table.TABLE, COUNT)
        patch.setattr("assay.surfaces.http.app.TABLE", grown)
        for module in ("assay.surfaces.mcp.call", "assay.surfaces.mcp.server"):
            patch.setattr(f"{module}.BY_TOOL", {**table.BY_TOOL, str(COUNT.tool): COUNT})
        with open_node(home) as (tools, _):
            keys = [_key(tools, "service:olga", ("operator",)), _key(tools, "service:nobody", ())]
            app = create_app(tools, load_config(home))
            with TestClient(app, base_url=_URL) as http:
                yield Doors(home, tools, http, Toolbox(tools), *keys)


def _key(tools: Tools, name: str, roles: tuple[str, ...]) -> str:
    at, who = tools.clock.now(), PrincipalId(name)
    granted = PrincipalChange(roles=roles)
    add_principal(tools, TENANT, who, kind=PrincipalKind.SERVICE, name=name, granted=granted, by=LOCAL_OPERATOR, at=at)
    return issue_api_key(tools, TENANT, who, by=LOCAL_OPERATOR, at=at)[0]


def test_an_operation_takes_at_most_25_lines() -> None:
    """Imports and blank lines are not counted: they say nothing of the operation."""
    lines = inspect.getsource(new_operation).splitlines()
    counted = [line for line in lines if line.strip() and not re.match(r'from |import |"""', line)]
    assert len(counted) <= _MOST_LINES


def test_it_is_reached_through_http_tools_client_and_the_command_line(doors: Doors) -> None:
    head = doors.tools.database.read(lambda unit: unit.ledger.head(TENANT)).sequence_number
    answered = doors.http.get("/api/v1/entry-count?plus=2", headers={"authorization": f"Bearer {doors.allowed}"})
    assert (answered.status_code, answered.json()) == (200, {"tenant_id": TENANT, "entries": head + 2})
    called = doors.toolbox.call(doors.allowed, "count_entries", {"plus": 3})
    assert called.value == {"tenant_id": TENANT, "entries": head + 3}
    assert doors.client(doors.allowed).perform(COUNT, CountEntries(plus=4)).entries == head + 4
    done = _run(doors.home, "--plus", "5", "--credential", doors.allowed)
    assert done.output == f"{head + 5} entries\n"


def test_the_description_names_it(doors: Doors) -> None:
    document = doors.http.get("/openapi.json").json()
    described = document["paths"]["/api/v1/entry-count"]["get"]
    assert described["operationId"] == "entries.count"
    assert [one["name"] for one in described["parameters"]][:1] == ["plus"]


def test_every_door_refuses_the_same_caller_with_the_same_code(doors: Doors) -> None:
    answered = doors.http.get("/api/v1/entry-count", headers={"authorization": f"Bearer {doors.refused}"})
    assert (answered.status_code, answered.json()["code"]) == (403, "identity.role")
    assert doors.toolbox.call(doors.refused, "count_entries", {}).value["error"]["code"] == "identity.role"
    with pytest.raises(ProblemError) as caught:
        doors.client(doors.refused).perform(COUNT, CountEntries())
    assert caught.value.code == "identity.role"
    done = _run(doors.home, "--credential", doors.refused)
    assert getattr(done.exception, "code", None) == "identity.role"


def _run(home: Path, *arguments: str) -> "click.testing.Result":
    command = derive_command(COUNT)
    return CliRunner().invoke(command, list(arguments), obj=Call(home=home))


def test_a_change_under_one_key_is_applied_once_across_doors(doors: Doors) -> None:
    """The command line repeats what HTTP began: the same answer, and one entry."""
    revoke = table.BY_NAME["key.revoke"]
    issued, _ = _prefix(doors)
    asked = {"prefix": issued, "reason": "lost"}
    dispatcher = Dispatcher(tools=doors.tools)
    caller = caller_of(doors.tools, _admin(doors), at=doors.tools.clock.now())
    first = dispatcher(revoke, caller, parse_request(revoke, asked), key="once")
    before = doors.tools.database.read(lambda unit: unit.ledger.head(TENANT)).sequence_number
    http = doors.http.post(
        f"/api/v1/keys/{issued}/revoke",
        json={"reason": "lost"},
        headers={"authorization": f"Bearer {_SESSIONS['ada']}", "idempotency-key": "once"},
    )
    assert (http.status_code, http.headers["assay-is-kept"]) == (201, "true")
    assert http.json() == msgspec.to_builtins(first.value)
    assert doors.tools.database.read(lambda unit: unit.ledger.head(TENANT)).sequence_number == before


_SESSIONS: dict[str, str] = {}


def _admin(doors: Doors) -> str:
    """An administrator's session, which both doors of the test above use."""
    from tests.acting import log_in

    if "ada" not in _SESSIONS:
        at = doors.tools.clock.now()
        add_principal(
            doors.tools,
            TENANT,
            PrincipalId("user:ada"),
            kind=PrincipalKind.PERSON,
            name="Ada",
            granted=PrincipalChange(roles=("admin",)),
            password="correct horse battery",
            by=LOCAL_OPERATOR,
            at=at,
        )
        token, _ = log_in(doors.tools, TENANT, PrincipalId("user:ada"), "correct horse battery", at=at)
        _SESSIONS["ada"] = token
    return _SESSIONS["ada"]


def _prefix(doors: Doors) -> tuple[str, object]:
    text, record = issue_api_key(
        doors.tools, TENANT, PrincipalId("service:nobody"), by=LOCAL_OPERATOR, at=doors.tools.clock.now()
    )
    return str(record.prefix), text


def test_a_repeated_refusal_is_the_refusal_that_was_given(doors: Doors) -> None:
    revoke = table.BY_NAME["key.revoke"]
    caller = caller_of(doors.tools, _admin(doors), at=doors.tools.clock.now())
    dispatcher = Dispatcher(tools=doors.tools)
    request = parse_request(revoke, {"prefix": "ak_aaaaaaaaaaaa", "reason": "x"})
    for _ in range(2):
        with pytest.raises(Exception, match="has no API key") as caught:
            dispatcher(revoke, caller, request, key="refused")
        assert getattr(caught.value, "code", "") == "flow.not_found"


def test_names_routes_commands_tools_and_methods_are_unique() -> None:
    """A second declaration of one door would silently win or lose."""
    for part in ("name", "route", "command", "tool", "python_name"):
        named = [getattr(one, part) for one in table.TABLE if getattr(one, part) is not None]
        assert sorted(named) == sorted(set(named)), part


def test_every_declaration_can_be_read_by_the_doors() -> None:
    for one in table.TABLE:
        assert one.fields is not None
        assert one.description != one.name, f"{one.name} has no description"
        assert all(field.description for field in one.fields), [f.name for f in one.fields if not f.description]


def test_both_clients_have_every_method() -> None:
    for one in table.TABLE:
        if one.route is not None and not isinstance(one, kinds.Bulk | kinds.Stream):
            assert hasattr(Client, one.python_name)
            assert hasattr(AsyncClient, one.python_name)


def test_an_operation_is_counted_with_its_outcome(doors: Doors) -> None:
    counted: list[tuple[str, str]] = []
    dispatcher = Dispatcher(tools=doors.tools, count=lambda name, code, _seconds: counted.append((name, code)))
    caller = caller_of(doors.tools, doors.allowed, at=doors.tools.clock.now())
    dispatcher(COUNT, caller, CountEntries())
    with pytest.raises(Exception, match="API key"):
        dispatcher.perform(table.BY_NAME["key.show"], caller, parse_request(table.BY_NAME["key.show"], {"prefix": "x"}))
    assert counted == [("entries.count", "ok"), ("key.show", "flow.not_found")]


def test_the_async_client_lists_all_pages(doors: Doors) -> None:

    async def prefixes() -> list[str]:
        transport = httpx.ASGITransport(app=doors.http.app)
        async with httpx.AsyncClient(transport=transport, base_url=_URL) as http:
            client = AsyncClient(_URL, key=doors.allowed, http=http)
            return [str(one.prefix) async for one in client.keys(limit=1)]

    found = asyncio.run(prefixes())
    assert found == [str(one.prefix) for one in doors.client(doors.allowed).keys(limit=1)]
    assert len(found) > 1


def test_an_entry_carries_the_trace_of_the_http_request_and_the_answer_names_it(doors: Doors) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    issued, _ = _prefix(doors)
    _admin(doors)
    headers = {"authorization": f"Bearer {_SESSIONS['ada']}", "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    answered = doors.http.post(f"/api/v1/keys/{issued}/revoke", json={"reason": "lost"}, headers=headers)
    assert answered.status_code == 201, answered.text
    assert answered.headers["traceparent"].startswith(f"00-{trace}-")
    head = doors.tools.database.read(lambda unit: unit.ledger.head(TENANT)).sequence_number
    entry = doors.tools.database.read(lambda unit: unit.ledger.find_entry(TENANT, head))
    assert entry is not None
    assert entry.trace_id == trace
    without = doors.http.get("/api/v1/entry-count", headers={"authorization": f"Bearer {doors.allowed}"})
    assert find_trace(without.headers["traceparent"]) not in (None, trace)


def test_two_requests_of_one_batch_with_one_key_are_not_both_performed(doors: Doors) -> None:
    """All of the batch is refused; the door then performs each alone, and the second finds the first's answer."""
    performed: list[int] = []

    def many(_tools: Tools, jobs: list[object], _keyed: list[object]) -> list[object]:
        performed.append(len(jobs))
        return [new_operation.EntryCount(tenant_id=TENANT, entries=0) for _ in jobs]

    change = kinds.Change("entries.count", new_operation.count_entries, needs=COUNT.needs, many=many)
    dispatcher = Dispatcher(tools=doors.tools)
    caller = caller_of(doors.tools, doors.allowed, at=doors.tools.clock.now())
    with pytest.raises(RequestInHandError):
        dispatcher.together(change, [(caller, CountEntries(), "twin"), (caller, CountEntries(), "twin")])
    assert performed == []
    assert len(dispatcher.together(change, [(caller, CountEntries(), "a"), (caller, CountEntries(), "b")])) == 2
