"""The layer around a service changes nothing, and a memory that is slow or gone is no failure of a request."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.adapters.service_file import ServiceFile
from assay.ports.registry_store import ServiceStore
from assay.surfaces.forja.reply import Message
from tests.surfaces.forja._service import FRAMEWORKS, Failing, House, opened_house, run


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path, "plain") as opened:
        yield opened


async def _never() -> Message:
    return {"type": "http.disconnect"}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    status=st.sampled_from([200, 204, 302, 404, 500, 503]),
    headers=st.lists(st.tuples(st.binary(min_size=1, max_size=9), st.binary(max_size=9)), max_size=4),
    parts=st.lists(st.binary(max_size=50), max_size=5),
)
def test_every_message_of_a_response_passes_as_it_is(
    house: House, status: int, headers: list[tuple[bytes, bytes]], parts: list[bytes]
) -> None:
    sent: list[Message] = [{"type": "http.response.start", "status": status, "headers": headers, "trailers": True}]
    sent += [{"type": "http.response.body", "body": part, "more_body": True} for part in parts]
    sent.append({"type": "http.response.body"})
    got: list[Message] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own
        for message in sent:
            await send(message)

    async def keep(message: Message) -> None:
        got.append(message)

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "query_string": b""}
    run(lambda: house.agent.wrap(app)(scope, _never, keep))
    assert all(before is after for before, after in zip(sent, got, strict=True))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_memory_that_is_gone_costs_writing_and_nothing_else(tmp_path: Path, framework: str) -> None:
    """Reading goes on, errors are still counted and still fire; an action that cannot be logged does not run."""
    memory = Failing(ServiceFile(tmp_path / "m.db"))
    with opened_house(tmp_path, framework, memory=memory) as house:
        memory.is_gone = True
        house.agent.start()
        assert house.call("GET", "/ping").text == "pong"
        answer = house.as_agent("POST", "/ack/a-1")
        assert (answer.status_code, answer.json()["code"]) == (503, "store.busy")
        assert house.done == []
        house.fail(60)
        assert house.sense()["security"]["kill_switch_active"] is True
        assert house.call("GET", "/ping").text == "pong"
        memory.is_gone = False
        house.agent.service.tick()
        (fact,) = memory.read(lambda store: store.facts(house.agent.service.tenant_id, "portwatch-backend"))
        assert fact.kind == "fired"


def test_a_slow_memory_holds_no_request(tmp_path: Path) -> None:
    """Another worker is in the middle of a write; requests are counted meanwhile, and seen once it is done."""
    memory = ServiceFile(tmp_path / "m.db")
    with opened_house(tmp_path, "plain", memory=memory) as house:
        begun, go_on = threading.Event(), threading.Event()

        def slow(_store: ServiceStore) -> None:
            begun.set()
            go_on.wait(30)

        other = threading.Thread(target=lambda: memory.write(slow))
        other.start()
        begun.wait(30)
        assert [house.call("GET", "/ping").text for _ in range(20)] == ["pong"] * 20
        go_on.set()
        other.join()
        assert house.sense()["velocity"]["total_requests"] == 20


def test_agents_are_told_apart_from_other_callers(house: House) -> None:
    house.as_agent("POST", "/ack/a-1")
    house.call("GET", "/ping", headers={"x-forja-agent": "planner"})
    for _ in range(2):
        house.call("GET", "/ping")
    assert house.sense()["velocity"]["ai_agent_traffic_pct"] == 50.0


def test_an_exception_of_the_application_stays_its_own(house: House) -> None:
    async def ask() -> None:
        transport = httpx.ASGITransport(app=house.agent)
        async with httpx.AsyncClient(transport=transport, base_url="http://s") as client:
            await client.get("/break")

    with pytest.raises(ValueError, match=r"^$"):
        run(ask)
    assert house.sense()["health"]["error_rate"] == 1.0
