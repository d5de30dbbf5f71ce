"""The console without a browser: who is let in, what every answer carries, and which forms are believed."""

import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.testing import TestClient

from assay.flows.claims.gate_claims import GateBundle, gate
from assay.flows.identity.authenticate import authenticate
from assay.flows.ledger.check_report import check_report, parse_report
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.identity.browser import csrf_token
from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.kernel.key import parse_anchors
from assay.kernel.ledger import EntryKind, draft_entry
from assay.operations.table import BY_NAME
from assay.review.ticket import Ticket
from assay.surfaces.console import claims
from assay.surfaces.console.app import create_console
from assay.surfaces.console.assets import load_assets
from assay.surfaces.console.session import LOGIN_COOKIE, login_token
from assay.surfaces.http.app import create_app
from assay.surfaces.http.cookies import SESSION_COOKIE
from assay.surfaces.http.desk import Desk as HttpDesk
from assay.wiring import load_config
from tests.acting import caller_of, issue_api_key
from tests.claims.making import document
from tests.flows._node import TENANT
from tests.flows._people import ADMIN, PASSWORD
from tests.flows._verdicts import VerdictDesk, opened_verdicts

_STATIC = files("assay.surfaces.console") / "static"


class Visitor:
    """Requests as a browser makes them: cookies are kept, and redirects are looked at."""

    def __init__(self, desk: VerdictDesk, client: TestClient[Litestar]) -> None:
        self.desk = desk
        self.client = client
        self.client.follow_redirects = False

    def enter(self, person: str) -> str:
        self.client.cookies.clear()
        token = self.desk.session(person)
        self.client.cookies.set(SESSION_COOKIE, token)
        return token

    def head(self) -> int:
        return self.desk.tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number)

    def log_in(self, password: str = PASSWORD, **changed: str) -> httpx.Response:
        page = self.client.get("/console/login")
        found = re.search(r'name="form_token" value="([0-9a-f]+)"', page.text)
        assert found is not None
        fields = {"form_token": found[1], "tenant": TENANT, "principal": "user:rita", "password": password, **changed}
        return self.client.post("/console/login", data=fields)


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    folder = Path(tmp_path_factory.mktemp("console"))
    with opened_verdicts(folder) as desk:
        app = create_app(desk.tools, load_config(folder / "node"))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield Visitor(desk, client)


@pytest.fixture(autouse=True)
def _nobody_is_remembered(visitor: Visitor) -> None:
    visitor.client.cookies.clear()


def test_every_answer_says_what_a_browser_may_do_with_it(visitor: Visitor) -> None:
    """Pages, faults, redirects and files alike: nothing inline, nothing from elsewhere, nothing around us."""
    visitor.enter("user:olga")
    for place in ("/", "/login", "/nowhere", "/static/nowhere", "/static/console.css", "/ledger/99999", "/verify"):
        answer = visitor.client.get(f"/console{place}")
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_claims_are_listed_a_page_at_a_time(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older ones are a link away, none twice and none left out, however many there are."""
    monkeypatch.setattr(claims, "_PAGE", 2)
    desk = visitor.desk
    desk.add("ai:lister", kind=PrincipalKind.AGENT, password=None)
    key, _ = issue_api_key(desk.tools, TENANT, PrincipalId("ai:lister"), by=ADMIN, at=desk.start)
    made = [f"3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c11{number}" for number in range(5)]
    for one in made:
        given = document(id=one, origin_agent="ai:lister", timestamp=render_instant(desk.start))
        gate(desk.tools, caller_of(desk.tools, key, at=desk.at(minutes=1)), GateBundle(bundle=given))
    visitor.enter("user:olga")
    found: list[str] = []
    place = "/console/claims"
    while True:
        page = visitor.client.get(place).text
        found += re.findall(r">([0-9a-f-]{36})</a>", page)
        older = re.search(r'href="(/console/claims\?cursor=[\w=%-]+)"', page)
        if older is None:
            break
        place = older[1]
    assert found == made[::-1]
    assert visitor.client.get("/console/claims?cursor=1").status_code == 422
    # The next page stays with the agent that was asked for.
    first = visitor.client.get("/console/claims?agent=ai:lister").text
    [older] = re.findall(r'href="(/console/claims[?][^"]*cursor=[^"]*)"', first)
    assert re.findall(r">([0-9a-f-]{36})</a>", visitor.client.get(html.unescape(older)).text) == made[2:0:-1]
    assert "No claims match" in visitor.client.get("/console/claims?agent=ai:nobody").text
    assert visitor.client.get("/console/claims?agent=no+name").status_code == 422
    assert "No claims match" in visitor.client.get("/console/claims?decision=ESCALATE").text


def test_no_template_has_anything_inline() -> None:
    """What the policy forbids is not there to begin with, and nothing is marked as safe by hand."""
    for one in (files("assay.surfaces.console") / "templates").iterdir():
        text = one.read_text()
        assert re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|hx-on|\|safe", text) is None, one.name
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text)), one.name
        assert "//" not in re.sub(r"https?:", "", " ".join(re.findall(r'(?:src|href)="([^"]*)"', text))), one.name


def test_each_vendored_file_is_the_one_that_was_published() -> None:
    """By the hash recorded when it was taken; whatever is not on the list is not there."""
    vendor = _STATIC / "vendor"
    listed = {one["file"]: one["sha256"] for one in json.loads((vendor / "vendor.json").read_text())}
    there = {one.name for one in vendor.iterdir()} - {"vendor.json", "LICENSES.txt"}
    assert there == set(listed)
    for name, digest in listed.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest, name


def test_every_licence_of_what_is_vendored_comes_with_it() -> None:
    """Each package by name and version."""
    told = (_STATIC / "vendor" / "LICENSES.txt").read_text()
    for one in json.loads((_STATIC / "vendor" / "vendor.json").read_text()):
        assert f"== {one['package']}-{one['version']}\n" in told


def test_files_are_served_by_their_exact_name_alone(visitor: Visitor) -> None:
    """No way leads out of the folder, and what a browser has it need not load again."""
    answer = visitor.client.get("/console/static/console.css")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    again = visitor.client.get("/console/static/console.css", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", "", "proof"):
        assert visitor.client.get(f"/console/static/{name}").status_code == 404
    assert "proof/check.js" in load_assets()


def test_whoever_is_not_signed_in_is_asked_to_whatever_the_page(visitor: Visitor) -> None:
    """Every route but those that say they are for anybody."""
    found = 0
    for route in create_console(_http(visitor)).routes:
        for handler in getattr(route, "route_handlers", []):
            assert isinstance(handler, HTTPRouteHandler)
            if handler.opt.get("open") or handler.opt.get("perhaps") or handler.http_methods == {"OPTIONS"}:
                continue
            found += 1
            path = re.sub(r"\{[^}]*\}", "1", route.path)
            (method,) = handler.http_methods - {"HEAD", "OPTIONS"}
            answer = visitor.client.request(method, f"/console{path}")
            assert answer.status_code == 303, path
            assert answer.headers["location"].startswith("/console/login?next="), path
    assert found > 15


def _http(visitor: Visitor) -> HttpDesk:
    desk = visitor.client.app.state.desk
    assert isinstance(desk, HttpDesk)
    return desk


# Values for the names in an address, so that a page gets past its guard; what is not there then is 404.
_NAMES = {"number": "1", "ticket_id": "tkt_none", "bundle_hash": "none", "name": "none"}


@pytest.mark.parametrize("person", ["user:rita", "user:olga", "user:amira", "user:root"])
def test_a_page_is_open_to_people_who_may_perform_its_operation(visitor: Visitor, person: str) -> None:
    """Every page names an operation, or is for everybody; the page and the operation agree on who may see it."""
    if person == "user:amira":
        visitor.desk.add(person, roles=("ops_team",))
    if person == "user:root":
        visitor.desk.add(person, roles=("admin",))
    http = _http(visitor)
    token = visitor.enter(person)
    caller = authenticate(http.tools, token, at=http.tools.clock.now())
    compared = {True: 0, False: 0}
    for route in create_console(http).routes:
        for handler in getattr(route, "route_handlers", []):
            opt = handler.opt
            if handler.http_methods == {"OPTIONS"} or opt.get("open") or opt.get("perhaps"):
                continue
            assert "operation" in opt, route.path
            name = opt["operation"]
            if handler.http_methods - {"OPTIONS", "HEAD"} != {"GET"} or name == "events.follow":
                continue
            may = name is None or http.dispatch.may(BY_NAME[name], caller)
            path = re.sub(r"\{(\w+):\w+\}", lambda found: _NAMES.get(found[1], "none"), route.path)
            answer = visitor.client.get(f"/console{path}")
            assert (answer.status_code == 403) is not may, (path, name)
            compared[may] += 1
            if not may:
                # The page that refuses keeps the navigation, and says what is missing.
                assert 'aria-label="Pages"' in answer.text
                assert "What is missing, and who can grant it" in answer.text
    assert compared[True] > 10
    assert person == "user:olga" or compared[False] > 3


def test_an_unknown_address_keeps_the_navigation(visitor: Visitor) -> None:
    visitor.enter("user:rita")
    answer = visitor.client.get("/console/no/such/page")
    assert (answer.status_code, 'aria-label="Pages"' in answer.text) == (404, True)
    visitor.client.cookies.clear()
    answer = visitor.client.get("/console/no/such/page")
    assert (answer.status_code, 'aria-label="Pages"' in answer.text) == (404, False)


def test_pages_are_light(visitor: Visitor) -> None:
    """Everything a page loads, outside map and graph, is at most 90 KB in gzip."""
    visitor.enter("user:olga")
    for place in ("/", "/review", "/answers", "/rules", "/ledger", "/access"):
        page = visitor.client.get(f"/console{place}")
        names = re.findall(r'(?:src|href)="/console/static/([^"]+)"', page.text)
        weight = len(gzip.compress(page.content)) + sum(len(gzip.compress(load_assets()[one].content)) for one in names)
        assert weight <= 90_000, place


def test_a_search_says_what_it_recognised(visitor: Visitor) -> None:
    """A number, a person, a ticket and nothing; each match leads to its page."""
    ticket = visitor.desk.ticket(eligible_roles=("reviewer",), due_at=visitor.desk.at(days=2))
    visitor.enter("user:olga")
    for text, what, path in (
        ("1", "Entry number", "/console/ledger/1"),
        ("user:rita", "Person, agent or service", "/console/access/people/user%3Arita"),
        (str(ticket.id), "Ticket", f"/console/review/{ticket.id}"),
    ):
        page = visitor.client.get("/console/find", params={"q": text}).text
        assert what in page
        assert f'href="{path}"' in page
        assert visitor.client.get(path).status_code == 200
    assert "Nothing that you may see has this name." in visitor.client.get("/console/find", params={"q": "x y"}).text
    # What somebody may not see is not found by them.
    visitor.enter("user:rita")
    assert "Entry number" not in visitor.client.get("/console/find", params={"q": "1"}).text


def test_a_list_is_exported_as_it_is_shown(visitor: Visitor) -> None:
    """The links below a list lead to the same list of the interface, which takes the same session."""
    visitor.enter("user:olga")
    links = set()
    for place in ("/", "/ledger", "/access", "/review", "/models"):
        links |= set(re.findall(r'href="(/api/v1/[^"]+)"', visitor.client.get(f"/console{place}").text))
    assert len(links) >= 8
    for link in links:
        answer = visitor.client.get(html.unescape(link))
        assert answer.status_code == 200, link
        assert answer.headers["content-type"].startswith("text/csv" if "csv" in link else "application/json"), link


def test_an_administrator_adds_somebody_and_a_key_is_shown_once(visitor: Visitor) -> None:
    """The key is on the answer to the form and on no page after it; a wrong id is told beside its field."""
    visitor.desk.add("user:chief", roles=("admin",))
    token = {"form_token": csrf_token(visitor.enter("user:chief"))}
    wrong = visitor.client.post("/console/access", data={**token, "kind": "agent", "principal_id": "no name"})
    assert wrong.status_code == 422
    assert 'id="error-principal_id"' in wrong.text
    added = visitor.client.post("/console/access", data={**token, "kind": "agent", "principal_id": "ai:new"})
    assert added.headers["location"] == "/console/access/people/ai:new"
    issued = visitor.client.post("/console/access/people/ai:new", data={**token, "act": "key"})
    found = re.search(r'id="new-key">([^<]+)<', issued.text)
    if found is None:  # a second administrator has to agree first
        assert issued.headers["location"].startswith("/console/review/tkt_")
        return
    assert found[1] not in visitor.client.get("/console/access/people/ai:new").text


def test_entries_are_found_by_what_is_in_them(visitor: Visitor) -> None:
    """Terms with spaces between them, a value with a space in it, page by page; one that is none is told as such."""
    tools = visitor.desk.tools
    for number in range(60):
        body = {"found_by": "a name with spaces", "n": number % 2}
        tools.database.append(draft_entry(TENANT, EntryKind.NOTE, body, at=tools.clock.now()))
    visitor.enter("user:olga")
    page = visitor.client.get("/console/ledger", params={"find": " found_by=a name with spaces  kind=note "})
    assert "50 entries on this page" in page.text
    following = re.search(r'href="([^"]+)">More', page.text)
    assert following is not None
    assert "10 entries on this page" in visitor.client.get(following[1].replace("&amp;", "&")).text
    assert (
        "30 entries on this page"
        in visitor.client.get("/console/ledger", params={"find": "n=1 found_by=a name with spaces"}).text
    )
    assert "No entry contains all of that." in visitor.client.get("/console/ledger", params={"find": "n=<script>"}).text
    assert "search.term" in visitor.client.get("/console/ledger", params={"find": "nothing"}).text


def test_an_auditor_downloads_the_report_of_a_period_and_it_verifies(visitor: Visitor) -> None:
    """As a page, a table, or the JSON that is checked offline; a period that is none is told as such."""
    tools = visitor.desk.tools
    visitor.enter("user:olga")
    sign_checkpoint(tools, TENANT, at=tools.clock.now())
    day = tools.clock.now().date().isoformat()
    asked = {"since": day, "through": day, "rule": "", "subject": "", "every": "yes"}
    page, table, document = (
        visitor.client.get("/console/report/file", params={**asked, "form": form}) for form in ("html", "csv", "json")
    )
    assert page.text.startswith("<!doctype html>")
    assert page.headers["content-disposition"] == f'attachment; filename="report-{TENANT}-{day}.html"'
    report = parse_report(document.content)
    assert check_report(report, parse_anchors([tools.founder])).holds
    assert len(table.text.splitlines()) == len(report.rows) + 1 > 1
    ends = [{"since": "yesterday"}, {"since": day, "through": "2000-01-01"}, {"since": day, "through": "9999-12-31"}]
    for wrong in ends:
        answer = visitor.client.get("/console/report/file", params=wrong)
        assert (answer.status_code, "console.form_field" in answer.text) == (400, True), wrong
    assert visitor.client.get("/console/report/file", params={"since": day}).status_code == 200


def test_an_api_key_is_nobodys_session(visitor: Visitor) -> None:
    """Only a session shows that a person is there; the cookie takes nothing else."""
    for wrong in (visitor.desk.operator, "st_" + "x" * 5000):
        visitor.client.cookies.set(SESSION_COOKIE, wrong)
        answer = visitor.client.get("/console/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/login?next=%2F")


def test_the_cookie_stays_with_us_and_out_of_reach(visitor: Visitor) -> None:
    """HttpOnly, and of the same site."""
    answer = visitor.log_in()
    assert answer.status_code == 303
    (given,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith(SESSION_COOKIE)]
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(given.split("; "))


def test_a_form_without_the_sessions_own_token_does_nothing(visitor: Visitor) -> None:
    """Nor one with another session's, nor one that the browser says another site sent."""
    token, other = visitor.enter("user:olga"), visitor.desk.session("user:rita")
    before = visitor.head()
    ours = csrf_token(token)
    attempts: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, {}),
        ({"form_token": ""}, {}),
        ({"form_token": csrf_token(other)}, {}),
        ({"form_token": login_token(token)}, {}),
        ({"form_token": ours}, {"sec-fetch-site": "cross-site"}),
        ({"form_token": ours}, {"sec-fetch-site": "same-site"}),
    ]
    for fields, headers in attempts:
        answer = visitor.client.post("/console/logout", data=fields, headers=headers)
        assert answer.status_code == 403, fields
        assert "http.csrf" in answer.text
    assert visitor.head() == before
    answer = visitor.client.post("/console/logout", data={"form_token": ours})
    assert (answer.status_code, visitor.head()) == (303, before + 1)
    assert visitor.client.get("/console/").status_code == 303


def test_every_form_that_writes_carries_the_token() -> None:
    """Each POST form of each template."""
    for one in (files("assay.surfaces.console") / "templates").iterdir():
        for form in re.findall(r'<form[^>]*method="post".*?</form>', one.read_text(), re.DOTALL):
            assert 'name="form_token"' in form, one.name


def test_signing_in_needs_the_form_that_was_given(visitor: Visitor) -> None:
    """Without its cookie nobody is signed in by another's form, whatever the password."""
    fields = {"form_token": login_token(""), "tenant": TENANT, "principal": "user:rita", "password": PASSWORD}
    assert visitor.client.post("/console/login", data=fields).status_code == 403
    refused = visitor.log_in(form_token=login_token("another"))
    assert (refused.status_code, SESSION_COOKIE in visitor.client.cookies) == (403, False)


def test_one_answer_for_whoever_is_not_let_in(visitor: Visitor) -> None:
    """A wrong password, an unknown person, another tenant and no name at all look the same."""
    answers = [
        visitor.log_in(password="something else"),
        visitor.log_in(principal="user:nobody"),
        visitor.log_in(tenant="elsewhere"),
        visitor.log_in(principal="no name", tenant="NO TENANT"),
    ]
    assert {one.status_code for one in answers} == {401}
    told = {re.sub(r'value="[^"]*"', "", one.text) for one in answers}
    assert len(told) == 1


@pytest.mark.parametrize(
    "asked", ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example", "javascript:x", "/logout"]
)
def test_signing_in_leads_to_a_page_of_ours(visitor: Visitor, asked: str) -> None:
    """Whatever the address of the form says."""
    assert visitor.log_in(next=asked).headers["location"] == "/console/"
    assert visitor.log_in(next="/review?kind=approval").headers["location"] == "/console/review?kind=approval"


def test_a_stale_answer_is_refused_beside_what_was_written(visitor: Visitor) -> None:
    """An answer binds what was on the page; if that is not what the ticket shows, nothing is recorded."""
    ticket = visitor.desk.ticket(eligible_roles=("reviewer",), due_at=visitor.desk.at(days=2))
    token, before = visitor.enter("user:rita"), visitor.head()
    fields = {
        "form_token": csrf_token(token),
        "seen": f"sha256:{'0' * 64}",
        "choice": "approve",
        "reason": "as <I> wrote it",
    }
    answer = visitor.client.post(f"/console/review/{ticket.id}", data=fields)
    assert answer.status_code == 409
    assert "review.stale" in answer.text
    assert "as &lt;I&gt; wrote it</textarea>" in answer.text
    assert visitor.head() == before + 0


def test_a_fault_of_ours_tells_its_code_and_nothing_else(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of faults may name files and hosts; those are for the log."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError("/very/private/path")

    monkeypatch.setattr("assay.surfaces.console.review.page_queue", fail)
    visitor.enter("user:rita")
    answer = visitor.client.get("/console/review")
    assert answer.status_code == 500
    assert "http.internal" in answer.text
    assert "private" not in answer.text


def test_the_login_cookie_is_good_for_nothing_else(visitor: Visitor) -> None:
    """It only makes the token of the form."""
    visitor.client.get("/console/login")
    secret = visitor.client.cookies[LOGIN_COOKIE]
    visitor.client.cookies.set(SESSION_COOKIE, secret)
    assert visitor.client.get("/console/").status_code == 303


def _acts(visitor: Visitor, ticket: Ticket, token: str, **fields: str) -> httpx.Response:
    sent = {"form_token": csrf_token(token), "seen": ticket.shown_hash, **fields}
    return visitor.client.post(f"/console/review/{ticket.id}/acts", data=sent)


def test_people_claim_comment_and_give_back(visitor: Visitor) -> None:
    """Each is an entry, and the page shows who works on it and what was said."""
    ticket = visitor.desk.ticket(eligible_roles=("reviewer",), due_at=visitor.desk.at(days=2))
    token, before = visitor.enter("user:rita"), visitor.head()
    for number, fields in enumerate(({"act": "claim"}, {"act": "comment", "text": "a <word> on this"}), start=1):
        answer = _acts(visitor, ticket, token, **fields)
        assert answer.headers["location"] == f"/console/review/{ticket.id}?entry={before + number}"
    page = visitor.client.get(f"/console/review/{ticket.id}").text
    assert "a &lt;word&gt; on this" in page
    assert ">Release<" in page
    assert "in progress: user:rita" in visitor.client.get("/console/review").text
    assert _acts(visitor, ticket, token, act="release").status_code == 303
    assert ">Claim<" in visitor.client.get(f"/console/review/{ticket.id}").text
    refused = _acts(visitor, ticket, token, act="delete")
    assert (refused.status_code, visitor.head()) == (400, before + 3)
    assert "console.form_field" in refused.text


def test_where_several_judge_nobody_is_shown_the_others_answer_first(visitor: Visitor) -> None:
    """Neither the words nor that there are any; after one's own answer both are there."""
    visitor.desk.add("user:sol", roles=("reviewer",))
    ticket = visitor.desk.ticket(eligible_roles=("reviewer",), quorum=2, due_at=visitor.desk.at(days=2))
    place = f"/console/review/{ticket.id}"

    def answer(person: str, reason: str) -> None:
        fields = {"form_token": csrf_token(visitor.enter(person)), "seen": ticket.shown_hash, "choice": "approve"}
        assert visitor.client.post(place, data={**fields, "reason": reason}).status_code == 303

    answer("user:rita", "because of the first figure")
    visitor.enter("user:sol")
    page = visitor.client.get(place).text
    assert "because of the first figure" not in page
    assert "answered" not in page
    assert "Other answers are shown after yours." in page
    answer("user:sol", "because of the second figure")
    page = visitor.client.get(place).text
    assert "because of the first figure" in page
    assert "because of the second figure" in page


def test_whoever_guesses_passwords_is_made_to_wait(visitor: Visitor) -> None:
    """The console counts with the API, and says how long."""
    visitor.desk.add("user:tess", roles=("reviewer",))
    answers = [visitor.log_in(password="a guess", principal="user:tess") for _ in range(7)]
    assert [one.status_code for one in answers] == [401] * 6 + [429]
    assert "Too many attempts" in answers[-1].text
