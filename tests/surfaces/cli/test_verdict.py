"""`assay verdict`: what was decided is explained, and what is held waits for a person's signed word."""

from pathlib import Path

import pytest

from assay.adapters.keyfile import create_key_file, public_path
from tests.surfaces.cli._verdicts import JUDGED, VerdictShell, opened_verdict_shell

HASH = "sha256:" + "0" * 64


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    return opened_verdict_shell(tmp_path, monkeypatch, capsys, is_judged=True)


def _held(shell: VerdictShell, name: str) -> tuple[str, str]:
    """The ticket of a held verdict, and the hash of what it shows."""
    (one,) = [one for one in shell.items("verdict", "hold-list") if one["telemetry_id"] == name]
    return one["ticket"]["id"], one["ticket"]["shown_hash"]


@pytest.mark.clause("ski", "4.2")
@pytest.mark.clause("ski", "7.4")
def test_a_verdict_is_explained_from_its_clause_to_its_proof(shell: VerdictShell) -> None:
    """Obligations with limit and clause, what the model asserted, the verifier, the governor, hashes, and commands."""
    page = shell("verdict", "show", "en-03", "--rule", "ied-so2").out
    for told in (
        "overall   FLAG",
        "FLAG  Sulphur dioxide, coal, above 300 MW (ied-so2, medium tier)",
        "so2-month: so2.monthly_mean is 201 mg/Nm3, must not exceed 200 mg/Nm3 (breached)",
        "      | no validated monthly average exceeds the limit value",
        "Directive 2010/75/EU on industrial emissions, Annex V, Part 1, point 2  https://eur-lex.europa.eu",
        "so2-month: so2.monthly_mean must_not_exceed 200, observed 201: not satisfied",
        "so2-month as obligation",
        "AGREED, 2 assertions checked",
        "medium tier, and the verifier: AGREED",
        "ex:start-up: values measured during start-up periods are disregarded",
        "answered by  judge, ",
    ):
        assert told in page
    assert "ied-nox" not in page
    assert "| ski.v3.evaluate.2" not in page
    texts = shell("verdict", "show", "en-03", "--rule", "ied-so2", "--transcript").out
    assert "    | ski.v3.evaluate.2" in texts
    assert "    | <record>" in texts
    shown = shell.done("verdict", "show", "en-03")
    refs = {one["envelope"]["transcript_ref"] for one in shown["decided"]["verdicts"]}
    assert refs == set(shown["transcripts"])
    assert len(refs) == 3


def test_what_the_page_says_to_do_proves_and_replays_the_verdict(shell: VerdictShell) -> None:
    """The commands at its end work as they stand."""
    page = shell("verdict", "show", "en-20").out
    number = page.partition("ledger prove ")[2].split()[0]
    file = shell.folder / "verdict.json"
    assert shell("ledger", "prove", number, "--output", file).code == 0
    assert shell("verify", file, "--trust", shell.shell.home / "keys" / "ledger.key.pub").code == 0
    assert shell("replay", "--entry", number).out.endswith("reproduced: 1 MATCH\n")
    assert f"assay receipt verify --entry {number}" in page
    assert shell("receipt", "verify", "--entry", number).code == 0
    assert shell.done("verdict", "show", "--entry", number)["decided"]["telemetry_id"] == "en-20"


def test_windows_are_shown_with_what_they_came_to(shell: VerdictShell) -> None:
    """The number that was decided by, and how many records it is of."""
    page = shell("verdict", "show", "en-12").out
    assert "dust-day: average of dust over 86400 s is 10, 1 records" in page
    assert "so2-continuous: age of so2 over 3600 s is None, 0 records" in page


def test_verdicts_are_listed_the_newest_first_and_filtered(shell: VerdictShell) -> None:
    """A held one is listed as HELD, whatever the model said."""
    rows = [line.split() for line in shell("verdict", "list").out.splitlines()]
    assert rows[0][:3] == ["ENTRY", "VERDICT", "RECORD"]
    assert rows[1][1:3] == ["NULL_UNMAPPED", "en-20"]
    assert [row[1] for row in rows if row[2] == "en-18"] == ["HELD"]
    assert {row[2] for row in rows[1:]} == {*JUDGED}
    (flag,) = shell.items("verdict", "list", "--verdict", "FLAG")
    assert (flag["telemetry_id"], flag["outcome"]["rule_id"]) == ("en-03", "ied-so2")
    by_rule = shell.items("verdict", "list", "--rule", "ied-so2", "--limit", "2")
    assert [one["telemetry_id"] for one in by_rule] == ["en-07", "en-05"]
    cursor = shell.done("verdict", "list", "--rule", "ied-so2", "--limit", "2")["next"]
    older = shell.items("verdict", "list", "--rule", "ied-so2", "--cursor", cursor)
    assert [one["telemetry_id"] for one in older] == ["en-03"]
    late = shell.items("verdict", "list", "--subject", "abatement-1", "--from", "2024-02-14T00:00:00Z")
    assert [one["telemetry_id"] for one in late] == ["en-18"]
    early = shell.items("verdict", "list", "--subject", "abatement-1", "--to", "2024-02-14T00:00:00Z")
    assert early
    assert "en-18" not in [one["telemetry_id"] for one in early]
    undecided = shell.items("verdict", "list", "--verdict", "DISCRETIONARY")
    assert [one["telemetry_id"] for one in undecided] == ["en-07"]
    assert shell("verdict", "list", "--subject", "nobody").err == "no verdict\n"


@pytest.mark.clause("ski", "5.4")
def test_a_held_verdict_is_not_shown_until_a_person_attests_exactly_that(shell: VerdictShell) -> None:
    """The page of the ticket is what is attested; the final verdict carries the token, and nothing was overwritten."""
    waiting = shell("verdict", "show", "en-18")
    assert "overall   held until a person answers" in waiting.out
    assert "FLAG" not in waiting.out
    assert shell.done("verdict", "show", "en-18")["decided"]["verdicts"][0]["envelope"] is None
    ticket, seen = _held(shell, "en-18")
    assert f"assay review show {ticket}" in waiting.out
    asked = shell("review", "show", ticket).out
    assert "| the model says: FLAG" in asked
    assert seen in asked
    shown = shell("verdict", "attest", ticket)
    assert (shown.code, "| the model says: FLAG" in shown.out) == (0, True)
    assert shown.out.splitlines()[-1].endswith(f"--seen {seen}")
    done = shell(
        "verdict", "attest", ticket, "--seen", seen, "--reason", "read it", session=shell.shell.login("user:rita")
    )
    assert done.out.startswith("user:rita chose `attest`, signed with the ")
    assert done.out.splitlines()[1].startswith("FLAG: attested, and AGREED, entry ")
    page = shell("verdict", "show", "en-18").out
    assert "overall   FLAG" in page
    assert "by user:rita at " in page
    assert "notify-authority: notified_after is 60 h, must not exceed 48 h (breached)" in page
    assert [one["telemetry_id"] for one in shell.items("verdict", "hold-list")] == ["en-16"]
    # The final one stands in the place of the held one, whose entry stays.
    rows = shell.items("verdict", "list", "--subject", "abatement-1", "--standing")
    assert [(one["telemetry_id"], one["outcome"]["standing"]) for one in rows] == [
        ("en-18", "final"),
        ("en-16", "held"),
    ]
    assert shell("replay", "en-18").out.splitlines()[-1] == "reproduced: 2 MATCH"


@pytest.mark.clause("ski", "5.4")
def test_a_declined_verdict_is_discretionary_and_says_why(shell: VerdictShell) -> None:
    """A person decides the case; what the model said stays visible beside it."""
    ticket, seen = _held(shell, "en-16")
    session = shell.shell.login("user:gus")
    done = shell.done("verdict", "attest", ticket, "decline", "--seen", seen, "--reason", "no", session=session)
    assert (done["verdict"]["verdict"], done["verdict"]["reason"]) == ("DISCRETIONARY", "not attested")
    page = shell("verdict", "show", "en-16").out
    assert "the model said CLEAR" in page
    again = shell("verdict", "attest", ticket, "--seen", seen, "--json", session=session)
    assert (again.code, again.json["error"]["code"]) == (1, "review.settled")


@pytest.mark.clause("ski", "5.4")
def test_nobody_attests_what_they_did_not_see_or_may_not_decide(shell: VerdictShell) -> None:
    """Another hash, an API key, nobody at all, somebody without the role, a ticket about something else."""
    ticket, seen = _held(shell, "en-18")
    rita = shell.shell.login("user:rita")
    asked = ("verdict", "attest", ticket, "--json", "--seen")
    assert shell(*asked, HASH, session=rita).json["error"]["code"] == "review.stale_ticket"
    assert (
        shell(*asked, seen, session=shell.keys["service:sensor"]).json["error"]["code"] == "identity.session_required"
    )
    assert shell(*asked, seen).json["error"]["code"] == "identity.not_signed_in"
    olga = shell.shell.login("user:olga")
    assert shell(*asked, seen, session=olga).json["error"]["code"] == "review.not_eligible"
    (queued,) = shell.done("review", "list", "--state", "any", "--kind", "knowledge_review")["items"]
    review = queued["ticket"]
    other = ("verdict", "attest", review["id"], "--json", "--seen", review["shown_hash"])
    assert shell(*other, session=rita).json["error"]["code"] == "verdict.not_held"
    assert [one["telemetry_id"] for one in shell.items("verdict", "hold-list")] == ["en-16", "en-18"]


def test_a_reviewers_own_key_signs_token_and_answer(shell: VerdictShell) -> None:
    """Whoever holds the person's public key can check the attestation without the node."""
    file = shell.folder / "rita.key"
    signer = create_key_file(file)
    assert shell("principal", "amend", "user:rita", "--public-key", public_path(file).read_text()).code == 0
    ticket, seen = _held(shell, "en-16")
    done = shell.done(
        "verdict", "attest", ticket, "--seen", seen, "--key", file, session=shell.shell.login("user:rita")
    )
    assert done["answered"]["answer"]["signed_with"] == "reviewer_key"
    assert done["verdict"]["envelope"]["human_attestation"]["key_id"] == signer.key_id
    assert shell("replay", "en-16").code == 0


def test_what_was_never_judged_is_said_so(shell: VerdictShell) -> None:
    """An honest no with its code; wrong usage is told apart."""
    assert shell("verdict", "show", "nobody", "--json").refusal == (1, "flow.not_found")
    assert shell("verdict", "show", "--entry", "1", "--json").refusal == (1, "flow.not_found")
    assert shell("verdict", "show", "--json").refusal == (2, "cli.usage")
    assert shell("verdict", "show", "en-20", "--entry", "1", "--json").refusal == (2, "cli.usage")
    assert shell("verdict", "show", "en-20", "--rule", "ied-so2", "--json").refusal == (1, "flow.not_found")
