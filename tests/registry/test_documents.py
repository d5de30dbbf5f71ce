"""STATE, TRUST, SENSE and the cards say the same, since they come from one manifest."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from assay.identity.principal import PrincipalChange
from assay.kernel.ids import PrincipalId
from assay.registry.bits import ALERT_ACK, READ, WRITE
from assay.registry.cards import AgentCard, agent_card, mcp_card
from assay.registry.documents import (
    CodexState,
    SenseDocument,
    ServiceFigures,
    StateDocument,
    TrustDocument,
    codex_state_of,
    parse_document,
    render_document,
    sense_of,
    state_of,
    trust_of,
    user_trust_of,
)
from assay.registry.health import Totals
from assay.registry.open_manifest import open_manifest
from assay.registry.permission import make_schema
from assay.registry.trip import SenseFigures, Switch, SwitchRule, follow, pull
from tests.identity.people import NOON, make_principal
from tests.registry.codex import PORTWATCH, codex, make_manifest

_RULE = SwitchRule()
_SWITCH = Switch(service_id="portwatch-backend")
_FIGURES = ServiceFigures(
    totals=Totals(requests=100, errors=1), total_requests=400, agent_requests=100, uptime_seconds=9.5,
    self_escalation_attempts=3, stale_rules=1, conflicts=1,
)  # fmt: skip


@pytest.mark.clause("forja", "endpoints")
@pytest.mark.clause("forja", "codex")
def test_state_says_what_codex_json_says() -> None:
    """`can_answer` is in sync in both shapes."""
    manifest = open_manifest(PORTWATCH).manifest
    contract = json.loads(render_document(state_of(manifest)))
    flat = json.loads(render_document(codex_state_of(manifest)))
    source = json.loads(PORTWATCH)
    assert [one["id"] for one in contract["ai_surface"]["queryable"]] == flat["can_answer"] == source["can_answer"]
    assert (flat["can_do"], flat["emits"], flat["dependencies"]) == (
        source["can_do"], source["emits"], source["depends_on"],
    )  # fmt: skip
    assert list(contract) == ["forja_version", "identity", "capabilities", "knowledge", "dependencies", "ai_surface"]
    assert contract["identity"] == {
        "id": "portwatch-backend", "name": "portwatch-backend", "version": "1.2.0", "domain": "maritime-port",
        "owner": None,
    }  # fmt: skip
    assert contract["dependencies"][0] == {"service_id": "mari8x-backend", "health_impact": "degraded"}


def test_what_no_agent_may_run_is_shown_as_restricted() -> None:
    """A required tier of 0 would read as none."""
    surface = state_of(make_manifest()).ai_surface
    assert [one.id for one in surface.actionable] == ["ALERT_ACK"]
    assert {one.id: one.reason for one in surface.restricted} == {
        "MOVEMENT_AUTHORITY": "a harbour master's decision",
        "BERTH_ASSIGN": "tier 0: off for everyone (FRJ-005)",
    }


@pytest.mark.clause("forja", "endpoints")
def test_trust_lists_every_action_with_its_tier() -> None:
    document = json.loads(render_document(trust_of(make_manifest(), _RULE)))
    tiers = {one["action_id"]: one["tier"] for one in document["action_tiers"]}
    assert tiers == {
        "vessel.ukc-status": 1, "vessel.cpa-alert": 1, "berth.availability": 1, "MOVEMENT_AUTHORITY": 0, "ALERT_ACK": 2,
        "BERTH_ASSIGN": 0,
    }  # fmt: skip
    assert document["default_tier"] == 0
    assert document["kill_switch"] == {"enabled": True, "error_rate_threshold": 0.02, "fallback_tier": 1}
    assert document["self_escalation_prevention"] == {"enabled": True, "rejection_code": "FRJ-011"}
    assert "authorized_agents" not in document
    assert trust_of(make_manifest(), _RULE, authorized_agents=("ai:x",)).authorized_agents == ("ai:x",)


@pytest.mark.clause("forja", "endpoints")
@pytest.mark.clause("forja", "FRJ-011")
@pytest.mark.clause("forja", "FRJ-013")
def test_sense_is_served_also_when_the_switch_fired() -> None:
    fired = pull(
        _SWITCH, SenseFigures(requests=0, errors=0, active_tier=3), reason="drill", by=PrincipalId("user:a"), at=NOON
    )
    assert fired is not None
    manifest = make_manifest(knowledge={"rule_count": 4})
    calm = sense_of(manifest, _RULE, _SWITCH, _FIGURES, configured_tier=3, at=NOON)
    after = sense_of(manifest, _RULE, follow(_SWITCH, [fired]), _FIGURES, configured_tier=3, at=NOON)
    assert (calm.security.current_trust_tier, calm.security.kill_switch_active, calm.health.status) == (
        3,
        False,
        "degraded",
    )
    assert (after.security.current_trust_tier, after.security.kill_switch_active, after.health.status) == (
        1,
        True,
        "fired",
    )
    assert after.security.self_escalation_attempt_count == 3
    assert after.knowledge_drift.drift_score == 0.5
    assert after.velocity.ai_agent_traffic_pct == 25.0
    document = json.loads(render_document(after))
    assert list(document) == [
        "forja_version", "service_id", "timestamp", "health", "velocity", "security", "knowledge_drift",
    ]  # fmt: skip


def test_a_few_errors_are_not_yet_a_sick_service() -> None:
    """Degraded begins where the switch warns."""
    figures = replace(_FIGURES, totals=Totals(requests=1000, errors=1))
    calm = sense_of(make_manifest(), _RULE, _SWITCH, figures, configured_tier=3, at=NOON)
    assert (calm.health.status, calm.health.error_rate) == ("healthy", 0.001)


@pytest.mark.clause("forja", "endpoints")
def test_trust_of_one_user_is_what_rulings_say() -> None:
    """A fired switch leaves the queries, and nothing else."""
    change = PrincipalChange(trust_mask=READ | WRITE | ALERT_ACK, action_tier=2, roles=("reviewer",))
    user = make_principal(change=change)
    manifest = make_manifest()
    trust = user_trust_of(manifest, user, active_tier=3)
    assert (trust.user_id, trust.role, trust.trust_mask) == ("user:amira", "reviewer", READ | WRITE | ALERT_ACK)
    assert (trust.can_query, trust.can_execute) == (manifest.can_answer, ("ALERT_ACK",))
    assert user_trust_of(manifest, user, active_tier=1).can_execute == ()
    nobody = user_trust_of(manifest, make_principal(), active_tier=3)
    assert (nobody.role, nobody.can_query, nobody.can_execute) == ("person", (), ())


def test_a_wide_mask_travels_as_text() -> None:
    wide = make_schema("wide-v1", {60: "SETTLE"}, width=64)
    content = codex(permission_schema="wide-v1", capability_mask="0x100000000000000d", actions={})
    manifest = open_manifest(content, schemas={wide.id: wide}).manifest
    assert codex_state_of(manifest).trust_mask == trust_of(manifest, _RULE).trust_mask == "0x100000000000000d"


def test_a_service_that_did_nothing_is_healthy() -> None:
    idle = ServiceFigures(
        totals=Totals(), total_requests=0, agent_requests=0, uptime_seconds=0.0, self_escalation_attempts=0
    )
    document = sense_of(make_manifest(), _RULE, _SWITCH, idle, configured_tier=3, at=NOON)
    assert (document.health.score, document.health.status) == (1.0, "healthy")
    assert (document.velocity.ai_agent_traffic_pct, document.knowledge_drift.drift_score) == (0.0, 0.0)


def test_what_we_serve_we_read_strictly() -> None:
    manifest = make_manifest()
    sense = sense_of(manifest, _RULE, _SWITCH, _FIGURES, configured_tier=3, at=NOON)
    assert parse_document(render_document(state_of(manifest)), StateDocument) == state_of(manifest)
    assert parse_document(render_document(codex_state_of(manifest)), CodexState) == codex_state_of(manifest)
    assert parse_document(render_document(trust_of(manifest, _RULE)), TrustDocument) == trust_of(manifest, _RULE)
    assert parse_document(render_document(sense), SenseDocument) == sense
    with pytest.raises(msgspec.ValidationError, match="unknown field `colour`"):
        parse_document(b'{"colour":1}', StateDocument)


def test_the_cards_come_from_the_same_manifest() -> None:
    """A skill for what an agent may reach, and none for what it may not."""
    card = agent_card(make_manifest(owner="harbour office"), base_url="https://port.example/")
    told = json.loads(render_document(card))
    assert [skill["id"] for skill in told["skills"]] == [
        "vessel.ukc-status", "vessel.cpa-alert", "berth.availability", "ALERT_ACK",
    ]  # fmt: skip
    assert told["supportedInterfaces"] == [
        {"url": "https://port.example", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
    ]
    assert told["defaultInputModes"] == ["application/json"]
    assert told["provider"] == {"organization": "harbour office", "url": "https://port.example"}
    assert "provider" not in json.loads(render_document(agent_card(make_manifest(), base_url="https://x")))
    assert parse_document(render_document(card), AgentCard) == card
    assert json.loads(render_document(mcp_card(make_manifest(), base_url="https://port.example"))) == {
        "name": "maritime-port/portwatch-backend",
        "title": "portwatch-backend",
        "version": "1.2.0",
        "description": "portwatch-backend of maritime-port",
        "remotes": [{"type": "streamable-http", "url": "https://port.example/mcp"}],
    }


def test_a_state_is_small() -> None:
    """About 800 bytes per service, as the protocol claims for its example."""
    assert len(render_document(codex_state_of(open_manifest(PORTWATCH).manifest))) < 800
