"""`assay ask`, `outcome`, `rules`, `query`, `rca`, `pairs` and `trace`: from a question to a corrected rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.delivery.answerer import Reply
from assay.delivery.outcome import Outcome
from assay.flows.delivery.answerers import Answerers
from assay.surfaces.cli.ask import OUTCOMES
from tests.surfaces.cli._desk import Shell, opened_shell

RULE, SLUG = "MAR-YK-007", "vessel.ukc-status"
answerers = Answerers()


@answerers.answers(SLUG, rules=[RULE])
def _under_keel(question: Any) -> str:  # noqa: ANN401  the question
    return f"{question.question['ship']} has enough water"


@answerers.answers("guess", rules=[RULE])
def _guess(_question: Any) -> Reply:  # noqa: ANN401  the question
    doubt = {"method": "semantic_entropy", "value": 0.9, "interpretation": "the samples disagree"}
    claim = {"id": "g", "statement": "rain", "claim_type": "INFERENCE", "risk_tier": "READ_ONLY", "uncertainty": doubt}
    return Reply(output="rain", claims=({**claim, "evidence_pointers": []},))


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    opened = opened_shell(tmp_path, monkeypatch, capsys)
    with (opened.home / "assay.toml").open("a") as file:
        file.write(f'\n[delivery]\nanswerers = ["{__name__}:answerers"]\n')
    opened.person("user:olga", "operator", trust_mask="2", action_tier="1")
    opened.person("user:rita", "reviewer")
    opened.person("user:sam", "reviewer")
    return opened


def _signal(number: int, **chosen: object) -> str:
    told = {
        "signal_type": "phala",
        "rule_id": RULE,
        "applied_by": "bridge",
        "outcome": "failure",
        "strands_available": ["capability"],
        "authenticity_level": "PRAMANA-1",
        "rca_triggered": False,
        "timestamp": f"2026-01-01T00:00:0{number}Z",
    }
    return json.dumps(told | chosen)


def _expect_shortfall(shell: Shell, kind: tuple[str, ...], session: str) -> None:
    """An answer that was good enough is one no more when its kind is expected to reach more."""
    short = shell("ask", SLUG, '{"ship": "Ada"}', "--json", session=session).json
    assert short["body"]["authenticity_level"] == "PRAMANA-2"
    assert shell("query", "shortfalls").err.strip() == "no answer fell short"
    assert shell(*kind, "--expect", "PRAMANA-3", session=session).out.strip() == f"{SLUG}@2"
    short = shell("ask", SLUG, '{"ship": "Ada"}', "--json", session=session).json
    fell = shell("query", "shortfalls", "--of", SLUG, "--json")
    assert (fell.code, [one["answer_id"] for one in fell.json["items"]]) == (1, [short["answer_id"]])
    assert fell.json["items"][0]["strands_missing"] == ["proof"]


def _expect_lists(shell: Shell) -> None:
    """After three failures of one sender."""
    alerts = shell("rules", "alerts", "--min-total", "3", "--min-confidence", "0.5", "--json")
    assert (alerts.code, [one["alert"]["rule_id"] for one in alerts.json["items"]]) == (1, [RULE])
    assert shell("rules", "alerts").err.strip() == "no rule has bad outcomes"
    [session] = shell("rules", "sessions", "--json").json["items"]
    assert session["signals"] == 3
    assert len(shell("rules", "session", session["session"], "--json").json["items"]) == 3
    assert shell("rules", "session", "session:none").code == 1


def test_from_a_question_to_a_corrected_rule(shell: Shell, tmp_path: Path) -> None:
    """Each command does one step; the answer's way can be traced through all four stages."""
    olga, rita, sam = (shell.login(f"user:{name}") for name in ("olga", "rita", "sam"))
    text, code = tmp_path / "rule.txt", tmp_path / "ukc.py"
    text.write_text("At least 10 %.")
    code.write_text(f"# @rule:{RULE}\n")
    assert shell("rules", "add", RULE, str(text), "--domain", "maritime", session=olga).out.strip() == f"{RULE}@1"
    shown = shell("rules", "certify", RULE, "--json", session=rita).json
    done = shell("rules", "certify", RULE, "--seen", shown["shown_hash"], session=rita)
    assert done.code == 0, done.err
    kind = ("query", "add", SLUG, "--description", "is there water", "--domain", "maritime", "--rule", RULE)
    assert shell(*kind, session=olga).out.strip() == f"{SLUG}@1"
    _expect_shortfall(shell, kind, olga)
    assert shell("rules", "proof", str(code)).code == 0
    assert SLUG in shell("query", "list").out
    assert "certified" in shell("rules", "list").out

    asked = shell("ask", SLUG, '{"ship": "Ada"}', "--json", session=olga).json
    assert asked["body"]["output"] == "Ada has enough water"
    assert asked["body"]["authenticity_level"] == "PRAMANA-3"
    assert "PRAMANA-3" in shell("ask", SLUG, '{"ship": "Ada"}', session=olga).out

    assert shell("rules", "grant", "user:olga", "MAR-*", session=olga).code == 0
    marked = asked["body"]["annotation"]
    last = _signal(
        2,
        answer_id=asked["answer_id"],
        authenticity_level=marked["authenticity_level"],
        strands_available=marked["strands_present"],
        timestamp=marked["answered_at"],
    )
    lines = "\n".join((_signal(0), _signal(1), last))
    reported = shell("outcomes", "-", "--json", session=olga, stdin=lines).json
    item_id = reported[2]["receipt"]["rules"][0]["item_id"]
    again = shell("outcome", "-", "--json", session=olga, stdin=last).json
    assert again["is_new"] is False
    assert item_id in shell("rca", "list").out

    seen = shell("rca", "show", item_id, "--json").json["ticket"]["shown_hash"]
    text.write_text("At least 15 %.")
    concluded = shell(
        "rca", "conclude", item_id, "--category", "C", "--siddhanta", "too lenient", "--corrected-rule", str(text),
        "--seen", seen, "--json", session=rita,
    ).json  # fmt: skip
    ticket_id = concluded["proposal_ticket_id"]
    shown = shell("review", "show", ticket_id, "--json", session=sam).json
    shown_hash = shown["review"]["ticket"]["shown_hash"]
    done = shell("review", "answer", ticket_id, "accept", "--seen", shown_hash, session=sam)
    assert done.code == 0, done.err
    assert shell("rules", "show", RULE, "--json").json["content"] == "At least 15 %."
    [pair] = json.loads(shell("pairs", "export").out)
    assert pair["captured_by"] == "user:rita"
    _expect_lists(shell)
    [job] = shell("pairs", "train", "--size", "1", "--json").json["jobs"]
    # The judge is the trainer, and this conclusion is about no case of its own.
    assert (job["result"]["state"], job["result"]["not_for_this_trainer"]) == ("passed_over", 1)
    trace = shell("trace", asked["answer_id"], "--json").json
    stages = [one["stage"] for one in trace["trace"]["loops"]]
    assert stages == ["query", "delivery", "outcome", "root_cause"]
    assert shell("rules", "recount").out.startswith("3 signals of 1 rules")


def test_an_outcome_is_told_by_the_id_of_its_answer(shell: Shell, tmp_path: Path) -> None:
    """In words or in a file; and every outcome of the text can be chosen."""
    assert set(OUTCOMES) == set(Outcome)
    olga, text = shell.login("user:olga"), tmp_path / "rule.txt"
    text.write_text("At least 10 %.")
    shell("rules", "add", RULE, str(text), "--domain", "maritime", session=olga)
    shell("query", "add", SLUG, "--description", "water", "--domain", "maritime", "--rule", RULE, session=olga)
    shell("rules", "grant", "user:olga", "MAR-*", session=olga)
    first, second = (shell("ask", SLUG, '{"ship": "Ada"}', "--json", session=olga).json["answer_id"] for _ in range(2))
    named = ("outcome", "--answer", first, "--outcome", "partial", "--context", "entering port", "--json")
    assert [shell(*named, session=olga).json["is_new"] for _ in range(2)] == [True, False]
    short = json.dumps({"answer_id": second, "outcome": "failure"})
    assert shell("outcome", "-", "--json", session=olga, stdin=short).json["is_new"] is True
    other = shell("outcome", "--answer", first, "--outcome", "success", "--json", session=olga)
    assert other.refusal == (3, "delivery.outcome_conflict")
    [line] = (many := shell("outcomes", "-", "--json", session=olga, stdin=short)).json
    assert (many.code, line["status"], line["code"]) == (1, "refused", "delivery.outcome")
    assert "1: refused" in shell("outcomes", "-", session=olga, stdin=short).out
    for wrong in ((), ("--answer", first), ("--outcome", "success"), ("-", *named[1:])):
        assert shell("outcome", *wrong, session=olga, stdin=short).code == 2, wrong


def test_refusals_have_their_exit_codes(shell: Shell, tmp_path: Path) -> None:
    """1 an honest no, 2 usage, 3 untrusted input, 4 our fault."""
    olga, rita = shell.login("user:olga"), shell.login("user:rita")
    text = tmp_path / "rule.txt"
    text.write_text("At least 10 %.")
    shell("rules", "add", RULE, str(text), "--domain", "maritime", session=olga)
    assert shell("rules", "add", "MAR-2", str(text), "--json", session=rita).refusal == (1, "delivery.rule_author")
    assert shell("ask", SLUG, "--json", session=rita).refusal == (1, "registry.tier_closed")
    assert shell("ask", SLUG, '{"no": 1}', "--json", session=olga).refusal == (4, "delivery.answerer")
    assert shell("ask", "nobody", "--json", session=olga).refusal == (1, "delivery.no_answerer")
    assert shell("ask", SLUG, "{", "--json", session=olga).code == 3
    assert shell("ask", SLUG, "--json").refusal == (1, "identity.not_signed_in")
    refusal = shell("outcome", "-", "--json", session=olga, stdin=_signal(0)).refusal
    assert refusal == (1, "delivery.outcome_source")
    assert shell("outcome", "-", "--json", session=olga, stdin="{}").refusal == (3, "delivery.outcome")
    assert shell("outcome", "-", "--json", stdin=_signal(0)).refusal == (1, "identity.not_signed_in")
    assert shell("rca", "show", "rca_none", "--json").refusal == (1, "flow.not_found")
    assert shell("trace", "ans_none", "--json").refusal == (1, "flow.not_found")
    assert shell("rules", "proof", str(text)).code == 1
    assert shell("pairs", "train").out.strip() == "no whole batch waits"
    assert shell("pairs", "export", "--format", "chat").out == ""


@pytest.mark.clause("pramana", "14.6")
def test_below_the_floor_the_command_shows_no_output(shell: Shell, tmp_path: Path) -> None:
    olga = shell.login("user:olga")
    text = tmp_path / "rule.txt"
    text.write_text("At least 10 %.")
    shell("rules", "add", RULE, str(text), "--domain", "maritime", session=olga)
    assert shell("ask", SLUG, '{"ship": "Ada"}', session=olga).code == 0
    done = shell("principal", "amend", "user:olga", "--level-floor", "2")
    assert done.code == 0, done.err
    below = shell("ask", SLUG, '{"ship": "Ada"}', session=olga)
    assert (below.code, "Ada has" in below.out, "(withheld)" in below.out) == (1, False, True)


def test_an_answer_that_is_held_back_is_asked_for_again(shell: Shell, tmp_path: Path) -> None:
    """Exit 1 and the ticket while it waits; exit 0 once a person let it through."""
    olga, rita = shell.login("user:olga"), shell.login("user:rita")
    text = tmp_path / "rule.txt"
    text.write_text("At least 10 %.")
    assert shell("rules", "add", RULE, str(text), "--domain", "maritime", session=olga).code == 0
    told = shell("ask", "guess", session=olga)
    assert (told.code, "waits for ticket" in told.out, "rain" in told.out) == (1, True, False)
    held = shell("ask", "guess", "--json", session=olga).json
    [ticket] = [one["ticket_id"] for one in held["tickets"]]
    seen = shell("review", "show", ticket, "--json").json["review"]["ticket"]["shown_hash"]
    answered = shell("review", "answer", ticket, "resume", "--seen", seen, "--reason", "looked outside", session=rita)
    assert answered.code == 0, answered.err
    given = shell("resume", held["answer_id"], session=olga)
    assert (given.code, "rain" in given.out, "caveat: resumed by" in given.out) == (0, True, True)
    assert shell("resume", session=olga).code == 2
    assert held["answer_id"] in shell("answers", "list", session=olga).out
    assert "(withheld)" in shell("answers", "show", held["answer_id"], session=olga).out
    shell("rules", "grant", "user:olga", "MAR-*", session=olga)
    reported = shell("outcome", "--answer", held["answer_id"], "--outcome", "partial", "--json", session=olga)
    for name in (held["answer_id"], ticket, reported.json["signal_id"]):
        lines = shell("trace", name).out.splitlines()
        steps = [line for line in lines if line.startswith("2")]
        assert any(line.startswith("permission: user:olga (version 1), operator") for line in lines)
        assert any("gates decided DEFER: " in line for line in steps)
        assert any(f"resume: looked outside by user:rita [{ticket}]" in line for line in steps)
        assert any(f"partial of {RULE} by user:olga" in line for line in steps), steps


@pytest.mark.clause("pramana", "14.2")
def test_grants_add_up_until_they_are_replaced(shell: Shell) -> None:
    """An earlier grant is never lost by a later one unless the operator says so."""
    olga = shell.login("user:olga")
    assert shell("rules", "grant", "user:sam", "MAR-*", session=olga).out.strip() == "user:sam: MAR-*"
    assert shell("rules", "grant", "user:sam", "AIR-1", session=olga).out.strip() == "user:sam: MAR-*, AIR-1"
    assert shell("rules", "grant", "user:sam", "MAR-*", session=olga).out.strip() == "user:sam: MAR-*, AIR-1"
    replaced = shell("rules", "grant", "user:sam", "AIR-2", "--replace", session=olga)
    assert replaced.out.strip() == "user:sam: AIR-2"
    assert shell("rules", "grant", "user:sam", "--replace", session=olga).out.strip() == "user:sam: nothing"
    refused = shell("rules", "grant", "user:sam", "AIR-1", "--json", session=shell.login("user:rita"))
    assert refused.refusal == (1, "identity.role")


def test_a_query_type_has_a_risk_tier(shell: Shell) -> None:
    olga = shell.login("user:olga")
    kind = ("query", "add", "vessel.move", "--description", "may it move", "--domain", "maritime")
    assert shell(*kind, "--risk-tier", "DELETE", "--json", session=olga).json["risk_tier"] == "DELETE"
    assert shell(*kind, "--risk-tier", "HUGE", session=olga).code == 2
    assert "DELETE" in shell("query", "list").out
