"""The desk over HTTP: everything a person does to a ticket besides answering, in their own session and on record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.flows.review.open_review import open_review
from assay.identity.principal import PrincipalChange
from assay.kernel.ids import PrincipalId
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft
from tests.acting import amend_principal, issue_api_key, log_in
from tests.flows._people import PASSWORD
from tests.surfaces.http._door import Door, opened_door
from tests.surfaces.http.served import ACME, ADMIN

DESK, TICKETS = "/api/v1/desk", "/api/v1/tickets"
PEOPLE = {"amira": ("ops_team",), "bo": ("ops_team",), "olga": ("operator",), "zoe": ("visitor",)}


class Reviewers:
    """People of one node, each with a session."""

    def __init__(self, door: Door) -> None:
        self.door = door
        for name, roles in PEOPLE.items():
            door.add(f"user:{name}", roles=roles, action_tier=2)
        self.tokens = {
            name: log_in(door.tools, ACME, PrincipalId(f"user:{name}"), PASSWORD, at=door.clock.at)[0]
            for name in PEOPLE
        }

    def ask(self, method: str, path: str, by: str, body: object = None, **headers: str) -> httpx.Response:
        sent = {"authorization": f"Bearer {self.tokens[by]}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body is None:
            return self.door.browser.request(method, path, headers=sent)
        return self.door.browser.request(method, path, json=body, headers=sent)

    def act(self, ticket: Ticket, by: str, act: str, **fields: Any) -> httpx.Response:  # noqa: ANN401  fields of an act
        place = "comments" if act == "comment" else act
        return self.ask("POST", f"{TICKETS}/{ticket.id}/{place}", by, fields)

    def ticket(self, **changes: Any) -> Ticket:  # noqa: ANN401  any field of a draft
        fields: dict[str, Any] = {
            "kind": TicketKind.APPROVAL,
            "title": "delete 40 records",
            "shown": '{"records":40}',
            "eligible_roles": ("ops_team",),
            "opened_by": PrincipalId("service:node"),
        }
        # Each later than the one before: of one instant they would be listed by their ids.
        self.door.wait(milliseconds=1)
        ticket, _ = open_review(self.door.tools, ACME, TicketDraft(**(fields | changes)), at=self.door.clock.at)
        return ticket

    def head(self) -> int:
        return self.door.tools.database.read(lambda unit: unit.ledger.head(ACME)).sequence_number


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reviewers]:
    """One node for all of these; each test opens tickets of its own."""
    folder: Path = tmp_path_factory.mktemp("desk")
    with opened_door(folder) as door:
        yield Reviewers(door)


def test_a_ticket_is_claimed_placed_and_spoken_of_and_its_history_names_each_entry(people: Reviewers) -> None:
    ticket = people.ticket(about="day")
    assert people.act(ticket, "amira", "claim", seconds=600).status_code == 201
    refused = people.act(ticket, "bo", "claim")
    assert (refused.status_code, refused.json()["code"]) == (409, "review.leased")
    assert people.act(ticket, "olga", "assign", person="user:bo").status_code == 201
    assert people.act(ticket, "olga", "prioritise", priority="urgent").status_code == 201
    assert people.act(ticket, "bo", "comment", text="ask Ada").status_code == 201
    assert people.act(ticket, "amira", "release").status_code == 201
    seen = people.ask("GET", f"{TICKETS}/{ticket.id}/desk", "bo").json()
    assert (seen["placement"]["person"], seen["placement"]["priority"], seen["leases"]) == ("user:bo", "urgent", [])
    assert [one["text"] for one in seen["comments"]] == ["ask Ada"]
    steps = people.ask("GET", f"{TICKETS}/{ticket.id}/timeline", "bo").json()["items"]
    assert [one["kind"].removeprefix("ticket.") for one in steps] == [
        "opened", "claimed", "assigned", "prioritised", "commented", "released",
    ]  # fmt: skip
    entries = people.door.tools.database.read(lambda unit: list(unit.ledger.entries(ACME)))
    hashes = {one.sequence_number: one.entry_hash for one in entries}
    assert all(hashes[step["sequence_number"]] == step["entry_hash"] for step in steps)


def test_the_queue_is_filtered_ordered_and_paged(people: Reviewers) -> None:
    tickets = [people.ticket(about=f"queue:{number}") for number in range(3)]
    people.act(tickets[2], "amira", "prioritise", priority="high")
    path = f"{DESK}/queue?about=queue:&limit=2"
    first = people.ask("GET", path, "bo").json()
    assert [one["ticket"]["id"] for one in first["items"]] == [tickets[2].id, tickets[0].id]
    second = people.ask("GET", f"{path}&cursor={first['next']}", "bo").json()
    assert ([one["ticket"]["id"] for one in second["items"]], second["next"]) == ([tickets[1].id], None)
    assert people.ask("GET", f"{DESK}/queue?about=queue:&priority=high", "bo").json()["items"][0]["stages"] == []
    assert people.ask("GET", path, "zoe").json()["items"] == []
    assert people.ask("GET", f"{DESK}/queue?state=nonsense", "bo").status_code == 422
    assert people.ask("PUT", f"{DESK}/views/mine", "bo", {"filter": {"about": "queue:2"}}).status_code == 200
    assert len(people.ask("GET", f"{DESK}/queue?view=mine", "bo").json()["items"]) == 1
    assert people.ask("GET", f"{DESK}/queue?view=mine", "amira").json()["code"] == "review.view"
    assert [one["name"] for one in people.ask("GET", f"{DESK}/views", "bo").json()["items"]] == ["mine"]
    assert people.ask("DELETE", f"{DESK}/views/mine", "bo").status_code == 200
    assert people.ask("GET", f"{DESK}/views", "bo").json()["items"] == []


def test_whom_a_ticket_does_not_concern_it_is_not_there_for(people: Reviewers) -> None:
    ticket = people.ticket()
    for path in ("desk", "timeline"):
        answer = people.ask("GET", f"{TICKETS}/{ticket.id}/{path}", "zoe")
        assert (answer.status_code, answer.json()["code"]) == (404, "flow.not_found")


def test_others_words_are_kept_back_by_the_server(people: Reviewers) -> None:
    """On every route that could tell: the ticket, its desk, its timeline, the queue and the list."""
    ticket = people.ticket(quorum=2, about="blind")
    people.act(ticket, "amira", "comment", text="I doubt it")
    body = {"choice": "approve", "seen": ticket.shown_hash}
    assert people.ask("POST", f"{TICKETS}/{ticket.id}/answers", "amira", body).status_code == 201
    routes = (
        f"{TICKETS}/{ticket.id}", f"{TICKETS}/{ticket.id}/desk", f"{TICKETS}/{ticket.id}/timeline",
        f"{DESK}/queue?about=blind", f"{TICKETS}?about=blind",
    )  # fmt: skip
    for route in routes:
        told = people.ask("GET", route, "bo").text
        assert ticket.id in told
        assert "user:amira" not in told, route
        assert "1 of 2" not in told, route
        assert "doubt" not in told, route
    assert people.ask("GET", f"{TICKETS}/{ticket.id}/desk", "bo").json()["blind"] is True
    assert people.ask("POST", f"{TICKETS}/{ticket.id}/answers", "bo", body).status_code == 201
    assert "doubt" in people.ask("GET", f"{TICKETS}/{ticket.id}/desk", "bo").text


def test_an_answer_that_does_not_count_yet_tells_nothing_of_the_others(people: Reviewers) -> None:
    """A dry run, and an answer that can still be undone: whoever could look so before judging would not judge alone."""
    ticket = people.ticket(quorum=2, about="alone:")
    plan = {"choice": "approve", "filter": {"about": "alone:"}}
    before = people.ask("POST", f"{DESK}/bulk/plan", "bo", plan).json()["lines"]
    body = {"choice": "approve", "seen": ticket.shown_hash}
    assert people.ask("POST", f"{TICKETS}/{ticket.id}/answers", "amira", body).status_code == 201
    after = people.ask("POST", f"{DESK}/bulk/plan", "bo", plan).json()["lines"]
    assert [{**one, "takes_effect_at": None} for one in before] == [{**one, "takes_effect_at": None} for one in after]
    assert (after[0]["accepted"], after[0]["state"]) == (True, "open")


def test_a_draft_is_the_persons_own_and_leaves_no_entry(people: Reviewers) -> None:
    ticket, head = people.ticket(), 0
    head = people.head()
    path = f"{TICKETS}/{ticket.id}/draft"
    assert people.ask("PUT", path, "bo", {"choice": "reject", "reason": "hm"}).json()["reply"]["reason"] == "hm"
    assert people.head() == head
    assert people.ask("GET", f"{TICKETS}/{ticket.id}/desk", "bo").json()["draft"]["reply"]["choice"] == "reject"
    assert people.ask("GET", f"{TICKETS}/{ticket.id}/desk", "olga").json()["draft"] is None
    assert people.ask("PUT", path, "zoe", {"reason": "me"}).status_code == 403
    assert people.ask("PUT", path, "bo", {"choice": "perhaps"}).json()["code"] == "review.unknown_choice"
    assert people.ask("DELETE", path, "bo").status_code == 200
    assert people.ask("GET", f"{TICKETS}/{ticket.id}/desk", "bo").json()["draft"] is None


def test_many_at_once_are_planned_answered_each_by_itself_and_undone(people: Reviewers) -> None:
    tickets = [people.ticket(about=f"many:{number}") for number in range(3)]
    plan = people.ask("POST", f"{DESK}/bulk/plan", "amira", {"choice": "approve", "filter": {"about": "many:"}}).json()
    assert (plan["accepted"], plan["rehearsed"]) == (3, True)
    people.act(tickets[1], "bo", "claim")
    picks = [{"ticket_id": one["ticket_id"], "seen": one["seen"]} for one in plan["lines"]]
    picks[2]["seen"] = "sha256:" + "0" * 64
    head = people.head()
    sent = {"choice": "approve", "picks": picks}
    done = people.ask("POST", f"{DESK}/bulk", "amira", sent, idempotency_key="many-1").json()
    assert [one["code"] for one in done["lines"]] == [None, "review.leased", "review.stale_ticket"]
    assert people.head() == head + 1
    again = people.ask("POST", f"{DESK}/bulk", "amira", sent, idempotency_key="many-1")
    assert again.json() == done
    assert people.act(tickets[0], "amira", "undo", reason="too quick").status_code == 201
    assert people.act(tickets[0], "amira", "undo").json()["code"] == "review.not_held"


def test_only_a_persons_own_session_does_any_of_it(people: Reviewers) -> None:
    """A key of the same person is refused on every route that changes something, and the ledger does not move."""
    ticket = people.ticket()
    tools, at = people.door.tools, people.door.clock.at
    key, _ = issue_api_key(tools, ACME, PrincipalId("user:amira"), by=ADMIN, at=at)
    head = people.head()
    calls: list[tuple[str, str, object]] = [
        ("POST", f"{TICKETS}/{ticket.id}/claim", {}),
        ("POST", f"{TICKETS}/{ticket.id}/undo", {}),
        ("POST", f"{TICKETS}/{ticket.id}/acts/prepare", {"act": "claim"}),
        ("POST", f"{TICKETS}/{ticket.id}/answers/prepare", {"choice": "approve", "seen": ticket.shown_hash}),
        ("PUT", f"{TICKETS}/{ticket.id}/draft", {"reason": "x"}),
        ("PUT", f"{DESK}/views/x", {"filter": {}}),
        ("POST", f"{DESK}/bulk/plan", {"choice": "approve", "filter": {}}),
        ("POST", f"{DESK}/bulk", {"choice": "approve", "picks": [{"ticket_id": ticket.id, "seen": ticket.shown_hash}]}),
    ]
    for method, path, body in calls:
        answer = people.door.browser.request(method, path, json=body, headers={"x-api-key": key})
        assert answer.status_code == 403, (path, answer.text)
        assert people.door.browser.request(method, path, json=body).status_code == 401
    assert people.head() == head


def test_a_key_of_ones_own_signs_acts_and_answers_elsewhere(people: Reviewers) -> None:
    people.door.add("user:kim", roles=("ops_team",), action_tier=2)
    key, kim, door = Ed25519PrivateKey.generate(), PrincipalId("user:kim"), people.door
    public = PrincipalChange(public_key=key.public_key().public_bytes_raw().hex())
    amend_principal(door.tools, ACME, kim, public, by=ADMIN, at=door.clock.at)
    people.tokens["kim"] = log_in(door.tools, ACME, kim, PASSWORD, at=door.clock.at)[0]
    ticket = people.ticket()
    assert people.act(ticket, "kim", "comment", text="mine").json()["code"] == "review.reviewer_key"
    wanted = {"act": "comment", "text": "mine"}
    prepared = people.ask("POST", f"{TICKETS}/{ticket.id}/acts/prepare", "kim", wanted).json()
    signature = key.sign(bytes.fromhex(prepared["message"])).hex()
    fields = {"signature": signature, "acted_at": prepared["acted_at"], "salt": prepared["salt"]}
    done = people.act(ticket, "kim", "comment", text="mine", **fields)
    assert done.json()["act"]["signed_with"] == "reviewer_key"
    assert people.act(ticket, "kim", "comment", text="other", **fields).status_code in {400, 422}
    body = {"choice": "approve", "seen": ticket.shown_hash}
    told = people.ask("POST", f"{TICKETS}/{ticket.id}/answers/prepare", "kim", body).json()
    mine = {"signature": key.sign(bytes.fromhex(told["message"])).hex(), "answered_at": told["answered_at"]}
    assert people.ask("POST", f"{TICKETS}/{ticket.id}/answers", "kim", body).json()["code"] == "review.reviewer_key"
    answered = people.ask("POST", f"{TICKETS}/{ticket.id}/answers", "kim", {**body, **mine})
    assert answered.json()["answered"]["answer"]["signed_with"] == "reviewer_key"
    figures = people.ask("GET", f"{DESK}/progress", "kim").json()["items"]
    assert [one["by"] for one in figures] == ["user:kim"]


def test_a_field_that_an_act_needs_is_named(people: Reviewers) -> None:
    ticket = people.ticket()
    for act, field in (("prioritise", "priority"), ("comment", "text")):
        answer = people.act(ticket, "bo", act)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == field


_ASKED = {"title": "archive the gauges", "shown": {"gauges": 40, "a": 1}, "eligible_roles": ["ops_team"], "quorum": 1}


def test_an_operator_asks_people_over_http_and_they_answer(people: Reviewers) -> None:
    """Once, however often it is sent; on record; shown canonically, and answered by others alone."""
    before, key = people.head(), "open-1"
    told = people.ask("POST", TICKETS, "olga", _ASKED, idempotency_key=key)
    assert told.status_code == 201, told.text
    ticket = told.json()
    assert (ticket["shown"], ticket["opened_by"]) == ('{"a":1,"gauges":40}', "user:olga")
    assert told.headers["location"] == f"{TICKETS}/{ticket['id']}"
    assert (told.headers["assay-sequence-number"], people.head()) == (str(before + 1), before + 1)
    again = people.ask("POST", TICKETS, "olga", _ASKED, idempotency_key=key)
    assert (again.content, again.headers["assay-is-kept"]) == (told.content, "true")
    other = people.ask("POST", TICKETS, "olga", _ASKED | {"quorum": 2}, idempotency_key=key)
    assert (other.status_code, other.json()["code"]) == (422, "request.key_reused")
    assert people.head() == before + 1
    answer = {"choice": "approve", "seen": ticket["shown_hash"], "reason": "counted them"}
    answered = people.ask("POST", f"{told.headers['location']}/answers", "amira", answer)
    assert answered.status_code == 201, answered.text


@pytest.mark.parametrize("by", ["amira", "zoe"])
def test_only_an_operator_asks_people(people: Reviewers, by: str) -> None:
    before = people.head()
    told = people.ask("POST", TICKETS, by, _ASKED)
    assert (told.status_code, told.json()["code"], people.head()) == (403, "identity.role", before)


def test_a_key_opens_no_ticket_and_who_asks_for_whom_does_not_answer(people: Reviewers) -> None:
    door = people.door
    key, _ = issue_api_key(door.tools, ACME, PrincipalId("user:olga"), scopes=("*",), by=ADMIN, at=door.clock.at)
    told = door.browser.post(TICKETS, json=_ASKED, headers={"x-api-key": key})
    assert (told.status_code, told.json()["code"]) == (403, "identity.session_required")
    asked = people.ask("POST", TICKETS, "olga", _ASKED | {"requested_by": "user:amira"}).json()
    answer = {"choice": "approve", "seen": asked["shown_hash"], "reason": "mine"}
    refused = people.ask("POST", f"{TICKETS}/{asked['id']}/answers", "amira", answer)
    assert (refused.status_code, refused.json()["code"]) == (403, "review.own_request")


@pytest.mark.parametrize(
    ("changes", "status", "fields"),
    [
        ({"due_at": "soon", "requested_by": "nobody", "more": 1}, 422, {"due_at", "requested_by", "more"}),
        ({"title": "", "eligible_roles": [], "quorum": 0}, 400, {"title", "eligible_roles", "quorum"}),
        ({"shown": ""}, 400, {"shown"}),
    ],
)
def test_a_ticket_that_cannot_be_is_refused_with_all_that_is_wrong(
    people: Reviewers, changes: dict[str, Any], status: int, fields: set[str]
) -> None:
    before = people.head()
    told = people.ask("POST", TICKETS, "olga", _ASKED | changes)
    assert (told.status_code, {one["field"] for one in told.json()["errors"]}) == (status, fields)
    assert people.head() == before
