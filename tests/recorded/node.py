"""Nodes whose clock, randomness and keys are fixed, so that what they answer is the same bytes on every run.

This is the only module of the recorded exchanges that knows how a node is built and served.
"""

import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.adapters.clock import OsEntropy, SystemClock
from assay.adapters.credential_seal import HmacSeal
from assay.delivery.federate import Agreement
from assay.delivery.level import Level
from assay.delivery.rule import RuleId
from assay.delivery.strand import StrandId
from assay.flows.delivery.webhooks import post_event
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.conformance import Fetched
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.key import key_id_of
from assay.ports.webhook_sender import Sent
from assay.registry.announce import AnnounceEvent, draft_announce, sign_announce
from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.acting import amend_principal, issue_api_key, register_service
from tests.delivering import add_webhook, agree_with_peer, grant_reporter
from tests.flows import _node
from tests.flows._delivery import RULE
from tests.flows._people import ADMIN, TENANT
from tests.flows._truth import critical_flood
from tests.flows._verdicts import graph_document, rule
from tests.registry.codex import make_manifest
from tests.surfaces.forja import _service
from tests.surfaces.http._house import House, opened_house
from tests.surfaces.http._streams import running
from tests.surfaces.http.v1._whole import Whole, opened_whole
from tests.truth.records import schema_bytes

__all__ = ["RULE", "START", "Scene", "service_scene", "truth_scene", "whole_scene"]

START = parse_instant("2026-01-05T10:00:00Z")
_FOUNDED = Path(__file__).parent / "founded-0.1.0.tar.xz"
_SERVICE_KEY = Ed25519PrivateKey.from_private_bytes(b"S" * 32)
_INTERFACES = ("assay.surfaces", "assay.node", "assay.operations")
Ask = Callable[[str, str, dict[str, str], bytes], httpx.Response]


class Counted:
    """Bytes that look random and are the same on every run.

    They follow from the request during which they are drawn, the side that draws (an interface, or what is behind it),
    their size, and how many such were drawn in it, so that one more draw in one place changes no id elsewhere.
    """

    def __init__(self) -> None:
        self.begin("setup")

    def begin(self, label: str) -> None:
        self.label, self.drawn = label, Counter[tuple[str, int]]()

    def token(self, size: int) -> bytes:
        # Two frames up: whoever called `OsEntropy.token`.
        module = sys._getframe(2).f_globals["__name__"]
        side = "interface" if module.startswith(_INTERFACES) else "behind"
        self.drawn[side, size] += 1
        seed = f"{self.label}.{side}.{size}.{self.drawn[side, size]}"
        return b"".join(sha256(f"{seed}.{block}".encode()).digest() for block in range(size // 32 + 1))[:size]


@dataclass
class Scene:
    """A served node: `ask` sends a request, `keys` are credentials by the name that the exchanges use for them."""

    ask: Ask
    keys: dict[str, str] = field(default_factory=dict)
    house: Any = None
    entropy: Counted = field(default_factory=Counted)

    def __post_init__(self) -> None:
        self.keys["unknown"] = "ak_aaaaaaaaaaaa." + "A" * 43


def _fixed_seal(seal: HmacSeal, _key: bytes, old: frozenset[str]) -> None:
    seal._key, seal._old = b"M" * 32, old


@contextmanager
def _fixed(folder: Path) -> Iterator[Counted]:
    """The time stands at `START`, entropy is counted, and a new node is a copy of one with known keys."""
    with tarfile.open(_FOUNDED) as archive:
        archive.extractall(folder / "founded", filter="data")
    entropy = Counted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemClock, "now", lambda _self: START)
        patch.setattr(OsEntropy, "token", lambda _self, size: entropy.token(size))
        # Entries commit to stored credentials with their MACs.
        patch.setattr(HmacSeal, "__init__", _fixed_seal)
        patch.setattr(_node, "_founded", lambda _number: folder / "founded" / "node")
        yield entropy


@contextmanager
def truth_scene(folder: Path) -> Iterator[Scene]:
    """A node with a critical flood contract, a trust policy, agents and voters; the time is 12:30 on the next day."""
    with _fixed(folder) as entropy, opened_house(folder, contract=critical_flood()) as house:
        truth = house.truth
        truth.trust("sensor:042")
        keys = {
            "operator": truth.operator,
            "admin": truth.admin,
            "relay": truth.relay,
            "sensor": house.join("sensor:042"),
            "nobody": house.join("service:nobody"),
            "narrow": _narrow(house.tools, "user:op", truth.start),
        }
        scene = Scene(_by_client(house.client), keys, house, entropy)
        move_to(scene, "12:30")
        yield scene


@contextmanager
def whole_scene(folder: Path) -> Iterator[Scene]:
    """A node of which every room has something to say; the time is five minutes after it was opened."""
    with _fixed(folder) as entropy, opened_whole(folder) as whole:
        yield Scene(_by_client(whole.client), dict(whole.keys), whole, entropy)


@contextmanager
def service_scene(folder: Path) -> Iterator[Scene]:
    """A service with one action, attached to a node that knows an agent and an operator."""
    with _fixed(folder) as entropy, _service.opened_house(folder, "starlette") as house:
        ask: Ask = lambda method, path, headers, content: house.call(method, path, headers=headers, content=content)  # noqa: E731
        yield Scene(ask, {"agent": house.key, "olga": house.desk.session("user:olga")}, house, entropy)


def _by_client(client: Any) -> Ask:  # noqa: ANN401  a test client
    def ask(method: str, path: str, headers: dict[str, str], content: bytes) -> httpx.Response:
        found = client.request(method, path, headers=headers, content=content, follow_redirects=False)
        client.cookies.clear()
        assert isinstance(found, httpx.Response)
        return found

    return ask


def _narrow(tools: Any, name: str, at: Instant) -> str:  # noqa: ANN401  the tools of a node
    """Issue a key that is good for a scope no route has."""
    return issue_api_key(tools, TENANT, PrincipalId(name), scopes=("nothing:read",), by=ADMIN, at=at)[0]


def instant_of(scene: Scene, time: str) -> str:
    """A time on the day of a truth scene."""
    house: House = scene.house
    return render_instant(house.truth.now(time))


def move_to(scene: Scene, time: str) -> None:
    """Move the clock of a truth scene; its people log in again, since a session lasts a quarter of an hour."""
    house: House = scene.house
    house.at(time)
    for name in ("eve", "fay", "gus", "op"):
        scene.keys[name] = house.truth.signed_in(f"user:{name}", time)


def observe_twice(scene: Scene) -> None:
    """Two reports from others, so that a third makes a key worth compiling."""
    house: House = scene.house
    for name in ("user:ann", "user:ben"):
        house.truth.observe(name, claim_type="earth.flood.v2")


def report_of(scene: Scene, name: str) -> dict[str, Any]:
    house: House = scene.house
    return house.truth.report(name, claim_type="earth.flood.v2")


def flood_schema() -> str:
    return (schema_bytes("flood_v1") or b"").decode()


def score_reports(scene: Scene) -> None:
    house: House = scene.house
    house.truth.score(local_vision=0.95)


def another_contract() -> str:
    return critical_flood().replace("earth.flood.v2", "earth.flood.v3").replace('"version":2', '"version":3')


def signed_graph(scene: Scene, *, compiled_at: str = "2026-01-02T00:00:00Z") -> bytes:
    """A graph that people accepted and the node's anchor signed."""
    whole: Whole = scene.house
    return whole.desk.release(graph_document(rule("r1"), rule("r2", "high"), compiled_at=compiled_at)).document


def learn_graph(scene: Scene, document: bytes) -> None:
    """The scripted model answers by this graph from now on."""
    whole: Whole = scene.house
    assert whole.desk.model is not None
    whole.desk.model.document = document


def expect_more(scene: Scene) -> None:
    """A kind of question whose answers should reach a higher level than they do."""
    whole: Whole = scene.house
    whole.delivery.query("vessel.sure", expected_level=Level.AUTHENTIC)


def outcome_of(scene: Scene, **members: Any) -> dict[str, Any]:  # noqa: ANN401  any member of a signal
    """A failure of the rule, three minutes after the scene began."""
    whole: Whole = scene.house
    return whole.delivery.signal("failure", minute=3, **members)


EVIDENCE = b"AUROC,0.79\n"


def bundle(scene: Scene, number: int, *, tier: str = "READ_ONLY", agent: str = "ai:surveyor") -> dict[str, Any]:
    """A bundle with one claim, whose evidence is `EVIDENCE`."""
    whole: Whole = scene.house
    pointer = {
        "source": "https://nature.com/articles/s41586-024-07421-0",
        "source_confidence": 0.95,
        "evidence_hash": sha256(EVIDENCE).hexdigest(),
        "retrieved_at": whole.later(hours=-1),
    }
    claim = {
        "id": "claim-001",
        "statement": "Semantic entropy AUROC >= 0.78",
        "claim_type": "FACT" if tier == "READ_ONLY" else "DECISION",
        "evidence_pointers": [pointer],
        "uncertainty": {"method": "semantic_entropy", "value": 0.15, "gate_recommendation": "EXECUTE"},
        "risk_tier": tier,
        "if_wrong_cost": "somebody acts on it",
    }
    name = f"5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d{number:04}"
    return {"bundle": {"id": name, "timestamp": whole.later(), "origin_agent": agent, "claims": [claim]}}


def hold_answers(scene: Scene) -> None:
    """A kind of question whose answers wait for an approval, and an asker who may go so far."""
    whole: Whole = scene.house
    whole.delivery.query("vessel.scuttle", risk_tier=RiskTier.DELETE)
    change = PrincipalChange(risk_ceiling=RiskTier.DELETE)
    amend_principal(whole.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=whole.desk.at(minutes=4))


def agree_with_harbour(scene: Scene) -> None:
    """A peer with its own rule ids, whose key is `harbour`."""
    whole: Whole = scene.house
    start, operator = whole.desk.start, scene.keys["operator"]
    name = whole.desk.add("service:harbour", kind=PrincipalKind.SERVICE, roles=()).id
    scene.keys["harbour"] = issue_api_key(whole.tools, TENANT, name, by=ADMIN, at=start)[0]
    grant_reporter(whole.tools, name, ["MAR-*"], credential=operator, at=start)
    pair = (RuleId("HAR-1"), RuleId(RULE))
    agreed = Agreement(peer="harbour", rules=(pair,), strands=(StrandId("x-pilot"),))
    agree_with_peer(whole.tools, agreed, credential=operator, at=start)


def announcement(scene: Scene, event: str, sequence: int, *, is_signed: bool = True) -> bytes:
    """An announce of a service; the first signed one makes its key known."""
    whole: Whole = scene.house
    manifest = make_manifest(service="portwatch-backend")
    document = draft_announce(
        manifest, AnnounceEvent(event), base_url="http://127.0.0.1:9", instance_id="i1", sequence=sequence,
        at=whole.clock.now(),
    )  # fmt: skip
    public = _SERVICE_KEY.public_key().public_bytes_raw()
    signed = sign_announce(document, key_id=key_id_of(public), sign=_SERVICE_KEY.sign)
    return signed if is_signed else signed.replace(b'"i1"', b'"i2"', 1)


class _Reached:
    """Implements `ServiceClient`: the announced service, as the registry reaches it."""

    def __init__(self, house: Any) -> None:  # noqa: ANN401  an attached service
        self.house = house

    def request(
        self, method: str, url: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Fetched | None:
        answer = self.house.call(method, urlsplit(url).path, content=content, headers=headers)
        return Fetched(status=answer.status_code, content=answer.content)


def watch_services(scene: Scene, folder: Path) -> None:
    """One round of the registry, which finds the announced service serving what it declares."""
    folder.mkdir()
    with _service.opened_house(folder, "plain") as house:
        scene.house.client.app.state.desk.registry.watch(_Reached(house))


def break_service(scene: Scene) -> None:
    """So many requests fail that the service's switch fires."""
    scene.house.fail(60)
    scene.house.agent.service.tick()


def trust_service(scene: Scene) -> None:
    whole: Whole = scene.house
    public = _SERVICE_KEY.public_key().public_bytes_raw()
    register_service(whole.tools, TENANT, "portwatch-backend", public, by=ADMIN, at=whole.desk.start)


def stream_of(scene: Scene, path: str, by: str, *, events: int, after: str) -> bytes:
    """Read a stream of events from a real server until so many have come; the bytes as they were sent."""
    whole: Whole = scene.house
    config = load_config(whole.folder / "node")
    headers = {"x-api-key": scene.keys[by], "last-event-id": after}
    with running(create_app(whole.tools, config)) as server, httpx.Client(timeout=30) as client:
        found = b""
        with client.stream("GET", server.url + path, headers=headers) as response:
            for part in response.iter_raw():
                found += part
                if found.count(b"\ndata:") + found.startswith(b"data:") >= events and found.endswith(b"\n\n"):
                    break
    return _first(found, events)


def _first(stream: bytes, events: int) -> bytes:
    """So many events and what stands between them; what the server was quick enough to add is cut."""
    kept, seen = b"", 0
    for part in stream.split(b"\n\n"):
        kept += part + b"\n\n"
        seen += b"data:" in part
        if seen == events:
            return kept
    return kept


class _Kept:
    """Implements `WebhookSender`: it keeps what would be posted."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []

    def send(self, url: str, body: bytes, headers: dict[str, str]) -> Sent:
        self.posted.append({"url": url, "headers": dict(headers), "body": body.decode()})
        return Sent(status=204)


def posted_webhooks(scene: Scene, count: int) -> list[dict[str, Any]]:
    """The first events of the node, as a webhook's receiver gets them."""
    whole: Whole = scene.house
    hook = add_webhook(whole.tools, TENANT, "https://hooks.example.org/in", by=ADMIN, at=whole.desk.start)
    kept = _Kept()
    events = whole.desk.read(lambda unit: unit.outbox.events(TENANT, after=0, limit=count))
    for event in events:
        assert post_event(whole.tools, hook.webhook, event, kept, wait=lambda _seconds: True)
    return kept.posted
