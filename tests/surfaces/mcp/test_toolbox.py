"""The tools themselves: who may call which, what each answers, and that nothing is granted by default."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.flows.ledger.export_proof import ProofForm, export_proof
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.registry.fire_switch import fire_switch
from assay.identity.credential import parse_api_key
from assay.identity.principal import LOCAL_OPERATOR, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.registry.permission import mask_of
from assay.registry.trip import Fired, FiringCause, SenseFigures
from assay.surfaces.mcp.call import Toolbox
from assay.surfaces.mcp.catalogue import CATALOGUE
from tests.acting import add_principal, issue_api_key, revoke_api_key
from tests.node._home import Home, record
from tests.surfaces.mcp._scene import ALL, SLUG, Scene, grown, opened_scene

_TENANT = TenantId("default")
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "ask": {"query_type": SLUG},
    "evaluate": {"record": {}},
    "verify": {"proof": "{}"},
    "coverage": {},
    "who_can": {"bits": ["READ"]},
    "show_verdict": {"telemetry_id": "t"},
    "show_truth": {"truthkey": "k"},
}


@pytest.fixture(scope="module")
def scene(home: Home) -> Iterator[Scene]:
    with opened_scene(home) as opened:
        yield opened


def test_an_agent_asks_and_the_answer_is_on_record(scene: Scene) -> None:
    before = grown(scene.tools)
    called = scene.call("pilot", "ask", query_type=SLUG, question={"ship": "Ada"}, session_id="s-1")
    assert not called.is_error, called.text
    assert called.value["body"]["output"] == {"ship": "{'ship': 'Ada'}", "water": "enough"}
    assert called.value["body"]["authenticity_level"].startswith("PRAMANA-")
    assert called.value["sequence_number"] > before


def test_an_agent_has_telemetry_judged_and_reads_the_verdict_back(scene: Scene) -> None:
    called = scene.call("pilot", "evaluate", record=record("m-1"))
    assert not called.is_error, called.text
    verdicts = {one["rule_id"]: one["verdict"] for one in called.value["verdicts"]}
    assert verdicts == {"SO2": "FLAG", "NOX": None}
    assert scene.call("pilot", "show_verdict", telemetry_id="m-1").value["verdicts"] == called.value["verdicts"]


def test_coverage_truth_and_services_are_looked_up(scene: Scene) -> None:
    unmapped = {**record("m-2"), "subject": "pond"}
    assert not scene.call("pilot", "evaluate", record=unmapped).is_error
    assert [one["subject"] for one in scene.call("pilot", "coverage").value["gaps"]] == ["pond"]
    assert scene.call("pilot", "coverage", subject="stack").value == {"gaps": [], "closed": []}
    assert scene.code("scout", "coverage") == "identity.role"
    assert scene.call("scout", "who_can", bits=["READ"]).value == {"services": []}
    assert scene.code("scout", "who_can", bits=["NOTHING"]) == "registry.unknown_permission"
    assert scene.code("scout", "show_truth", truthkey="earth:x") == "flow.not_found"
    assert scene.code("scout", "show_truth", truthkey="earth:x", known_at="yesterday") == "form.instant"


@pytest.mark.parametrize("form", list(ProofForm))
def test_every_form_of_proof_is_verified(form: ProofForm, scene: Scene) -> None:
    now = scene.tools.clock.now()
    sign_checkpoint(scene.tools, _TENANT, at=now)
    proof = export_proof(scene.tools, _TENANT, 2, form, at=now)
    row = scene.tools.database.read(lambda unit: unit.ledger.find_entry(_TENANT, 2))
    assert row is not None
    arguments = {"proof_base64": b64encode(proof).decode(), "entry": row.text.decode()}
    assert scene.call("scout", "verify", **arguments).value["holds"] is True
    stranger = scene.call("scout", "verify", **arguments, trust=["sha256:" + "0" * 64])
    assert (stranger.is_error, stranger.value["holds"]) == (False, False)


def test_a_proof_as_text_is_verified_and_two_or_none_are_refused(scene: Scene) -> None:
    now = scene.tools.clock.now()
    sign_checkpoint(scene.tools, _TENANT, at=now)
    proof = export_proof(scene.tools, _TENANT, 1, ProofForm.DSSE, at=now).decode()
    assert scene.call("scout", "verify", proof=proof).value["holds"] is True
    assert scene.code("scout", "verify") == "mcp.arguments"
    assert scene.code("scout", "verify", proof=proof, proof_base64="") == "mcp.arguments"
    assert scene.code("scout", "verify", proof_base64="*") == "mcp.arguments"
    assert scene.code("scout", "verify", proof="no proof") == "json.malformed"


@pytest.mark.parametrize("tool", list(CATALOGUE))
def test_nothing_is_granted_by_default(tool: str, scene: Scene) -> None:
    """No role, no tier and no other bit stands in for a bit that was not granted; nothing is recorded."""
    before = grown(scene.tools)
    assert scene.code("guest", tool, **_ARGUMENTS[tool]) == "registry.bits_missing"
    assert grown(scene.tools) == before


@pytest.mark.parametrize("tool", list(CATALOGUE))
def test_an_agent_needs_the_bit_of_its_autonomy_too(tool: str, scene: Scene) -> None:
    """`clerk` holds READ, QUERY and WRITE, and none of the bits for what an agent does by itself."""
    called = scene.call("clerk", tool, **_ARGUMENTS[tool])
    assert called.value["error"]["code"] == "registry.bits_missing"
    assert f"AI_{ {'READ': 'READ', 'QUERY': 'QUERY', 'WRITE': 'EXECUTE'}[CATALOGUE[tool].bit] }" in called.text


def test_a_person_and_a_service_need_no_bit_of_autonomy(scene: Scene) -> None:
    """QUERY and tier 1 are what both of them have."""
    for who in ("rita", "sensor"):
        assert not scene.call(who, "ask", query_type=SLUG).is_error
        assert scene.code(who, "who_can", bits=["READ"]) == "registry.bits_missing"


def test_another_tenant_is_another_world(scene: Scene) -> None:
    """The same bits and roles, and nothing of this tenant is there."""
    other, visitor, at = TenantId("other"), PrincipalId("ai:visitor"), scene.tools.clock.now()
    granted = PrincipalChange(trust_mask=mask_of(ALL), action_tier=2, roles=("auditor",))
    kind = PrincipalKind.AGENT
    add_principal(scene.tools, other, visitor, kind=kind, name="V", granted=granted, by=LOCAL_OPERATOR, at=at)
    key, _ = issue_api_key(scene.tools, other, visitor, by=LOCAL_OPERATOR, at=scene.tools.clock.now())
    assert not scene.call("pilot", "evaluate", record=record("m-5")).is_error
    hidden = scene.toolbox.call(key, "show_verdict", {"telemetry_id": "m-5"})
    assert hidden.value["error"]["code"] == "flow.not_found"
    assert scene.toolbox.call(key, "coverage", {}).value == {"gaps": [], "closed": []}
    assert scene.toolbox.call(key, "evaluate", {"record": record("m-5")}).value["error"]["code"] == "verdict.no_graph"


def test_reading_bits_let_nobody_write(scene: Scene) -> None:
    for tool in ("ask", "evaluate"):
        assert scene.code("scout", tool, **_ARGUMENTS[tool]) == "registry.bits_missing"


def test_a_tier_below_that_of_the_tool_is_closed(scene: Scene) -> None:
    assert scene.code("low", "evaluate", record=record("m-3")) == "registry.tier_closed"


def test_scopes_narrow_what_a_key_opens(scene: Scene) -> None:
    """The same principal, with a key for one thing alone."""
    assert scene.code("narrow", "coverage") == "mcp.scope"
    assert scene.code("narrow", "show_truth", truthkey="earth:x") == "flow.not_found"
    assert [spec.name for spec in scene.toolbox.allowed(scene.keys["narrow"])] == ["show_truth"]


def test_the_list_has_exactly_what_the_caller_may_call(scene: Scene) -> None:
    assert {spec.name for spec in scene.toolbox.allowed(scene.keys["pilot"])} == set(CATALOGUE)
    assert scene.toolbox.allowed(scene.keys["guest"]) == ()
    scouted = {spec.name for spec in scene.toolbox.allowed(scene.keys["scout"])}
    assert scouted == {"verify", "who_can", "show_truth"}


def test_a_stranger_learns_nothing(scene: Scene) -> None:
    """Not even whether a tool exists."""
    for tool in ("ask", "nothing"):
        called = scene.toolbox.call("ak_unknown.secret", tool, {})
        assert called.value["error"]["code"] == "identity.not_signed_in"


def test_unknown_tools_and_wrong_arguments_are_said(scene: Scene) -> None:
    assert scene.code("pilot", "delete_everything") == "mcp.unknown_tool"
    assert scene.code("pilot", "ask") == "mcp.arguments"
    assert scene.code("pilot", "ask", query_type=SLUG, more=1) == "mcp.arguments"
    assert scene.code("pilot", "who_can", bits=[]) == "mcp.arguments"
    assert scene.code("pilot", "evaluate", record={"subject": "x"}).startswith("telemetry.")


def test_a_server_that_only_reads_records_nothing(home: Home, scene: Scene) -> None:
    before = grown(scene.tools)
    with opened_scene(home, read_only=True) as reading:
        for tool in ("ask", "evaluate"):
            assert reading.code("pilot", tool, **_ARGUMENTS[tool]) == "mcp.read_only"
        assert not reading.call("pilot", "coverage").is_error
    assert grown(scene.tools) == before


def test_what_goes_wrong_here_is_said_without_its_insides(scene: Scene) -> None:
    broken = Toolbox(replace(scene.tools, database=None), _TENANT)  # type: ignore[arg-type]  # what the test breaks
    called = broken.call(scene.keys["pilot"], "coverage", {})
    assert called.value == {
        "error": {"code": "mcp.internal", "message": "something went wrong here; the log says what"}
    }


def test_a_fired_switch_leaves_machines_reading_alone(scene: Scene) -> None:
    """Those of every tenant. Last in this module, since nothing but a person restores it."""
    other, visitor, at = TenantId("elsewhere"), PrincipalId("ai:visitor"), scene.tools.clock.now()
    granted = PrincipalChange(trust_mask=mask_of(ALL), action_tier=2)
    kind = PrincipalKind.AGENT
    add_principal(scene.tools, other, visitor, kind=kind, name="V", granted=granted, by=LOCAL_OPERATOR, at=at)
    scene.keys["visitor"] = issue_api_key(scene.tools, other, visitor, by=LOCAL_OPERATOR, at=scene.tools.clock.now())[0]
    assert scene.code("visitor", "evaluate", record=record("m-5")) != "registry.tier_closed"
    fired = Fired(
        service_id=scene.tools.delivery.service,
        episode=1,
        cause=FiringCause.ERROR_RATE,
        reason="9 of 100 requests failed",
        snapshot=SenseFigures(requests=100, errors=9, active_tier=3),
        fired_at=scene.tools.clock.now(),
    )
    fire_switch(scene.tools, _TENANT, fired, at=scene.tools.clock.now())
    for who in ("pilot", "visitor"):
        assert scene.code(who, "evaluate", record=record("m-4")) == "registry.tier_closed"
    assert not scene.call("pilot", "coverage").is_error


def test_a_key_that_was_revoked_opens_nothing_any_more(scene: Scene) -> None:
    prefix, _ = parse_api_key(scene.keys["narrow"])
    now = scene.tools.clock.now()
    revoke_api_key(scene.tools, _TENANT, prefix, by=PrincipalId("user:olga"), reason="lost", at=now)
    assert scene.code("narrow", "show_truth", truthkey="earth:x") == "identity.not_signed_in"


def test_every_tool_names_a_bit_of_the_schema() -> None:
    assert {spec.bit for spec in CATALOGUE.values()} == {"READ", "QUERY", "WRITE"}
    assert all(spec.bit != "READ" for spec in CATALOGUE.values() if spec.writes)


def test_the_page_says_of_each_tool_what_it_needs() -> None:
    """And the mask that it grants in its example is READ and AI_READ."""
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
    rows = {cells[1].strip().strip("`"): cells for line in page.splitlines() if (cells := line.split("|"))[1:2]}
    for name, spec in CATALOGUE.items():
        _, _, _, bits, tier, scope, recorded, _ = (cell.strip() for cell in rows[name])
        assert bits.split(", ")[0] == spec.bit
        assert (tier, scope, recorded) == (str(int(spec.tier)), f"`{spec.scope}`", "yes" if spec.writes else "no")
    assert f"--trust-mask 0x{mask_of(['READ', 'AI_READ']):08x}" in page
