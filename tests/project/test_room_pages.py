"""Every room's page ends with where its clauses, commands, routes and errors are, and nothing is left out."""

import re
from pathlib import Path

import click
import pytest

from assay.surfaces.cli.main import cli
from tools import error_codes, rooms, routes

_LINK = re.compile(r"\]\(([a-z-]+\.md)#([^)]+)\)")
_KINDS = {"Clauses": "conformance.md", "Commands": "commands.md", "Routes": "routes.md", "Errors": "errors.md"}
_PAGES = pytest.mark.parametrize("room", rooms.ROOMS, ids=[room.page for room in rooms.ROOMS])


def _anchors(page: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return {rooms.slug(one) for one in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def _rows(room: rooms.Room) -> dict[str, str]:
    """The table of the page's last section, by the first cell of each row."""
    page = (rooms.DOCS / f"{room.page}.md").read_text()
    title, _, body = re.split(r"^## ", page, flags=re.MULTILINE)[-1].partition("\n")
    assert title == rooms.TITLE
    return dict(re.findall(r"^\| (\w+) \| (.*) \|$", body, re.MULTILINE))


@_PAGES
def test_a_page_ends_with_the_section_that_its_room_has(room: rooms.Room) -> None:
    """`make docs` writes it again when it is stale."""
    path = rooms.DOCS / f"{room.page}.md"
    assert rooms.render_room_page(room, path.read_text()) == path.read_text(), f"{path.name} is stale; run `make docs`"


@_PAGES
def test_its_links_lead_to_the_very_place(room: rooms.Room) -> None:
    """Each kind has a row with links into its own page, to a heading that is there, or says that there is none."""
    rows = _rows(room)
    assert list(rows) == list(_KINDS)
    for kind, target in _KINDS.items():
        links = _LINK.findall(rows[kind])
        assert links or rows[kind].startswith("none"), kind
        assert {page for page, _ in links} <= {target}
        assert {anchor for _, anchor in links} <= _anchors(rooms.DOCS / target)


def test_every_command_is_linked_from_a_page() -> None:
    linked = {anchor for room in rooms.ROOMS for _, anchor in _LINK.findall(_rows(room)["Commands"])}
    named = cli.list_commands(click.Context(cli))
    assert {f"assay-{one}" for one in named} <= linked


def test_every_route_is_named_on_a_page() -> None:
    """By its own path or by a beginning of it; what the table names and nobody serves is found too."""
    named = {one for room in rooms.ROOMS for one in re.findall(r"`(/[^`]*)`", _rows(room)["Routes"])}
    served = [route.path for route in routes.find_routes()]
    assert [path for path in served if not _begins(path, named)] == []
    assert {one for one in named if not any(_begins(path, {one}) for path in served)} == set()


def _begins(path: str, beginnings: set[str]) -> bool:
    return any(path == one or path.startswith((f"{one}/", f"{one}:")) for one in beginnings)


def test_every_family_of_errors_is_named_on_a_page() -> None:
    named = {one for room in rooms.ROOMS for one in re.findall(r"`(\w+)[.-]…`", _rows(room)["Errors"])}
    assert {re.split(r"[.-]", code.code)[0] for code in error_codes.find_codes()} == named


def test_every_section_of_the_conformance_page_is_linked_from_a_page() -> None:
    """A part of a specification that no page tells of would be implemented by nobody."""
    linked = {anchor for room in rooms.ROOMS for _, anchor in _LINK.findall(_rows(room)["Clauses"])}
    page = (rooms.DOCS / "conformance.md").read_text()
    assert {rooms.slug(one) for one in re.findall(r"^### (.*)$", page, re.MULTILINE)} == linked


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/", "console"),
        ("/api/v1/gate-policies", "claims"),
        ("/api/v1/telemetry:bulk", "evaluation"),
        ("/log/x", "audit"),
    ],
)
def test_a_route_belongs_to_the_page_with_the_longest_beginning(path: str, page: str) -> None:
    assert rooms.room_of_route(path).page == page
    assert rooms.room_of_route("/api/v2/pramana/sense/emit").page == "events"
    assert rooms.room_of_route("/api/v2/pramana/rules").page == "delivery"


def test_what_no_page_tells_of_is_refused() -> None:
    """A new command, route or family of errors is put on a page before the generated ones can be written."""
    with pytest.raises(LookupError, match="the command `new`"):
        rooms.room_of_command("new")
    with pytest.raises(LookupError, match="the route `/logs`"):
        rooms.room_of_route("/logs")
    with pytest.raises(LookupError, match=r"the error `new\.refused`"):
        rooms.room_of_code("new.refused")
