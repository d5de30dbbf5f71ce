"""Every page: nothing foreign runs or is loaded, everybody can read it, and it fits what it is shown on."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from assay.ports.damage import DamagedRecordError
from assay.review.kind import TicketKind
from assay.surfaces.console.places import PLACES
from tests.browser._scene import HOSTILE, Scene
from tests.flows._node import TENANT
from tests.waiting import until

SignIn = Callable[[str], Page]
pytestmark = pytest.mark.slow


def _places(scene: Scene) -> list[str]:
    """One of each page, by where hostile text would be if it could."""
    found: dict[str, Any] = scene.tools.database.read(
        lambda unit: {
            "held": unit.verdicts.held(TENANT)[0].sequence_number,
            "verdicts": [one.sequence_number for one in unit.verdicts.page(TENANT)],
            "bundles": [one.bundle_hash for one in unit.pages.bundles(TENANT, limit=5)],
            "tickets": [one.id for one in unit.review.tickets(TENANT, unsettled_only=True)],
        }
    )
    return [
        "/",
        "/review",
        "/review?state=any",
        f"/review?text={quote(HOSTILE[7])}",
        *(f"/review/{one}" for one in found["tickets"]),
        "/decisions",
        f"/decisions?subject={quote(HOSTILE[2])}",
        *(f"/decisions/{one}" for one in found["verdicts"]),
        "/truth",
        f"/truth/state?key={quote(scene.truth.truthkey)}",
        "/claims",
        *(f"/claims/{one}" for one in found["bundles"]),
        "/rules",
        "/rules/MAR-YK-007",
        "/services",
        "/answers",
        f"/answers?kind={quote(HOSTILE[4])}",
        "/permits",
        "/knowledge",
        "/learning",
        "/models",
        "/access",
        f"/access?action={quote(HOSTILE[5])}",
        "/access/people/user%3Avera",
        f"/find?q={quote(HOSTILE[7])}",
        "/trace/MAR-YK-007",
        "/ledger",
        f"/ledger?find={quote('kind=verdict ' + HOSTILE[3])}",
        f"/ledger/{found['held']}",
        "/verify",
        f"/nowhere/{quote(HOSTILE[0])}",
    ]


def _plain(places: list[str]) -> list[str]:
    """One of each kind of page."""
    kinds = {one.partition("?")[0].rpartition("/")[0]: one for one in places}
    fixed = tuple(one.path for _, group in PLACES for one in group)
    return [*fixed, *(one for one in kinds.values() if one not in fixed)]


def test_hostile_text_is_shown_and_never_runs(signed_in: SignIn, scene: Scene) -> None:
    """No page runs what a record says, and no page does what its own policy forbids; nothing comes from elsewhere."""
    page = signed_in("user:vera")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    told = ""
    for place in _places(scene):
        page.goto(f"/console{place}")
        page.wait_for_load_state("load")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        told += page.locator("main").inner_text()
        assert page.evaluate("window.faults") == [], place
        assert page.locator("main iframe, main svg[onload], main img, main [onerror], main [onfocus]").count() == 0
    assert {one for one in asked if not one.startswith((scene.url, "data:"))} == set()
    for text in (HOSTILE[0], HOSTILE[1], HOSTILE[6], HOSTILE[9]):
        assert text in told
    # What would turn the words around it is named, not done.
    assert "⟨U+202E⟩" in told


def _found(page: Page, *, options: dict[str, Any]) -> list[tuple[str, str]]:
    found = Axe().run(page, options={**options, "resultTypes": ["violations"]}).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


def test_everybody_can_use_every_page(signed_in: SignIn, scene: Scene) -> None:
    """No finding of axe on any kind of page, wide or narrow; contrast by night too."""
    page = signed_in("user:vera")
    places = _plain(_places(scene))
    for place in places:
        page.goto(f"/console{place}")
        assert _found(page, options={}) == [], place
    # What is wider than its frame must be reached by keys too.
    page.set_viewport_size({"width": 360, "height": 700})
    for place in places:
        page.goto(f"/console{place}")
        assert _found(page, options={"runOnly": ["scrollable-region-focusable"]}) == [], place
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="dark")
    for place in places:
        page.goto(f"/console{place}")
        assert _found(page, options={"runOnly": ["color-contrast"]}) == [], place


def test_the_way_in_can_be_used_by_everybody(page: Page) -> None:
    """The form that everybody meets first."""
    page.goto("/console/login")
    assert _found(page, options={}) == []


def test_pages_fit_a_telephone(signed_in: SignIn, scene: Scene) -> None:
    """Wide tables move within themselves; the page does not."""
    page = signed_in("user:vera")
    page.set_viewport_size({"width": 360, "height": 700})
    for place in _plain(_places(scene)):
        page.goto(f"/console{place}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place


def test_a_telephone_shows_the_columns_that_matter(signed_in: SignIn, scene: Scene) -> None:
    """What is asked, how it stands and when it is due, without moving the table; the head leaves room for the page."""
    page = signed_in("user:vera")
    page.set_viewport_size({"width": 390, "height": 800})
    scene.ask("Seen on the way to work")
    for place, rows in (("/", "#overview section:first-of-type .wide"), ("/review", "#rows .wide")):
        page.goto(f"/console{place}")
        assert page.locator(rows).evaluate("frame => frame.scrollWidth <= frame.clientWidth"), place
        expect(page.locator(f"{rows} th", has_text="Due")).to_be_visible()
        expect(page.locator(f"{rows} th", has_text="Kind")).to_be_hidden()
        assert page.locator("header.side").evaluate("head => head.offsetHeight") < 170


def test_whoever_is_not_signed_in_knows_where_they_are(page: Page) -> None:
    """Every page has the name and the way in; an address without a page is told as that."""
    for place in ("/verify", "/nowhere"):
        page.goto(f"/console{place}")
        expect(page.get_by_role("link", name="Assay")).to_be_visible()
        expect(page.get_by_role("link", name="Sign in")).to_be_visible()
        assert _found(page, options={}) == []
    expect(page.get_by_role("alert")).to_have_text("the console has no page `/nowhere`")
    page.goto("/console/login")
    expect(page.get_by_role("link", name="Sign in")).to_have_count(0)


def test_a_title_of_one_long_word_hides_no_column(signed_in: SignIn, scene: Scene) -> None:
    """It is broken where it must be; when a ticket is due stays in sight."""
    page = signed_in("user:vera")
    asked = scene.ask(f"review knowledge graph sha256:{'0123456789abcdef' * 4}")
    for place, rows in (("/", "#overview section:first-of-type .wide"), ("/review", "#rows .wide")):
        page.goto(f"/console{place}")
        expect(page.locator(rows)).to_contain_text(asked.title)
        assert page.locator(rows).evaluate("frame => frame.scrollWidth <= frame.clientWidth"), place


def test_a_question_leads_to_what_it_is_about(signed_in: SignIn, scene: Scene) -> None:
    """A vote to the state that it is about, a bundle to its gates, a failed rule to the people who are asked why."""
    page = signed_in("user:vera")
    key = scene.truth.truthkey
    asked = scene.ask("is it so", kind=TicketKind.VALIDATION, choices=("ratify", "reject"), about=key)
    page.goto(f"/console/review/{asked.id}")
    expect(page.get_by_text("reviewer; votes are weighted, not counted")).to_be_visible()
    page.get_by_role("link", name=key).click()
    expect(page.get_by_text(key, exact=True).first).to_be_visible()
    page.get_by_role("link", name="View ticket").click()
    expect(page.locator("#rows tbody tr")).to_contain_text(["0, weighted"])
    page.goto("/console/review?text=bundle:")
    page.locator("#rows tbody a").first.click()
    page.locator(".facts").get_by_role("link", name="bundle:").click()
    expect(page.get_by_role("heading", name="Gates")).to_be_visible()
    page.goto("/console/rules/MAR-YK-007")
    page.get_by_role("link", name="rca_").click()
    expect(page.locator("#rows tbody tr")).to_contain_text(["Why does rule MAR-YK-007"])
    page.get_by_role("link", name="Why does rule MAR-YK-007").click()
    page.locator(".facts").get_by_role("link", name="rca_").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rule MAR-YK-007")
    page.goto("/console/review?kind=attestation")
    page.locator("#rows tbody a").first.click()
    page.locator(".facts").get_by_role("link", name="verdict:").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Record r-held")


def test_a_decision_begins_with_whether_one_may_act_on_it(signed_in: SignIn) -> None:
    """In one sentence, with the proof beside it, for verdicts and for what agents claim; gates not asked are told."""
    page = signed_in("user:vera")
    for verdict, words in (("CLEAR", "Every requirement that applies is met."), ("FLAG", "At least one requirement")):
        page.goto(f"/console/decisions?verdict={verdict}")
        page.locator("#rows tbody a").last.click()
        expect(page.locator("#overall")).to_contain_text(verdict)
        expect(page.locator("#overall")).to_contain_text(words)
        expect(page.locator("main time").first).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$"))
    page.goto("/console/claims?agent=ai:nobody")
    expect(page.get_by_text("No claims match.")).to_be_visible()
    page.get_by_label("Agent").fill("ai:surveyor")
    page.get_by_role("button", name="Filter").click()
    page.locator("#rows tbody tr", has_text="PUBLISH").get_by_role("link").first.click()
    expect(page.locator("#overall")).to_contain_text("It may be acted on.")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the proof").click()
    assert download.value.suggested_filename.startswith("proof-default-")
    page.get_by_role("link", name="Verify it here").click()
    expect(page.locator("#outcome")).to_have_text("VALID")
    page.goto("/console/verify?entry=999999")
    expect(page.locator("#outcome")).to_have_text("NO PROOF")
    page.goto("/console/claims")
    page.locator("#rows tbody tr", has_text="DEFER").get_by_role("link").first.click()
    expect(page.locator("#overall")).to_contain_text("It may not be acted on yet")
    expect(page.get_by_role("row", name="human approval gate")).to_contain_text("NOT REACHED")
    page.get_by_role("link", name="Ticket for a reviewer").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("resume past evidence_gate")


def test_paper_shows_what_was_decided_and_nothing_to_press(signed_in: SignIn, scene: Scene) -> None:
    """What is printed is for a file: no places to go, no forms."""
    page = signed_in("user:vera")
    page.goto("/console/decisions?verdict=FLAG")
    page.locator("#rows tbody a").last.click()
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="r-flag")).to_be_visible()
    expect(page.get_by_role("navigation")).to_be_hidden()
    expect(page.get_by_role("button", name="Replay")).to_be_hidden()
    page.goto(f"/console/review/{scene.ticket.id}")
    expect(page.get_by_role("heading", name="Evidence")).to_be_visible()
    expect(page.locator("main form:visible, main button:visible, main textarea:visible")).to_have_count(0)
    expect(page.get_by_role("heading", name="Comment")).to_be_hidden()


def test_the_palette_leads_to_pages_and_finds_ids(signed_in: SignIn, scene: Scene) -> None:
    """Ctrl+K, some letters, Enter; an id that is no page is searched for."""
    page = signed_in("user:vera")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-text")).to_be_focused()
    page.keyboard.type("permi")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/permits")
    page.keyboard.press("Control+k")
    assert _found(page, options={}) == []
    page.keyboard.type(scene.ticket.id)
    page.keyboard.press("Enter")
    expect(page.get_by_text("was recognised as 2 things")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("main").get_by_role("link", name=scene.ticket.id).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(scene.ticket.title)
    assert page.evaluate("window.faults") == []


def test_the_appearance_is_chosen_once(signed_in: SignIn) -> None:
    """Dark on a light system and the other way round, kept in the browser; nothing is painted in the other one."""
    page = signed_in("user:vera")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Appearance").select_option("dark")
    dark = page.evaluate(ground)
    page.goto("/console/review")
    assert (page.evaluate(ground), dark == light) == (dark, False)
    page.emulate_media(color_scheme="dark")
    page.get_by_label("Appearance").select_option("light")
    assert page.evaluate(ground) == light
    page.get_by_label("Appearance").select_option("")
    assert page.evaluate(ground) == dark


def test_times_are_local_and_a_card_names_its_columns(signed_in: SignIn) -> None:
    """UTC on hover; on a telephone each cell of a list says what it is."""
    page = signed_in("user:vera")
    page.goto("/console/rules/MAR-YK-007")
    time = page.locator("main time.at").first
    expect(time).to_have_attribute("title", re.compile(r"Z \(UTC\)$"))
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/console/ledger")
    cell = page.locator("td[data-head='What happened']").first
    assert cell.evaluate("one => getComputedStyle(one, '::before').content") == '"What happened"'
    assert cell.evaluate("one => one.getBoundingClientRect().width") > 250


def test_a_page_says_when_the_node_is_damaged(signed_in: SignIn, scene: Scene) -> None:
    """On every page, by the same look that the load balancer takes."""
    page = signed_in("user:vera")
    expect(page.locator("#banner")).to_be_empty()
    scene.tools.damage.add(DamagedRecordError("expected the row of entry 3, got another", entry=3))
    try:
        until(
            lambda: "Damaged" in page.request.get(f"{scene.url}/console/banner").text(), seconds=30, what="a new look"
        )
        page.goto("/console/claims")
        expect(page.locator("#banner")).to_contain_text("Damaged: a stored record was changed")
    finally:
        scene.tools.damage.clear()


def test_the_map_shows_each_key_with_a_place(signed_in: SignIn, scene: Scene) -> None:
    """A cell leads to its state."""
    page = signed_in("user:vera")
    page.goto("/console/truth")
    cell = page.locator("#map a")
    expect(cell).to_have_count(1)
    assert quote(scene.truth.truthkey, safe="") in (cell.get_attribute("href") or "")
    expect(page.locator("#map .land")).to_have_count(1)
    expect(page.locator("#map-told")).to_have_text("1 key on the map; the list says the same.")


def test_outcomes_are_drawn_and_told(signed_in: SignIn) -> None:
    """A chart for the eye, the same numbers in a table."""
    page = signed_in("user:vera")
    page.goto("/console/rules/MAR-YK-007")
    expect(page.locator("#chart canvas")).to_have_count(1)
    page.get_by_text("As a table").click()
    assert page.locator("details tbody td").all_inner_texts()[1:] == ["1", "3", "0"]
