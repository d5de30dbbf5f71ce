"""`assay graph`: from the text of a regulation to the graph in use, by commands alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.keyfile import create_key_file, public_path
from assay.kernel.digest import EMPTY_DIGEST
from assay.verdicts.graph.hash import stamp_versions
from tests.flows._verdicts import graph_document, rule
from tests.surfaces.cli._verdicts import JUDGED, VerdictShell, opened_verdict_shell
from tests.surfaces.cli.running import Answer, ask

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ENERGY = _EXAMPLES / "graphs" / "energy.json"
TEXT = _EXAMPLES / "regulations" / "combustion_plants.md"
FLAT = {
    "metadata": {"version": "2.1"},
    "rules": [
        {"id": "r1", "metric": "so2", "predicate": "lte", "value": 35, "track": "deterministic"},
        {"id": "r2", "metric": "care"},
    ],
    "tag_registry": {"stack": "r1"},
}


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    """A node that judges by the energy graph."""
    return opened_verdict_shell(tmp_path, monkeypatch, capsys)


def _file(folder: Path, name: str, content: bytes | dict[str, Any]) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def _energy(folder: Path, *, compiled_at: str = "2026-02-01T00:00:00Z", **limits: int) -> Path:
    """The energy graph as its authors would hand it in next, with other limits."""
    document = json.loads(ENERGY.read_text())
    document["metadata"]["compiled_at"] = compiled_at
    for node in document["nodes"]["obligations"]:
        if (limit := limits.get(node["id"].replace("-", "_"))) is not None:
            node["value"] = limit
    return _file(folder, "energy.json", json.dumps(stamp_versions(document)).encode())


def _accept(shell: VerdictShell, ticket: dict[str, Any]) -> None:
    session = shell.shell.login("user:rita")
    done = shell("review", "answer", ticket["id"], "accept", "--seen", ticket["shown_hash"], session=session)
    assert done.code == 0, done.err


# ---- files alone


@pytest.mark.clause("ski", "3.6")
def test_the_exit_code_of_validate_is_what_users_of_other_validators_know(tmp_path: Path) -> None:
    """0 may be signed, 1 no such file, 2 not a graph, 3 a high or critical issue; no node is needed."""
    broken = json.loads(graph_document(rule("so2"), rule("low", kind="must_be_at_least", value=40)))
    answers = {
        "valid": ask("graph", "validate", ENERGY, "--schema", "v3"),
        "missing": ask("graph", "validate", tmp_path / "none.json"),
        "no JSON": ask("graph", "validate", _file(tmp_path, "a.json", b"{")),
        "no graph": ask("graph", "validate", _file(tmp_path, "b.json", {"rules": 5})),
        "contradictory": ask("graph", "validate", _file(tmp_path, "c.json", broken)),
    }
    codes = {"valid": 0, "missing": 1, "no JSON": 2, "no graph": 2, "contradictory": 3}
    assert {name: answer.code for name, answer in answers.items()} == codes


@pytest.mark.clause("ski", "3.6")
def test_every_issue_has_its_place_its_words_and_what_to_do(tmp_path: Path) -> None:
    """As lines for people, as JSON for programs: the same."""
    document = json.loads(graph_document(rule("so2"), rule("low", kind="must_be_at_least", value=40)))
    document["edges"].append({"type": "applies_to", "from": "so2", "to": "nowhere"})
    file = _file(tmp_path, "g.json", document)
    told = ask("graph", "validate", file, "--json").json
    by_code = {one["code"]: one for one in told["issues"]}
    contradiction = by_code["CONTRADICTORY_OBLIGATIONS"]
    assert {contradiction["node"], contradiction["other"]} == {"so2.o", "low.o"}
    assert by_code["UNDEFINED_SUBJECT"]["edge"] == {"type": "applies_to", "from": "so2", "to": "nowhere"}
    assert all(one["message"] and one["action"] for one in told["issues"])
    lines = ask("graph", "validate", file).out
    for one in told["issues"]:
        assert one["code"] in lines
        assert f"do: {one['action']}" in lines


@pytest.mark.clause("ski", "3.6")
def test_a_contradiction_is_proven_when_asked_for(tmp_path: Path) -> None:
    """z3 names the instant and the obligations; without the option there is no proof."""
    pytest.importorskip("z3")
    document = graph_document(rule("so2"), rule("low", kind="must_be_at_least", value=40))
    file = _file(tmp_path, "g.json", document)
    proven = ask("graph", "validate", file, "--prove", "--json").json["issues"][0]
    assert "unsat" in proven["proof"]
    assert ask("graph", "validate", file, "--json").json["issues"][0]["proof"] is None


@pytest.mark.clause("ski", "11.2")
def test_a_graph_of_version_two_is_told_what_it_lacks_and_written_as_a_typed_draft(tmp_path: Path) -> None:
    """The missing types are reported by `--suggest-upgrades`, and `upgrade` writes the rest for people to complete."""
    file = _file(tmp_path, "flat.json", FLAT)
    told = ask("graph", "validate", file, "--schema=v3", "--suggest-upgrades", "--json").json
    steps = {(one["code"], one["rule"]) for one in told["upgrades"]}
    assert {("TYPE_OBLIGATION", "r1"), ("WRITE_OBLIGATION", "r2"), ("REMOVE_TRACK", "r1")} <= steps
    assert ask("graph", "validate", file, "--json").json["upgrades"] == []
    out = tmp_path / "typed.json"
    upgraded = ask("graph", "upgrade", file, "--output", out)
    assert (upgraded.code, "changes; it may be reviewed" in upgraded.out) == (0, True)
    assert "obligation:r1: no citation was given; it now cites " in upgraded.err
    typed = json.loads(out.read_text())
    assert typed["metadata"]["draft"] is True
    assert {one["obligation_type"] for one in typed["nodes"]["obligations"]} == {"must_not_exceed", "discretionary"}
    assert ask("graph", "upgrade", file, "--output", out).code == 2


def test_a_new_graph_is_valid_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "new.json"
    assert ask("graph", "new", "house", "--sector", "energy", "--output", out).code == 0
    assert ask("graph", "validate", out).code == 0
    printed = ask("graph", "new", "house", "--sector", "energy")
    assert json.loads(printed.out) == json.loads(out.read_text())
    assert ask("graph", "new", "Not A Name").code == 2


def test_two_graphs_are_compared_field_by_field(tmp_path: Path) -> None:
    """Exit 0 for the same, 1 for a difference; hostile text cannot move the cursor."""
    one = _file(tmp_path, "a.json", graph_document(rule("so2")))
    other = _file(tmp_path, "b.json", graph_document(rule("so2", value=30, summary="\x1b[2Jnew"), rule("nox")))
    assert ask("graph", "diff", one, one).code == 0
    answer = ask("graph", "diff", one, other)
    assert answer.code == 1
    told = "so2 must not exceed 35 became so2 must not exceed 30 (stricter)."
    assert answer.out.startswith(
        'Rule "The nox rule" (nox) was added; it applies to subject "Subject stack" (stack).\n'
    )
    assert f'Obligation so2.o of Rule "The so2 rule" (so2): {told}' in answer.out
    assert "changed obligation so2.o" in answer.out
    assert "    value: 35 -> 30" in answer.out
    assert "added rule nox" in answer.out
    assert "\x1b" not in answer.out
    told = ask("graph", "diff", one, other, "--json").json
    assert [one["node"] for one in told["nodes"] if one["change"] == "added"] == ["nox.o", "nox"]


def test_a_graph_is_shown_as_people_read_it() -> None:
    """By subject: the limit with its unit, since when, where, except when, and the clause."""
    shown = ask("graph", "show", ENERGY).out
    assert "subject stack-1: Stack 1, validated averages" in shown
    assert "rule ied-so2 [medium]: Sulphur dioxide, coal, above 300 MW" in shown
    assert "so2.monthly_mean: must not exceed 200 mg/Nm3" in shown
    assert "from 2016-01-01, European Union" in shown
    assert "except: operation.start_up == true" in shown
    assert "Directive 2010/75/EU on industrial emissions, Annex V" in shown
    assert json.loads(ask("graph", "show", ENERGY, "--document").out) == json.loads(ENERGY.read_text())


def test_a_regulation_becomes_a_draft_with_its_doubts(tmp_path: Path) -> None:
    """The draft goes into a file, what is uncertain to standard error; with --json both are in the answer."""
    out = tmp_path / "draft.json"
    report = tmp_path / "notes.md"
    answer = ask("graph", "extract", TEXT, "--output", out, "--report", report)
    assert answer.code == 0
    assert "doubt article_5_6.1: its words ask for judgement" in answer.err
    assert "no obligation in Article 1(3), line 9 (it permits): The competent authority may ask" in answer.err
    assert (
        "- [ ] `article_3_4.1` desulphurisation_rate ≥ 96 %; from 2027-01-01; in European Union" in report.read_text()
    )
    assert ask("graph", "validate", out).code == 0
    told = ask("graph", "extract", TEXT, "--subject", "plant-1", "--json").json
    assert told["graph"]["metadata"]["draft"] is True
    assert [one["id"] for one in told["graph"]["nodes"]["subjects"]] == ["plant-1"]
    assert {one["node"] for one in told["doubts"]} >= {"article_5_6.1"}
    assert (told["suggestions"], told["model_failure"]) == ([], None)
    assert "a draft: it is used only once people accepted it" in ask("graph", "show", out).out


# ---- on a node


@pytest.mark.clause("ski", "2.1.2")
@pytest.mark.clause("ski", "3.5")
def test_a_draft_is_reviewed_signed_and_loaded_by_commands_alone(shell: VerdictShell, tmp_path: Path) -> None:
    """Nothing can be left out: unsigned it is refused, unreviewed it is not signed, and then it is in use."""
    draft = tmp_path / "draft.json"
    assert ask("graph", "extract", TEXT, "--output", draft).code == 0
    assert shell("graph", "load", draft, "--json", as_="user:olga").refusal == (3, "graph.unsigned")
    content = ask("graph", "validate", draft, "--json").json["content_hash"]
    assert shell("graph", "sign", draft, "--json", as_="user:olga").refusal == (1, "flow.not_found")
    asked = shell.done("graph", "review", draft, as_="user:olga")
    assert asked["content_hash"] == content
    assert shell("graph", "reviews", content).err == "nobody has reviewed this content\n"
    assert shell("graph", "sign", content, "--json", as_="user:olga").refusal == (1, "graph.unreviewed")
    _accept(shell, asked["ticket"])
    (review,) = shell.items("graph", "reviews", content)
    assert (review["by"], review["choice"], review["content_hash"]) == ("user:rita", "accept", content)
    key, signed = tmp_path / "authors.key", tmp_path / "signed.json"
    create_key_file(key)
    assert shell("graph", "sign", content, "--key", key, "--output", signed, as_="user:olga").code == 0
    # Signed by somebody the operator does not trust yet.
    assert shell("graph", "load", signed, "--json", as_="user:olga").refusal == (3, "graph.unknown_key")
    assert shell("key", "trust", "add", public_path(key)).code == 0
    reason = ("--downgrade-reason", "the draft names no date of its own")
    assert shell("graph", "load", signed, "--json", as_="user:olga").refusal == (3, "graph.downgraded")
    loaded = shell.done("graph", "load", signed, *reason, session=shell.shell.login("user:olga"))
    assert (loaded["activation"]["content_hash"], loaded["activation"]["reviewers"]) == (content, 1)
    assert loaded["activation"]["kg_version_hash"] == content
    listed = shell.items("graph", "list")
    (one,) = [one for one in listed if one["content_hash"] == content]
    assert (one["state"], len(one["documents"])) == ("in use", 2)
    row = next(line for line in shell("graph", "list").out.splitlines() if content[:19] in line)
    assert len(row) <= 120
    assert "sulphur_dioxide: must not exceed 200 mg/Nm3" in shell("graph", "show").out


@pytest.mark.clause("ski", "3.5")
def test_the_node_s_own_key_signs_and_one_altered_byte_is_refused(shell: VerdictShell, tmp_path: Path) -> None:
    """The review key is the node's word for its people; it counts once the operator named it as an anchor."""
    file = _energy(tmp_path, so2_month=150)
    asked = shell.done("graph", "review", file, as_="user:olga")
    _accept(shell, asked["ticket"])
    signed = tmp_path / "signed.json"
    done = shell.done("graph", "sign", file, "--output", signed, as_="user:olga")
    assert done["content_hash"] == asked["content_hash"]
    public = public_path(shell.shell.home / "keys" / "review.key")
    assert shell("key", "trust", "add", public).code == 0
    altered = _file(tmp_path, "altered.json", signed.read_bytes().replace(b'"value":150', b'"value":950'))
    assert shell("graph", "load", altered, "--json", as_="user:olga").refusal == (3, "graph.altered")
    assert shell.done("graph", "load", signed, as_="user:olga")["activation"]["mode"] == "strict"
    assert shell("graph", "diff", asked["content_hash"], signed).code == 0


def test_nothing_is_signed_into_a_file_that_exists_and_what_was_lost_is_signed_again(
    shell: VerdictShell, tmp_path: Path
) -> None:
    """The file is looked at before anything is recorded; the same key gives the same document, kept once."""
    file = _energy(tmp_path, so2_month=150)
    asked = shell.done("graph", "review", file, as_="user:olga")
    _accept(shell, asked["ticket"])
    taken = _file(tmp_path, "taken.json", b"{}")
    assert shell("graph", "sign", file, "--output", taken, as_="user:olga").code == 2

    def kept() -> list[str | None]:
        (one,) = [one for one in shell.items("graph", "list") if one["content_hash"] == asked["content_hash"]]
        return [document["signed_by"] for document in one["documents"]]

    assert kept() == [None]
    first, again = tmp_path / "first.json", tmp_path / "again.json"
    for name in (first, again):
        assert shell("graph", "sign", file, "--output", name, as_="user:olga").code == 0
    assert first.read_bytes() == again.read_bytes()
    assert len(kept()) == 2


@pytest.mark.clause("ski", "3.5")
def test_advisory_mode_loads_an_unsigned_graph_with_a_warning(shell: VerdictShell, tmp_path: Path) -> None:
    """The hash that envelopes record is that of no bytes; going back to unsigned takes a person's reason."""
    shell.configure('sovereignty = "advisory"')
    file = _energy(tmp_path)
    assert shell("graph", "load", file, "--json", as_="user:olga").refusal == (3, "graph.downgraded")
    answer = shell(
        "graph", "load", file, "--downgrade-reason", "a test", "--json", session=shell.shell.login("user:olga")
    )
    assert answer.code == 0, answer.out
    assert "warning: unsigned: " in answer.err
    assert answer.json["activation"]["kg_version_hash"] == EMPTY_DIGEST


def test_a_graph_in_use_and_its_nodes_are_shown_with_who_accepted_them(shell: VerdictShell) -> None:
    """The picture says who signed and reviewed it; a node by its id has its fields and edges."""
    shown = shell("graph", "show").out
    assert "reviewed  user:rita accept" in shown
    assert "in use    since " in shown
    node = shell("graph", "show", "so2-month").out
    assert "obligation so2-month" in node
    assert "from ied-so2 by consists_of" in node
    assert shell("graph", "show", "no-such-node", "--json").refusal == (1, "flow.not_found")
    listed = shell("graph", "list").out
    assert ("user:rita" in listed, "in use" in listed) == (True, True)


def test_impact_tells_which_past_verdicts_would_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 where none would, 1 with each change; nothing is recorded, and an invalid candidate is refused."""
    shell = opened_verdict_shell(tmp_path, monkeypatch, capsys, is_judged=True)
    same = shell("graph", "impact", _energy(tmp_path), "--json", as_="user:olga")
    assert (same.code, same.json["changed"], same.json["records"]) == (0, 0, len(JUDGED))
    before = shell("ledger", "list").out
    found = shell("graph", "impact", _energy(tmp_path, so2_month=100000), "--json", as_="user:olga")
    assert (found.code, found.json["moves"]) == (1, {"FLAG -> CLEAR": 1})
    (change,) = found.json["changes"]
    assert (change["telemetry_id"], change["before"], change["after"]) == ("en-03", "FLAG", "CLEAR")
    text = shell("graph", "impact", _energy(tmp_path, so2_month=100000), as_="user:olga").out
    assert all(line in text for line in ("1 x FLAG -> CLEAR", "1 of rule ied-so2", "1 about "))
    assert shell("ledger", "list").out == before


def test_every_command_refuses_in_json_what_it_cannot_read(tmp_path: Path) -> None:
    """A file that is not there, or no graph, has a code; nothing ends in a traceback."""
    missing, empty = tmp_path / "none.json", _file(tmp_path, "empty.json", b"{}")
    refusals: list[Answer] = [
        ask("graph", "show", empty, "--json"),
        ask("graph", "upgrade", missing, "--json"),
        ask("graph", "diff", missing, missing, "--json"),
        ask("graph", "extract", missing, "--json"),
    ]
    assert [(one.code, one.error_code) for one in refusals] == [
        (3, "graph.form"),
        (3, "cli.text_file"),
        (3, "cli.text_file"),
        (3, "cli.text_file"),
    ]
