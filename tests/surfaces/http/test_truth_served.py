"""Truth on a real server: agents report in lines, the house compiles, people vote, and a reader verifies."""

import json
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from assay.flows.tools import Tools
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, render_instant
from assay.trust.signal import AgentRegistered, RoleGranted, SignalBody, SignalKind, TrustSignal
from assay.wiring import open_node
from tests.acting import add_principal, log_in
from tests.acting_truth import record_signal, register_policy, release_contract
from tests.flows._people import PASSWORD
from tests.flows._truth import POLICY, critical_flood
from tests.surfaces.http.served import ACME, ADMIN, issue, make_node, run_cli, serving
from tests.truth.records import OBSERVATION, contract_text, hash_of_text, schema_bytes
from tests.waiting import until

_REPORTERS = ("sensor:1", "sensor:2", "sensor:3")
_VOTERS = ("user:eve", "user:fay", "user:gus")


def _know(tools: Tools, admin: str, name: str, *, role: str | None) -> None:
    """An agent that the log knows, with a role that gives it a standing class."""
    bodies: list[tuple[SignalKind, SignalBody]] = [(SignalKind.AGENT_REGISTERED, AgentRegistered(agent_id=name))]
    if role is not None:
        bodies.append((SignalKind.ROLE_GRANTED, RoleGranted(agent_id=name, role=role)))
    for kind, body in bodies:
        at, name_of_signal = tools.clock.now(), f"{kind.lower()}.{hash_of_text(name)[:16]}"
        signal = TrustSignal(signal_id=name_of_signal, kind=kind, agent_id="svc:admin", occurred_at=at, object=body)
        record_signal(tools, signal, credential=admin, at=at)


def _add_reviewer(tools: Tools, name: str) -> None:
    add_principal(
        tools,
        ACME,
        PrincipalId(name),
        kind=PrincipalKind.PERSON,
        name=name,
        granted=PrincipalChange(roles=("reviewer",)),
        password=PASSWORD,
        by=ADMIN,
        at=tools.clock.now(),
    )


class _Town:
    """A node with contracts, a policy, a relay, and people who vote; keys are made before it is served."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.operator = make_node(home, settings="")
        text = (home / "assay.toml").read_text()
        settings = "[node]\nscore_seconds = 1\ncompile_seconds = 1\ntruth_sweep_seconds = 1\n"
        (home / "assay.toml").write_text(text.replace("[node]\n", settings, 1))
        with open_node(home) as (tools, _):
            self.relay = issue(tools, "svc:relay", roles=("relay",))
            admin, now = issue(tools, "svc:admin", roles=("admin",)), tools.clock.now()
            for contract in (contract_text("flood_v1"), critical_flood()):
                release_contract(tools, contract, schema_bytes("flood_v1"), credential=self.operator, at=now)
            register_policy(tools, POLICY, credential=self.operator, at=now)
            for name in (*_REPORTERS, *_VOTERS):
                _know(tools, admin, name, role="official" if name in _VOTERS else None)
            for name in _VOTERS:
                _add_reviewer(tools, name)
            self.now = tools.clock.now()
            self.sessions = [log_in(tools, ACME, PrincipalId(name), PASSWORD, at=self.now)[0] for name in _VOTERS]

    def report(self, reporter: str, number: int = 0, **members: object) -> dict[str, object]:
        picture = {
            "uri": "gs://kaori-evidence/a.jpg",
            "sha256": hash_of_text(f"{reporter} {number}"),
            "mime_type": "image/jpeg",
        }
        return {
            **OBSERVATION,
            "observation_id": f"obs-{reporter.replace(':', '-')}-{number}",
            "reporter_id": reporter,
            "reported_at": render_instant(Instant(self.now.replace(microsecond=0) - timedelta(seconds=1))),
            "payload": {"severity": "high", "water_level_meters": 1.25},
            "evidence_refs": [picture],
            **members,
        }


@pytest.fixture
def town(tmp_path: Path) -> _Town:
    return _Town(tmp_path / "node")


def test_a_critical_flood_from_reports_to_votes_over_a_real_socket(town: _Town, tmp_path: Path) -> None:
    """Reported in lines, compiled by the house, asked of people, voted on in sessions, verified by a reader."""
    with (
        serving("serve", "--home", str(town.home), "--port", "0", folder=tmp_path) as served,
        httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client,
    ):
        relay, operator = {"x-api-key": town.relay}, {"x-api-key": town.operator}
        lines = [town.report(name, claim_type="earth.flood.v2") for name in _REPORTERS]
        body = "\n".join(json.dumps(line) for line in lines)
        answer = client.post("/observations", content=body, headers={**relay, "content-type": "application/x-ndjson"})
        key = json.loads(answer.text.splitlines()[0])["observed"]["truthkey"]
        path, question = f"/truthstates/{quote(key, safe='')}", f"/api/v1/states/{quote(key, safe='')}/question"
        until(lambda: client.get(path, headers=relay).status_code == 200, what="a state that nobody asked for")
        until(lambda: client.get(f"{question}", headers=operator).status_code == 200, what="a question")
        state = client.get(path, headers=relay).json()
        assert state["status"] == "PENDING_HUMAN_REVIEW"
        for token, vote_type in zip(town.sessions, ("RATIFY", "ABSTAIN", "OVERRIDE"), strict=True):
            asked = client.get(f"{question}", headers=operator).json()
            vote = {"truthkey": key, "vote_type": vote_type, "seen": asked["shown_hash"], "reason": "seen"}
            if vote_type == "OVERRIDE":
                vote["override_status"] = "VERIFIED_TRUE"
            voted = client.post("/votes", json=vote, headers={"authorization": f"Bearer {token}"})
            assert voted.status_code == 201, voted.text
        final = client.get(path, headers=relay)
        assert (final.json()["status"], final.json()["verification_basis"]) == ("VERIFIED_TRUE", "AUTHORITY_OVERRIDE")
        figures = client.get("/metrics", headers=operator).text
        assert 'assay_ai_scores_total{code="",stage="bouncer",tenant="acme"} 3.0' in figures
        finding = client.post("/verify", content=final.content, headers={**relay, "content-type": "application/json"})
        assert finding.json()["holds"] is True
        assert served.stop() == 0
    assert run_cli("ledger", "verify", "--home", str(town.home)).returncode == 0
