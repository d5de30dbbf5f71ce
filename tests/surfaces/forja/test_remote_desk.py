"""A service attached to a node by its address and a key: nothing of the node's folder is within its reach."""

from pathlib import Path

import pytest

import assay
from assay.identity.principal import LOCAL_OPERATOR, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.registry.permission import mask_of
from assay.surfaces.forja.remote_desk import RemoteDesk
from assay.wiring import open_node
from tests.acting import add_principal, issue_api_key, log_in
from tests.registry.codex import codex
from tests.surfaces.forja._service import AGENT, House, make_app
from tests.surfaces.http.served import ACME, make_node, serving

_PASSWORD = "correct horse battery"
_MASK = mask_of(["READ", "WRITE", "ALERT_ACK"])


def _peopled(home: Path, service_id: str) -> dict[str, str]:
    """A node that knows the service, an agent and an operator; their credentials."""
    make_node(home)
    with open_node(home) as (tools, _):
        at = tools.clock.now()

        def add(name: str, kind: PrincipalKind, granted: PrincipalChange, password: str | None = None) -> PrincipalId:
            who = PrincipalId(name)
            add_principal(
                tools, ACME, who, kind=kind, name=name, granted=granted, password=password, by=LOCAL_OPERATOR, at=at
            )
            return who

        agent = add(AGENT, PrincipalKind.AGENT, PrincipalChange(trust_mask=_MASK, action_tier=2))
        service = add(f"service:{service_id}", PrincipalKind.SERVICE, PrincipalChange())
        olga = add("user:olga", PrincipalKind.PERSON, PrincipalChange(roles=("operator",)), _PASSWORD)
        return {
            "agent": issue_api_key(tools, ACME, agent, by=LOCAL_OPERATOR, at=at)[0],
            "service": issue_api_key(tools, ACME, service, by=LOCAL_OPERATOR, at=at)[0],
            "narrow": issue_api_key(tools, ACME, agent, scopes=("log:read",), by=LOCAL_OPERATOR, at=at)[0],
            "session": log_in(tools, ACME, olga, _PASSWORD, at=at)[0],
        }


@pytest.mark.clause("forja", "kill-switch")
def test_callers_are_known_a_firing_reaches_people_and_a_person_restores_it(tmp_path: Path) -> None:
    home, own = tmp_path / "node", tmp_path / "service"
    own.mkdir()
    (own / "codex.json").write_bytes(codex())
    service_id = _service_id(own)
    keys = _peopled(home, service_id)
    key, session = keys["agent"], keys["session"]
    with serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as served:
        done: list[str] = []
        app, bind = make_app("starlette", done)
        attached = assay.attach(app, own / "codex.json", node_url=served.url, node_key=keys["service"])
        bind(attached)
        house = House(agent=attached, desk=None, key=key, done=done)  # type: ignore[arg-type]  # people are at the node
        desk = attached.service.desk
        assert isinstance(desk, RemoteDesk)
        try:
            assert house.as_agent("POST", "/ack/a1").status_code == 200
            assert house.call("POST", "/ack/a2", headers={"x-api-key": keys["narrow"]}).status_code == 401
            assert house.call("POST", "/ack/a2", headers={"x-api-key": "ak_no.key"}).status_code == 401
            assert done == ["a1"]
            seen = house.call("GET", f"/api/v2/forja/trust/{AGENT}", headers={"authorization": f"Bearer {session}"})
            assert seen.status_code == 200, seen.text
            token = {"authorization": f"Bearer {session}"}
            fired = house.call("POST", "/api/v2/forja/trust/fire", headers=token, json={"reason": "drill"})
            assert fired.json() == {"fired": True, "episode": 1}
            attached.service.tick()
            assert [type(fact).__name__ for fact in desk.facts(service_id)] == ["Fired"]
            assert house.as_agent("POST", "/ack/a3").status_code == 403
            with assay.Client(served.url, key=session) as people:
                assert [one.ticket.kind for one in people.tickets()] == ["restore"]
            refused = house.call("POST", "/api/v2/forja/trust/restore", json={"human_session_token": key})
            assert refused.status_code == 401
            restored = house.call("POST", "/api/v2/forja/trust/restore", json={"human_session_token": session})
            assert restored.json() == {"restored": True, "episode": 1, "restored_by": ["user:olga"]}
            assert house.as_agent("POST", "/ack/a4").status_code == 200
            with assay.Client(served.url, key=session) as people:
                view = people.switch(service_id)
            assert (view.is_fired, view.episode, len(view.history)) == (False, 1, 2)
        finally:
            attached.stop()
            desk.close()


def _service_id(folder: Path) -> str:
    from assay.registry.open_manifest import open_manifest

    return str(open_manifest((folder / "codex.json").read_bytes()).manifest.service)
