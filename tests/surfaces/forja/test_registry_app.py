"""Questions to a registry: what is not understood is refused, and whoever comes from afar is no neighbour."""

from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from assay.config.desk import RegistryConfig
from assay.kernel.canonical import canonicalize
from assay.registry.announce import AnnounceEvent, draft_announce
from assay.surfaces.forja.own import open_own
from assay.surfaces.forja.registry_app import RegistryApp
from assay.surfaces.http.registry import open_registry
from assay.wiring import init_node, open_node
from tests.flows._people import TENANT
from tests.flows.test_registry_watch import Reached, announce
from tests.registry.codex import make_manifest
from tests.surfaces.forja._service import House, opened_house, run

_NAME = "portwatch-backend"
_FORJA = "/api/v2/forja"
_HERE = ip_network("127.0.0.0/8")


class Registry:
    """A registry that knows one service, asked over ASGI from this machine."""

    def __init__(self, house: House) -> None:
        tools = house.desk.tools
        self.house = house
        self.app = RegistryApp(
            tools=tools, tenant_id=TENANT, own=open_own(tools, TENANT, port=4585), unsigned_networks=(_HERE,)
        )

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401  httpx's own
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, client=("127.0.0.1", 9))
            async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
                return await client.request(method, _FORJA + path, **options)

        return run(ask)

    def found(self, query: str) -> list[str]:
        listed: list[str] = self.ask("GET", f"/services?{query}").json()["services"]
        return listed


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("registry")
    with opened_house(folder, "plain") as house:
        announce(house, AnnounceEvent.ANNOUNCE, 1, house.desk.at(seconds=0))
        registry = Registry(house)
        registry.app.watch(Reached(house))
        yield registry


@pytest.mark.clause("forja", "discovery")
@pytest.mark.parametrize("query", ["needs=", "need=READ", "needs=READ&needs=BOOK", "tier=4", "tier=", "needs=FLY", "x"])
def test_a_question_that_is_not_understood_is_not_answered_with_everybody(registry: Registry, query: str) -> None:
    answer = registry.ask("GET", f"/services?{query}")
    assert answer.status_code == 422
    assert "services" not in answer.json()


def test_everything_that_is_not_understood_is_named(registry: Registry) -> None:
    answer = registry.ask("GET", "/services?need=READ&tier=&domain=a&domain=b")
    assert [one["field"] for one in answer.json()["errors"]] == ["need", "tier", "domain"]


@pytest.mark.clause("forja", "discovery")
def test_everything_that_is_asked_for_must_hold(registry: Registry) -> None:
    holding = ["answers=berth.availability", "does=ALERT_ACK", "domain=maritime-port", "needs=ALERT_ACK", "tier=3"]
    assert registry.found("&".join(holding)) == registry.found("") == [_NAME]
    lacking = ["answers=nothing", "does=nothing", "domain=bank", "needs=BOOK"]
    for at, lack in enumerate(lacking):
        assert registry.found("&".join([*holding[:at], lack, *holding[at + 1 :]])) == []


@pytest.mark.clause("forja", "announce")
@pytest.mark.parametrize("header", ["forwarded", "via", "x-forwarded-for", "x-real-ip"])
def test_what_a_proxy_on_this_machine_hands_on_comes_from_afar(registry: Registry, header: str) -> None:
    """Unsigned, in the name of a service that is not known yet: heard from a neighbour, and from nobody else."""

    def say(number: int, **headers: str) -> tuple[int, str | None]:
        at = registry.house.agent.service.clock.now()
        told = draft_announce(
            make_manifest(service=f"new-{header}"), AnnounceEvent.ANNOUNCE, base_url="http://127.0.0.1:9",
            instance_id="i1", sequence=number, at=at,
        )  # fmt: skip
        answer = registry.ask("POST", "/announce", content=canonicalize(told), headers=headers)
        return answer.status_code, answer.json().get("code")

    assert say(1, **{header: "127.0.0.1"}) == (403, "registry.unsigned_announce")
    assert say(2) == (202, None)


@pytest.mark.clause("forja", "endpoints")
@pytest.mark.parametrize("path", ["/fleet", "/services", f"/services/{_NAME}", "/state"])
def test_head_is_get_without_its_content(registry: Registry, path: str) -> None:
    asked, got = (registry.ask(method, path) for method in ("HEAD", "GET"))
    assert (asked.status_code, asked.content) == (200, b"")
    assert int(asked.headers["content-length"]) == len(got.content)


def test_a_snapshot_that_still_stands_has_no_length(registry: Registry) -> None:
    tag = registry.ask("GET", "/fleet").headers["etag"]
    answer = registry.ask("GET", "/fleet", headers={"if-none-match": tag})
    assert (answer.status_code, answer.headers["etag"], "content-length" in answer.headers) == (304, tag, False)


@pytest.mark.clause("forja", "announce")
def test_an_announce_is_answered_with_whether_the_service_is_listed_and_why_not(registry: Registry) -> None:
    """An unsigned one makes the node fetch from no other address than its sender's."""

    def say(number: int, url: str | None, name: str = "new-reason") -> dict[str, Any]:
        at = registry.house.agent.service.clock.now()
        told = draft_announce(
            make_manifest(service=name), AnnounceEvent.ANNOUNCE, base_url=url or "",
            instance_id="i1", sequence=number, at=at,
        )  # fmt: skip
        if url is None:
            del told["base_url"]
        answer: dict[str, Any] = registry.ask("POST", "/announce", content=canonicalize(told)).json()
        return answer

    heard = say(1, None)
    assert (heard["listed"], heard["base_url"]) == (False, "http://127.0.0.1:4080")
    assert "once a look finds" in heard["reason"]
    assert say(2, "http://169.254.169.254/latest")["code"] == "registry.foreign_address"


@pytest.mark.clause("forja", "announce")
def test_without_a_setting_no_unsigned_announce_counts_and_nothing_inside_is_fetched(tmp_path: Path) -> None:
    init_node(tmp_path / "node")
    inside = "http://127.0.0.1:4080"
    with open_node(tmp_path / "node") as (tools, config):
        strict = open_registry(tools, config)
        assert strict.unsigned_networks == ()
        for url in (inside, "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/", "http://10.1.2.3", "http://"):
            assert strict.find_refusal(url) is not None
        said = RegistryConfig(unsigned_networks=("127.0.0.0/8",), service_networks=("10.0.0.0/8",))
        listed = open_registry(tools, replace(config, registry=said))
        assert listed.unsigned_networks == (_HERE,)
        assert [listed.find_refusal(url) for url in (inside, "http://10.1.2.3")] == [None, None]
        assert listed.find_refusal("http://192.168.0.1") is not None
