"""A node and proofs that version 0.1.0 wrote open, verify, replay, restore and go on in this version."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import assay
from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.flows.identity.authenticate import authenticate
from assay.flows.model.activate_model import NeededCases, ask_activation
from assay.flows.model.evaluate_model import record_figures
from assay.flows.model.known_model import shipped_card
from assay.kernel.digest import Digest
from assay.wiring import open_node
from tests.flows._models import a_few_sealed
from tests.postgres_cluster import PostgresCluster
from tests.recorded.record import BACKUP, FOUNDER, KNOWN, PROOFS, TENANTS, answered, run, unpack_node
from tests.surfaces.http.served import serving

_KEYS: dict[str, str] = KNOWN["keys"]
_VERDICTS = 50
_WEIGHTS = "sha256:e04fa4890d3fa24f755b6d6a38fc1f6ec6f766cab3db86c297441d71563cf6b5"
# What a proof is verified with beside the founder's key.
_WITH_TEXT = ("--entry", PROOFS / "note.txt")
_PROOFS: dict[str, tuple[object, ...]] = {
    "note.bundle": (),
    "note-disclosed.bundle": (),
    "note.dsse": (),
    "note.scitt": (),
    "note.receipt": _WITH_TEXT,
    "note.tlog-proof": _WITH_TEXT,
    "state-1.bundle": (),
    "state-2.bundle": (),
    "verdicts.search": (),
    **{f"{name}.report": () for name in ("claims", "delivery", "registry", "truth", "verdicts")},
}


# What the first opening records: rules of graphs and contracts, and counters, of which 0.1.0 had rows without entries.
_RECORDED = {"delivery": 1, "truth": 2, "verdicts": 1}


def _entries(tenant: str) -> int:
    return int(KNOWN["entries"][tenant]) + _RECORDED.get(tenant, 0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that tests only read; opening it once for writing gives it the tables and columns of this version."""
    home = unpack_node(tmp_path_factory.mktemp("kept"))
    assay.open(home).close()
    return home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy that a test may write to."""
    return unpack_node(tmp_path)


@pytest.mark.parametrize("tenant", TENANTS)
def test_every_entry_of_every_tenant_verifies(kept: Path, tenant: str) -> None:
    report = answered("ledger", "verify", "--full", "--tenant", tenant, home=kept)
    assert (report["holds"], report["entries_checked"]) == (True, _entries(tenant))
    assert report["last_good_checkpoint"] == KNOWN["entries"][tenant]


def test_it_opens_read_only_and_shows_what_was_recorded(kept: Path) -> None:
    before = (kept / "assay.db").read_bytes()
    with assay.open(kept, read_only=True) as node:
        last = next(node.entries(order="newest", limit=1))
        assert last.sequence_number == _entries("verdicts")
        assert node.audit(full=True).holds
        assert [one.ticket.id for one in node.held()] == [KNOWN["held"]]
        assert {"user:ada", "user:gone", "ai:helmsman"} <= {str(one.id) for one in node.principals()}
    assert (kept / "assay.db").read_bytes() == before


def test_every_verdict_is_reached_again_byte_for_byte(kept: Path) -> None:
    *replays, last = answered("replay", "--all", home=kept)
    assert last["summary"]["is_clean"]
    assert [one["result"] for one in replays] == ["MATCH"] * _VERDICTS


def test_the_weights_of_then_stay_in_use_until_people_decide_otherwise(kept: Path) -> None:
    """The weights of this release are there to be measured and activated; nobody did that yet."""
    shown = answered("model", "show", home=kept)
    assert shown["manifest"]["weight_hash"] == _WEIGHTS
    assert (shown["is_active"], shown["manifest"]["version"]) == (True, "1.3.0")


def test_the_weights_of_this_release_are_put_into_use_by_people(home: Path) -> None:
    """They are measured beside the earlier ones, and the ticket does not call them a return."""
    cases, chief = a_few_sealed(2), _KEYS["verdicts_chief"]
    needed = NeededCases(name="sealed cases", cases_hash=cases.hash, cases=2)
    newest = shipped_card().weight_hash
    with open_node(home) as (tools, _):
        caller = authenticate(tools, chief, at=tools.clock.now())
        for weights in (Digest(_WEIGHTS), newest):
            record_figures(tools, caller, cases, weights)
        asked = ask_activation(tools, caller, newest, sealed=needed)
    assert (asked.before_hash, asked.weight_hash, asked.is_return) == (_WEIGHTS, newest, False)


@pytest.mark.parametrize("place", [1, 2])
def test_every_state_is_compiled_again_byte_for_byte(kept: Path, place: int) -> None:
    key = KNOWN["truthkeys"][place - 1]
    found = answered("truth", "replay", key, "--tenant", "truth", home=kept)
    assert [(one["holds"], one["is_trust_refolded"], one["problems"]) for one in found] == [(True, True, [])]
    shown = run("truth", "document", key, "--tenant", "truth", home=kept)
    assert shown.stdout.rstrip("\n") == (PROOFS / f"state-{place}.state").read_text().rstrip("\n")
    verified = answered("truth", "verify", PROOFS / f"state-{place}.state", "--trust", PROOFS / "truth.pub")
    assert verified["holds"]


def test_signals_and_counters_are_what_the_ledger_says(kept: Path) -> None:
    assert answered("trust", "verify", "--tenant", "truth", home=kept)["holds"]
    assert answered("rules", "recount", "--tenant", "delivery", home=kept)["problems"] == []


@pytest.mark.parametrize("name", sorted(_PROOFS))
def test_every_proof_verifies_with_the_founders_key(name: str) -> None:
    """A tlog-proof holds no keys, so the key that signed its checkpoint must be trusted itself."""
    signer = PROOFS / "ledger.pub" if name == "note.tlog-proof" else FOUNDER
    assert answered("verify", PROOFS / name, "--trust", signer, *_PROOFS[name])["holds"]


@pytest.mark.parametrize("name", sorted(_PROOFS))
def test_a_forged_proof_is_refused(name: str, tmp_path: Path) -> None:
    """What an entry says is changed: in the proof, or in the text beside a proof that holds none."""
    more, forged = _PROOFS[name], tmp_path / name
    if more:
        forged.write_bytes((PROOFS / name).read_bytes())
        text = tmp_path / "note.txt"
        text.write_text((PROOFS / "note.txt").read_text().replace("clear", "clean"))
        more = ("--entry", text)
    else:
        forged.write_bytes(_changed((PROOFS / name).read_bytes()))
    done = run("verify", forged, "--trust", FOUNDER, "--trust", PROOFS / "ledger.pub", *more)
    assert done.returncode == 3, done.stdout


def _changed(content: bytes) -> bytes:
    """Change a letter inside the first entry's text, be it plain, in a JSON string or in base64."""
    for before, after in ((b'\\"timestamp\\":\\"2', b'\\"timestamp\\":\\"3'), (b'"timestamp":"2', b'"timestamp":"3')):
        if before in content:
            return content.replace(before, after, 1)
    at = len(content) // 2
    return content[:at] + (b"A" if content[at : at + 1] != b"A" else b"B") + content[at + 1 :]


@pytest.mark.parametrize("name", ["note.bundle", "truth.report"])
def test_a_proof_is_nothing_to_somebody_who_trusts_another_key(name: str) -> None:
    assert run("verify", PROOFS / name, "--trust", PROOFS / "truth.pub").returncode != 0


def test_the_receipt_of_a_verdict_verifies_offline() -> None:
    done = answered("receipt", "verify", PROOFS / "en-18.receipt.json", "--trust", FOUNDER)
    assert (done["result"], done["is_trusted"]) == ("EXACT", True)


def test_an_export_replays_without_the_node(kept: Path, tmp_path: Path) -> None:
    answered("ledger", "export", "--tenant", "verdicts", "--output", tmp_path / "again.ndjson", home=kept)
    again, before = (path.read_bytes() for path in (tmp_path / "again.ndjson", PROOFS / "verdicts.ndjson"))
    assert again.startswith(before)
    assert again.count(b"\n") == before.count(b"\n") + _RECORDED["verdicts"]


def test_a_proof_of_today_is_about_the_same_entry(home: Path, tmp_path: Path) -> None:
    number = KNOWN["notes"]["personal"]
    assay.open(home).close()
    answered("ledger", "prove", number, "--output", tmp_path / "note.bundle", home=home)
    old, new = (json.loads((folder / "note.bundle").read_text()) for folder in (PROOFS, tmp_path))
    assert (new["entry"], new["entry_hash"]) == (old["entry"], old["entry_hash"])
    assert answered("verify", tmp_path / "note.bundle", "--trust", FOUNDER)["holds"]


def test_rules_and_counters_are_recorded_as_they_were(home: Path) -> None:
    """From the graphs and contracts that brought them, in their versions; a second opening adds nothing."""

    def rows() -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(home / "assay.db")) as connection:
            found = connection.execute(
                "SELECT tenant_id, rule_id, version, text, content FROM rule_version UNION ALL"
                " SELECT tenant_id, rule_id, version, text, '' FROM rule_certification UNION ALL"
                " SELECT tenant_id, rule_id, total, item_id, consecutive_failures || ' ' || streak FROM rule_counter"
            ).fetchall()
        return sorted(found, key=repr)

    before = rows()
    for _ in range(2):
        with assay.open(home) as node:
            assert node.audit(full=True).size == _entries("verdicts")
        assert rows() == before


def test_it_goes_on(home: Path) -> None:
    """New entries, a checkpoint, an attestation of what was held, and everything still verifies."""
    with assay.open(home) as node:
        receipt = node.append({"note": "written by a later version"})
        assert receipt.sequence_number == _entries("verdicts") + 1
        session = str(node.log_in("user:eve", password=KNOWN["password"]).session_token)
        (held,) = node.held()
        node.acting(session).attest(held.ticket.id, seen=held.ticket.shown_hash, reason="read")
        assert list(node.held()) == []
        node.seal_index()
        node.sign_checkpoint()
        assert node.audit(full=True).holds
    assert answered("replay", "--entry", held.sequence_number, home=home)[-1]["summary"]["is_clean"]


def test_every_room_still_takes_part(home: Path) -> None:
    with assay.open(home, tenant="claims") as node:
        decisions = {str(one.decision) for one in node.claims()}
        assert {"PUBLISH", "DEFER", "ESCALATE", "REFUSE"} <= decisions
    with assay.open(home, tenant="delivery") as node:
        (cause,) = node.root_causes()
        assert not cause.is_open
        assert json.loads(node.training_pairs())
        assert len(node.rule("MAR-YK-007").versions) == 2
    with assay.open(home, tenant="truth") as node:
        assert len(list(node.versions(KNOWN["truthkeys"][0]))) == 3
        assert "user:amira" in repr(list(node.agents()))


def test_the_desk_is_as_it_was_left(home: Path) -> None:
    with assay.open(home) as node:
        session = str(node.log_in("user:rita", password=KNOWN["password"]).session_token)
        shown = node.acting(session).desk_ticket(KNOWN["tickets"]["worked_on"])
        assert shown.draft is not None
        assert [view.name for view in node.acting(session).views()] == ["urgent ones"]
        assert "the pump was serviced in spring" in repr(shown)


@pytest.mark.parametrize("tenant", TENANTS)
def test_an_erased_value_stays_erased_and_a_kept_one_is_there(kept: Path, tenant: str) -> None:
    with assay.open(kept, read_only=True, tenant=tenant) as node:
        shown = repr([node.entry(number, disclose=True) for number in range(1, KNOWN["entries"][tenant] + 1)])
    assert ("Ada Lovelace" in shown) == (tenant == "verdicts")
    assert "Grace Hopper" not in shown


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    home = unpack_node(folder)
    with serving("--home", str(home), "serve", "--port", "0", folder=folder) as server:
        yield server.url


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("live", 200),
        ("narrow", 200),
        ("successor", 200),
        ("verdicts_chief", 200),
        ("truth_chief", 200),
        ("delivery_bridge", 200),
        ("revoked", 401),
        ("ended", 401),
        ("of_disabled", 401),
    ],
)
def test_api_keys_open_what_they_opened(address: str, name: str, status: int) -> None:
    said = httpx.get(f"{address}/whoami", headers={"x-api-key": _KEYS[name]})
    assert said.status_code == status, said.text


def test_a_changed_api_key_opens_nothing(address: str) -> None:
    text = _KEYS["live"]
    changed = text[:-1] + ("A" if text[-1] != "A" else "B")
    assert httpx.get(f"{address}/whoami", headers={"x-api-key": changed}).status_code == 401


@pytest.mark.parametrize(("letter", "status"), [("a", 200), ("b", 401)])
def test_a_signing_key_authenticates_until_it_ends(address: str, letter: str, status: int) -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(KNOWN[f"signing_key_{letter}"]["private"]))
    assert httpx.get(f"{address}/whoami", auth=assay.SignedRequests(key)).status_code == status


@pytest.mark.parametrize(("given", "status"), [(KNOWN["password"], 200), ("another one", 401)])
def test_a_person_logs_in_with_the_password_of_then(address: str, given: str, status: int) -> None:
    body = {"principal_id": "user:omar", "password": given, "to": "token"}
    assert httpx.post(f"{address}/auth/login", json=body).status_code == status


def _numbers(home: Path) -> dict[str, list[int | None]]:
    """The entries that rows of the registry name."""
    tables = ("switch_fact", "service_key", "service_key_end", "service_proof")
    with closing(sqlite3.connect(home / "assay.db")) as connection:
        found = {name: connection.execute(f"SELECT sequence_number FROM {name}").fetchall() for name in tables}
    return {name: sorted(number for (number,) in rows) for name, rows in found.items()}


def test_rows_of_the_registry_have_the_numbers_of_their_entries(kept: Path, tmp_path: Path) -> None:
    """Whether their database was brought up to date, or their backup restored."""
    found = _numbers(kept)
    assert found["switch_fact"]
    assert all(number is not None for rows in found.values() for number in rows)
    run("restore", BACKUP, tmp_path / "restored", "--trust", FOUNDER)
    assert _numbers(tmp_path / "restored")["switch_fact"] == found["switch_fact"]


def test_the_backup_is_restored_to_a_file(tmp_path: Path) -> None:
    home = tmp_path / "restored"
    answered("restore", BACKUP, home, "--trust", FOUNDER)
    _assert_whole(home)


def test_the_backup_is_restored_to_postgresql(tmp_path: Path, postgres_cluster: PostgresCluster) -> None:
    name, home = postgres_cluster.create_database(), tmp_path / "restored"
    provision(postgres_cluster.dsn(name), at=SystemClock().now())
    answered("restore", BACKUP, home, "--trust", FOUNDER, "--database", postgres_cluster.dsn(name, user="assay_app"))
    _assert_whole(home)


def _assert_whole(home: Path) -> None:
    for tenant in ("verdicts", "truth"):
        report = answered("ledger", "verify", "--full", "--tenant", tenant, home=home)
        assert (report["holds"], report["size"]) == (True, KNOWN["entries"][tenant])
    assert answered("replay", "en-18", home=home)[-1]["summary"]["is_clean"]
    with assay.open(home) as node:
        receipt = node.append({"note": "after the restore"})
        assert receipt.sequence_number == _entries("verdicts") + 1
        assert str(node.log_in("user:omar", password=KNOWN["password"]).session_token)


def test_a_backup_is_refused_by_somebody_who_trusts_another_key(tmp_path: Path) -> None:
    done = run("restore", BACKUP, tmp_path / "restored", "--trust", PROOFS / "truth.pub")
    assert done.returncode != 0
    assert not (tmp_path / "restored").exists()
