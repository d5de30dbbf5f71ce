"""Every room's page ends with where its clauses, commands, routes and errors are, and each of them is there."""

import re
from pathlib import Path

import pytest

_DOCS = Path(__file__).resolve().parents[2] / "docs"
_ROOMS = ("claims", "delivery", "evaluation", "identity", "model", "registry", "review", "trust", "truth", "verdicts")
_TITLE = "Clauses, commands, routes, errors"
_LINK = re.compile(r"\]\(([a-z-]*\.md)?(?:#([^)]+))?\)")


def _anchors(page: Path) -> set[str]:
    """As the site makes them of headings: lower case, words and hyphens alone."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", one).strip().lower()) for one in headings}


def _rows(room: str) -> dict[str, str]:
    """The table of the last section, by what each row begins with."""
    page = (_DOCS / f"{room}.md").read_text()
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    title, _, body = sections[-1].partition("\n")
    assert title == _TITLE
    cells = [
        line.strip("| ").split(" | ", 1) for line in body.splitlines() if line.startswith("| ") and "---" not in line
    ]
    return {re.sub(r"[^\w ].*", "", row[0].strip("[")): row[1] for row in cells if len(row) > 1}


@pytest.mark.parametrize("room", _ROOMS)
def test_a_page_ends_with_links_that_lead_to_the_very_place(room: str) -> None:
    """Clauses are those of a specification, commands those of a group; an anchor that moved is noticed."""
    rows = _rows(room)
    assert list(rows) == ["Clauses", "Commands", "Routes", "Errors"]
    for name, target in (("Clauses", "conformance.md"), ("Commands", "commands.md")):
        links = _LINK.findall(rows[name])
        assert links, name
        assert {page for page, _ in links} == {target}
        assert {anchor for _, anchor in links} <= _anchors(_DOCS / target)


@pytest.mark.parametrize("room", _ROOMS)
def test_the_routes_and_errors_that_it_names_exist(room: str) -> None:
    rows = _rows(room)
    routes, errors = (_DOCS / "routes.md").read_text(), (_DOCS / "errors.md").read_text()
    # Those of Forja have a table of their own, on the page of the registry.
    named = [one for one in re.findall(r"`(/[^`]*)`", rows["Routes"]) if one != "/api/v2/forja"]
    assert named
    assert [one for one in named if re.search(rf"\| `{re.escape(one)}[`/:]", routes) is None] == []
    codes = re.findall(r"`([^`]*)`", rows["Errors"])
    assert codes
    assert [one for one in codes if f"| `{one.removesuffix('…')}" not in errors] == []
