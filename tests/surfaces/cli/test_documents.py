"""The documents are true: the tutorials run as written, and every command and option is listed."""

import re
from pathlib import Path

import click
import pytest

from assay.surfaces.cli.main import cli
from assay.surfaces.cli.output import Call, Command
from tests.surfaces.cli._pages import ROOT, run_script, script_of
from tools.commands import PAGE, walk

_COMMANDS = dict(walk(cli, ("assay",), click.Context(cli, info_name="assay", obj=Call(home=Path()))))


# A hundred processes, one after the other, on a machine that may have other things to do.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_the_tutorials_run_as_they_stand(name: str, tmp_path: Path) -> None:
    """Every command of every console block, in order, in an empty folder; the first that fails ends it."""
    folder = tmp_path / "empty"
    folder.mkdir()
    script = script_of(ROOT / name)
    assert script.count("assay ") >= 8
    done = run_script(script, folder, programs=tmp_path / "bin")
    assert done.returncode == 0, done.stderr
    assert re.search(r"refused: 3|exit status 3", done.stdout)


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_and_option_is_on_the_page_of_commands(name: str) -> None:
    """`make docs` writes the page from the commands' own help."""
    page = PAGE.read_text()
    *_, after = re.split(rf"^(##+ `{name}`)$", page, maxsplit=1, flags=re.MULTILINE)
    section = re.split(r"^##", after, maxsplit=1, flags=re.MULTILINE)[0]
    shown = [one for one in _COMMANDS[name].params if isinstance(one, click.Option) and not one.hidden]
    options = [option for one in shown for option in one.opts]
    assert [option for option in options if option.startswith("--") and option not in section] == []


@pytest.mark.parametrize("name", [name for name, command in _COMMANDS.items() if not isinstance(command, click.Group)])
def test_every_command_answers_in_json_and_has_help(name: str) -> None:
    command = _COMMANDS[name]
    assert isinstance(command, Command)
    assert any("--json" in parameter.opts for parameter in command.params)
    assert command.help
