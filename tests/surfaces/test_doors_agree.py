"""Whether two doors to one operation ask the same of a caller: role, scope, bit, tier, session.

What routes, tools and pages declare is compared as declared. Rules inside handlers are compared by calling the doors as
callers of different standing: without a role, with each role alone, with a narrow scope, in a session.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

import assay
from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError
from assay.flows.review.open_approval import OpenTicket, open_ticket
from assay.identity.access import Needs
from assay.identity.errors import IdentityError
from assay.identity.principal import BuiltInRole, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.node import Node
from assay.operations.table import BY_NAME
from assay.registry.action import Tier
from assay.registry.permission import mask_of
from assay.surfaces.console.app import create_console
from assay.surfaces.http.guard import SEE_ALL
from assay.surfaces.mcp.call import Toolbox
from tests.acting import caller_of, issue_api_key
from tests.flows._node import TENANT
from tests.flows._people import ADMIN
from tests.raising import is_of, raises
from tests.surfaces.cli._desk import Shell, opened_shell
from tests.surfaces.http.v1._whole import Whole, opened_whole

_BITS = ("READ", "AI_READ", "QUERY", "AI_QUERY", "WRITE", "AI_EXECUTE")
_NO_ROLE, _NARROW = "no role", "narrow scope"
_ROLES = tuple(sorted(map(str, BuiltInRole)))
_CALLERS = (_NO_ROLE, *_ROLES, _NARROW)

# Routes of one operation; the first is that of `/api/v1` where there is one.
_SAME_ROUTES = (
    ("GET /api/v1/contracts", "GET /api/v1/contracts/{claim_type}", "GET /api/v1/contracts/{claim_type}/form"),
    ("GET /api/v1/observations", "GET /observations"),
    ("POST /api/v1/observations", "POST /observations", "POST /api/v1/observations:bulk"),
    ("GET /api/v1/states/{key}", "GET /truthstates/{key}"),
    ("GET /api/v1/states/{key}/versions", "GET /truthstates/{key}/history"),
    ("GET /api/v1/states", "GET /api/v1/truth-map"),
    ("POST /api/v1/states/{key}/compile", "POST /api/v1/states:compile"),
    ("POST /api/v1/votes", "POST /votes"),
    ("GET /api/v1/agents/{agent_id}", "GET /agents/{agent_id}"),
    ("GET /api/v1/trust-snapshot", "GET /trust-snapshot"),
    ("GET /api/v1/signals", "GET /signals"),
    ("POST /api/v1/signals", "POST /signals"),
    ("POST /api/v1/states:verify", "POST /verify"),
    ("POST /api/v1/telemetry", "POST /api/evaluate", "POST /api/v1/telemetry:bulk"),
    ("GET /api/v1/verdicts", "GET /api/verdicts", "GET /api/v1/verdicts/{sequence}"),
    ("POST /api/v1/graphs", "POST /api/kg/load"),
    ("GET /api/v1/graphs/{graph}", "GET /api/v1/graphs", "GET /api/v1/graphs/active"),
    ("GET /api/v1/agreement", "GET /api/canary"),
    ("GET /api/v1/sovereignty", "GET /api/sovereignty"),
    ("POST /api/v1/answers", "POST /api/v2/pramana/query"),
    ("POST /api/v1/answers/{answer_id}/resume", "POST /api/v2/pramana/query/{answer_id}/resume"),
    ("POST /api/v1/outcomes", "POST /api/v2/pramana/phala", "POST /api/v1/outcomes:bulk"),
    ("GET /api/v1/events", "GET /api/v2/pramana/sense/events"),
    ("GET /api/v1/entries/{sequence}", "GET /api/v1/entries/{sequence}/text", "GET /api/v1/entries"),
    # C2SP tlog-tiles: everybody who verifies needs the tree. It has hashes and signatures, and no content, so every
    # principal of the tenant may read it; the credential still needs the scope.
    (
        "GET /api/v1/checkpoints/{size}",
        "GET /log/checkpoint",
        "GET /log/tile/{level}/{place}",
        "GET /api/v1/checkpoints",
    ),
)
# Pages of the console, and the route that does the same.
_PAGES = {
    "GET /review": "GET /api/v1/desk/queue",
    "GET /review/{ticket_id}": "GET /api/v1/tickets/{ticket_id}/desk",
    "POST /review/{ticket_id}": "POST /api/v1/tickets/{ticket_id}/answers",
    "POST /review/{ticket_id}/acts": "POST /api/v1/tickets/{ticket_id}/claim",
    "POST /review/{ticket_id}/draft": "PUT /api/v1/tickets/{ticket_id}/draft",
    "POST /desk/bulk/plan": "POST /api/v1/desk/bulk/plan",
    "POST /desk/bulk": "POST /api/v1/desk/bulk",
    "POST /desk/views": "PUT /api/v1/desk/views/{name}",
    "POST /desk/views/forget": "DELETE /api/v1/desk/views/{name}",
    "GET /desk/progress": "GET /api/v1/desk/progress",
    "GET /decisions": "GET /api/v1/verdicts",
    "GET /decisions/{number}": "GET /api/v1/verdicts/{sequence}",
    "GET /proofs/{number}": "GET /api/v1/proofs/{sequence}",
    "GET /truth": "GET /api/v1/states",
    "GET /truth/map.json": "GET /api/v1/truth-map",
    "GET /truth/state": "GET /api/v1/states/{key}",
    "GET /claims": "GET /api/v1/claims",
    "GET /claims/{bundle_hash}": "GET /api/v1/claims/{bundle_hash}",
    "GET /rules": "GET /api/v1/rules",
    "GET /rules/{rule_id}": "GET /api/v1/rules/{rule_id}",
    "GET /services": "GET /api/v1/services",
    "GET /ledger": "GET /api/v1/entries",
    "GET /ledger/{number}": "GET /api/v1/entries/{sequence}",
    "GET /report/file": "GET /api/v1/reports",
    "GET /events": "GET /api/v1/events",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    with opened_whole(tmp_path_factory.mktemp("doors")) as made:
        for name in _CALLERS:
            roles = (name,) if name in _ROLES else ("auditor", "operator", "admin") if name == _NARROW else ()
            made.keys[name] = _joined(made, f"service:{name.replace(' ', '-').replace('_', '-')}", roles, name)
        yield made


def _joined(whole: Whole, name: str, roles: tuple[str, ...], label: str) -> str:
    whole.desk.add(name, kind=PrincipalKind.SERVICE, roles=roles, trust_mask=mask_of(_BITS), action_tier=int(Tier.FULL))
    scopes = ("nothing:read",) if label == _NARROW else ("*",)
    text, _ = issue_api_key(whole.tools, TENANT, PrincipalId(name), scopes=scopes, by=ADMIN, at=whole.desk.start)
    return text


@pytest.fixture(scope="module")
def routes(whole: Whole) -> Mapping[str, Needs]:
    return {
        f"{method} {re.sub(r':[a-z]+}', '}', route.path)}": handler.opt["operation"].needs
        for route in whole.client.app.routes
        for handler in getattr(route, "route_handlers", ())
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
        if handler.opt.get("operation") is not None
    }


@pytest.fixture(scope="module")
def pages(whole: Whole) -> Mapping[str, Mapping[str, object]]:
    app = create_console(whole.client.app.state.desk)
    return {
        f"{method} {route.path_format}": handler.opt
        for route in app.routes
        for handler in getattr(route, "route_handlers", ())
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
    }


@pytest.mark.parametrize("same", _SAME_ROUTES, ids=lambda same: same[0])
def test_routes_of_one_operation_ask_for_the_same(routes: Mapping[str, Needs], same: tuple[str, ...]) -> None:
    first, *others = same
    assert {name: routes[name] for name in others} == dict.fromkeys(others, routes[first])


@pytest.mark.parametrize("page", sorted(_PAGES))
def test_a_page_is_open_to_nobody_whom_its_route_refuses(
    routes: Mapping[str, Needs], pages: Mapping[str, Mapping[str, object]], page: str
) -> None:
    """A session has every scope, and the guard of the console lets nobody else in."""
    opt, needs = pages[page], routes[_PAGES[page]]
    assert not opt.get("open")
    asked = BY_NAME[str(opt["operation"])].needs
    assert (asked.roles, asked.session) == (needs.roles, needs.session)


Ask = Callable[[Whole, str], bool]


def _get(path: str, whole: Whole, caller: str) -> bool:
    """Whether the route lets the caller in; that nothing is there is told only to those who may ask."""
    status = whole.get(path, caller).status_code
    assert status in {200, 403}, (path, caller, status)
    return status == 200


def _tool(name: str, arguments: dict[str, object], whole: Whole, caller: str) -> bool:
    called = Toolbox(whole.tools).call(whole.keys[caller], name, arguments)
    assert not called.is_error or called.value["error"]["code"] in {"identity.role", "identity.scope"}, called.text
    return not called.is_error


# One reading operation through each of its doors, really called.
_READS: Mapping[str, tuple[Ask, ...]] = {
    "coverage": (partial(_get, "/api/v1/coverage"), partial(_tool, "coverage", {})),
    "newest checkpoint": (partial(_get, "/log/checkpoint"), partial(_get, "/api/v1/checkpoints/latest")),
    "checkpoints": (partial(_get, "/log/tile/0/000.p/1"), partial(_get, "/api/v1/checkpoints")),
    "entry": (partial(_get, "/api/v1/entries/1/text"), partial(_get, "/api/v1/entries/1")),
    "agreement": (partial(_get, "/api/canary"), partial(_get, "/api/v1/agreement")),
    "services": (partial(_get, "/api/v1/services"), partial(_tool, "who_can", {"bits": ["READ"]})),
}


@pytest.mark.parametrize("caller", _CALLERS)
@pytest.mark.parametrize("operation", sorted(_READS))
def test_doors_let_the_same_callers_read(whole: Whole, operation: str, caller: str) -> None:
    found = [ask(whole, caller) for ask in _READS[operation]]
    assert len(set(found)) == 1, found


def test_the_standings_differ(whole: Whole) -> None:
    """Otherwise the comparison above would show nothing."""
    allowed = {name: {one for one in _CALLERS if asks[0](whole, one)} for name, asks in _READS.items()}
    everybody = set(_CALLERS) - {_NARROW}
    assert allowed["coverage"] == {"auditor", "operator", "reviewer"}
    assert allowed["newest checkpoint"] == allowed["checkpoints"] == everybody
    assert allowed["entry"] == {"auditor", "operator"}
    assert allowed["services"] == allowed["agreement"] == everybody


# Rules about single records, which only the handlers know.


@pytest.fixture(scope="module")
def ticket_id(whole: Whole) -> str:
    """A ticket that only the operations team may answer."""
    asked = OpenTicket(title="empty the tank", shown={"tank": 4}, eligible_roles=("ops_team",))
    caller = caller_of(whole.tools, whole.keys["omar"], at=whole.clock.now())
    ticket = open_ticket(whole.tools, caller, asked).value
    return ticket.id


@pytest.fixture(scope="module")
def bundle_hash(whole: Whole) -> str:
    answered = whole.post("/api/v1/claims", whole.bundle(), "agent")
    assert answered.status_code == 201, answered.text
    return str(answered.json()["bundle_hash"])


@pytest.fixture(scope="module")
def node(whole: Whole) -> Iterator[Node]:
    """The same node as a program opens it, beside the server."""
    with assay.open(whole.folder / "node", read_only=True) as opened:
        yield opened


def _is_let(work: Callable[[], object]) -> bool:
    try:
        work()
    except (NotFoundError, IdentityError) as refused:
        if not isinstance(refused, NotFoundError) and not is_of(refused, IdentityError.role):
            raise
        return False
    return True


_READERS_OF_TICKET = {"admin", "auditor", "operator", "ops_team"}


@pytest.mark.parametrize("caller", [_NO_ROLE, *_ROLES])
def test_a_ticket_is_shown_to_the_same_callers(whole: Whole, node: Node, ticket_id: str, caller: str) -> None:
    key = whole.keys[caller]
    listed = whole.get("/api/v1/tickets", caller).json()["items"]
    queue = whole.get("/api/v1/desk/queue", caller).json()["items"]
    found = {
        "v1": whole.get(f"/api/v1/tickets/{ticket_id}", caller).status_code == 200,
        "v1 list": ticket_id in {one["ticket"]["id"] for one in listed},
        "desk": whole.get(f"/api/v1/tickets/{ticket_id}/desk", caller).status_code == 200,
        "timeline": whole.get(f"/api/v1/tickets/{ticket_id}/timeline", caller).status_code == 200,
        "queue": ticket_id in str(queue),
        "node": _is_let(lambda: node.acting(key).ticket(ticket_id)),
        "node list": ticket_id in {one.ticket.id for one in list(node.acting(key).tickets())},
    }
    assert found == dict.fromkeys(found, caller in _READERS_OF_TICKET)


@pytest.mark.parametrize("caller", ["agent", "walker", _NO_ROLE, *_ROLES])
def test_a_bundle_is_shown_to_the_same_callers(whole: Whole, node: Node, bundle_hash: str, caller: str) -> None:
    key, sees_all = whole.keys[caller], {"agent", *map(str, SEE_ALL)}
    shown = {
        "v1": whole.get(f"/api/v1/claims/{bundle_hash}", caller).status_code == 200,
        "node": _is_let(lambda: node.acting(key).claim(bundle_hash)),
    }
    # The teams are asked about single bundles, and are not told of all of them.
    assert shown == dict.fromkeys(shown, caller in {*sees_all, "ops_team", "security_team"})
    listed = {
        "v1": bundle_hash in whole.get("/api/v1/claims", caller).text,
        "node": bundle_hash in {one.bundle_hash for one in node.acting(key).claims()},
    }
    assert listed == dict.fromkeys(listed, caller in sees_all)
    others = {
        "v1": whole.get("/api/v1/claims?agent=ai:surveyor", caller).status_code == 200,
        "node": _is_let(lambda: list(node.acting(key).claims(agent="ai:surveyor"))),
    }
    assert others == dict.fromkeys(others, caller in sees_all)


_TRUST = ("/api/v1/principals/service:bell", "/api/v2/pramana/trust/service:bell", "/api/v2/forja/trust/service:bell")


@pytest.mark.parametrize("caller", _CALLERS)
def test_the_grants_of_another_are_shown_to_the_same_callers(whole: Whole, caller: str) -> None:
    """Forja has a scope of its own, and tells nobody that there is something they may not see."""
    found = {path: whole.get(path, caller).status_code == 200 for path in _TRUST}
    assert found == dict.fromkeys(found, caller in {"admin", "auditor", "operator"})


def test_one_may_always_read_ones_own_trust(whole: Whole) -> None:
    for path in ("/whoami", "/api/v2/pramana/trust/service:narrow-scope"):
        assert whole.get(path, _NARROW).status_code == 200


# The command line: without a credential it is the operator of the folder, who holds every key of the node anyway. With
# one it asks what the route asks.
_ADMINISTERING = (
    ("principal", "add", "user:new", "--kind", "person", "--name", "New"),
    ("principal", "amend", "user:rita", "--name", "Rita"),
    ("principal", "disable", "user:rita"),
    ("principal", "key", "issue", "user:ada"),
    ("principal", "key", "rotate", "PREFIX", "--overlap", "1h"),
    ("principal", "key", "revoke", "PREFIX", "--reason", "lost"),
    ("principal", "tier", "request", "user:rita", "1", "--reason", "asked"),
)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    made = opened_shell(tmp_path, monkeypatch, capsys)
    made.person("user:rita", "reviewer")
    made.person("user:ada", "admin")
    return made


@pytest.mark.parametrize("command", _ADMINISTERING, ids=lambda command: " ".join(command[:3]))
def test_the_command_line_asks_for_role_and_session_as_the_route_does(shell: Shell, command: tuple[str, ...]) -> None:
    """`POST /api/v1/principals…` and `keys…` need an administrator in a session."""
    key = shell("principal", "key", "issue", "user:ada", "--json").json["api_key"]
    prefix = key.partition(".")[0]
    words = [prefix if word == "PREFIX" else word for word in command]
    for credential, code in ((shell.login("user:rita"), "identity.role"), (key, "identity.session_required")):
        done = shell(*words, "--json", session=credential)
        assert (done.code, done.json["error"]["code"]) == (1, code), done.out
    assert shell(*words, "--json", session=shell.login("user:ada")).code == 0


# A method of the embedded node, called with a credential, and the route that does the same.
_DIGEST = "sha256:" + "ab" * 32
_METHODS: Mapping[str, tuple[Callable[[Node, str], object], str]] = {
    "release_contract": (lambda node, key: node.acting(key).release_contract(""), "POST /api/v1/contracts"),
    "observe": (lambda node, key: node.acting(key).observe({}), "POST /api/v1/observations"),
    "observe_many": (
        lambda node, key: list(node.acting(key).observe_many([b"{}"])),
        "POST /api/v1/observations:bulk",
    ),
    "change_window": (
        lambda node, key: node.acting(key).change_window("k", "open"),
        "POST /api/v1/windows",
    ),
    "vote": (lambda node, key: node.acting(key).vote("k", "RATIFY", seen=_DIGEST), "POST /votes"),
    "signal": (lambda node, key: node.acting(key).signal({}), "POST /signals"),
    "register_policy": (lambda node, key: node.acting(key).register_policy(""), "POST /api/v1/policies"),
    "request_penalty": (
        lambda node, key: node.acting(key).request_penalty("ai:x", points=1, reason="r"),
        "POST /api/v1/penalties",
    ),
    "load_graph": (lambda node, key: node.acting(key).load_graph(b""), "POST /api/v1/graphs"),
    "gate": (lambda node, key: node.acting(key).gate({}), "POST /api/v1/claims"),
    "resume_claim": (
        lambda node, key: node.acting(key).resume_claim(_DIGEST),
        "POST /api/v1/claims/{bundle_hash}/resume",
    ),
    "claim": (lambda node, key: node.acting(key).claim(_DIGEST), "GET /api/v1/claims/{bundle_hash}"),
    "claims": (lambda node, key: list(node.acting(key).claims()), "GET /api/v1/claims"),
    "attach_evidence": (lambda node, key: node.acting(key).attach_evidence(b"e"), "POST /api/v1/evidence"),
    "release_gate_policy": (lambda node, key: node.acting(key).release_gate_policy("x"), "POST /api/v1/gate-policies"),
    "ask": (lambda node, key: node.acting(key).ask("q"), "POST /api/v1/answers"),
    "resume_answer": (
        lambda node, key: node.acting(key).resume_answer("a"),
        "POST /api/v1/answers/{answer_id}/resume",
    ),
    "outcome": (lambda node, key: node.acting(key).outcome({}), "POST /api/v1/outcomes"),
    "root_causes": (lambda node, key: list(node.acting(key).root_causes()), "GET /api/v1/root-causes"),
    "root_cause": (lambda node, key: node.acting(key).root_cause("i"), "GET /api/v1/root-causes/{item_id}"),
    "training_pairs": (lambda node, key: node.acting(key).training_pairs(), "GET /api/v1/pairs"),
    "tickets": (lambda node, key: list(node.acting(key).tickets()), "GET /api/v1/tickets"),
    "queue": (lambda node, key: list(node.acting(key).queue()), "GET /api/v1/desk/queue"),
    "progress": (lambda node, key: list(node.acting(key).progress()), "GET /api/v1/desk/progress"),
    "views": (lambda node, key: list(node.acting(key).views()), "GET /api/v1/desk/views"),
    "drop_view": (lambda node, key: node.acting(key).drop_view("v"), "DELETE /api/v1/desk/views/{name}"),
}


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, str, str]]:
    """A node with a principal of every role, its key for nothing, and the key of one without a role."""
    with assay.open(tmp_path_factory.mktemp("embedded") / "node", create=True) as opened:
        opened.add_principal("service:all", kind="service", roles=_ROLES)
        opened.add_principal("service:none", kind="service")
        narrow = opened.issue_key("service:all", scopes=("nothing:read",))
        yield opened, str(narrow.api_key), str(opened.issue_key("service:none").api_key)


@pytest.mark.parametrize("method", sorted(_METHODS))
def test_the_embedded_node_asks_for_the_scope_of_the_route(
    routes: Mapping[str, Needs], writable: tuple[Node, str, str], method: str
) -> None:
    node, narrow, _ = writable
    call, route = _METHODS[method]
    with raises(IdentityFlowError.scope, match=f"`{routes[route].scope}`"):
        call(node, narrow)


@pytest.mark.parametrize("method", ["root_causes", "root_cause", "training_pairs"])
def test_the_embedded_node_asks_for_the_role_of_the_route(writable: tuple[Node, str, str], method: str) -> None:
    node, _, without_role = writable
    with raises(IdentityError.role):
        _METHODS[method][0](node, without_role)


_CREDENTIAL_COMMANDS = {
    ("ask", "q"): "POST /api/v1/answers",
    ("outcome", "--answer", "a", "--outcome", "success"): "POST /api/v1/outcomes",
    ("claims", "gate", "-"): "POST /api/v1/claims",
    ("claims", "attach", "-"): "POST /api/v1/evidence",
    ("truth", "observe", "-"): "POST /api/v1/observations",
    ("truth", "window", "k", "close", "--reason", "r"): "POST /api/v1/windows",
    ("trust", "admit", "ai:x"): "POST /api/v1/agents",
    ("trust", "signal", "-"): "POST /signals",
    ("trust", "penalise", "ai:x", "--points", "1", "--reason", "r"): "POST /api/v1/penalties",
}


@pytest.mark.parametrize("command", sorted(_CREDENTIAL_COMMANDS), ids=lambda command: " ".join(command[:2]))
def test_the_command_line_asks_for_the_scope_of_the_route(
    routes: Mapping[str, Needs], shell: Shell, command: tuple[str, ...]
) -> None:
    key = shell("principal", "key", "issue", "user:ada", "--scope", "nothing:read", "--json").json["api_key"]
    done = shell(*command, "--credential", key, "--json", stdin="{}")
    assert done.refusal == (1, "identity.scope"), done.out
    assert f"`{routes[_CREDENTIAL_COMMANDS[command]].scope}`" in done.out


def test_the_routes_that_administer_need_a_session(routes: Mapping[str, Needs]) -> None:
    for name, needs in routes.items():
        if needs.scope == "identity:write":
            assert needs.session, name
            assert set(needs.roles or ()) <= {"admin", "operator"}, name
