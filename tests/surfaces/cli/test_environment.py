"""Commands under an environment that is wrong: every problem is listed before anything is opened."""

from pathlib import Path

import pytest

from assay.config.environment import OTHERS
from tests.surfaces.cli.running import ask

_SECRET = "correct-horse"


@pytest.fixture
def _wrong(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file and an environment with five problems between them, two of which hold a secret."""
    file = home / "assay.toml"
    file.write_text(file.read_text() + "[registry]\nmax_skew_seconds = 0\n")
    monkeypatch.setenv("ASSAY_HTTP_PORT", "70000")
    monkeypatch.setenv("ASSAY_NODE_CHECKPOINT_SECONDS", "often")
    monkeypatch.setenv("ASSAY_DATABASE_URL", f"mysql://node:{_SECRET}@db.example/node")
    monkeypatch.setenv("ASSAY_KEY_PASSPHRAS", _SECRET)


@pytest.mark.usefixtures("_wrong")
@pytest.mark.parametrize("command", [("serve",), ("ledger", "verify")])
def test_a_command_refuses_with_all_problems_of_file_and_environment(home: Path, command: tuple[str, ...]) -> None:
    """Nothing was opened: there is no database beside the one that was founded, and no secret was shown."""
    before = sorted(home.rglob("*"))
    answer = ask("--home", home, *command, "--json")
    assert (answer.code, answer.error_code) == (2, "config.refused")
    assert {one["field"]: one["message"] for one in answer.json["error"]["problems"]} == {
        "ASSAY_DATABASE_URL": "expected `sqlite:FILE` or `postgresql://…`, got another value",
        "ASSAY_HTTP_PORT": "expected 0 to 65535, got 70000",
        "ASSAY_KEY_PASSPHRAS": "expected the variable of a setting, perhaps `ASSAY_KEY_PASSPHRASE`",
        "ASSAY_NODE_CHECKPOINT_SECONDS": "expected a whole number, got other text",
        "registry.max_skew_seconds": "expected 1 to 86400, got 0",
    }
    assert _SECRET not in answer.out + answer.err
    assert sorted(home.rglob("*")) == before


@pytest.mark.usefixtures("_wrong")
def test_the_words_for_a_person_name_the_same_problems(home: Path) -> None:
    answer = ask("--home", home, "serve")
    assert answer.code == 2
    for name in (
        "ASSAY_HTTP_PORT",
        "ASSAY_KEY_PASSPHRAS",
        "ASSAY_NODE_CHECKPOINT_SECONDS",
        "registry.max_skew_seconds",
    ):
        assert name in answer.err
    assert _SECRET not in answer.out + answer.err


def test_a_setting_of_the_environment_reaches_the_command(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is another one, where nobody founded this node."""
    monkeypatch.setenv("ASSAY_DATABASE_URL", "sqlite:other.db")
    assert ask("--home", home, "ledger", "verify", "--json").code != 0
    monkeypatch.setenv("ASSAY_DATABASE_URL", "sqlite:assay.db")
    assert ask("--home", home, "ledger", "verify", "--json").code == 0


def test_the_variables_of_commands_keep_no_command_from_working(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OTHERS.keys() - {"ASSAY_KEY_PASSPHRASE"}:  # this node's keys have none
        monkeypatch.setenv(name, "x")
    assert ask("--home", home, "ledger", "verify", "--json").code == 0
