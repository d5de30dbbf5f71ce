"""The frame: exit codes, JSON errors, lazy commands, broken pipes and interruptions."""

import os
import pty
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from assay import __version__, wiring
from tests.surfaces.cli.running import ask, command_line, environment, note, spawn

_HEAVY = ("cryptography", "litestar", "rich", "psycopg", "uvicorn", "httpx", "sqlite3", "assay.wiring", "assay.flows")


def test_help_imports_nothing_heavy_and_lists_every_command() -> None:
    """`assay --help` is quick because no command's module is imported for it."""
    program = (
        "import sys\n"
        "from assay.surfaces.cli.main import run\n"
        "run(['--help'])\n"
        f"print([name for name in {_HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        "print([n for n in sys.modules if n.startswith('assay.surfaces.cli.')], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment()
    )
    heavy, ours = done.stderr.splitlines()
    assert heavy == "[]"
    assert sorted(ours.strip("[]").replace("'", "").split(", ")) == [
        "assay.surfaces.cli.lazy",
        "assay.surfaces.cli.main",
        "assay.surfaces.cli.output",
    ]
    listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert {"init", "ledger", "verify", "canonical", "erase", "key", "backup", "restore", "doctor", "demo"} <= {*listed}
    assert {"principal", "review", "serve", "witness"} <= {*listed}


def test_the_list_of_commands_is_under_headings_and_reads_as_one() -> None:
    """Forty names in a row tell nobody where to begin: what one begins with stands first."""
    lines = ask("--help").out.partition("\nBegin:\n")[2].splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["init", "demo", "doctor", "serve"]
    rows = [line for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert {len(line) - len(line[2:].partition(" ")[2].lstrip()) for line in rows} == {15}
    assert [line for line in lines if line.endswith(":") and not line.startswith(" ")][-1] == "Keep it running:"


@pytest.mark.parametrize(("typed", "meant"), [(["ledgr"], "ledger"), (["ledger", "sho"], "show")])
def test_a_name_that_is_nearly_a_command_is_answered_with_the_command(typed: list[str], meant: str) -> None:
    answer = ask(*typed)
    assert answer.code == 2
    assert f"Did you mean '{meant}'?" in answer.err


@pytest.mark.parametrize("group", [["principal"], ["rules"], ["key", "trust"], ["ledger"], ["sovereignty"]])
def test_the_list_of_a_group_tells_whole_sentences(group: list[str]) -> None:
    """Half a sentence tells nobody which command to take."""
    told = ask(*group, "--help").out.partition("\nCommands:\n")[2]
    assert told
    assert "..." not in told


def test_a_credential_that_is_none_is_answered_with_how_to_get_one(home: Path, tmp_path: Path) -> None:
    """The error says the same to everybody; a person is told what to do, and a program is not disturbed."""
    (tmp_path / "bundle.json").write_text("{}")
    arguments = ["claims", "gate", str(tmp_path / "bundle.json"), "--home", str(home), "--credential", "not.one"]
    told = ask(*arguments)
    assert told.code == 1
    assert "assay principal key issue ID" in told.err
    assert "next:" not in ask(*arguments, "--json").err


def test_version_is_printed_on_standard_output() -> None:
    answer = ask("--version")
    assert (answer.code, answer.out) == (0, f"assay {__version__}\n")


def test_exit_0_means_yes_and_data_is_on_standard_output_alone(tmp_path: Path) -> None:
    """Words for people go to standard error, so that a pipe carries only data."""
    answer = spawn("init", tmp_path / "node")
    assert answer.code == 0
    assert answer.out.startswith("key id        sha256:")
    assert "made a node" in answer.err


def test_exit_1_is_an_honest_no(home: Path) -> None:
    answer = spawn("--home", home, "ledger", "show", "99")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "error: `default` has no entry 99 [flow.not_found]\n"


@pytest.mark.parametrize("arguments", [["frobnicate"], ["ledger", "show", "zero"], ["verify", "nowhere.json"], []])
def test_exit_2_is_wrong_usage(arguments: list[str], tmp_path: Path) -> None:
    answer = spawn(*arguments, folder=tmp_path)
    assert answer.code == 2
    assert answer.err.startswith("Usage: assay")


def test_exit_2_when_the_folder_is_no_node(tmp_path: Path) -> None:
    answer = spawn("--home", tmp_path, "ledger", "list")
    assert answer.code == 2
    assert "[config.no_node]" in answer.err


def test_exit_3_is_input_that_cannot_be_trusted() -> None:
    answer = spawn("canonical", "-", stdin=b'{"a": 1, "a": 2}')
    assert (answer.code, answer.out) == (3, "")
    assert "[json.duplicate_key]" in answer.err


def test_exit_4_is_our_fault_as_a_database_that_lost_entries(home: Path, tmp_path: Path) -> None:
    """A database rolled back behind a signed checkpoint is not written to."""
    before = tmp_path / "before.db"
    shutil.copy(home / "assay.db", before)
    assert ask("--home", home, "ledger", "append", note(tmp_path)).code == 0
    assert ask("--home", home, "ledger", "checkpoint").code == 0
    shutil.copy(before, home / "assay.db")
    answer = spawn("--home", home, "ledger", "append", note(tmp_path))
    assert (answer.code, answer.out) == (4, "")
    assert "[ledger.rolled_back]" in answer.err


def test_an_unexpected_error_is_exit_4_with_one_line_and_a_traceback_on_demand(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person sees what happened in a line; `--debug` shows where."""
    monkeypatch.setattr(wiring, "open_node", lambda *_, **__: 1 // 0)
    short, long = ask("--home", home, "ledger", "list"), ask("--debug", "--home", home, "ledger", "list")
    assert (short.code, long.code) == (4, 4)
    assert len(short.err.splitlines()) == 1
    assert "[cli.unexpected]" in short.err
    assert "Traceback" in long.err


def test_what_the_machine_refuses_is_exit_4_with_the_file_and_why(home: Path) -> None:
    """No traceback would say more than the name of the file."""
    (home / "assay.toml").unlink()
    (home / "assay.toml").mkdir()  # nobody expects a folder there
    answer = ask("--home", home, "ledger", "list")
    assert (answer.code, answer.err) == (4, f"error: `{home}/assay.toml`: Is a directory [cli.machine]\n")


@pytest.mark.parametrize(
    ("arguments", "code", "error_code"),
    [
        (["ledger", "show", "99", "--json"], 1, "flow.not_found"),
        (["--json", "ledger", "show", "99"], 1, "flow.not_found"),
        (["ledger", "show", "zero", "--json"], 2, "cli.usage"),
        (["principal", "show", "nobody", "--json"], 3, "http.fields"),
    ],
)
def test_with_json_errors_are_json_on_standard_output(
    arguments: list[str], code: int, error_code: str, home: Path
) -> None:
    """`--json` may stand before or after the command; the shape of an error is always the same."""
    answer = ask("--home", home, *arguments)
    assert (answer.code, answer.error_code, answer.err) == (code, error_code, "")
    assert set(answer.json) == {"error"}
    assert set(answer.json["error"]) == {"code", "message"}


def test_several_problems_have_a_line_each_and_a_member_each_in_json(home: Path) -> None:
    """They are mended one by one; in one long line the last is not found."""
    (home / "assay.toml").write_text('[node]\norigin = "a b"\nfounder = "x"\n[http]\nport = 70000\n')
    answer, asked = ask("--home", home, "ledger", "list"), ask("--home", home, "ledger", "list", "--json")
    head, *lines = answer.err.splitlines()
    assert head == "error: 3 problems [config.refused]"
    assert [line.partition(":")[0] for line in lines] == ["  node.origin", "  node.founder", "  http.port"]
    assert [one["field"] for one in asked.json["error"]["problems"]] == ["node.origin", "node.founder", "http.port"]
    assert asked.error_code == "config.refused"


def test_the_node_is_named_by_the_option_then_the_variable_then_the_current_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--home` may stand before or after the command and wins over `ASSAY_HOME`."""
    assert ask("ledger", "show", "1", "--home", home).code == 0
    monkeypatch.setenv("ASSAY_HOME", str(home))
    assert ask("ledger", "show", "1").code == 0
    assert ask("--home", tmp_path, "ledger", "show", "1").code == 2
    monkeypatch.delenv("ASSAY_HOME")
    monkeypatch.chdir(home)
    assert ask("ledger", "show", "1").code == 0


def test_a_reader_that_leaves_is_no_error_to_speak_of(home: Path, tmp_path: Path) -> None:
    """`assay … | head` ends without a word."""
    lines = "".join(f'{{"n": {n}, "filler": "{"x" * 200}"}}\n' for n in range(2000))
    assert ask("--home", home, "ledger", "append", "--ndjson", note(tmp_path, lines)).code == 0
    process = subprocess.Popen(
        command_line("--home", home, "ledger", "watch", "--from", "1", "--once", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_an_interruption_is_exit_130(home: Path) -> None:
    """Ctrl-C while waiting ends quietly."""
    process = subprocess.Popen(
        command_line("--home", home, "ledger", "watch", "--from", "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    process.stdout.readline()  # it is up and watching
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


def test_on_a_terminal_long_work_shows_its_progress_and_the_answer_stays_clean(home: Path) -> None:
    """The bar is on standard error alone, and only when that is a terminal and nobody asked for JSON."""
    lines = b'{"n": 1}\n' * 3000
    assert ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=lines).code == 0

    def verified(*options: str) -> tuple[bytes, bytes]:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command_line("--home", home, "ledger", "verify", "--full", *options),
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**environment(), "TERM": "xterm", "COLUMNS": "100"},
        )
        os.close(theirs)
        out, _ = process.communicate(timeout=60)
        shown = b""
        with suppress(OSError):  # how a terminal says that the other side is gone
            while chunk := os.read(ours, 4096):
                shown += chunk
        os.close(ours)
        return out, shown

    out, shown = verified()
    assert out.startswith(b"tenant                default\n")
    assert b"verifying" in shown
    out, shown = verified("--json")
    assert out.startswith(b"{")
    assert shown == b""
