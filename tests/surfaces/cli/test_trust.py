"""`assay trust`: signals are logged by whom they name, policies are tried before they are used, standings are shown."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.surfaces.cli._truth import POLICIES, TruthShell, opened_truth_shell
from tests.surfaces.cli.running import ask

FLOW, COASTAL = POLICIES / "flow_v1.yaml", POLICIES / "flow_coastal_v1.yaml"
WEAKNESSES = ("quick_authority", "spammer_heard", "sybils_lift_each_other", "collusion_outvotes")
GENEROUS = "id: generous_v1\nversion: 1\nextends: flow_v1\ninitial_standing: 700\n"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TruthShell:
    return opened_truth_shell(tmp_path, monkeypatch, capsys)


def test_standings_show_who_is_known_and_what_that_is_worth(shell: TruthShell) -> None:
    """Newcomers stand where the policy lets them start; roles give a class and no trust."""
    found = shell.done("trust", "standings")
    told = {one["agent_id"]: (one["standing"], one["standing_class"], one["trust_score"]) for one in found["items"]}
    assert told["user:ann"] == (300, "bronze", 0.119203)
    assert told["user:gus"] == (300, "authority", 0.119203)
    assert "user:gus" in shell("trust", "standings", "--claim-type", "earth.flood.v1").out
    one = shell("trust", "show", "user:gus")
    assert "300, authority" in one.out
    assert "official" in one.out
    assert shell.done("trust", "show", "user:gus")["roles"] == ["official"]
    assert shell("trust", "show", "user:nobody", "--json").refusal == (1, "flow.not_found")
    under = shell.done("trust", "policy", "list")["items"][0]["policy_hash"]
    assert shell.done("trust", "standings", "--policy", under)["items"][0]["policy_id"] == "flow_v1"
    assert shell("trust", "standings", "--policy", "f" * 64, "--json").refusal == (1, "flow.not_found")


def test_a_snapshot_is_what_a_compilation_would_take(shell: TruthShell) -> None:
    """Of all agents or of some, now or as it was then; nothing is recorded, and the past is not made up."""
    frozen = shell.done("trust", "snapshot", "--claim-type", "earth.flood.v1", "--agent", "user:ann")
    assert list(frozen["agent_trusts"]) == ["user:ann"]
    assert frozen["agent_trusts"]["user:ann"] == {"standing": "bronze", "trust_score": 0.119203, "admissible": True}
    everyone = shell.done("trust", "snapshot", "--claim-type", "earth.flood.v1")
    assert len(everyone["agent_trusts"]) == 4
    later = shell.done("trust", "snapshot", "--claim-type", "earth.flood.v1", "--at", "2099-01-01T00:00:00Z")
    assert later["snapshot_time"] == "2099-01-01T00:00:00Z"
    past = shell("trust", "snapshot", "--claim-type", "earth.flood.v1", "--at", "2020-01-01T00:00:00Z", "--json")
    assert past.refusal == (2, "trust.no_policy")
    asked = ("trust", "snapshot", "--claim-type", "earth.flood.v1", "--at", frozen["snapshot_time"])
    assert shell.done(*asked, "--agent", "user:ann")["snapshot_hash"] == frozen["snapshot_hash"]


def test_an_endorsement_is_the_endorsers_own_and_can_be_taken_back(shell: TruthShell) -> None:
    """It is logged under whoever is signed in, whatever name is typed elsewhere."""
    shell.done("trust", "endorse", "user:ann", "--weight", "0.5", as_="user:eve")
    assert shell.done("trust", "show", "user:ann")["endorsed_by"] == ["user:eve"]
    shell.done("trust", "endorse", "user:ann", "--weight", "0", as_="user:eve")
    assert shell.done("trust", "show", "user:ann")["endorsed_by"] == []
    assert shell("trust", "endorse", "user:ann", "--weight", "2", "--json", as_="user:eve").refusal == (
        3,
        "http.fields",
    )
    assert shell("trust", "endorse", "user:ann", "--weight", "x", "--json", as_="user:eve").refusal == (2, "cli.usage")
    assert shell("trust", "endorse", "user:ann", "--weight", "nan", "--json", as_="user:eve").refusal == (
        3,
        "http.fields",
    )
    assert shell("trust", "endorse", "user:ann", "--json").refusal == (1, "identity.not_signed_in")


def test_agents_are_admitted_and_roles_granted_by_an_admin_alone(shell: TruthShell) -> None:
    """A role may end; nobody grants what is not theirs to grant."""
    shell.done("trust", "admit", "sensor:042", as_="user:root")
    shell.done("trust", "grant", "sensor:042", "steward", "--until", "2099-01-01T00:00:00Z", as_="user:root")
    assert shell.done("trust", "show", "sensor:042")["standing_class"] == "silver"
    for command in (("admit", "sensor:1"), ("grant", "sensor:042", "official")):
        assert shell("trust", *command, "--json", as_="user:op").refusal == (1, "identity.role")
    assert shell("trust", "admit", "Nonsense", "--json", as_="user:root").refusal == (3, "trust.signal")


def test_a_signal_from_a_file_is_logged_once_and_never_a_state_or_a_penalty(shell: TruthShell) -> None:
    """What moves a standing cannot be handed in."""
    given = {
        "signal_id": "mission.1",
        "kind": "MISSION_CREATED",
        "agent_id": "user:op",
        "occurred_at": "2026-01-01T00:00:00Z",
        "object": {"mission_id": "m-1"},
    }
    log = ("trust", "signal", "-", "--json")
    assert shell(*log, as_="user:op", stdin=json.dumps(given)).json["is_new"] is True
    assert "was logged before" in shell("trust", "signal", "-", as_="user:op", stdin=json.dumps(given)).out
    other = {**given, "object": {"mission_id": "m-2"}}
    assert shell(*log, as_="user:op", stdin=json.dumps(other)).refusal == (1, "truth.record_conflict")
    foreign = {**given, "signal_id": "mission.2", "agent_id": "user:eve"}
    assert shell(*log, as_="user:op", stdin=json.dumps(foreign)).refusal == (1, "trust.signal_refused")
    penalty = {
        **given,
        "signal_id": "penalty.1",
        "kind": "PENALTY_APPLIED",
        "object": {
            "agent_id": "user:ann",
            "points": 100,
            "ticket_id": "tkt_" + "a" * 26,
            "answer_hashes": ["0" * 64],
        },
    }
    assert shell(*log, as_="user:op", stdin=json.dumps(penalty)).refusal == (1, "trust.signal_refused")
    assert shell(*log, as_="user:op", stdin="{}").refusal == (3, "trust.signal")
    assert shell.done("trust", "show", "user:ann")["standing"] == 300


def test_a_penalty_waits_for_people_and_changes_a_standing_only_then(shell: TruthShell) -> None:
    """Whoever asked does not decide; the decision is made on the desk and moves the standing at once."""
    asked = shell("trust", "penalise", "user:ann", "--points", "50", "--reason", "copied", as_="user:op")
    ticket = asked.out.strip()
    assert "it shows sha256:" in asked.err
    assert shell.done("trust", "show", "user:ann")["standing"] == 300
    seen = shell.done("review", "show", ticket)["review"]["ticket"]["shown_hash"]
    answer = ("review", "answer", ticket, "apply", "--seen", seen)
    done = shell.done(*answer, session=shell.shell.login("user:eve"))
    assert done["answered"]["settlement"]["choice"] == "apply"
    assert shell.done("trust", "show", "user:ann")["standing"] == 250
    penalise = ("trust", "penalise", "user:ann", "--reason", "x", "--json")
    assert shell(*penalise, "--points", "0", as_="user:op").refusal == (3, "http.fields")
    assert shell(*penalise, "--points", "5", as_="service:gateway").refusal == (1, "identity.role")
    nobody = shell("trust", "penalise", "user:nobody", "--points", "5", "--reason", "x", "--json", as_="user:op")
    assert nobody.refusal == (1, "flow.not_found")


def test_a_policy_comes_into_force_once_and_the_last_one_reads_the_log(shell: TruthShell) -> None:
    """What it inherits is in it; another body under its id is refused."""
    file = shell.folder / "generous.yaml"
    file.write_text(GENEROUS)
    into_force = ("trust", "policy", "register", file, "--json")
    assert shell(*into_force, as_="user:op").refusal == (1, "identity.session_required")
    person = ("--credential", shell.shell.login("user:op"))
    assert shell(*into_force, *person).refusal == (1, "trust.policy_weak")
    accepted = [f"--accept={code}" for code in WEAKNESSES]
    assert shell.done("trust", "policy", "register", file, *accepted, *person)["is_in_force"] is True
    assert "in force: generous_v1" in shell("trust", "policy", "register", file, as_="user:op").out
    assert shell.done("trust", "show", "user:ann")["standing"] == 700
    listed = shell("trust", "policy", "list").out.splitlines()
    assert [line.endswith("in force") for line in listed[1:]] == [False, True]
    one = shell.done("trust", "policy", "show", "generous_v1")
    assert json.loads(one["document"])["sigmoid"] == {"k": 0.01, "midpoint": 500, "max": 1000}
    assert '"initial_standing": 700' in shell("trust", "policy", "show", "generous_v1").out
    file.write_text(GENEROUS.replace("700", "701"))
    register = ("trust", "policy", "register", file, "--json")
    assert shell(*register, as_="user:op").refusal == (1, "trust.policy_changed")
    assert shell(*register, as_="user:eve").refusal == (1, "identity.role")
    file.write_text(GENEROUS.replace("flow_v1", "nothing_v1").replace("generous_v1", "lost_v1"))
    assert shell(*register, as_="user:op").refusal == (3, "trust.policy")
    assert shell("trust", "policy", "show", "none", "--json").refusal == (1, "flow.not_found")


def test_another_policy_is_tried_on_the_real_log_before_it_is_registered(shell: TruthShell) -> None:
    """Whom it would change, by how much; nothing is registered."""
    file = shell.folder / "generous.yaml"
    file.write_text(GENEROUS)
    found = shell.done("trust", "counterfactual", file)
    assert {one["agent_id"] for one in found["differences"]} == {"user:ann", "user:ben", "user:eve", "user:gus"}
    assert found["differences"][0]["under_other"]["standing"] == 700
    assert "4 would change, 0 would not" in shell("trust", "counterfactual", file).out
    assert "0 would change, 4 would not" in shell("trust", "counterfactual", FLOW).out
    assert len(shell.done("trust", "policy", "list")["items"]) == 1


def test_the_shipped_policies_have_no_weakness_that_is_known(tmp_path: Path) -> None:
    """They are linted by the simulation that everybody can run."""
    linted = ask("trust", "policy", "lint", FLOW, "--json")
    assert (linted.code, linted.json["holds"], linted.json["findings"]) == (0, True, [])
    file = tmp_path / "weak.yaml"
    file.write_text(GENEROUS.replace("initial_standing: 700", "initial_standing: 849"))
    weak = ask("trust", "policy", "lint", file, "--parent", FLOW, "--days", "20", "--json")
    assert weak.code == 1
    assert "quick_authority" in {one["code"] for one in weak.json["findings"]}
    assert f"{file}: weakness: " in ask("trust", "policy", "lint", file, "--parent", FLOW, "--days", "5").out


def test_a_new_policy_can_be_used_as_it_is(tmp_path: Path) -> None:
    """The shipped one under a name of your own, with every word of explanation."""
    file = tmp_path / "mine.yaml"
    assert ask("trust", "policy", "new", "mine_v1", "--output", file).code == 0
    assert file.read_text() == FLOW.read_text().replace("id: flow_v1", "id: mine_v1")
    assert ask("trust", "policy", "new", "mine_v1").out == file.read_text()
    assert ask("trust", "policy", "new", "mine_v1", "--output", file).code == 2
    refused = ask("trust", "policy", "new", "Not A Name", "--json")
    assert (refused.code, refused.error_code) == (3, "trust.policy")


def test_a_policy_with_mistakes_is_told_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(FLOW.read_text().replace("theta_min: 0.1", "theta_min: 7"))
    line = next(number for number, text in enumerate(file.read_text().splitlines(), start=1) if "theta_min: 7" in text)
    answer = ask("trust", "policy", "lint", file)
    assert answer.code == 1
    assert answer.out.startswith(f"{file}:{line}: error: theta_min: ")
    assert ask("trust", "policy", "lint", file, "--json").json["holds"] is False
    refused = ask("trust", "policy", "simulate", file, "--json")
    assert (refused.code, refused.error_code) == (3, "trust.policy")


def test_a_simulation_can_be_looked_at(tmp_path: Path) -> None:
    """The same seed gives the same run, and the picture is one SVG text."""
    picture = tmp_path / "standings.svg"
    run = ("trust", "policy", "simulate", COASTAL, "--parent", FLOW, "--days", "12", "--seed", "s")
    first = ask(*run, "--plot", picture, "--json")
    assert first.code == 0
    assert first.json == ask(*run, "--json").json
    assert picture.read_text().startswith("<svg ")
    assert "user:honest-01" in ask(*run).out
    assert ask(*run, "--plot", tmp_path / "none" / "x.svg").code == 2


def test_trust_is_what_the_ledger_says_or_the_difference_is_named(shell: TruthShell) -> None:
    """Somebody with the database in their hands changes a signal behind the program's back."""
    told = shell.done("trust", "verify")
    assert (told["holds"], told["problems"]) == (True, [])
    with sqlite3.connect(shell.shell.home / "assay.db") as connection:
        connection.execute("DROP TRIGGER trust_signal_no_update")
        connection.execute("UPDATE trust_signal SET text = replace(text, 'official', 'steward')")
    connection.close()
    answer = shell("trust", "verify", "--json")
    assert (answer.code, answer.json["holds"]) == (1, False)
    assert answer.json["problems"][0]["code"] == "trust.log_differs"
    assert "DOES NOT HOLD" in shell("trust", "verify").out


def test_a_final_state_is_disputed_in_person_and_people_are_asked_again(shell: TruthShell) -> None:
    """By a key alone it is logged and does not count, which is an honest no."""
    key = shell.critical()
    _, seen = shell.asked()
    override = ("truth", "vote", key, "override", "--status", "VERIFIED_TRUE", "--seen", seen, "--reason", "saw it")
    shell.done(*override, session=shell.shell.login("user:gus"))
    closed = shell.done("truth", "window", key, "close", "--credential", shell.shell.login("user:op"))
    state_hash = closed["state"]["security"]["state_hash"]
    assert [one["agent_id"] for one in shell.done("trust", "credits")["items"]] == []
    dispute = ("trust", "dispute", key, "--state", state_hash, "--reason", "the gauge was moved")
    by_key = shell(*dispute, "--json", as_="user:eve")
    assert (by_key.code, by_key.json["dispute"]["refusal"]) == (1, "not_in_person")
    done = shell(*dispute, "--credential", shell.shell.login("user:eve"))
    assert done.code == 0
    assert "a round is open" in done.out
    assert "PENDING_HUMAN_REVIEW" in done.out
    assert shell.asked()[0]
    again = shell(*dispute, "--credential", shell.shell.login("user:eve"))
    assert (again.code, "does not count: not_in_force" in again.out) == (1, True)


def test_attacks_are_simulated_without_a_node(tmp_path: Path) -> None:
    """Lies that were believed, honest agents that were harmed, and a picture of it."""
    law, plot = tmp_path / "rain.yaml", tmp_path / "attacks.svg"
    law.write_text(ask("contract", "new", "earth.rain.v1").out)
    asked = ("trust", "simulate", law, FLOW, "--kind", "spammers", "--honest", "4", "--attackers", "2")
    report = ask(*asked, "--plot", plot, "--json").json
    assert [one["kind"] for one in report["attacks"]] == ["spammers"]
    assert plot.read_text().startswith("<svg")
    assert "BELIEVED" in ask(*asked).out
