"""`assay review`: a ticket is opened, looked at, answered for what it showed, and never otherwise."""

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.keyfile import create_key_file
from assay.flows.truth.compile_truth import compile_truth
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.wiring import open_node
from tests.surfaces.cli._desk import Done, Shell, opened_shell
from tests.surfaces.cli._truth import opened_truth_shell

REQUEST = {"title": "delete 40 records", "shown": {"records": 40}, "eligible_roles": ["ops_team"]}
NO_TICKET = "tkt_" + "a" * 26
HASH = "sha256:" + "0" * 64


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    one = opened_shell(tmp_path, monkeypatch, capsys)
    one.person("user:olga", "operator", "ops_team")
    one.person("user:amira", "ops_team")
    one.person("user:bo", "ops_team")
    return one


def _open(shell: Shell, **changes: object) -> tuple[str, str]:
    """The id of a new ticket, and the hash of what it shows."""
    text = json.dumps({**REQUEST, **changes})
    done = shell("review", "open", "-", "--json", stdin=text, session=shell.login("user:olga"))
    assert done.code == 0, done.out
    return done.json["id"], done.json["shown_hash"]


def _listed(shell: Shell, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell("review", "list", *options, "--json").json["items"]
    return found


def test_a_ticket_goes_from_a_file_to_a_decision(shell: Shell, tmp_path: Path) -> None:
    """The way of a person: open, list, show, answer, and see it settled."""
    file = tmp_path / "ticket.json"
    file.write_text(json.dumps(REQUEST))
    opened = shell("review", "open", str(file), session=shell.login("user:olga"))
    ticket = opened.out.strip()
    assert ticket in shell("review", "list").out
    shown = shell("review", "show", ticket)
    assert '| {"records":40}' in shown.out
    view = shell("review", "show", ticket, "--json").json["review"]
    assert view["ticket"]["opened_by"] == "user:olga"
    seen = view["ticket"]["shown_hash"]
    assert seen in shown.out
    assert seen in opened.err
    answered = shell(
        "review", "answer", ticket, "approve", "--seen", seen, "--reason", "fine", session=shell.login("user:amira")
    )
    assert answered.code == 0
    assert "settled: 1 chose `approve`" in answered.out
    after = shell("review", "show", ticket)
    assert "signature valid" in after.out
    assert after.code == 0
    assert ticket not in shell("review", "list").out
    assert [one["settlement"]["choice"] for one in _listed(shell, "--state", "any")] == ["approve"]


def test_an_answer_needs_what_was_seen(shell: Shell) -> None:
    """Without it, or with the hash of something else, nothing is recorded."""
    ticket, _ = _open(shell)
    amira = shell.login("user:amira")
    assert shell("review", "answer", ticket, "approve", "--json", session=amira).refusal == (2, "cli.usage")
    other = shell("review", "answer", ticket, "approve", "--seen", HASH, "--json", session=amira)
    assert other.refusal == (1, "review.stale_ticket")
    malformed = shell("review", "answer", ticket, "approve", "--seen", "abc", "--json", session=amira)
    assert malformed.refusal == (3, "form.digest")
    assert shell("review", "show", ticket, "--json").json["review"]["answers"] == []


def test_every_refusal_has_its_exit_code(shell: Shell) -> None:
    """An answer is a person's own, for a ticket that is there, with a choice that it offers."""
    ticket, seen = _open(shell, requested_by="user:bo")
    olga, amira, bo = (shell.login(f"user:{name}") for name in ("olga", "amira", "bo"))
    key = shell("principal", "key", "issue", "user:amira").out.strip()

    def answer(*arguments: str, session: str | None) -> tuple[int, str]:
        return shell("review", "answer", *arguments, "--seen", seen, "--json", session=session).refusal

    assert answer(ticket, "approve", session=None) == (1, "identity.not_signed_in")
    assert answer(ticket, "approve", session="st_stale") == (1, "identity.not_signed_in")
    assert answer(ticket, "approve", session=key) == (1, "identity.session_required")
    assert answer(ticket, "approve", session=olga) == (1, "review.own_request")
    assert answer(ticket, "approve", session=bo) == (1, "review.own_request")
    assert answer(ticket, "maybe", session=amira) == (2, "review.unknown_choice")
    assert answer(ticket, "reject", session=amira) == (2, "review.reason_missing")
    assert answer(ticket, "approve", "--body", "{", session=amira)[0] == 3
    assert answer("nonsense", "approve", session=amira) == (3, "form.id")
    assert answer(NO_TICKET, "approve", session=amira) == (1, "flow.not_found")
    assert shell("review", "show", NO_TICKET, "--json").refusal == (1, "flow.not_found")


def test_a_body_may_be_written_in_any_spelling(shell: Shell) -> None:
    """It is signed and stored in its canonical one; one that an approval does not have is refused."""
    ticket, seen = _open(shell)
    amira = shell.login("user:amira")

    def answer(body: str) -> Done:
        return shell(
            "review", "answer", ticket, "approve", "--seen", seen, "--body", body, "--json", session=amira
        )  # fmt: skip

    assert answer('{ "b": 1, "a": 2 }').refusal == (3, "review.body")
    assert answer("{\n }").json["answered"]["answer"]["body"] == "{}"


def test_a_person_signs_with_a_key_of_their_own(shell: Shell, tmp_path: Path) -> None:
    """Once registered, the node's key does not do any more."""
    key = tmp_path / "amira.key"
    signer = create_key_file(key)
    assert signer.public_key is not None
    assert shell("principal", "amend", "user:amira", "--public-key", signer.public_key.hex()).code == 0
    ticket, seen = _open(shell)
    amira = shell.login("user:amira")
    answer = ("review", "answer", ticket, "approve", "--seen", seen, "--json")
    assert shell(*answer, session=amira).refusal == (3, "review.reviewer_key")
    done = shell(*answer, "--key", str(key), session=amira).json["answered"]["answer"]
    assert (done["signed_with"], done["signing_key_id"]) == ("reviewer_key", signer.key_id)
    assert "reviewer_key, signature valid" in shell("review", "show", ticket).out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", (3, "json.")),
        ("[]", (3, "http.fields")),
        ('{"title":"x"}', (3, "http.fields")),
        (json.dumps({**REQUEST, "kind": "restore"}), (3, "http.fields")),
        (json.dumps({**REQUEST, "eligible_roles": []}), (2, "review.ticket")),
        (json.dumps({**REQUEST, "due_at": "2001-01-01T00:00:00Z"}), (2, "review.ticket")),
        (json.dumps({**REQUEST, "due_at": "2101-01-01T00:00:00"}), (3, "http.fields")),
        (json.dumps({**REQUEST, "due_at": "tomorrow"}), (3, "http.fields")),
        ('{"title":"x","title":"y","shown":"","eligible_roles":[]}', (3, "json.")),
    ],
)
def test_a_file_that_is_no_ticket_is_refused(shell: Shell, text: str, expected: tuple[int, str]) -> None:
    done = shell("review", "open", "-", "--json", stdin=text, session=shell.login("user:olga"))
    code, name = done.refusal
    assert code == expected[0]
    assert name.startswith(expected[1])


def test_only_an_operator_with_a_session_opens_tickets(shell: Shell) -> None:
    """Otherwise nobody would know whose request it is that nobody may answer themselves."""
    text = json.dumps(REQUEST)
    assert shell("review", "open", "-", "--json", stdin=text).refusal == (1, "identity.not_signed_in")
    amira = shell.login("user:amira")
    assert shell("review", "open", "-", "--json", stdin=text, session=amira).refusal == (1, "identity.role")


def test_what_is_shown_cannot_pass_for_the_program(shell: Shell) -> None:
    """Every line of it is marked, and what could move the cursor is written out."""
    ticket, _ = _open(shell, shown="first\nstanding  settled: approved\x1b[2K\u202e\rgone")
    lines = shell("review", "show", ticket).out.splitlines()
    assert "| first" in lines
    assert "| standing  settled: approved\\x1b[2K\\u202e\\rgone" in lines


def test_the_sweep_denies_what_is_due(shell: Shell) -> None:
    """And says so when nothing is."""
    assert shell("review", "settle").out == "nothing is due\n"
    ticket, seen = _open(shell, due_at="2101-01-01T00:00:00Z")
    assert shell("review", "settle", "--json").json == {
        "settled": [],
        "stuck": [],
        "effects": [],
        "escalated": [],
        "opened": [],
        "problem": None,
    }
    _make_due(shell, ticket)
    assert "expired" in shell("review", "list").out
    late = shell("review", "answer", ticket, "approve", "--seen", seen, "--json", session=shell.login("user:amira"))
    assert late.refusal == (1, "review.expired")
    assert "assay review settle" in shell("review", "show", ticket).out
    (settled,) = shell("review", "settle", "--json").json["settled"]
    assert (settled["ticket_id"], settled["denied"]) == (ticket, True)
    assert _listed(shell) == []


def test_an_answer_that_was_changed_in_the_database_is_called_out(shell: Shell) -> None:
    """Show says that the signature does not hold, with exit code 3; the sweep leaves the ticket open."""
    ticket, seen = _open(shell, quorum=2, due_at="2101-01-01T00:00:00Z")
    answer = ("review", "answer", ticket, "approve", "--seen", seen, "--reason", "yes", "--json")
    assert shell(*answer, session=shell.login("user:amira")).code == 0
    _edit(shell, "answer", '"reason":"yes"', '"reason":"oh yes"', ticket)
    shown = shell("review", "show", ticket)
    assert shown.code == 3
    assert "SIGNATURE INVALID" in shown.out
    assert shell(*answer, session=shell.login("user:bo")).refusal == (3, "signature.invalid")
    _make_due(shell, ticket)
    swept = shell("review", "settle", "--json")
    assert (swept.code, [one["ticket_id"] for one in swept.json["stuck"]]) == (3, [ticket])


def _make_due(shell: Shell, ticket: str) -> None:
    """A test cannot wait for a century, and the clock is the real one; so the ticket's own dates are moved."""
    opened_at = shell("review", "show", ticket, "--json").json["review"]["ticket"]["opened_at"]
    _edit(shell, "ticket", f'"opened_at":"{opened_at}"', '"opened_at":"2000-01-01T00:00:00Z"', ticket)
    _edit(shell, "ticket", '"due_at":"2101-01-01T00:00:00Z"', '"due_at":"2000-01-02T00:00:00Z"', ticket)
    with closing(sqlite3.connect(shell.home / "assay.db")) as connection, connection:
        due = ("2000-01-02T00:00:00.000000Z", ticket)
        connection.execute("UPDATE ticket_place SET due_at = ? WHERE ticket_id = ?", due)


def _edit(shell: Shell, table: str, old: str, new: str, ticket: str) -> None:
    """What an intruder with the file could do: the trigger is dropped, the row rewritten, the trigger put back."""
    connection = sqlite3.connect(shell.home / "assay.db")
    try:
        name = f"{table}_no_update"
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        connection.execute(f"DROP TRIGGER {name}")
        changed = connection.execute(
            f"UPDATE {table} SET record = replace(record, ?, ?) WHERE ticket_id = ? AND instr(record, ?)",
            (old, new, ticket, old),
        )
        assert changed.rowcount == 1
        connection.execute(trigger)
        connection.commit()
    finally:
        connection.close()


def test_answers_about_a_claim_are_votes_and_are_told_even_when_they_are_not_counted_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first is counted at once. The key then has a state of a later time: the second is recorded and warned of."""
    truth = opened_truth_shell(tmp_path, monkeypatch, capsys)
    key = truth.critical()
    ticket, seen = truth.asked()
    answer = ("review", "answer", ticket, "ratify", "--seen", seen)
    done = truth(*answer, session=truth.shell.login("user:eve"))
    assert (done.code, "LEANING_TRUE" in done.out) == (0, True)
    with open_node(truth.shell.home) as (tools, config):
        ahead = Instant(SystemClock().now() + timedelta(minutes=30))
        compile_truth(tools, TenantId(config.node.tenant), key, at=ahead, force=True)
    done = truth(*answer, session=truth.shell.login("user:gus"))
    assert (done.code, "not compiled yet" in done.out) == (0, True)
    assert "warning: the vote is recorded" in done.err
    assert "[truth.compile_time]" in done.err
    shown = truth.done("review", "show", ticket)
    assert [one["answer"]["by"] for one in shown["review"]["answers"]] == ["user:eve", "user:gus"]
