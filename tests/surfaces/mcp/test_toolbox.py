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
from assay.identity.access import find_unmet
from assay.identity.credential import parse_api_key
from assay.identity.principal import LOCAL_OPERATOR, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Operation
from assay.operations.table import BY_TOOL
from assay.registry.permission import mask_of
from assay.registry.trip import Fired, FiringCause, SenseFigures
from assay.surfaces.cli.operations import needs_text, row_of
from assay.surfaces.mcp.call import Toolbox
from assay.surfaces.mcp.server import _tool
from tests.acting import add_principal, caller_of, issue_api_key, revoke_api_key
from tests.node._home import Home, record
from tests.surfaces.mcp._scene import ALL, SLUG, Scene, grown, opened_scene
from tests.waiting import until

_TENANT = TenantId("default")
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "ask": {"query_type": SLUG},
    "evaluate": {"record": {}},
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
    assert [one["subject"] for one in scene.call("pilot", "coverage").value["items"]] == ["pond"]
    assert scene.call("pilot", "coverage", subject="stack").value == {"items": [], "next": None}
    assert scene.code("scout", "coverage") == "identity.role"
    assert scene.call("scout", "who_can", bits=["READ"]).value == {"services": []}
    assert scene.code("scout", "who_can", bits=["NOTHING"]) == "registry.unknown_permission"
    assert scene.code("scout", "show_truth", key="earth:x") == "flow.not_found"
    assert scene.code("scout", "show_truth", key="earth:x", at="yesterday") == "mcp.arguments"


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
    assert scene.code("scout", "verify") == "http.fields"
    assert scene.code("scout", "verify", proof=proof, proof_base64="") == "http.fields"
    assert scene.code("scout", "verify", proof_base64="*") == "http.fields"
    assert scene.code("scout", "verify", proof="no proof") == "json.malformed"


@pytest.mark.parametrize("operation", BY_TOOL.values(), ids=lambda one: one.tool)
def test_a_tool_asks_for_what_its_operation_asks_for(operation: Operation, scene: Scene) -> None:
    """Roles, scopes, the node's tier, a session, as through every door; bits are for actions of services."""
    for who in ("scout", "guest", "pilot", "narrow"):
        caller = caller_of(scene.tools, scene.keys[who], at=scene.tools.clock.now())
        unmet = find_unmet(Dispatcher(tools=scene.tools).requirements(operation, caller))
        called = scene.call(who, str(operation.tool))
        code = called.value["error"]["code"] if called.is_error else None
        assert (code == str(unmet.code)) if unmet is not None else (code not in {"identity.role", "identity.scope"})
        assert (operation in scene.toolbox.allowed(scene.keys[who])) is (unmet is None)


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
    assert scene.toolbox.call(key, "coverage", {}).value == {"items": [], "next": None}
    assert scene.toolbox.call(key, "evaluate", {"record": record("m-5")}).value["error"]["code"] == "verdict.no_graph"


def test_scopes_narrow_what_a_key_opens(scene: Scene) -> None:
    """The same principal, with a key for one thing alone."""
    assert scene.code("narrow", "coverage") == "identity.scope"
    assert scene.code("narrow", "show_truth", key="earth:x") == "flow.not_found"


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
    broken = Toolbox(replace(scene.tools, database=None))  # type: ignore[arg-type]  # what the test breaks
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
    until(
        lambda: (
            scene.tools.tier_left(caller_of(scene.tools, scene.keys["pilot"], at=scene.tools.clock.now()).principal) < 2
        )
    )
    for who in ("pilot", "visitor"):
        assert scene.code(who, "evaluate", record=record("m-4")) == "registry.tier_closed"
    assert not scene.call("pilot", "coverage").is_error


def test_a_key_that_was_revoked_opens_nothing_any_more(scene: Scene) -> None:
    prefix, _ = parse_api_key(scene.keys["narrow"])
    now = scene.tools.clock.now()
    revoke_api_key(scene.tools, _TENANT, prefix, by=PrincipalId("user:olga"), reason="lost", at=now)
    assert scene.code("narrow", "show_truth", key="earth:x") == "identity.not_signed_in"


def test_the_page_says_of_each_tool_what_it_needs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
    rows = {cells[1].strip().strip("`"): cells for line in page.splitlines() if (cells := line.split("|"))[1:2]}
    for name, operation in BY_TOOL.items():
        _, _, _, needs, recorded, _ = (cell.strip() for cell in rows[str(name)])
        assert needs == needs_text(row_of(operation))
        assert recorded == ("yes" if operation.writes else "no")


def test_every_tool_describes_its_arguments_and_its_result() -> None:
    for operation in BY_TOOL.values():
        tool = _tool(operation)
        assert tool.output_schema is not None
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert all("description" in str(field) for field in tool.input_schema.get("properties", {}).values()), tool.name
