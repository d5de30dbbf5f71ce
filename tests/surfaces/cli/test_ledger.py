"""`assay init`, `canonical`, `ledger …` and `erase`, as their help says."""

import io
import json
import re
import sqlite3
import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import assay
from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.kernel.bundle import parse_bundle
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.merkle import leaf_hash
from assay.registry.errors import RegistryError
from assay.surfaces.cli.ledger import _read_lines
from assay.wiring import open_node
from tests.contract._kit import refused
from tests.flows._people import Desk, quick_passwords
from tests.postgres_cluster import PostgresCluster
from tests.raising import raises
from tests.surfaces.cli.running import ask, command_line, environment, note


def test_init_prints_the_key_to_give_away_and_refuses_a_folder_in_use(tmp_path: Path) -> None:
    """What is printed leads to the key that signs; a second init changes nothing."""
    folder = tmp_path / "node"
    answer = ask("init", folder, "--origin", "example.com/log", "--tenant", "acme", "--json")
    assert answer.code == 0
    assert answer.json["origin"] == "example.com/log"
    assert answer.json["verifier_key"].startswith("example.com/log/acme+")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", answer.json["key_id"])
    assert (folder / "keys" / "ledger.key").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    again = ask("init", folder, "--json")
    assert (again.code, again.error_code) == (2, "config.folder_in_use")


def test_init_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """A bad name is found before there is anything that looks like a node."""
    answer = ask("init", tmp_path / "node", "--origin", "two words", "--json")
    assert (answer.code, answer.error_code) == (2, "config.refused")
    assert list(tmp_path.iterdir()) == []


def test_init_founds_no_second_node_in_the_same_database(home: Path, tmp_path: Path) -> None:
    """Neither the database nor the new place changes."""
    answer = ask("init", tmp_path / "second", "--database", f"sqlite:{home / 'assay.db'}", "--json")
    assert (answer.code, answer.error_code) == (2, "config.database_in_use")
    assert not (tmp_path / "second").exists()
    assert ask("--home", home, "ledger", "show", "4").code == 1


def test_a_node_on_a_server_works_as_one_on_a_file(tmp_path: Path, postgres_cluster: PostgresCluster) -> None:
    """Init, append, prove, verify, watch, examine and back up, on PostgreSQL."""
    name, home = postgres_cluster.create_database(), tmp_path / "node"
    provision(postgres_cluster.dsn(name), at=SystemClock().now())
    url = postgres_cluster.dsn(name, user="assay_app")
    assert ask("init", home, "--database", url).code == 0
    assert ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/asked_by").code == 0
    assert ask("--home", home, "ledger", "prove", "4", "--output", tmp_path / "bundle.json").code == 0
    assert ask("verify", tmp_path / "bundle.json", "--trust", home / "keys" / "ledger.key.pub").code == 0
    assert ask("--home", home, "erase", "4", "--reason", "asked").code == 0
    assert ask("--home", home, "ledger", "verify", "--full").code == 0
    assert len(ask("--home", home, "ledger", "watch", "--from", "1", "--once").out.splitlines()) == 5
    assert ask("--home", home, "doctor").code == 0
    assert ask("--home", home, "backup", tmp_path / "b.zip").code == 0
    assert ask("restore", tmp_path / "b.zip", tmp_path / "file").code == 0


def test_init_works_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder that exists stays the same folder, and becomes private."""
    folder = tmp_path / "here"
    folder.mkdir(mode=0o755)
    inode = folder.stat().st_ino
    monkeypatch.chdir(folder)
    assert ask("init", ".").code == 0
    assert ask("ledger", "show", "1").code == 0
    assert (folder.stat().st_ino, folder.stat().st_mode & 0o777) == (inode, 0o700)
    assert [path.name for path in folder.iterdir() if path.name.endswith(".new")] == []


@pytest.mark.clause("ski", "7.3")
def test_canonical_prints_exactly_the_bytes_that_are_hashed(tmp_path: Path) -> None:
    """No line feed is added, keys are in order, and the hash is that of the bytes."""
    path = note(tmp_path, '{"b": 1.0,\n "a": "é"}')
    shown, hashed = ask("canonical", path), ask("canonical", "--hash", path)
    assert (shown.code, shown.out) == (0, '{"a":"é","b":1}')
    assert hashed.out == sha256(shown.out.encode()).hexdigest() + "\n"
    value = ask("canonical", "--json", "--profile", "kaori-2.1", "-", stdin=b'{"x": " a  b "}').json
    assert value == {
        "profile": "kaori-2.1",
        "canonical": '{"x":"a b"}',
        "sha256": sha256(b'{"x":"a b"}').hexdigest(),
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b'{"a":1}x', "json.trailing"),
        (b"\xff", "json.encoding"),
        (b'{"a":NaN}', "json.non_finite"),
        (b"", "json.malformed"),
    ],
)
def test_canonical_refuses_what_readers_would_read_differently(text: bytes, code: str) -> None:
    answer = ask("canonical", "-", "--json", stdin=text)
    assert (answer.code, answer.error_code) == (3, code)


def test_append_answers_with_a_receipt_whose_entry_is_there(home: Path, tmp_path: Path) -> None:
    """The receipt names the entry; showing the entry shows the same hash."""
    receipt = ask("--home", home, "ledger", "append", note(tmp_path), "--json").json
    assert set(receipt) == {"tenant_id", "sequence_number", "entry_hash", "timestamp"}
    assert receipt["sequence_number"] == 4
    shown = ask("--home", home, "ledger", "show", "4", "--json").json
    assert shown["entry_hash"] == receipt["entry_hash"]
    assert shown["body"] == {"answer": "clear", "asked_by": "Ada"}
    exact = ask("--home", home, "ledger", "text", "4").out
    assert "sha256:" + sha256(exact.encode()).hexdigest() == receipt["entry_hash"]


@pytest.mark.parametrize(("text", "code"), [("[1]", "ledger.body"), ("{", "json.malformed"), ("7", "ledger.body")])
def test_append_takes_only_json_objects(text: str, code: str, home: Path, tmp_path: Path) -> None:
    answer = ask("--home", home, "ledger", "append", note(tmp_path, text), "--json")
    assert (answer.code, answer.error_code) == (3, code)


def test_append_writes_no_kind_that_a_flow_makes(home: Path, tmp_path: Path) -> None:
    """Nobody forges a key record by appending one."""
    assert ask("--home", home, "ledger", "append", "--kind", "key.added", note(tmp_path)).code == 2
    ask("--home", home, "ledger", "append", note(tmp_path, '{"kind":"key.added"}'))
    assert ask("--home", home, "ledger", "show", "4", "--json").json["kind"] == "note"


def test_many_lines_are_appended_in_their_order(home: Path) -> None:
    """Receipts come in the order of the lines, though commits are shared; blank lines are passed over."""
    lines = "".join(f'{{"n": {n}}}\n' for n in range(3000)) + "\n"
    answer = ask("--home", home, "ledger", "append", "--ndjson", "-", "--json", stdin=lines.encode())
    receipts = [json.loads(line) for line in answer.out.splitlines()]
    assert [receipt["sequence_number"] for receipt in receipts] == list(range(4, 3004))
    with assay.open(home, read_only=True) as node:
        assert [entry.body["n"] for entry in node.entries(first=4, limit=500)] == list(range(3000))


def test_a_bad_line_stops_and_what_came_before_it_stays(home: Path) -> None:
    """Every line before the bad one has its receipt; the error names the line."""
    answer = ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=b'{"n":1}\n{"n":2}\n{"n":\n{"n":4}\n')
    assert answer.code == 3
    assert len(answer.out.splitlines()) == 2
    assert "line 3" in answer.err
    assert ask("--home", home, "ledger", "show", "5").code == 0
    assert ask("--home", home, "ledger", "show", "6").code == 1


def test_the_error_of_a_line_keeps_its_code_and_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_line: bytes) -> None:
        raise RegistryError.unsigned("no signature")

    monkeypatch.setattr("assay.kernel.json_text.parse_json", refuse)
    with raises(RegistryError.unsigned, match="line 1: no signature") as caught:
        list(_read_lines(io.BytesIO(b"{}\n")))
    assert caught.value.blame is RegistryError.unsigned.blame


def test_entries_are_listed_by_range_kind_and_order(home: Path) -> None:
    ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=b'{"n":1}\n' * 30)

    def numbers(*options: str) -> tuple[list[int], str | None]:
        page = ask("--home", home, "ledger", "list", "--json", *options).json
        return [entry["sequence_number"] for entry in page["items"]], page["next"]

    assert numbers() == (list(range(1, 34)), None)
    assert numbers("--from", "5", "--to", "7") == ([5, 6, 7], None)
    for order, first, second in (("oldest", [1, 2], [3, 4]), ("newest", [33, 32], [31, 30])):
        listed, cursor = numbers("--order", order, "--limit", "2")
        assert listed == first
        assert numbers("--order", order, "--limit", "2", "--cursor", str(cursor))[0] == second
    assert numbers("--kind", "key.added") == ([1, 2, 3], None)
    assert numbers("--kind", "note", "--limit", "30") == (list(range(4, 34)), None)
    assert numbers("--kind", "verdict") == ([], None)
    assert numbers("--order", "newest", "--from", "32") == ([33, 32], None)
    assert ask("--home", home, "ledger", "show").code == 2


def test_an_entry_is_shown_whole(home: Path, tmp_path: Path) -> None:
    """However long its body is."""
    ask("--home", home, "ledger", "append", note(tmp_path, json.dumps({"words": "x" * 5000, "last": {"a": [1, 2]}})))
    shown = ask("--home", home, "ledger", "show", "4").out
    assert "x" * 5000 in shown
    assert json.loads(shown[shown.index("{") :])["last"] == {"a": [1, 2]}
    trace = ask("--home", home, "ledger", "show", "4", "--json").json["trace_id"]
    assert f"trace          {trace}" in shown
    found = ask("--home", home, "ledger", "search", f"trace_id={trace}", "--json").json
    assert [entry["sequence_number"] for entry in found["items"]] == [4]


def test_a_tenant_sees_its_own_chain(home: Path, tmp_path: Path) -> None:
    """Each tenant's chain starts at 1."""
    receipt = ask("--home", home, "ledger", "append", note(tmp_path), "--tenant", "acme", "--json").json
    assert (receipt["tenant_id"], receipt["sequence_number"]) == ("acme", 1)
    assert ask("--home", home, "ledger", "verify", "--tenant", "acme").code == 0
    denied = ask("--home", home, "ledger", "list", "--tenant", "../acme", "--json")
    assert (denied.code, denied.error_code) == (3, "form.id")


def test_verify_reads_only_what_is_new_unless_told_to_read_all(home: Path, tmp_path: Path) -> None:
    """A report says how much was read and from where."""
    first = ask("--home", home, "ledger", "verify", "--json").json
    ask("--home", home, "ledger", "append", note(tmp_path))
    second = ask("--home", home, "ledger", "verify", "--json").json
    full = ask("--home", home, "ledger", "verify", "--full", "--json").json
    assert [report["entries_checked"] for report in (first, second, full)] == [3, 1, 4]
    assert all(report["holds"] for report in (first, second, full))


def test_a_changed_entry_is_named_with_the_last_good_checkpoint(home: Path) -> None:
    """Exit 1: an honest no, and it says where."""
    ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=b'{"answer":"clear"}\n' * 5)
    ask("--home", home, "ledger", "checkpoint")
    ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=b'{"answer":"clear"}\n' * 5)
    connection = sqlite3.connect(home / "assay.db")
    connection.execute("DROP TRIGGER ledger_no_update")
    connection.execute(
        "UPDATE ledger SET text = CAST(replace(text, 'clear', 'CLEAR') AS BLOB) WHERE sequence_number = 11"
    )
    connection.commit()
    connection.close()
    answer = ask("--home", home, "ledger", "verify", "--json")
    assert answer.code == 1
    assert (answer.json["first_bad_entry"], answer.json["last_good_checkpoint"]) == (11, 8)
    assert answer.json["code"] == "ledger.entry_hash"
    words = ask("--home", home, "ledger", "verify", "--full").out
    assert "first bad entry       11" in words
    assert "last good checkpoint  over 8 entries" in words


def test_a_checkpoint_is_a_signed_note_and_can_be_read_again_without_signing(home: Path) -> None:
    none = ask("--home", home, "ledger", "checkpoint-show", "latest", "--json")
    assert (none.code, none.error_code) == (1, "flow.not_found")
    signed = ask("--home", home, "ledger", "checkpoint", "--json").json
    assert signed["size"] == 3
    read = parse_checkpoint(signed["note"].encode()).checkpoint
    assert (read.size, read.origin) == (3, "example.com/log/default")
    for size in ("latest", "3"):
        assert ask("--home", home, "ledger", "checkpoint-show", size, "--json").json == signed
    assert ask("--home", home, "ledger", "checkpoint-show", "latest").out == signed["note"]
    assert ask("--home", home, "ledger", "checkpoints", "--json").json == {"items": [signed], "next": None}


def test_prove_signs_a_checkpoint_when_none_covers_the_entry(home: Path, tmp_path: Path) -> None:
    """A node that is only read signs none."""
    ask("--home", home, "ledger", "append", note(tmp_path))
    with assay.open(home, read_only=True) as node, refused("proof.no_checkpoint"):
        node.prove_entry(4)
    answer = ask("--home", home, "ledger", "prove", "4", "--output", tmp_path / "bundle.json", "--json")
    assert (answer.code, answer.json["output"]) == (0, str(tmp_path / "bundle.json"))
    assert ask("--home", home, "ledger", "checkpoint-show", "latest", "--json").json["size"] == 4
    bundle = parse_bundle((tmp_path / "bundle.json").read_bytes())
    assert parse_bundle(ask("--home", home, "ledger", "prove", "4").out.encode()) == bundle
    assert ask("--home", home, "ledger", "prove", "5").code == 1
    assert ask("--home", home, "ledger", "prove", "4", "--output", tmp_path / "no" / "such.json").code == 2
    assert ask("--home", home, "ledger", "export", "--output", tmp_path / "no" / "such.ndjson").code == 2


def test_personal_values_are_disclosed_only_when_asked_for_and_can_be_erased(home: Path, tmp_path: Path) -> None:
    """The value is in no entry, no proof and no export; after an erasure it is nowhere."""
    ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/asked_by")
    ask("--home", home, "ledger", "checkpoint")

    def proof(*options: str) -> str:
        return ask("--home", home, "ledger", "prove", "4", *options).out

    assert "Ada" not in proof() + ask("--home", home, "ledger", "show", "4").out
    assert "Ada" in proof("--disclose")
    assert "Ada" in ask("--home", home, "ledger", "show", "4", "--disclose").out
    erased = ask("--home", home, "erase", "4", "--reason", "asked", "--json").json
    assert erased["erasure"] == {
        "sequence_number": 4,
        "pointers": ["/asked_by"],
        "erased_by": "operator:local",
        "reason": "asked",
    }
    assert "Ada" not in proof("--disclose") + ask("--home", home, "ledger", "show", "4", "--disclose").out
    assert b"Ada" not in (home / "assay.db").read_bytes()
    assert ask("--home", home, "ledger", "verify", "--full").code == 0
    again = ask("--home", home, "erase", "4", "--reason", "asked", "--json")
    assert (again.code, again.error_code) == (1, "ledger.nothing_to_erase")


def test_nobody_erases_under_a_name_that_was_only_typed(home: Path, tmp_path: Path) -> None:
    """With a session it is that person who erases, and only with the role for it."""
    with open_node(home) as (tools, _):
        desk = Desk(tools=replace(tools, passwords=quick_passwords()), start=tools.clock.now())
        desk.add("user:op", roles=("operator",))
        desk.add("user:adm", roles=("admin",))
        operator, admin = desk.session("user:op"), desk.session("user:adm")
    written = ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/asked_by", "--json").json
    erase = ("--home", home, "erase", str(written["sequence_number"]), "--reason", "asked", "--json")
    assert ask(*erase, "--by", "user:op").code == 2
    assert ask(*erase, "--session", admin).error_code == "identity.role"
    assert ask(*erase, "--session", "st_nonsense").error_code == "identity.not_signed_in"
    assert ask(*erase, "--session", operator).json["erasure"]["erased_by"] == "user:op"


def test_init_never_repeats_the_password_of_a_database(tmp_path: Path) -> None:
    """Neither as JSON nor as text, and whatever is wrong with the address."""
    malformed, unreachable = "postgresql://u:hunter2%zz-SECRET@127.0.0.1:1/db", "postgresql://u:SECRET@127.0.0.1:1/db"
    for address, code in ((malformed, 2), (unreachable, 4)):
        for more in ((), ("--json",)):
            answer = ask("init", tmp_path / "node", "--database", address, *more)
            assert answer.code == code
            assert "SECRET" not in answer.out + answer.err


def test_erase_takes_single_pointers_and_needs_a_reason(home: Path, tmp_path: Path) -> None:
    path = note(tmp_path, '{"a": "x", "b": "y"}')
    ask("--home", home, "ledger", "append", path, "--personal", "/a", "--personal", "/b")
    assert ask("--home", home, "erase", "4").code == 2
    assert ask("--home", home, "erase", "4", "--pointer", "/a", "--reason", "r").code == 0
    assert ask("--home", home, "ledger", "show", "4", "--disclose", "--json").json["disclosed"] == ["/b"]


def test_a_pointer_that_leads_nowhere_is_refused(home: Path, tmp_path: Path) -> None:
    answer = ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/nobody", "--json")
    assert (answer.code, answer.error_code) == (3, "commitment.pointer")


def test_a_search_finds_proves_and_is_verified_offline(home: Path, tmp_path: Path) -> None:
    """The first proof makes index and checkpoint; the file then holds for whoever has the key, and no term changed."""
    lines = "".join(json.dumps({"rule_id": f"R-{number % 2}", "n": number}) + "\n" for number in range(6))
    assert ask("--home", home, "ledger", "append", "-", "--ndjson", stdin=lines.encode()).code == 0
    found = ask("--home", home, "ledger", "search", "rule_id=R-1", "--limit", "2", "--json")
    assert [entry["body"]["n"] for entry in found.json["items"]] == [1, 3]
    proof = tmp_path / "search.json"
    made = ask("--home", home, "ledger", "prove-search", "rule_id=R-1", "kind=note", "--output", proof, "--json")
    assert (made.code, made.json["output"]) == (0, str(proof))
    assert len(json.loads(proof.read_bytes())["entries"]) == 3
    assert [one["last"] for one in ask("--home", home, "ledger", "indexes", "--json").json["items"]] == [9]
    key = ask("--home", home, "key", "list", "--json").json[0]["key_id"]
    assert ask("verify", proof, "--trust", key).code == 0
    changed = tmp_path / "changed.json"
    changed.write_bytes(proof.read_bytes().replace(b'"terms":["rule_id=R-1"', b'"terms":["rule_id=R-0"'))
    assert ask("verify", changed, "--trust", key).code == 3
    assert ask("--home", home, "ledger", "index", "--json").json == {"indexes": []}
    no_term = ask("--home", home, "ledger", "search", "no term", "--json")
    assert (no_term.code, no_term.error_code) == (3, "http.fields")


def test_export_gives_texts_tiles_and_proofs(home: Path, tmp_path: Path) -> None:
    """The texts hash to the chain, the tiles are the leaves, and each bundle verifies."""
    ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=b'{"n":1}\n' * 300)
    missing = ask("--home", home, "ledger", "export", "--format", "tiles", "--output", tmp_path / "t", "--json")
    assert missing.error_code == "proof.no_checkpoint"
    ask("--home", home, "ledger", "checkpoint")
    texts = ask("--home", home, "ledger", "export", "--output", "-").out.splitlines()
    ask("--home", home, "ledger", "export", "--format", "tiles", "--output", tmp_path / "tiles")
    leaves = b"".join(leaf_hash(text.encode()) for text in texts)
    assert (tmp_path / "tiles/tile/0/000").read_bytes() == leaves[: 256 * 32]
    assert (tmp_path / "tiles/tile/0/001.p/47").read_bytes() == leaves[256 * 32 :]
    assert (tmp_path / "tiles/tile/1/000.p/1").stat().st_size == 32
    bundle = (tmp_path / "tiles/tile/entries/001.p/47").read_bytes()
    assert bundle.startswith(len(texts[256]).to_bytes(2) + texts[256].encode())
    assert parse_checkpoint((tmp_path / "tiles/checkpoint").read_bytes()).checkpoint.size == 303
    folder = tmp_path / "bundles"
    value = ask(
        "--home", home, "ledger", "export", "--format", "bundle", "--output", folder, "--from", "300", "--json"
    ).json
    assert value == {"tenant_id": "default", "form": "bundle", "entries": 4, "checkpoint_size": 303}
    for path in folder.iterdir():
        assert ask("verify", path, "--trust", home / "keys" / "ledger.key.pub").code == 0


def test_export_overwrites_nothing(home: Path, tmp_path: Path) -> None:
    target = note(tmp_path, "mine", "mine.txt")
    assert ask("--home", home, "ledger", "export", "--output", target).code == 2
    assert ask("--home", home, "ledger", "export", "--format", "bundle", "--output", tmp_path).code == 2
    assert target.read_text() == "mine"


def test_watch_prints_what_others_append_once_and_in_order(home: Path) -> None:
    """Another process holds the writer's place all the while."""
    process = subprocess.Popen(
        command_line("--home", home, "ledger", "watch", "--from", "3", "--count", "41", "--interval", "0.05", "--json"),
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    seen = [json.loads(process.stdout.readline())["sequence_number"]]
    ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=b'{"n":1}\n' * 40)
    out, _ = process.communicate(timeout=60)
    seen += [json.loads(line)["sequence_number"] for line in out.splitlines()]
    assert (process.returncode, seen) == (0, list(range(3, 44)))
    assert ask("--home", home, "ledger", "watch", "--once").out == ""
    assert len(ask("--home", home, "ledger", "watch", "--once", "--from", "40").out.splitlines()) == 4


def test_reading_works_beside_a_writer_and_writing_is_told_so(home: Path, tmp_path: Path) -> None:
    """The second writer is fenced: exit 1, nothing written."""
    ask("--home", home, "ledger", "checkpoint")
    with open_node(home):
        reads = [["list"], ["verify"], ["prove", "2"], ["export", "--output", "-"], ["checkpoint-show", "latest"]]
        assert [ask("--home", home, "ledger", *read).code for read in reads] == [0] * len(reads)
        assert ask("--home", home, "doctor").code == 0
        denied = ask("--home", home, "ledger", "append", note(tmp_path), "--json")
    assert (denied.code, denied.error_code) == (1, "store.writer_held")
