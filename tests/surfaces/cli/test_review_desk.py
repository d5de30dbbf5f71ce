"""`assay review` for those who work at the desk all day: claims, comments, many at once, views, and how it went."""

import json
from pathlib import Path

import pytest

from tests.surfaces.cli._desk import Shell, opened_shell

REQUEST = {"title": "delete 40 records", "shown": {"records": 40}, "eligible_roles": ["ops_team"]}


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    one = opened_shell(tmp_path, monkeypatch, capsys)
    one.person("user:olga", "operator")
    one.person("user:amira", "ops_team")
    one.person("user:bo", "ops_team")
    return one


def _open(shell: Shell, olga: str, **changes: object) -> tuple[str, str]:
    done = shell("review", "open", "-", "--json", stdin=json.dumps({**REQUEST, **changes}), session=olga)
    assert done.code == 0, done.out
    return done.json["id"], done.json["shown_hash"]


def test_a_day_at_the_desk(shell: Shell) -> None:
    """Claimed, placed, commented on, answered; and the ledger tells all of it again, entry by entry."""
    olga, amira, bo = (shell.login(f"user:{name}") for name in ("olga", "amira", "bo"))
    ticket, seen = _open(shell, olga)
    assert "claimed until" in shell("review", "claim", ticket, "--for", "10m", session=amira).out
    refused = shell("review", "answer", ticket, "approve", "--seen", seen, "--json", session=bo)
    assert refused.refusal == (1, "review.leased")
    assert shell("review", "priority", ticket, "urgent", session=amira).code == 0
    assert shell("review", "assign", ticket, "--to", "user:bo", session=amira).code == 0
    assert shell("review", "assign", ticket, "--role", "nobody", "--json", session=amira).refusal[0] == 2
    assert shell("review", "comment", ticket, "ask Ada\x1b[2J", session=amira).code == 0
    assert shell("review", "draft", "save", ticket, "--choice", "reject", "--reason", "not sure", session=bo).code == 0
    listed = shell("review", "list", "--assignee", "user:bo", "--priority", "urgent", "--state", "leased", "--json")
    assert [one["ticket"]["id"] for one in listed.json["items"]] == [ticket]
    assert shell("review", "list", "--holder", "user:bo", "--json").json["items"] == []
    text = shell("review", "show", ticket, session=bo).out
    assert "ask Ada\\x1b[2J" in text
    assert "your draft: reject" in text
    assert "your draft" not in shell("review", "show", ticket, session=amira).out
    assert shell("review", "release", ticket, session=amira).code == 0
    assert shell("review", "release", ticket, "--json", session=amira).refusal == (1, "review.not_leased")
    assert shell("review", "answer", ticket, "approve", "--seen", seen, session=bo).code == 0
    assert shell("review", "draft", "drop", ticket, "--json", session=bo).refusal == (1, "review.settled")
    steps = shell("review", "timeline", ticket, "--json").json["items"]
    assert [one["kind"].removeprefix("ticket.") for one in steps] == [
        "opened", "claimed", "prioritised", "assigned", "commented", "released", "answered", "settled",
    ]  # fmt: skip
    entry = shell("ledger", "show", str(steps[4]["sequence_number"]), "--json")
    assert steps[4]["entry_hash"] in entry.out
    assert "ask Ada" not in json.dumps(steps)
    figures = {one["by"]: one for one in shell("review", "progress", "--json").json["items"]}
    assert (figures["user:bo"]["answered"], figures["user:bo"]["agreed"]) == (1, 1)
    assert [one["by"] for one in shell("review", "progress", "--json", session=amira).json["items"]] == ["user:amira"]


def test_reviewers_of_a_quorum_judge_by_themselves(shell: Shell) -> None:
    """A session hides others' words until that person's own; the timeline does too."""
    olga, amira, bo = (shell.login(f"user:{name}") for name in ("olga", "amira", "bo"))
    ticket, seen = _open(shell, olga, quorum=2)
    assert shell("review", "comment", ticket, "I doubt it", session=amira).code == 0
    assert shell("review", "answer", ticket, "approve", "--seen", seen, session=amira).code == 0
    blind = shell("review", "show", ticket, "--json", session=bo)
    assert blind.json["blind"] is True
    assert "doubt" not in blind.out
    assert "user:amira" not in blind.out
    assert "user:amira" not in shell("review", "timeline", ticket, "--json", session=bo).out
    assert "user:amira" not in shell("review", "list", "--json", session=bo).out
    assert "1 of 2" in shell("review", "show", ticket, session=amira).out
    assert "1 of 2" in shell("review", "show", ticket).out
    assert shell("review", "answer", ticket, "approve", "--seen", seen, session=bo).code == 0
    assert "doubt" in shell("review", "show", ticket, session=bo).out


def test_many_are_answered_as_the_dry_run_showed_them(shell: Shell, tmp_path: Path) -> None:
    """Nothing is recorded by it; what changed since is refused by itself, and each can still be undone."""
    olga, amira, bo = (shell.login(f"user:{name}") for name in ("olga", "amira", "bo"))
    tickets = [_open(shell, olga, about=f"batch:{number}")[0] for number in range(3)]
    _open(shell, olga, about="other")
    plan = shell("review", "plan", "approve", "--about", "batch:", "--json", session=amira)
    assert (plan.code, plan.json["accepted"], plan.json["rehearsed"]) == (0, 3, True)
    assert plan.json["lines"][0]["shown"] == '{"records":40}'
    assert len(shell("review", "list", "--json").json["items"]) == 4
    file = tmp_path / "plan.json"
    file.write_text(plan.out)
    assert shell("review", "claim", tickets[1], session=bo).code == 0
    done = shell("review", "bulk", "approve", "--plan", str(file), "--json", session=amira)
    assert (done.code, done.json["accepted"], done.json["refused"]) == (1, 2, 1)
    assert [one["code"] for one in done.json["lines"] if not one["accepted"]] == ["review.leased"]
    assert all(one["takes_effect_at"] for one in done.json["lines"] if one["accepted"])
    assert shell("review", "undo", tickets[0], "--reason", "too quick", session=amira).code == 0
    assert shell("review", "undo", tickets[1], "--json", session=amira).refusal == (1, "review.not_held")
    assert shell("review", "bulk", "approve", "--json", session=amira).refusal == (2, "cli.usage")
    file.write_text('{"lines": [{"ticket_id": "x"}]}')
    wrong = shell("review", "bulk", "approve", "--plan", str(file), "--json", session=amira)
    assert wrong.refusal == (3, "review.plan_file")
    blunt = shell("review", "plan", "reject", "--about", "batch:", "--json", session=amira)
    assert {one["code"] for one in blunt.json["lines"]} >= {"review.reason_missing"}


def test_views_are_private_unless_they_are_shared(shell: Shell) -> None:
    olga, amira, bo = (shell.login(f"user:{name}") for name in ("olga", "amira", "bo"))
    ticket, _ = _open(shell, olga, about="flood")
    _open(shell, olga, about="fire")
    assert shell("review", "view", "save", "water", "--about", "flood", session=amira).code == 0
    found = shell("review", "list", "--view", "water", "--json", session=amira)
    assert [one["ticket"]["id"] for one in found.json["items"]] == [ticket]
    assert shell("review", "list", "--view", "water", "--json", session=bo).refusal == (2, "review.view")
    assert shell("review", "list", "--view", "water", "--json").refusal == (2, "review.view")
    assert shell("review", "view", "save", "water", "--about", "flood", "--shared", session=amira).code == 0
    assert len(shell("review", "list", "--view", "water", "--json", session=bo).json["items"]) == 1
    assert [one["name"] for one in shell("review", "view", "list", "--json", session=bo).json["items"]] == ["water"]
    assert shell("review", "view", "drop", "water", "--json", session=bo).refusal == (2, "review.view")
    assert shell("review", "view", "drop", "water", session=amira).code == 0
    assert shell("review", "view", "list", "--json", session=amira).json["items"] == []
