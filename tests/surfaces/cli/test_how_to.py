"""The how-to pages run as they stand, each on the node that their first page makes."""

import re
import shutil
from pathlib import Path

import pytest

from tests.postgres_cluster import PostgresCluster
from tests.surfaces.cli._pages import ROOT, run_script, script_of

_FOLDER = ROOT / "docs" / "how-to"
_PAGES = sorted(page.name for page in _FOLDER.glob("*.md") if page.name != "index.md")
# What each page shows besides that its commands end well: words of what they print.
_SHOWN = {
    "add-a-rule.md": "FLAG",
    "add-a-contract.md": "earth.dam_breach.v2",
    "attach-a-service.md": "bookings",
    "audit.md": "exit status 3",
    "back-up.md": "exit status 3",
    "be-checked.md": "every requirement is met",
    "connect-a-model.md": "http.port: expected 0 to 65535",
    "move-to-postgresql.md": "holds",
    "review.md": "approve",
    "rotate-keys.md": "an anchor leads to it",
}
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that every page begins in, and beside it what the shell knows by then."""
    home = tmp_path_factory.mktemp("how-to")
    folder = home / "begun"
    folder.mkdir()
    script = f'{script_of(_FOLDER / "index.md")}\ndeclare -px ASSAY_HOME OLGA GATEWAY > "{home}/known"'
    done = run_script(script, folder, programs=home / "bin")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", _PAGES)
def test_a_page_runs_as_it_stands(name: str, begun: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every command of every console block, in order; the first that fails ends it."""
    folder = Path(shutil.copytree(begun, tmp_path / "here"))
    script = script_of(_FOLDER / name)
    more = _database(request.getfixturevalue("postgres_cluster")) if "$ADMIN_URL" in script else {}
    known = f'. "{begun.parent}/known"\n'
    done = run_script(known + script, folder, programs=begun.parent / "bin", more=more)
    assert done.returncode == 0, done.stderr
    assert _SHOWN[name] in done.stdout, done.stdout


def _database(cluster: PostgresCluster) -> dict[str, str]:
    name = cluster.create_database()
    return {"ADMIN_URL": cluster.dsn(name), "APP_URL": cluster.dsn(name, "assay_app")}


def test_every_page_is_listed_and_has_commands() -> None:
    """A page that nobody can find, or that shows nothing to do, is no how-to."""
    index = (_FOLDER / "index.md").read_text()
    assert set(re.findall(r"\]\(([a-z-]+\.md)\)", index)) == set(_PAGES) == set(_SHOWN)
    assert [name for name in _PAGES if script_of(_FOLDER / name).count("assay ") < 3] == []
