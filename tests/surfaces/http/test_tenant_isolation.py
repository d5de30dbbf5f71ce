"""Another tenant's things do not exist: every route of the description, asked by somebody of another tenant.

What is there in one tenant must look, to another, exactly like what was never there; and no list may show it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.adapters.keyfile import KeyFileSigner
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.registry.receive_announce import receive_announce
from assay.identity.mask import MASK_MAX
from assay.identity.principal import BuiltInRole
from assay.identity.risk import RiskTier
from assay.kernel.ids import TenantId
from assay.registry.announce import AnnounceEvent, AnnouncePolicy, Origin, draft_announce, sign_announce
from assay.registry.manifest import DEFAULT_PREFIX
from assay.surfaces.http.forja_document import ENDPOINTS
from assay.trust.signal import AgentRegistered, SignalKind, TrustSignal
from tests.acting_truth import record_signal, register_policy
from tests.flows._delivery import RULE, SLUG
from tests.flows._node import TENANT
from tests.flows._truth import POLICY
from tests.registry.codex import make_manifest
from tests.surfaces.http.v1._whole import Whole, opened_whole

_OTHER = TenantId("other")
_BOB = "user:bob"
# What the manifest of the tests is called.
_SERVICE = "portwatch-backend"
# Of the moment that ends a truth key.
_YEAR = re.compile(r"\d{4}(?=-\d\d-\d\dT)")
_NAMES = re.compile(r"\{(\w+)\}")
# What a node says of itself, whoever asks; it holds nothing of any tenant but figures.
_OF_THE_NODE = {
    *("/healthz", "/readyz", "/openapi.json", "/api/health", "/api/v2/pramana/state", "/metrics"),
    *("/api/v1/health", "/api/v1/pramana-state"),
    # As a service, and as the registry of its own tenant's services (Forja): for everybody, without a credential.
    *(one.path for one in ENDPOINTS if one.is_open and "{" not in one.path),
}
_STREAMS = {"/api/v1/events", "/api/v2/pramana/sense/events", "/api/v2/forja/fleet/watch"}
# A name that the caller chooses: what is put there is the caller's own, and no other tenant's.
_OWN_NAMES = {
    *(("PUT", "/api/v1/desk/views/{name}"), ("DELETE", "/api/v1/desk/views/{name}")),
    ("POST", "/api/v1/services/{service_id}/keys"),
    # Under any name there is a switch of the caller's own tenant, which has not fired.
    *(("GET", "/api/v1/services/{service_id}/switch"), ("POST", "/api/v1/services/{service_id}/firings")),
    # Signals name agents that need not be known, and go into the caller's own log.
    *(("POST", "/api/v1/agents/{agent_id}/roles"), ("POST", "/api/v1/agents/{agent_id}/endorsements")),
    ("POST", "/api/v1/states/{key}/disputes"),
}
# Nobody is asked anything about that key now, the ticket is about a bundle, and no model of the tests writes receipts.
_UNASKED = {
    "/api/v1/states/{key}/question",
    "/api/v1/tickets/{ticket_id}/verdict",
    "/api/v1/verdicts/{sequence}/receipt",
}
# No secret of a tenant: open to everybody, without a credential.
_OPEN = {
    # Says the same of every name.
    "/api/v2/pramana/state/{entity_id}",
    # The weights that ship with the node, which every tenant's records are judged by.
    *("/api/v1/models/{weights}", "/api/v1/models/{weights}/activate"),
    # The registry of the services of the node's own tenant (Forja): for everybody who looks for a service.
    *("/api/v2/forja/services/{service_id}", "/api/v2/forja/services/{service_id}/explain"),
}


@dataclass
class _Two:
    """A node with everything in one tenant, and a person of another tenant who may do everything there."""

    whole: Whole
    stranger: str
    things: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, credential: str, body: object = None) -> httpx.Response:
        headers = {"authorization": f"Bearer {credential}"}
        return self.whole.client.request(method, path, json={} if body is None else body, headers=headers)

    def operations(self) -> list[tuple[str, str]]:
        document = self.whole.client.get("/openapi.json").json()
        return [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]

    def example(self, method: str, path: str) -> object:
        """The body of the description: an empty one is refused before anything is looked up."""
        described = self.whole.client.get("/openapi.json").json()["paths"][path][method.lower()]
        return described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")

    def made(self, path: str) -> str:
        """The path with the things of the first tenant in it."""
        return _NAMES.sub(lambda name: self.things[name[1]], path)

    def absent(self, path: str) -> str:
        """The same with names of the same form that nothing has."""
        kept = {"level"}
        return _NAMES.sub(lambda name: (str if name[1] in kept else _never)(self.things[name[1]]), path)


def _never(name: str) -> str:
    """Another name of the same form: each digit becomes another one, and a number stays beyond what there is."""
    start, _, width = name.rpartition(".p/")
    if start:
        return f"{start}.p/{int(width) + 1}"
    if name.isdigit():
        return str(int(name) + 1000)
    if _YEAR.search(name):
        return _YEAR.sub(lambda year: f"{int(year[0]) + 1:04}", name)
    if name.startswith("sha256:"):
        return "sha256:" + _never("x" + name.removeprefix("sha256:"))[1:]
    turned = name.translate(str.maketrans("0123456789", "1234567890"))
    return turned if turned != name else name.replace("a", "e").replace("o", "u")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Two]:
    with opened_whole(tmp_path_factory.mktemp("two")) as whole:
        granted: dict[str, Any] = {
            "roles": tuple(str(role) for role in BuiltInRole),
            "trust_mask": MASK_MAX,
            "action_tier": 3,
            "risk_ceiling": RiskTier.PRIVILEGE,
        }
        whole.desk.add(_BOB, tenant=_OTHER, **granted)
        two = _Two(whole, whole.desk.session(_BOB, tenant=_OTHER))
        two.things = _make(whole)
        # A policy of its own, so that what is asked about agents is looked up at all.
        own = POLICY.replace("id: flow_v1\n", "id: other_v1\n")
        register_policy(whole.tools, own, credential=two.stranger, at=whole.desk.start)
        yield two


def _make(whole: Whole) -> dict[str, str]:
    """One thing at least for every name in a path; what they are called stands in no other tenant."""
    observed = whole.post("/api/v1/observations", whole.observation(7001), "sensor").json()
    whole.post(f"/api/v1/states/{observed['truthkey']}/compile", None)
    judged = whole.post("/api/v1/telemetry", whole.record("t-7001"), "sensor").json()
    waiting = whole.post("/api/v1/claims", whole.bundle(tier=RiskTier.DELETE), "agent").json()
    answered = whole.post("/api/v1/answers", whole.question(), "amira").json()
    whole.post("/api/v1/outcomes", whole.outcome(answer_id=answered["answer_id"]), "bell")
    whole.delivery.fail(session_id="s-7001")
    item = whole.delivery.counters().item_id
    assert item is not None
    whole.clock.at = whole.desk.at(minutes=6)
    whole.desk.add("user:root", roles=("admin",))
    signal = TrustSignal(
        signal_id="agent_registered.7001",
        kind=SignalKind.AGENT_REGISTERED,
        agent_id="user:root",
        occurred_at=whole.clock.now(),
        object=AgentRegistered(agent_id="service:sensor"),
    )
    record_signal(whole.tools, signal, credential=whole.desk.session("user:root"), at=whole.clock.now())
    head = whole.post("/api/v1/entries", {"note": {"text": "zebra"}}).json()["sequence_number"]
    sign_checkpoint(whole.tools, TENANT, at=whole.clock.now())
    webhook = whole.post("/api/v1/webhooks", {"url": "https://example.org/7001"}, "omar").json()["webhook"]
    whole.post("/api/v1/peers", {"peer": "harbour", "rules": [], "strands": []})
    graph = whole.get("/api/v1/graphs/active").json()
    kept = whole.post("/api/v1/evidence", b"secret 7001", "agent", content_type="application/octet-stream").json()
    call = '{"arguments":{"id":7001},"audience":"ai:surveyor","tool":"delete_record"}'
    published = {**whole.bundle(7001, RiskTier.MODIFY), "tool_arguments": [call]}
    gated = whole.post("/api/v1/claims", published, "agent").json()
    permit = whole.post("/api/v1/permits", {"bundle_hash": gated["bundle_hash"]}, "agent").json()["permit"]
    terms = {"agent": "ai:surveyor", "tool": "purge", "audience": "ai:surveyor", "tier": "DELETE", "purpose": "old"}
    limits = [{"argument": "id", "minimum": "1", "maximum": "9"}]
    mandate = {**terms, "count": 1, "expires_at": whole.later(hours=1), "limits": limits}
    made = whole.post("/api/v1/mandates", mandate, "agent").json()
    signature = {"choice": "sign", "seen": made["shown_hash"], "reason": "few"}
    whole.post(f"/api/v1/tickets/{made['ticket_id']}/answers", signature, "otto")
    # The second plan reveals the seed of the first, which can be checked from then on.
    planned, _ = (whole.post("/api/v1/sample-plans", {"rates": {"MODIFY": 0.1}}, "omar").json() for _ in range(2))
    return {
        "plan_id": planned["plan"]["id"],
        "mandate_id": made["mandate_id"],
        "after": graph["document_hash"],
        "graph": graph["document_hash"],
        "before": graph["document_hash"],
        "content_hash": graph["content_hash"],
        "evidence_hash": kept["evidence_hash"],
        "permit_id": permit["permit_id"],
        "transcript_ref": judged["verdicts"][0]["envelope"]["transcript_ref"],
        "level": "0",
        "place": f"000.p/{head}",
        "sequence": str(judged["verdicts"][0]["sequence_number"]),
        "size": str(head),
        "claim_type": "earth.flood.v1",
        "key": observed["truthkey"],
        "agent_id": "service:sensor",
        "bundle_hash": waiting["bundle_hash"],
        "ticket_id": waiting["tickets"][0]["ticket_id"],
        "user_id": "user:amira",
        "principal_id": "user:amira",
        "answer_id": answered["answer_id"],
        "id": answered["answer_id"],
        "rule_id": RULE,
        "item_id": item,
        "observation_id": "obs-7001",
        "observation_hash": observed["observation_hash"],
        "policy_id": "flow_v1",
        "telemetry_id": "t-7001",
        "document_hash": graph["document_hash"],
        "key_id": _announce(whole),
        "prefix": whole.get("/api/v1/keys?principal_id=service:sensor").json()["items"][0]["prefix"],
        "service_id": _SERVICE,
        "webhook_id": webhook["webhook_id"],
        "peer": "harbour",
        "session": "session:s-7001",
    }


def _announce(whole: Whole) -> str:
    """A service with a key that vouches for it, and that is a principal's too; returns the id of the key."""
    signer = KeyFileSigner(Ed25519PrivateKey.from_private_bytes(b"7" * 32))
    assert signer.public_key is not None
    public = {"public_key": signer.public_key.hex()}
    for path, by in (("principals/service:nobody/public-keys", "ada"), (f"services/{_SERVICE}/keys", "omar")):
        assert whole.post(f"/api/v1/{path}", public, by).json()["key_id"] == signer.key_id
    at = whole.clock.now()
    told = draft_announce(
        make_manifest(), AnnounceEvent.ANNOUNCE, base_url="http://127.0.0.1:1", instance_id="i1", sequence=1, at=at
    )
    message = sign_announce(told, key_id=signer.key_id, sign=signer.sign)
    policy = AnnouncePolicy()
    receive_announce(whole.tools, TENANT, message, origin=Origin.REMOTE, policy=policy, at=at, address="127.0.0.1")
    return signer.key_id


def _with_id(two: _Two, *methods: str) -> list[tuple[str, str]]:
    return [
        (method, path)
        for method, path in two.operations()
        if "{" in path and path not in _OPEN and (method, path) not in _OWN_NAMES and (not methods or method in methods)
    ]


def test_every_name_in_a_path_has_a_thing(two: _Two) -> None:
    """A new route with another kind of name has to be given one here, or a reason why not."""
    named = {name for _, path in _with_id(two) for name in _NAMES.findall(path)}
    assert named <= two.things.keys(), sorted(named - two.things.keys())
    assert {path for _, path in two.operations()} >= _OPEN


def test_each_thing_is_there_for_somebody_of_its_own_tenant(two: _Two) -> None:
    """Otherwise nothing below would prove anything."""
    for method, path in _with_id(two, "GET"):
        if path in _UNASKED:
            continue
        found = {two.ask(method, two.made(path), key).status_code for key in two.whole.keys.values()}
        assert 200 in found, (path, found)


def test_whoever_is_of_another_tenant_is_told_that_it_is_not_there(two: _Two) -> None:
    """404 for every route that reads, or a page with nothing: never it, and never a 403 that would give it away."""
    for method, path in _with_id(two, "GET"):
        answer = two.ask(method, two.made(path), two.stranger)
        is_empty_page = answer.status_code == 200 and answer.json() == {"items": [], "next": None}
        # Forja's door is that of one tenant's services: nobody of another is anybody there.
        gone = 401 if path.startswith(DEFAULT_PREFIX) else 404
        assert answer.status_code == gone or is_empty_page, (path, answer.text)


def test_what_is_there_elsewhere_looks_like_what_never_was(two: _Two) -> None:
    """Every method: same status, same code, same words but for the name; so that not even trying tells anything."""
    for method, path in _with_id(two):
        body = two.example(method, path)
        made = two.ask(method, two.made(path), two.stranger, body)
        absent = two.ask(method, two.absent(path), two.stranger, body)
        assert made.json().get("code") != "http.fields", (method, path, made.text)
        assert method == "GET" or not made.is_success, (method, path, made.text)
        assert made.status_code == absent.status_code, (method, path, made.text, absent.text)
        assert made.json().get("code") == absent.json().get("code"), (method, path)


def test_no_list_shows_anything_of_another_tenant(two: _Two) -> None:
    """Every route that reads without a name, as that person sees it; the first tenant's own people see theirs."""
    marks = {
        *(two.things[name] for name in ("key", "bundle_hash", "ticket_id", "answer_id", "item_id", "document_hash")),
        *(two.things[name] for name in ("webhook_id", "key_id", "session", "service_id", "peer")),
        *("obs-7001", "t-7001", "zebra", "user:amira", "service:sensor", RULE, SLUG),
    }
    paths = [path for method, path in two.operations() if method == "GET" and "{" not in path]
    shown: set[str] = set()
    for path in sorted(set(paths) - _OF_THE_NODE - _STREAMS):
        answer = two.ask("GET", path, two.stranger)
        assert answer.status_code < 500, (path, answer.text)
        assert not {mark for mark in marks if mark in answer.text}, path
        for key in two.whole.keys.values():
            text = two.ask("GET", path, key).text
            shown |= {mark for mark in marks if mark in text}
    assert shown == marks


def test_a_credential_of_another_tenant_changes_nothing_here(two: _Two) -> None:
    """Whatever was asked above by the person of the other tenant, this tenant's ledger did not grow by it."""
    before = two.whole.entries()
    for method, path in _with_id(two, "POST", "PUT", "DELETE"):
        two.ask(method, two.made(path), two.stranger, two.example(method, path))
    assert two.whole.entries() == before


def test_a_key_for_a_service_of_the_same_name_vouches_in_its_own_tenant_alone(two: _Two) -> None:
    """Both tenants have a service `berths`: each lists its own key, and revokes no other."""
    path = "/api/v1/services/berths/keys"
    here, there = (
        KeyFileSigner(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)).public_key for number in (1, 2)
    )
    assert here is not None
    assert there is not None
    mine = two.ask("POST", path, two.whole.keys["omar"], {"public_key": here.hex()}).json()
    other = two.ask("POST", path, two.stranger, {"public_key": there.hex()}).json()
    for credential, key in ((two.whole.keys["omar"], mine), (two.stranger, other)):
        assert [one["key"] for one in two.ask("GET", path, credential).json()["items"]] == [key]
    revoke = f"{path}/{mine['key_id']}/revoke"
    assert two.ask("POST", revoke, two.stranger, {"reason": "stolen"}).status_code == 404
    assert two.ask("GET", path, two.whole.keys["omar"]).json()["items"][0]["revoked"] is None
