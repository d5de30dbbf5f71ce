"""`assay replay`: recorded verdicts are reached again, or it is said what was not checked or came out otherwise."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.surfaces.cli._verdicts import VerdictShell, opened_verdict_shell, record

STEPS = ["1 graph", "2 weights", "3 prompt", "4 transcript", "5 verifier", "6 chain"]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    return opened_verdict_shell(tmp_path, monkeypatch, capsys, is_judged=True)


def _rewrite(shell: VerdictShell, table: str, statement: str) -> None:
    """Somebody with full rights on the database's file works behind the program's back."""
    with sqlite3.connect(shell.shell.home / "assay.db") as connection:
        guards = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table,)
        ).fetchall()
        for (name,) in guards:
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(statement).rowcount > 0
    connection.close()


def _replayed(shell: VerdictShell, *arguments: str) -> tuple[int, list[dict[str, object]], dict[str, int]]:
    answer = shell("replay", *arguments, "--json")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    return answer.code, lines[:-1], lines[-1]["summary"]["counts"]


def _step(replay: dict[str, object], name: str) -> object:
    steps = replay["steps"]
    assert isinstance(steps, list)
    return next(one["result"] for one in steps if one["step"] == name)


@pytest.mark.clause("ski", "8.1")
@pytest.mark.clause("ski", "9.2")
def test_every_verdict_is_reached_again_by_all_six_steps(shell: VerdictShell) -> None:
    """Graph, weights, prompt, transcript, verifier, chain: the judge writes the same bytes once more."""
    code, replays, counts = _replayed(shell, "--all")
    assert (code, counts["MATCH"]) == (0, len(replays))
    assert len(replays) == 14
    first = replays[0]
    assert [one["step"] for one in first["steps"]] == STEPS  # type: ignore[attr-defined]  # a list, as JSON has it
    told = shell("replay", "en-03").out.splitlines()
    assert told[0].endswith("MATCH: 1 graph ok, 2 weights ok, 3 prompt ok, 4 transcript ok, 5 verifier ok, 6 chain ok")
    assert told[-1] == "reproduced: 3 MATCH"


@pytest.mark.clause("ski", "8.1")
def test_what_was_not_checked_is_never_clean(shell: VerdictShell) -> None:
    """Without the model two steps are open: INCOMPLETE. Where no verdict is, nothing was checked."""
    code, replays, counts = _replayed(shell, "--all", "--without-model")
    assert (code, counts["INCOMPLETE"], counts["MATCH"]) == (1, len(replays), 0)
    assert _step(replays[0], "2 weights") == _step(replays[0], "4 transcript") == "not_checked"
    assert _step(replays[0], "5 verifier") == "match"
    assert "not everything was checked: 3 INCOMPLETE" in shell("replay", "en-03", "--without-model").out
    nothing = shell("replay", "--from", "1", "--to", "3", "--without-model")
    assert (nothing.code, nothing.out) == (1, "nothing was checked: no verdict there\n")


@pytest.mark.clause("ski", "8.1")
def test_verdicts_of_a_model_that_is_not_in_use_any_more_are_replayed_by_its_kept_weights(shell: VerdictShell) -> None:
    """Step 2 fetches the weights that the entry names, whichever judge today."""
    (shell.shell.home / "none.json").write_text("{}")
    shell.configure('reasoner = "scripted"\nreplies = "none.json"\nsovereignty = "advisory"')
    code, replays, counts = _replayed(shell, "en-20")
    assert (code, counts["MATCH"], _step(replays[0], "2 weights")) == (0, 1, "match")


@pytest.mark.clause("ski", "8.2")
@pytest.mark.parametrize(
    ("table", "statement", "expected"),
    [
        ("ledger", "UPDATE ledger SET text = CAST(replace(CAST(text AS TEXT), 'FLAG', 'CLEAR') AS BLOB)",
         ("REPLAY_DIVERGENCE", "6 chain", "diverged")),
        ("transcript", "UPDATE transcript SET record = replace(record, 'FLAG', 'CLEAR')",
         ("REPLAY_DIVERGENCE", "4 transcript", "diverged")),
        ("graph_version", "UPDATE graph_version SET document = replace(document, '200', '300')",
         ("REPLAY_DIVERGENCE", "1 graph", "diverged")),
    ],
    ids=["an entry", "a transcript", "the graph"],
)  # fmt: skip
def test_a_change_behind_the_programs_back_is_found_and_named(
    shell: VerdictShell, table: str, statement: str, expected: tuple[str, str, str]
) -> None:
    """Data that is there and is not what was recorded diverges, at its step."""
    (flag,) = shell.items("verdict", "list", "--verdict", "FLAG")
    _rewrite(shell, table, statement)
    code, (replay,), _ = _replayed(shell, "--entry", str(flag["outcome"]["sequence_number"]))
    assert (code, (replay["result"], expected[1], _step(replay, expected[1]))) == (1, expected)


@pytest.mark.clause("ski", "8.3")
@pytest.mark.clause("ski", "11.1")
@pytest.mark.clause("ski", "11.4")
def test_entries_of_version_2_are_skipped_with_a_notice_and_replayed_by_their_own_procedure(
    shell: VerdictShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second runtime asks no model and holds nothing; its entries are read, shown, and judged again by --v2."""
    with monkeypatch.context() as patch:
        patch.setenv("SKI_RUNTIME_VERSION", "v2")
        told = shell.judge(record("en-04"), record("en-17"))
    assert told.code == 0
    assert "FLAG           Nitrogen oxides, coal, above 300 MW (medium tier): nox.daily_mean is 220.5" in told.out
    assert "DISCRETIONARY  Breakdown of abatement equipment (high tier)" in told.out
    assert "runtime v2: the rules alone" in shell("verdict", "show", "en-04").out
    code, replays, counts = _replayed(shell, "en-04", "--without-model")
    assert (code, counts["SKIPPED_PRE_V3"], [one["steps"] for one in replays]) == (1, 3, [[], [], []])
    assert "nothing was checked: 3 SKIPPED_PRE_V3" in shell("replay", "en-04", "--without-model").out
    own = shell("replay", "--v2", "--all")
    assert (own.code, own.out.splitlines()[-1]) == (0, "4 matched, 0 diverged, 0 not checked")
    assert shell("replay", "--v2", "--to", "5").out == "nothing was checked: no verdict of runtime 2\n"
    assert shell("replay", "--v2", "--to", "5").code == 1
    _rewrite(shell, "graph_version", "UPDATE graph_version SET document = replace(document, '220', '330')")
    changed = shell("replay", "--v2", "--all")
    assert (changed.code, "REPLAY_DIVERGENCE" in changed.out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), (2, "cli.usage")),
        (("en-03", "--all"), (2, "cli.usage")),
        (("--entry", "20", "--from", "3"), (2, "cli.usage")),
        (("en-03", "--v2"), (2, "cli.usage")),
        (("nobody", "--without-model"), (1, "flow.not_found")),
        (("--entry", "1", "--without-model"), (1, "flow.not_found")),
    ],
)
def test_what_to_replay_is_said_one_way(
    shell: VerdictShell, arguments: tuple[str, ...], expected: tuple[int, str]
) -> None:
    """One of a record, an entry, a range, or everything."""
    assert shell("replay", *arguments, "--json").refusal == expected
