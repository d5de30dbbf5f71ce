"""The door to the tools over HTTP is the API's: the same proofs of who asks, and the same measure of how often."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from assay.flows.identity.authenticate import render_signed
from assay.identity.principal import LOCAL_OPERATOR
from assay.identity.signed_request import parse_signed_request
from assay.kernel.ids import PrincipalId
from assay.operations.rate import RateLimit
from assay.surfaces.mcp.call import Toolbox
from assay.surfaces.mcp.errors import BusyError
from assay.surfaces.mcp.serve import create_app
from assay.surfaces.mcp.server import Threads
from assay.surfaces.signing import SignedRequests
from tests.acting import register_signing_key
from tests.node._home import Home
from tests.surfaces.mcp._scene import Scene, grown, opened_scene
from tests.waiting import until

_URL = "http://127.0.0.1:8000"
_BITS = {"bits": ["READ"]}
_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def scene(home: Home) -> Iterator[Scene]:
    with opened_scene(home) as opened:
        yield opened


@pytest.fixture(scope="module")
def signer(scene: Scene) -> SignedRequests:
    """The scout's own key; its private half never leaves it."""
    made = SignedRequests(Ed25519PrivateKey.generate())
    tenant_id, now = scene.tools.database.read(lambda unit: unit.ledger.tenants())[0], scene.tools.clock.now()
    register_signing_key(scene.tools, tenant_id, PrincipalId("ai:scout"), made.public_key, by=LOCAL_OPERATOR, at=now)
    return made


@pytest.fixture(scope="module")
def client(scene: Scene) -> Iterator[TestClient]:
    with TestClient(create_app(scene.toolbox, hosts=("tools.example",)), base_url=_URL) as made:
        yield made


def _listed(client: TestClient, headers: dict[str, str], body: Any = None) -> Any:  # noqa: ANN401  any JSON, an answer
    content = json.dumps(_LIST if body is None else body).encode()
    typed = {"content-type": "application/json", **_ACCEPT, **headers}
    return client.post("/mcp", content=content, headers=typed)


def _signed(signer: SignedRequests, url: str = f"{_URL}/mcp", body: Any = None) -> dict[str, str]:  # noqa: ANN401  any JSON
    """The headers of a signature over this address and body."""
    made = httpx.Request("POST", url, content=json.dumps(_LIST if body is None else body).encode())
    request = next(signer.auth_flow(made))
    return {name: request.headers[name] for name in ("signature", "signature-input", "content-digest")}


def _names(answer: Any) -> set[str]:  # noqa: ANN401  an answer
    assert answer.status_code == 200, answer.text
    return {one["name"] for one in answer.json()["result"]["tools"]}


def _code(answer: Any) -> tuple[int, str]:  # noqa: ANN401  an answer
    return answer.status_code, answer.json()["error"]["code"]


def test_a_signed_request_is_taken_once(client: TestClient, scene: Scene, signer: SignedRequests) -> None:
    """As one of whoever signed it."""
    by_key = _names(_listed(client, {"x-api-key": scene.keys["scout"]}))
    headers = _signed(signer)
    assert _names(_listed(client, headers)) == by_key != set()
    assert _code(_listed(client, headers)) == (401, "identity.replayed")


def test_a_tool_is_called_under_a_signature(client: TestClient, scene: Scene, signer: SignedRequests) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "who_can", "arguments": _BITS}}
    told = _listed(client, _signed(signer, body=call), call).json()["result"]
    assert told["isError"] is False
    assert told["structuredContent"] == scene.call("scout", "who_can", **_BITS).value


def test_what_was_not_signed_for_this_server_is_refused(
    client: TestClient, scene: Scene, signer: SignedRequests
) -> None:
    """Another body, another server, another port of this machine, a key beside it, a Host that is none."""
    nobody = (401, "identity.not_signed_in")
    assert _code(_listed(client, _signed(signer), {**_LIST, "id": 9})) == nobody
    for host in ("other.example", "127.0.0.1:9", "127.0.0.1:x"):
        signed = _signed(signer, f"http://{host.replace(':x', '')}/mcp")
        assert _code(_listed(client, {**signed, "host": host})) == nobody, host
    assert _code(_listed(client, {**_signed(signer), "x-api-key": scene.keys["scout"]})) == nobody


def test_under_a_name_of_its_own_it_is_reached_by_https(client: TestClient, signer: SignedRequests) -> None:
    """Whatever stands before it speaks https, and it hears http."""
    for scheme in ("https", "http"):
        signed = _signed(signer, f"{scheme}://tools.example/mcp")
        assert _names(_listed(client, {**signed, "host": "tools.example"})) != set()


def test_nobody_signs_in_with_the_text_of_an_admitted_request(client: TestClient, signer: SignedRequests) -> None:
    """Whoever saw a signed request pass cannot go on under it."""
    headers = _signed(signer)
    assert _names(_listed(client, headers)) != set()
    text = render_signed(parse_signed_request("POST", f"{_URL}/mcp", headers))
    assert _code(_listed(client, {"authorization": f"Bearer {text}"})) == (401, "identity.not_signed_in")


def test_a_server_that_only_reads_takes_keys_alone(scene: Scene, signer: SignedRequests) -> None:
    reading = Toolbox(scene.tools, read_only=True)
    with TestClient(create_app(reading), base_url=_URL) as client:
        before = grown(scene.tools)
        assert _code(_listed(client, _signed(signer))) == (409, "mcp.read_only")
        assert _names(_listed(client, {"x-api-key": scene.keys["scout"]})) != set()
        assert grown(scene.tools) == before


def test_a_principal_has_its_share_and_is_told_what_is_left(scene: Scene, signer: SignedRequests) -> None:
    """By key or by signature, it is one share; another principal has its own."""
    rate = RateLimit(2, 60, clock=lambda: 0.0)
    with TestClient(create_app(scene.toolbox, rate=rate), base_url=_URL) as client:
        first = _listed(client, {"x-api-key": scene.keys["scout"]})
        assert first.headers["ratelimit-policy"] == '"principal";q=2;w=60'
        assert first.headers["ratelimit"] == '"principal";r=1;t=30'
        assert _listed(client, _signed(signer)).status_code == 200
        told = _listed(client, {"x-api-key": scene.keys["scout"]})
        assert (*_code(told), told.headers["retry-after"]) == (429, "http.too_fast", "30")
        assert _listed(client, {"x-api-key": scene.keys["pilot"]}).status_code == 200


def test_calls_that_a_hanging_database_holds_are_bounded() -> None:
    """So many work, so many wait, and the next is refused at once; none is lost when the database answers again."""
    hanging, working = threading.Event(), []

    def work() -> None:
        working.append(threading.current_thread().name)
        hanging.wait(20)

    async def story() -> list[object]:
        threads = Threads(threads=2, most_waiting=3)
        held = [asyncio.ensure_future(threads.run(work)) for _ in range(5)]
        await asyncio.to_thread(until, lambda: len(working) == 2)
        with pytest.raises(BusyError):
            await threads.run(work)
        assert len(working) == 2
        hanging.set()
        return await asyncio.gather(*held)

    assert asyncio.run(story()) == [None] * 5
    assert len(set(working)) <= 2
