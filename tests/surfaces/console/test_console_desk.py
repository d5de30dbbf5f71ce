"""The desk's forms without a browser: many answers after a dry run, saved views, and whose a ticket is."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.review.keep_view import KeptView, ListViews, views
from assay.identity.browser import csrf_token
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId
from assay.review.act import Priority
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter, QueueState
from assay.review.ticket import Ticket
from assay.surfaces.http.app import create_app
from assay.surfaces.http.cookies import SESSION_COOKIE
from assay.wiring import load_config
from tests.acting import looking, view_desk
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts

_PICK = re.compile(r'name="(pick\.tkt_[a-z2-7]+)" value="(sha256:[0-9a-f]+)"')


class Person:
    """Somebody at the desk, in a browser."""

    def __init__(self, desk: VerdictDesk, client: TestClient[Litestar], name: str) -> None:
        self.desk, self.client, self.id = desk, client, PrincipalId(name)
        self.token = desk.session(name)
        self.cookie = {"cookie": f"{SESSION_COOKIE}={self.token}"}

    def get(self, path: str) -> httpx.Response:
        return self.client.get(f"/console{path}", headers=self.cookie, follow_redirects=False)

    def post(self, path: str, **fields: str) -> httpx.Response:
        told = {"form_token": csrf_token(self.token), **fields}
        return self.client.post(f"/console{path}", data=told, headers=self.cookie, follow_redirects=False)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[VerdictDesk, TestClient[Litestar]]]:
    folder = Path(tmp_path_factory.mktemp("console-desk"))
    with opened_verdicts(folder) as desk:
        desk.add("user:vera", roles=("reviewer",))
        app = create_app(desk.tools, load_config(folder / "node"))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield desk, client


@pytest.fixture
def rita(opened: tuple[VerdictDesk, TestClient[Litestar]]) -> Person:
    return Person(*opened, "user:rita")


@pytest.fixture
def vera(opened: tuple[VerdictDesk, TestClient[Litestar]]) -> Person:
    return Person(*opened, "user:vera")


@pytest.fixture
def olga(opened: tuple[VerdictDesk, TestClient[Litestar]]) -> Person:
    return Person(*opened, "user:olga")


def _asked(person: Person, about: str, count: int = 1) -> list[Ticket]:
    desk = person.desk
    return [desk.ticket(title=f"{about} {n}", about=f"{about}:{n}", eligible_roles=("reviewer",)) for n in range(count)]


def test_many_are_answered_after_a_dry_run_and_only_those_that_stay_ticked(rita: Person) -> None:
    """The dry run records nothing; what is answered is bound to the text that it showed."""
    tickets, head = _asked(rita, "batch", 3), rita.desk.head
    before = head()
    told = rita.post("/desk/bulk/plan", answer="approval approve", about="batch:", reason="all looked at")
    assert (told.status_code, head()) == (200, before)
    picks = dict(_PICK.findall(told.text))
    assert picks == {f"pick.{one.id}": one.shown_hash for one in tickets}
    assert told.text.count("&#34;records&#34;: 40") == 3
    kept = dict(list(picks.items())[:2])
    done = rita.post("/desk/bulk", answer="approval approve", reason="all looked at", **kept)
    assert "2 answered, 0 refused." in done.text
    assert head() > before
    left = [one for one in tickets if f"pick.{one.id}" not in kept]
    assert rita.post("/desk/bulk/plan", answer="approval approve", about="batch:").text.count(" checked>") == len(left)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"records":40000,"records":4}', '"records": 40000,\n  "records": 4\n'),
        ('{"share":0.10000000000000000001}', '"share": 0.10000000000000000001\n'),
        ("[" * 5000 + "]" * 5000, "[" * 5000),
    ],
    ids=["a key twice", "digits beyond a double", "too deep to indent"],
)
def test_a_page_shows_all_of_the_text_that_an_answer_binds(rita: Person, text: str, seen: str) -> None:
    ticket = rita.desk.ticket(shown=text, about="shown:all", eligible_roles=("reviewer",))
    assert seen in html.unescape(rita.get(f"/review/{ticket.id}").text)
    planned = rita.post("/desk/bulk/plan", answer="approval approve", about="shown:all")
    assert seen in html.unescape(planned.text)


def test_a_text_that_was_not_shown_is_not_answered(rita: Person) -> None:
    [ticket] = _asked(rita, "stale")
    before = rita.desk.head()
    told = rita.post("/desk/bulk", answer="approval approve", **{f"pick.{ticket.id}": "sha256:" + "0" * 64})
    assert "0 answered, 1 refused." in told.text
    assert "review.stale" in told.text
    assert rita.desk.head() == before


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/desk/bulk", {"answer": "approval approve"}),
        ("/desk/bulk", {"answer": "attestation attest", "pick.x": "y"}),
        ("/desk/bulk/plan", {}),
        ("/desk/views", {"name": "", "state": "open"}),
        ("/desk/views", {"name": "x", "state": "nowhere"}),
        ("/desk/views", {"name": "x", "state": "open", "kind": "none"}),
    ],
)
def test_what_a_form_lacks_is_said(rita: Person, path: str, fields: dict[str, str]) -> None:
    before = rita.desk.head()
    told = rita.post(path, **fields)
    assert (told.status_code, "console.form_field" in told.text) == (400, True)
    assert rita.desk.head() == before


@pytest.mark.parametrize("path", ["/desk/bulk/plan", "/desk/bulk", "/desk/views", "/desk/views/forget"])
def test_no_form_of_another_page_does_anything(rita: Person, path: str) -> None:
    told = rita.post(path, form_token="0" * 64, answer="approval approve", name="x", state="open")
    assert (told.status_code, "http.csrf" in told.text) == (403, True)
    assert _views(rita) == ()


def _views(person: Person) -> tuple[KeptView, ...]:
    found = person.desk.read(lambda unit: unit.identity.find_principal(TENANT, person.id))
    return views(person.desk.tools, looking(found), ListViews()).items


def test_a_view_is_ones_own_until_it_is_shared(rita: Person, vera: Person) -> None:
    done = rita.post("/desk/views", name="Late approvals", state="overdue", kind="approval", about="batch:")
    assert (done.status_code, done.headers["location"]) == (303, "/console/review?view=Late%20approvals")
    [kept] = _views(rita)
    assert kept.filter == QueueFilter(state=QueueState.OVERDUE, kind=TicketKind.APPROVAL, about="batch:")
    assert "Late approvals" in rita.get("/review").text
    assert "Late approvals" not in vera.get("/review").text
    rita.post("/desk/views", name="Late approvals", state="open", kind="approval", about="shared:", shared="yes")
    _asked(rita, "shared", 2)
    shown = vera.get("/review?view=Late%20approvals").text
    assert "2 tickets" in shown
    assert "Forget" not in shown
    assert vera.post("/desk/views/forget", name="Late approvals").status_code == 400
    assert rita.post("/desk/views/forget", name="Late approvals").headers["location"] == "/console/review"
    assert "Late approvals" not in vera.get("/review").text


def test_the_desk_is_read_page_by_page_and_a_filter_goes_along(rita: Person) -> None:
    """Each ticket is on one page; what the filter leaves out takes no place, and an unknown place is refused."""
    tickets = _asked(rita, "paged", 51)
    _asked(rita, "between", 3)
    first = rita.get("/review?text=paged&mine=yes").text
    assert "51 tickets, 50 on this page" in first
    [more] = re.findall(r'href="/console(/review[?][^"]*after=[^"]+)">More<', first)
    second = rita.get(html.unescape(more)).text
    assert ("51 tickets, 1 on this page" in second, ">More<" in second) == (True, False)
    listed = [re.findall(r'href="/console/review/(tkt_[a-z2-7]+)"', page) for page in (first, second)]
    assert sorted([*listed[0], *listed[1]]) == sorted(one.id for one in tickets)
    [back] = re.findall(r'href="/console(/review[?][^"]*)">First page<', second)
    assert re.findall(r'href="/console/review/(tkt_[a-z2-7]+)"', rita.get(html.unescape(back)).text) == listed[0]
    assert rita.get(f"/review?after={'tkt_' + 'a' * 26}").status_code == 404
    assert rita.get("/review?after=somewhere").status_code == 422


def test_a_ticket_is_claimed_given_back_assigned_and_made_urgent(rita: Person, vera: Person) -> None:
    [ticket] = _asked(rita, "placed")
    path, seen = f"/review/{ticket.id}/acts", ticket.shown_hash
    for fields in (
        {"act": "claim"},
        {"act": "release"},
        {"act": "assign", "person": "user:vera"},
        {"act": "prioritise", "priority": "urgent"},
    ):
        done = rita.post(path, seen=seen, **fields)
        assert done.status_code == 303, done.text
    at = rita.desk.tools.clock.now()
    shown = view_desk(rita.desk.tools, looking(_principal(vera), at=at), ticket.id)
    assert (shown.placement.person, shown.placement.priority) == ("user:vera", Priority.URGENT)
    assert "urgent priority" in vera.get(f"/review/{ticket.id}").text
    refused = rita.post(path, seen=seen, act="assign", person="user:nobody")
    assert "Nothing was recorded" in refused.text
    assert rita.post(path, seen=seen, act="prioritise", priority="at once").status_code == 400


def _principal(person: Person) -> Principal:
    found = person.desk.read(lambda unit: unit.identity.find_principal(TENANT, person.id))
    assert found is not None
    return found


def test_a_draft_comes_back_into_the_form_of_its_writer_alone(rita: Person, vera: Person) -> None:
    [ticket] = _asked(rita, "drafted")
    path, head = f"/review/{ticket.id}", rita.desk.head()
    assert rita.post(f"{path}/draft", choice="reject", reason="half a thought").status_code == 303
    assert rita.desk.head() == head
    mine = rita.get(path).text
    assert "half a thought" in mine
    assert re.search(r'value="reject" required checked', mine)
    assert "half a thought" not in vera.get(path).text
    assert rita.post(f"{path}/draft", draft="drop").status_code == 303
    assert "half a thought" not in rita.get(path).text
    assert rita.post(f"{path}/draft", choice="perhaps").status_code == 400
    assert rita.post(path, seen=ticket.shown_hash, choice="approve").status_code == 303
    assert "review.settled" in rita.post(f"{path}/draft", reason="too late").text


def test_progress_is_ones_own_and_everybodys_for_whoever_looks_after_the_desk(rita: Person, olga: Person) -> None:
    [ticket] = _asked(rita, "progress")
    assert rita.post(f"/review/{ticket.id}", seen=ticket.shown_hash, choice="approve").status_code == 303
    assert "user:rita" in olga.get("/desk/progress").text
    own = rita.get("/desk/progress").text
    progress, oversight = own.split("Oversight of claims")
    for part in (progress, oversight):
        assert part.count("<td>user:") == 1
        assert "<td>user:rita</td>" in part
    # Each figure has its interval.
    assert re.search(r"1\.00 \(0\.\d\d to 1\.00\)", oversight)
    assert "/console/desk/progress" in rita.get("/review").text


def test_whoever_looks_after_the_desk_ends_a_lease_that_nobody_works_on(
    rita: Person, vera: Person, olga: Person
) -> None:
    [ticket] = _asked(rita, "leased")
    path, seen = f"/review/{ticket.id}", ticket.shown_hash
    assert rita.post(f"{path}/acts", seen=seen, act="claim").status_code == 303
    assert 'name="holder" value="user:rita"' in olga.get(path).text
    assert 'name="holder"' not in vera.get(path).text
    assert "review.not_leased" in vera.post(f"{path}/acts", seen=seen, act="release", holder="user:rita").text
    assert olga.post(f"{path}/acts", seen=seen, act="release", holder="user:rita").status_code == 303
    assert vera.post(f"{path}/acts", seen=seen, act="claim").status_code == 303


def test_a_conclusion_names_one_of_the_sub_categories_that_the_ticket_lists(rita: Person) -> None:
    shown = '{"sub_categories": {"A": ["wrong <port>"], "B": []}}'
    ticket = rita.desk.ticket(
        kind=TicketKind.ROOT_CAUSE, title="root cause", shown=shown, about=None, eligible_roles=("reviewer",)
    )
    page = rita.get(f"/review/{ticket.id}").text
    assert '<optgroup label="routing failure"><option>wrong &lt;port&gt;</option></optgroup>' in page
    told = {"choice": "routing_failure", "reason": "the other harbour", "sub_category": "wrong <port>"}
    assert rita.post(f"/review/{ticket.id}", seen=ticket.shown_hash, **told).status_code == 303
    seen = view_desk(rita.desk.tools, looking(None, at=rita.desk.tools.clock.now()), ticket.id)
    assert '"sub_category":"wrong <port>"' in seen.review.answers[0].answer.body
