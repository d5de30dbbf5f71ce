"""`assay service` and `assay proof`: manifests in files, and rules in code."""

import json
from pathlib import Path

import httpx
import pytest

from assay.adapters.keyfile import create_key_file, load_key_file, public_path
from assay.adapters.service_file import ServiceFile
from assay.flows.registry.registry_entry import listing_entry
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from assay.registry.discover import ServiceEntry
from assay.registry.open_manifest import open_manifest, verify_manifest
from assay.registry.permission import mask_of
from assay.surfaces.forja.service import OWN
from assay.wiring import open_node
from tests.registry.codex import codex
from tests.surfaces.cli.running import ask
from tests.surfaces.forja._service import opened_house

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "services"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "codex.json"
    path.write_bytes(codex())
    return path


@pytest.mark.clause("forja", "codex")
def test_lint_tells_every_problem_with_its_pointer(tmp_path: Path, manifest: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(codex(port="many", version=None))
    assert ask("service", "lint", manifest).code == 0
    done = ask("service", "lint", manifest, wrong, "--json")
    assert (done.code, [one["holds"] for one in done.json]) == (1, [True, False])
    assert {one["code"] for one in done.json[1]["problems"]} == {"required", "type"}
    assert f"{wrong}/port: " in ask("service", "lint", wrong).out


def test_the_example_manifests_are_good() -> None:
    assert ask("service", "lint", *sorted(_EXAMPLES.glob("*.json"))).code == 0


def test_sign_prints_a_manifest_that_the_key_vouches_for(tmp_path: Path, manifest: Path) -> None:
    create_key_file(tmp_path / "s.key")
    done = ask("service", "sign", manifest, "--key", tmp_path / "s.key")
    assert done.code == 0
    key = load_key_file(tmp_path / "s.key")
    assert verify_manifest(open_manifest(done.out), [key.public_key or b""]) == key.key_id


def test_cards_follow_from_the_manifest(manifest: Path) -> None:
    assert ask("service", "card", manifest).code == 2
    agent = ask("service", "card", manifest, "--base-url", "https://port.example", "--json").json
    assert agent["supportedInterfaces"][0]["url"] == "https://port.example"
    assert [one["id"] for one in agent["skills"] if "write" in one["tags"]] == ["ALERT_ACK"]
    server = ask("service", "card", manifest, "--base-url", "https://port.example", "--mcp", "--json").json
    assert server["name"] == "maritime-port/portwatch-backend"


def test_a_key_is_made_known_once(tmp_path: Path, home: Path) -> None:
    create_key_file(tmp_path / "s.key")
    public = public_path(tmp_path / "s.key")
    first = ask("--home", home, "service", "trust", "bookings", public, "--json")
    again = ask("--home", home, "service", "trust", "bookings", public, "--json")
    assert (first.code, first.json) == (0, again.json)
    assert ask("--home", home, "service", "trust", "Not A Name", public, "--json").error_code == (
        "registry.unknown_service"
    )


@pytest.mark.clause("forja", "announce")
def test_a_key_is_revoked_for_ever_and_the_list_says_so(tmp_path: Path, home: Path) -> None:
    create_key_file(tmp_path / "s.key")
    public = public_path(tmp_path / "s.key")
    assert ask("--home", home, "service", "keys", "bookings").code == 1
    key_id = ask("--home", home, "service", "trust", "bookings", public, "--json").json["key_id"]
    assert ask("--home", home, "service", "keys", "bookings").code == 0
    assert ask("--home", home, "service", "revoke", "bookings", key_id).code == 2
    revoke = ("--home", home, "service", "revoke", "bookings", key_id, "--reason", "lost with a laptop", "--json")
    done, again = ask(*revoke), ask(*revoke)
    assert (done.code, done.json["reason"], done.json) == (0, "lost with a laptop", again.json)
    listed = ask("--home", home, "service", "keys", "bookings")
    assert (listed.code, "revoked: lost with a laptop" in listed.out) == (1, True)
    refusal = ask("--home", home, "service", "trust", "bookings", public, "--json")
    assert (refusal.code, refusal.error_code) == (1, "registry.key_revoked")
    unknown = ask("--home", home, "service", "revoke", "other", key_id, "--reason", "x", "--json")
    assert unknown.error_code == "flow.not_found"


@pytest.mark.clause("forja", "proof")
def test_proof_scan_counts_annotations_against_certified_rules(tmp_path: Path, manifest: Path) -> None:
    source = tmp_path / "src"
    (source / "node_modules").mkdir(parents=True)
    (source / "a.py").write_text("# @rule:R-1\nx = 1\n# @rule:GONE\n")
    (source / "b.ts").write_text("// @rule:R-2\n")
    (source / "picture.png").write_bytes(b"\x89\xff@rule:R-3")
    (source / "node_modules" / "c.js").write_text("// @rule:R-3\n")
    rules = tmp_path / "rules.json"
    listed = [{"id": f"R-{number}", "certified": True, "capabilities": ["ALERT_ACK"]} for number in (1, 2, 3)]
    rules.write_text(json.dumps(listed))
    done = ask("proof", "scan", source, "--rules", rules, "--codex", manifest, "--json")
    assert (done.code, done.json["coverage_pct"], done.json["unimplemented_rules"]) == (1, 66.66, ["R-3"])
    assert done.json["orphan_annotations"] == ["GONE"]
    (source / "d.go").write_text("// @rule:R-3")
    assert ask("proof", "scan", source, "--rules", rules).code == 0
    assert ask("proof", "scan", source).code == 1


@pytest.mark.clause("forja", "proof")
def test_a_measurement_is_kept_and_shown_by_the_service(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('[{"id":"R-1","certified":true}]')
    (tmp_path / "code.py").write_text("# @rule:R-1\n")
    memory = tmp_path / "m.db"
    ServiceFile(memory).close()
    options = ("--rules", tmp_path / "rules.json", "--memory", memory)
    assert ask("proof", "scan", tmp_path / "code.py", *options).code == 2
    with opened_house(tmp_path, "plain", memory=memory) as house:
        assert house.call("GET", "/api/v2/forja/proof").json()["passing"] is False
        done = ask("proof", "scan", tmp_path / "code.py", *options, "--codex", tmp_path / "codex.json")
        assert done.code == 0
        shown: httpx.Response = house.call("GET", "/api/v2/forja/proof")
        assert (shown.json()["passing"], shown.json()["coverage_pct"]) == (True, 100.0)
        since = parse_instant("2026-01-01T00:00:00Z")
        name = "portwatch-backend"
        assert len(house.agent.service.memory.read(lambda store: store.proofs(OWN, name, since=since))) == 1


def test_services_are_listed_and_found_by_what_they_can_do(home: Path) -> None:
    """A node without services says so; the list is an answer, and nobody who can is an honest no."""
    entry = ServiceEntry(id="bookings", domain="port", capability_mask=mask_of(["READ", "QUERY"]), tier=2)
    assert ask("--home", home, "service", "list", "--json").json == {"items": [], "next": None}
    assert ask("--home", home, "service", "who-can", "READ").code == 1
    with open_node(home) as (tools, _):
        draft = listing_entry(TenantId("default"), entry.id, entry, "served as declared", at=tools.clock.now())
        tools.database.write(lambda unit: unit.record(draft))
    assert [one["id"] for one in ask("--home", home, "service", "list", "--json").json["items"]] == ["bookings"]
    for bits in (("READ", "QUERY"), ("READ,QUERY",)):
        assert ask("--home", home, "service", "who-can", *bits, "--json").json == {"services": ["bookings"]}
    assert ask("--home", home, "service", "who-can", "READ", "--tier", "3").out == "no service can\n"
    assert ask("--home", home, "service", "show", "bookings", "--json").error_code == "flow.not_found"
