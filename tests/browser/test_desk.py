"""People at the desk: they sign in, read exactly what they answer for, answer, and find their word in the ledger."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from assay.kernel.ids import PrincipalId
from assay.review.kind import TicketKind
from tests.acting import looking, view_desk, view_ticket
from tests.browser._scene import PASSWORD, Scene
from tests.flows._node import TENANT

pytestmark = pytest.mark.slow
SignIn = Callable[[str], Page]


def _faults(page: Page) -> list[str]:
    found: list[str] = page.evaluate("window.faults")
    return found


def test_whoever_gives_another_password_is_told_so_and_nothing_more(page: Page) -> None:
    """One sentence for an unknown person and a wrong password; no session is made."""
    told = []
    for person in ("user:vera", "user:nobody", "not a name"):
        page.goto("/console/login")
        page.get_by_label("Username").fill(person)
        page.get_by_label("Password").fill("something else")
        page.get_by_role("button", name="Sign in").click()
        told.append(page.get_by_role("alert").inner_text())
    assert len(set(told)) == 1
    assert "assay_session" not in {one["name"] for one in page.context.cookies()}


def test_signing_in_leads_back_to_the_page_that_was_asked_for(page: Page, scene: Scene) -> None:
    """And to no other place: an address of another site is not one of ours."""
    page.goto(f"/console/review/{scene.ticket.id}")
    page.get_by_label("Username").fill("user:vera")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/console/review/{scene.ticket.id}")
    page.goto("/console/login?next=//elsewhere.example/")
    assert page.locator("input[name=next]").input_value() == "/"


def test_no_script_reads_the_session(signed_in: SignIn) -> None:
    """The cookie is for the console's own requests alone."""
    page = signed_in("user:otto")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Username").fill("user:vera")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/console/")
    assert page.evaluate("document.cookie") == ""
    (cookie,) = [one for one in page.context.cookies() if one["name"] == "assay_session"]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", "/")


def test_signing_out_ends_the_session_itself(signed_in: SignIn, scene: Scene) -> None:
    """Whoever kept the cookie has nothing."""
    page = signed_in("user:vera")
    kept = page.context.cookies()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/console/login")
    page.context.add_cookies(kept)  # type: ignore[arg-type]  # the same cookies, as they were given
    page.goto(f"{scene.url}/console/review")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_rejection_needs_a_reason_and_then_is_an_entry(signed_in: SignIn, scene: Scene) -> None:
    """What is refused is said beside what was written, and nothing was recorded; what is recorded can be looked at."""
    ticket, before = scene.ask("Publish the figures of May"), scene.head()
    page = signed_in("user:vera")
    page.goto("/console/review")
    page.get_by_role("link", name="Publish the figures of May").click()
    page.get_by_text("Your signature covers this text").click()
    expect(page.get_by_text(ticket.shown_hash)).to_be_visible()
    page.get_by_label("reject").check()
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("review.reason_missing")
    assert scene.head() == before + 1  # the session alone
    page.get_by_label("Reason", exact=True).fill("two of the sources <b>contradict</b> each other")
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator("main").get_by_role("status").first).to_contain_text("Recorded")
    timeline = page.locator("#timeline")
    expect(timeline).to_contain_text("two of the sources <b>contradict</b> each other")
    expect(timeline.get_by_text("SIGNATURE VALID")).to_be_visible()
    assert timeline.get_by_role("link").all_inner_texts() == [
        f"entry {number}" for number in (before, before + 2, before + 3)
    ]
    timeline.get_by_role("link", name=f"entry {before + 2}").click()
    expect(page.get_by_text("ticket.answered", exact=True)).to_be_visible()
    expect(page.locator("pre").first).to_contain_text("contradict")
    (answer,) = view_ticket(scene.tools, looking(None, at=scene.tools.clock.now()), ticket.id).answers
    assert (answer.answer.choice, answer.answer.by, answer.verified) == ("reject", "user:vera", True)


def test_a_held_verdict_is_attested_and_followed_to_its_proof(signed_in: SignIn, scene: Scene) -> None:
    """Decision, ticket, answer, decision again, proof, and the proof verified: all without leaving the browser."""
    page = signed_in("user:vera")
    page.goto("/console/decisions")
    page.get_by_role("link", name="dust-limit").click()
    expect(page.get_by_text("Hidden until attested")).to_be_visible()
    page.get_by_role("link", name="Attest or decline").click()
    page.get_by_label("attest", exact=True).check()
    page.get_by_label("Reason", exact=True).fill("read the filter's own log")
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator("main").get_by_role("status").first).to_contain_text("Recorded")
    scene.checkpoint()
    page.goto("/console/decisions?rule=dust-limit")
    page.get_by_role("link", name="dust-limit").click()
    expect(page.locator("h2 .badge")).to_have_text("FLAG")
    expect(page.get_by_text("Attested by user:vera")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the proof").click()
    page.get_by_role("link", name="Verify a proof").click()
    page.get_by_label("choose the file").set_input_files(download.value.path())
    expect(page.locator("#outcome")).to_have_text("VALID")
    page.get_by_text("The entry that is proven").click()
    expect(page.locator("#proven pre")).to_contain_text('"verdict": "FLAG"')
    assert _faults(page) == []


def test_a_decision_is_reached_again_where_it_is_shown(signed_in: SignIn) -> None:
    """Replay uses the node's own model and records nothing."""
    page = signed_in("user:vera")
    page.goto("/console/decisions?verdict=CLEAR")
    page.get_by_role("link", name="so2-limit").click()
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("status").filter(has_text="Replay")).to_contain_text("MATCH")


def test_a_root_cause_is_concluded_in_words(signed_in: SignIn, scene: Scene) -> None:
    """The category is the choice, and the words are what the reviewer answers for."""
    page = signed_in("user:vera")
    page.goto("/console/review?kind=root_cause")
    page.get_by_role("link", name="keep failing").click()
    expect(page.locator("#gist dd").filter(has_text="MAR-YK-007")).to_be_visible()
    expect(page.locator("#gist")).to_contain_text("1 success, 3 failure of 4")
    page.get_by_label("application failure").check()
    page.get_by_label("What went wrong").fill("the tide table of another port was used")
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator("main").get_by_role("status").first).to_contain_text("Recorded")
    rows = scene.tools.database.read(lambda unit: unit.delivery.items(TENANT, open_only=True))
    assert rows == ()


def test_the_desk_needs_no_mouse(signed_in: SignIn, scene: Scene) -> None:
    """From the first key to the recorded answer, with the keyboard alone."""
    ticket = scene.ask("Answered by keys alone")
    page = signed_in("user:vera")
    page.goto("/console/review?text=keys+alone")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    page.keyboard.press("Enter")
    _tab_to(page, "Answered by keys alone")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{ticket.id}")
    page.locator("#content").focus()
    _tab_to(page, "approve")
    page.keyboard.press("Space")
    _tab_to(page, "")
    page.keyboard.type("read it, and agree")
    _tab_to(page, "Sign")
    page.keyboard.press("Enter")
    expect(page.locator("main").get_by_role("status").first).to_contain_text("Recorded")


def test_single_keys_lead_to_a_ticket_and_its_choice_and_rest_while_somebody_writes(
    signed_in: SignIn, scene: Scene
) -> None:
    """A digit records nothing; combinations are the browser's; all of them can be turned off for good."""
    scene.ask("Reached by one key")
    page = signed_in("user:vera")
    page.goto("/console/review?text=one+key")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_have_text("Reached by one key")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tkt_*")
    entries = scene.head()
    page.keyboard.press("2")
    expect(page.locator("input[name=choice]").nth(1)).to_be_checked()
    page.keyboard.press("r")
    page.keyboard.type("1 of 9? u know: j/k")
    expect(page.locator("textarea[name=reason]")).to_have_value("1 of 9? u know: j/k")
    expect(page.locator("input[name=choice]").nth(1)).to_be_checked()
    page.locator("#content").focus()
    page.keyboard.press("Alt+1")
    expect(page.locator("input[name=choice]").nth(0)).not_to_be_checked()
    page.keyboard.press("?")
    page.get_by_label("Enabled").uncheck()
    page.reload()
    page.keyboard.press("1")
    expect(page.locator("input[name=choice]").nth(0)).not_to_be_checked()
    assert scene.head() == entries


def test_ten_tickets_are_cleared_by_two_keys_each(signed_in: SignIn, scene: Scene) -> None:
    """A digit and Enter sign and go on within the filter; Ctrl+Enter does so while a reason is written."""
    asked = [scene.ask(f"Clear {n}", about=f"clear:{n}") for n in range(10)]
    page = signed_in("user:vera")
    page.goto("/console/review?about=clear:")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    for ticket in asked:
        page.wait_for_url(f"**/review/{ticket.id}")
        if ticket is asked[3]:
            page.keyboard.press("2")
            page.keyboard.press("r")
            page.keyboard.type("the sources differ")
            page.keyboard.press("Control+Enter")
        else:
            page.keyboard.press("1")
            page.keyboard.press("Enter")
        if ticket is asked[0]:
            expect(page.locator("#flash")).to_contain_text("Recorded: previous ticket. Press u to undo it.")
    page.wait_for_url("**/console/review?mine=yes")
    found = scene.tools.database.read(lambda unit: [unit.review.answers(TENANT, one.id) for one in asked])
    assert [one.choice for (one,) in found] == ["approve"] * 3 + ["reject"] + ["approve"] * 6
    assert _faults(page) == []


def _tab_to(page: Page, words: str) -> None:
    """Press Tab until what has the focus says this; a text area says nothing."""
    says = (
        "() => { const one = document.activeElement;"
        " return one.tagName === 'TEXTAREA' ? '' : (one.closest('label') ?? one).innerText.trim(); }"
    )
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(says) == words:
            return
    raise AssertionError(words)


def test_a_page_that_is_open_hears_of_what_is_new(signed_in: SignIn, scene: Scene) -> None:
    """Nobody loads the queue again to see that somebody is waiting."""
    page = signed_in("user:vera")
    page.goto("/console/review")
    expect(page.locator("#live")).to_have_text("Live")
    scene.ask("Opened while somebody looks")
    expect(page.get_by_role("link", name="Opened while somebody looks")).to_be_visible()


def test_filters_show_what_they_say(signed_in: SignIn, scene: Scene) -> None:
    """By kind, by words, and by what waits for oneself."""
    scene.ask("About the lighthouse")
    page = signed_in("user:vera")
    page.goto("/console/review")
    page.get_by_label("Search", exact=True).fill("lighthouse")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    assert "text=lighthouse" in page.url
    page.goto("/console/review?kind=deferral")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    page.goto("/console/review?kind=penalty")
    expect(page.get_by_text("No tickets match.")).to_be_visible()


def test_whoever_only_answers_sees_what_is_asked_of_them(signed_in: SignIn, scene: Scene) -> None:
    """Of the rest there are no links, and behind them a refusal with its code."""
    page = signed_in("user:otto")
    assert page.get_by_role("navigation").get_by_role("link").all_inner_texts() == [
        "Overview",
        "Review desk",
        "Answers",
        "Claims",
        "Permits and mandates",
        "Truth",
        "Services",
        "Access",
        "Verify a proof",
    ]
    page.goto("/console/review")
    assert page.locator("#rows tbody tr").count() == 1
    for place, code in (("/console/ledger", "identity.role"), (f"/console/review/{scene.ticket.id}", "flow.not_found")):
        page.goto(place)
        expect(page.get_by_text(code)).to_be_visible()


@pytest.mark.parametrize("page_of", ["/console/decisions/999999", "/console/decisions/x", "/console/ledger/0"])
def test_what_is_not_there_is_said_in_words(signed_in: SignIn, page_of: str) -> None:
    """With the code, and a way back."""
    page = signed_in("user:vera")
    answer = page.goto(page_of)
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_text("flow.not_found")).to_be_visible()


def test_many_are_answered_after_a_dry_run_with_the_keyboard_alone(signed_in: SignIn, scene: Scene) -> None:
    """What is unticked stays open; what is answered is bound to the text that the dry run showed; axe finds nothing."""
    kept, *others = (scene.ask(f"Publish the figures of June {n}", about=f"june:{n}") for n in range(3))
    page = signed_in("user:vera")
    page.goto("/console/desk/bulk?kind=approval")
    page.get_by_label("Subject starts with").fill("june:")
    page.get_by_role("button", name="Dry run").press("Enter")
    expect(page.get_by_role("heading", name="Result if signed")).to_be_visible()
    page.get_by_label(kept.title).press("Space")
    expect(page.get_by_label(kept.title)).not_to_be_checked()
    assert _violations(page) == []
    page.get_by_role("button", name="Sign selected").press("Enter")
    expect(page.locator("main").get_by_role("status").first).to_contain_text("2 answered, 0 refused")
    vera = scene.tools.database.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId("user:vera")))
    assert vera is not None
    held = [view_desk(scene.tools, looking(vera, at=scene.tools.clock.now()), one.id).held for one in (kept, *others)]
    # Many answers at once wait a while before they count, so that they can be taken back.
    assert [None if one is None else one.answer.choice for one in held] == [None, "approve", "approve"]
    assert _faults(page) == []


def test_a_filter_is_saved_shared_and_used_and_a_ticket_is_given_to_somebody(signed_in: SignIn, scene: Scene) -> None:
    ticket = scene.ask("Publish the figures of July", about="july:1")
    page = signed_in("user:vera")
    page.goto("/console/review?about=july:&kind=approval")
    page.get_by_text("Saved views", exact=True).click()
    page.get_by_label("Name").fill("July")
    page.get_by_label("Shared with all reviewers").check()
    page.get_by_role("button", name="Save view").click()
    page.wait_for_url("**/console/review?view=July")
    expect(page.locator("#rows tbody").get_by_role("link")).to_have_text([ticket.title])
    assert _violations(page) == []
    page.get_by_role("link", name=ticket.title).click()
    page.get_by_role("button", name="Claim").click()
    expect(page.get_by_role("button", name="Release")).to_be_visible()
    page.get_by_role("textbox", name="Person").fill("user:rita")
    page.get_by_role("button", name="Assign").click()
    expect(page.locator("dl.facts").last).to_contain_text("user:rita")
    assert _violations(page) == []
    assert _faults(page) == []


def _violations(page: Page) -> list[str]:
    found = Axe().run(page)
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found.response["violations"]]


def test_the_next_ticket_is_one_key_away_and_stays_within_the_filter(signed_in: SignIn, scene: Scene) -> None:
    """After an answer, or without one; the way up leads back to the filter, and a new beginning forgets it."""
    first, second, third = (scene.ask(f"Publish the figures of August {n}", about=f"august:{n}") for n in range(3))
    page = signed_in("user:vera")
    page.goto("/console/review?about=august:")
    expect(page.locator("#rows [role=status]")).to_have_text("3 tickets")
    page.get_by_role("link", name=first.title).click()
    page.get_by_label("approve").check()
    page.get_by_role("button", name="Sign", exact=True).click()
    page.get_by_role("link", name="Next ticket").last.click()
    page.wait_for_url(f"**/review/{second.id}")
    page.keyboard.press("n")
    page.wait_for_url(f"**/review/{third.id}")
    page.keyboard.press("n")
    page.wait_for_url(f"**/review/{second.id}")
    page.keyboard.press("b")
    page.wait_for_url("**/review?about=august*")
    expect(page.locator("#rows [role=status]")).to_have_text("2 tickets")
    page.goto("/console/")
    page.get_by_role("link", name="Start with the most urgent").click()
    page.wait_for_url("**/tkt_*")
    page.get_by_role("link", name="Review desk", exact=True).last.click()
    page.wait_for_url("**/console/review")
    assert _faults(page) == []


def test_what_waits_for_somebody_is_without_what_they_have_answered(signed_in: SignIn, scene: Scene) -> None:
    """Whoever did their part of a ticket that two must answer is not asked again."""
    ticket = scene.ask("Two must agree on September", about="september:1", quorum=2)
    page = signed_in("user:vera")
    page.goto("/console/review?mine=yes&about=september:")
    page.get_by_role("link", name=ticket.title).click()
    expect(page.locator("#how-decided")).to_contain_text("2 people must choose the same; one rejection is enough.")
    expect(page.locator("#how-decided")).to_contain_text(re.compile(r"by \d{4}-\d\d-\d\d [\d:]{8} UTC it is denied"))
    page.get_by_label("approve").check()
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.get_by_text("You answered; 2 must agree.")).to_be_visible()
    page.goto("/console/review?mine=yes&about=september:")
    expect(page.get_by_text("No tickets match.")).to_be_visible()
    page.goto("/console/review?about=september:")
    expect(page.locator("#rows tbody tr")).to_have_count(1)


def test_each_choice_says_what_follows_and_what_was_written_is_kept(signed_in: SignIn, scene: Scene) -> None:
    """An override is offered what the room accepts, and a refusal forgets nothing that was chosen."""
    ticket = scene.ask("Is the river above its banks", kind=TicketKind.VALIDATION, about=scene.truth.truthkey)
    page = signed_in("user:vera")
    page.goto(f"/console/review/{ticket.id}")
    status = page.get_by_label("Status, if you override")
    assert status.locator("option").all_inner_texts() == ["VERIFIED TRUE", "VERIFIED FALSE", "INCONCLUSIVE", "EXPIRED"]
    override = page.get_by_label("override", exact=False).and_(page.locator("input"))
    expect(override).to_have_accessible_description("You set the status yourself, where the contract lets you.")
    override.check()
    status.select_option("INCONCLUSIVE")
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("review.reason_missing")
    expect(status).to_have_value("INCONCLUSIVE")
    expect(override).to_be_checked()
    assert _violations(page) == []


def test_what_was_written_outlives_a_session_that_ended(signed_in: SignIn, scene: Scene) -> None:
    """Signing in again leads back to the ticket with the choice and the words; somebody else finds nothing.

    So does a key that was pressed too early, or what is done beside the answer.
    """
    ticket = scene.ask("A long conclusion is written")
    page = signed_in("user:vera")
    for person, words in (("user:vera", "an hour of thought"), ("user:rita", "")):
        page.goto(f"/console/review/{ticket.id}")
        page.get_by_label("reject").check()
        page.get_by_label("Reason", exact=True).fill("an hour of thought")
        page.context.clear_cookies()
        page.get_by_role("button", name="Sign", exact=True).click()
        page.get_by_label("Username").fill(person)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"**/console/review/{ticket.id}")
        expect(page.get_by_label("Reason", exact=True)).to_have_value(words)
        expect(page.get_by_label("reject")).to_be_checked(checked=bool(words))
        for leave in (page.reload, page.get_by_role("button", name="Claim").click, lambda: _away(page)):
            leave()
            expect(page.get_by_label("Reason", exact=True)).to_have_value(words)
            expect(page.get_by_role("button", name="Sign", exact=True)).to_be_visible()
        page.get_by_role("button", name="Release").click()
        expect(page.get_by_role("button", name="Claim")).to_be_visible()
    assert _faults(page) == []


def _away(page: Page) -> None:
    """Up to the queue by a key, and back."""
    here = page.url
    page.locator("#content").focus()
    page.keyboard.press("b")
    page.wait_for_url("**/console/review")
    page.goto(here)


def test_a_row_keeps_the_focus_while_the_queue_loads_itself_again(signed_in: SignIn, scene: Scene) -> None:
    """Whoever goes through a busy queue by keys is not sent back to its beginning by others' work."""
    asked = [scene.ask(f"Busy {n}", about=f"busy:{n}") for n in range(3)]
    page = signed_in("user:vera")
    page.goto("/console/review?about=busy:")
    expect(page.locator("#live")).to_have_text("Live")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_have_text(asked[1].title)
    scene.ask("Busy again", about="busy:again")
    expect(page.get_by_role("link", name="Busy again")).to_be_visible()
    expect(page.locator(":focus")).to_have_text(asked[1].title)
