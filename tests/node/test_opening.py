"""A node is opened, used and closed; what cannot be done says so by its code, and nothing heavy comes along unused."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.flows.errors.identity import NotSignedInError
from assay.identity.errors import IdentityError
from assay.kernel.errors import Blame, Error, codes_of
from assay.node import Node
from assay.node.errors import NodeError
from assay.wiring import FolderInUseError, NoNodeError
from tests.node._home import RULE, SLUG, Home
from tests.raising import raises


def test_a_new_folder_becomes_a_node_when_asked(tmp_path: Path) -> None:
    with pytest.raises(NoNodeError):
        assay.open(tmp_path / "node")
    with assay.open(tmp_path / "node", create=True) as node:
        receipt = node.append({"said": "hello"})
    with assay.open(tmp_path / "node", create=True) as node:
        [entry] = node.entries(first=receipt.sequence_number, last=receipt.sequence_number)
        assert entry.entry_hash == receipt.entry_hash


def test_a_folder_with_other_things_in_it_is_no_node(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises((NoNodeError, FolderInUseError)):
        assay.open(tmp_path, create=True)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_the_database_file_names_its_folder(home: Home) -> None:
    with assay.open(home.folder / "assay.db", read_only=True) as node:
        assert node.folder == home.folder


def test_a_database_address_needs_the_folder_of_its_keys(home: Home) -> None:
    with raises(NodeError.no_home):
        assay.open("postgresql://localhost/assay")
    with assay.open("sqlite:assay.db", home=home.folder, read_only=True) as node:
        assert node.audit().holds


def test_closing_twice_does_nothing_and_using_afterwards_is_refused(node: Node) -> None:
    node.close()
    node.close()
    assert node.is_closed
    for use in (
        lambda: node.append({"n": 1}),
        lambda: node.state("k"),
        lambda: node.acting("x").evaluate({}),
        lambda: node.acting("x").ask(SLUG),
        lambda: list(node.tickets()),
        lambda: node.estimate("how deep"),
        lambda: node.answers("x"),
        lambda: node.aio,
    ):
        with raises(NodeError.closed) as caught:
            use()
        assert (caught.value.code, caught.value.blame) == ("node.closed", Blame.USAGE)


def test_an_auditor_reads_beside_the_writer_and_writes_nothing(home: Home, node: Node) -> None:
    """No writer's place is taken, no checkpoint signed, no mark left."""
    receipt = node.append({"n": 1})
    bundle = node.prove_entry(receipt.sequence_number)
    before = sorted(one.name for one in home.folder.rglob("*") if "marks" in one.parts)
    with assay.open(home.folder, read_only=True) as auditor:
        assert auditor.audit(full=True).holds
        assert auditor.prove_entry(receipt.sequence_number) == bundle
        assert auditor.verify(bundle).holds
        for write in (
            lambda: auditor.append({"n": 2}),
            auditor.sign_checkpoint,
            lambda: auditor.acting(home.keys["amira"]).ask(SLUG),
            lambda: auditor.acting(home.keys["sensor"]).evaluate({}),
            lambda: auditor.compile_state("k"),
        ):
            with raises(NodeError.read_only):
                write()
        with pytest.raises(Error) as caught:
            auditor.prove_entry(node.append({"n": 3}).sequence_number)
        assert caught.value.code == "proof.no_checkpoint"
    assert sorted(one.name for one in home.folder.rglob("*") if "marks" in one.parts) == before


def test_who_shows_no_credential_does_nothing_in_anybodys_name(node: Node) -> None:
    with pytest.raises(NotSignedInError):
        node.ask(SLUG)
    with pytest.raises(NotSignedInError):
        node.acting("ak_nobody.nothing").ask(SLUG)


def test_a_credential_of_the_opening_is_used_for_everything(home: Home) -> None:
    with assay.open(home.folder, credential=home.keys["amira"]) as node:
        node.answers(SLUG)(lambda _question: "clear")
        assert node.ask(SLUG).body.output == "clear"
        with raises(IdentityError.role):
            node.append({"seen": "a gull"})
    with assay.open(home.folder, credential=home.keys["olga"]) as node:
        note = node.entry(node.append({"seen": "a gull"}).sequence_number)
        assert "user:olga" in note.text


def test_answerers_are_added_before_the_first_question(home: Home, node: Node) -> None:
    @node.answers(SLUG, rules=[RULE])
    def under_keel(_question: object) -> str:
        return "clear"

    assert callable(under_keel)
    assert node.acting(home.keys["amira"]).ask(SLUG).body.output == "clear"
    with raises(NodeError.table_frozen):
        node.answers("other")


@pytest.mark.clause("pramana", "6.5")
def test_strands_are_added_before_the_first_question_and_are_checked_then(home: Home, node: Node) -> None:
    told: Any = {
        "name": "Pilot",
        "how_to_check": "a pilot is on board",
        "absence_implication": "no pilot is on board",
        "contact": "ops@example.org",
    }
    node.answers(SLUG, rules=[RULE])(lambda _question: "clear")
    node.strand("x-pilot", **told)(lambda question, _rules: f"log of {question.query_type}")
    node.strand("x-tug", **told)(lambda _question, _rules: 1 / 0)  # type: ignore[arg-type, return-value]  # it fails
    body = node.acting(home.keys["amira"]).ask(SLUG).body
    assert "x-pilot" in body.annotation.strands_present
    assert "x-tug" in body.annotation.strands_missing
    with raises(NodeError.table_frozen):
        node.strand("x-late", **told)


def test_every_refusal_of_a_node_is_the_callers_to_mend() -> None:
    assert {code.blame for code in codes_of(NodeError)} == {Blame.USAGE}


def test_the_front_door_is_light_and_an_open_node_runs_no_model(home: Home) -> None:
    """The package imports nothing; opening imports neither drivers nor servers, and starts no process."""
    script = f"""
import sys, assay
assert "msgspec" not in sys.modules
with assay.open({str(home.folder)!r}, read_only=True) as node:
    node.entries()
heavy = {{"psycopg", "litestar", "httpx", "assay.model.engine", "assay.adapters.reasoning.judge_process"}}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
