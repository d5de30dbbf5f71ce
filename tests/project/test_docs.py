"""The documents are true: codes are listed, links lead somewhere, the two commands come first."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from assay.config import ENVIRONMENT
from tools import error_codes, settings

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")])
_PATH = re.compile(r"(?<![\w/.-])(?:src|tests|examples|docs|tools|deploy|bench|train|flows)/[\w./*-]+")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _place(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def test_the_page_of_error_codes_is_what_the_classes_say() -> None:
    """`make docs` writes it again when it is stale."""
    assert error_codes.render_page() == error_codes.PAGE.read_text(), "docs/errors.md is stale; run `make docs`"


def test_the_page_of_settings_is_what_the_configuration_says() -> None:
    """Every key of `assay.toml` is there with its type, default and variable; `make docs` writes it again."""
    assert settings.render_page() == settings.PAGE.read_text(), "docs/configuration.md is stale; run `make docs`"
    page = settings.PAGE.read_text()
    assert "\n## `[models.general]`\n" in page
    assert "\n## `[[delivery.peers]]`\n" in page
    assert "\n| `port` | whole number | `4585` | `ASSAY_HTTP_PORT` |\n" in page
    assert all(f"`{variable}`" in page for variable in ENVIRONMENT)


def test_every_error_has_a_code_of_its_own_and_says_what_it_means() -> None:
    """A code that is declared twice would not tell tests, HTTP and the command line what happened."""
    codes = error_codes.find_codes()
    for code in codes:
        assert code.meaning, f"{code.code} of {code.family.__name__} has no meaning"
        assert re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_.]+|FRJ-\d+", code.code), f"{code.family.__name__}: `{code.code}`"
    assert [code for code, times in Counter(one.code for one in codes).items() if times > 1] == []


@pytest.mark.parametrize("page", _PAGES, ids=_place)
def test_every_internal_link_leads_somewhere(page: Path) -> None:
    """Links to files and folders of this repository resolve from where they stand."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    targets = [link.partition("#")[0] for link in _LINK.findall(text) if "://" not in link and not link.startswith("#")]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", _PAGES, ids=_place)
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    """A section that was renamed is looked for in vain at the top of a long page."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    links = [link.partition("#") for link in _LINK.findall(text) if "://" not in link and "#" in link]
    pages = [(page.parent / name if name else page, anchor) for name, _, anchor in links]
    assert [anchor for target, anchor in pages if target.suffix == ".md" and anchor not in _anchors(target)] == []


@cache
def _anchors(page: Path) -> set[str]:
    """As the site makes them of headings: lower case, words and hyphens alone."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", one).strip().lower()) for one in headings}


@pytest.mark.parametrize("page", _PAGES, ids=_place)
def test_every_path_of_the_project_that_a_page_names_is_there(page: Path) -> None:
    """Also those in code, which are no links: a file that moved is looked for in vain."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    named = [one.rstrip(".") for span in re.findall(r"`([^`]*)`", text) for one in _PATH.findall(span)]
    roots = {"flows": _ROOT / "src" / "assay"}
    missing = [one for one in named if not any(roots.get(one.split("/")[0], _ROOT).glob(one.rstrip("/")))]
    # Words in capitals stand for a name of the reader's choice: `flows/ROOM/VERB_NOUN.py`.
    assert [one for one in missing if re.search("[A-Z]{3}", one) is None] == []


@pytest.mark.parametrize("page", _PAGES, ids=_place)
def test_no_page_has_its_reader_import_what_may_move(page: Path) -> None:
    """What a user needs is a name of `assay` itself."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert [
        line for block in blocks for line in block.splitlines() if re.match(r"\s*(from|import) assay\.", line)
    ] == []


def test_every_table_of_the_database_is_on_the_page_of_storage() -> None:
    """An operator who looks into the database finds what each row stands for."""
    files = sorted((_ROOT / "src" / "assay" / "adapters" / "sqlite" / "migrations").glob("*.sql"))
    last = {
        name: verb for one in files for verb, name in re.findall(r"(CREATE|DROP) (?:TABLE|VIEW) (\w+)", one.read_text())
    }
    page = (_ROOT / "docs" / "storage.md").read_text()
    assert [name for name, verb in last.items() if verb == "CREATE" and f"`{name}`" not in page] == []


def test_the_readme_shows_the_two_commands_first() -> None:
    """Whoever opens the project sees how to see it work, and how to see that it holds."""
    blocks = re.findall(r"```console\n(.*?)```", (_ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks[0].splitlines() == ["$ make demo", "$ make test"]


def test_every_decision_has_context_options_choice_and_cost() -> None:
    """Records are numbered without gaps and listed on the index page."""
    folder = _ROOT / "docs" / "decisions"
    records = sorted(folder.glob("[0-9]*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    index = (folder / "index.md").read_text()
    for path in records:
        headings = re.findall(r"^## (.*)$", path.read_text(), re.MULTILINE)
        assert headings == ["Context", "Options", "Choice", "Cost"], path.name
        assert path.name in index
