"""People vote over HTTP: in their own session, on what they were shown."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.flows.truth.compile_truth import expire_truth
from assay.identity.principal import PrincipalKind
from assay.surfaces.http.cookies import SESSION_COOKIE
from tests.acting import looking, view_desk
from tests.flows._node import TENANT
from tests.flows._truth import critical_flood
from tests.surfaces.http._house import House, opened_house, refused


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A critical flood that waits for people since 12:40."""
    with opened_house(tmp_path, contract=critical_flood()) as one:
        for name in ("user:ann", "user:ben", "user:cem"):
            one.truth.observe(name, claim_type="earth.flood.v2")
        one.truth.score(local_vision=0.95)
        one.truth.compile("12:40")
        one.at("12:45")
        yield one


def _question(house: House) -> dict[str, Any]:
    answer = house.get(f"/api/v1/states/{house.truth.truthkey}/question", key=house.truth.operator)
    assert answer.status_code == 200, answer.text
    question: dict[str, Any] = answer.json()
    return question


def _vote(house: House, credential: str, **members: object) -> httpx.Response:
    body: dict[str, object] = {
        "truthkey": house.truth.truthkey,
        "vote_type": "RATIFY",
        "seen": _question(house)["shown_hash"],
        "reason": "I was there",
    }
    return house.post("/votes", {**body, **members}, key=credential)


def test_people_verify_a_critical_claim(house: House) -> None:
    """Each reads the question and answers it; their votes make the state final, and who disagrees may still say so."""
    question = _question(house)
    assert house.truth.truthkey in question["shown"]
    assert question["choices"] == ["RATIFY", "REJECT", "ABSTAIN", "CHALLENGE", "OVERRIDE"]
    statuses = []
    for name in ("user:eve", "user:fay", "user:gus"):
        answer = _vote(house, house.truth.signed_in(name, "12:44"))
        assert (answer.status_code, answer.json()["voter_id"]) == (201, name), answer.text
        statuses.append(answer.json()["state"]["status"])
        if statuses[-1] == "VERIFIED_TRUE":
            break
    assert statuses[-1] == "VERIFIED_TRUE"
    path = f"/api/v1/states/{house.truth.truthkey}/question"
    assert house.get(path, key=house.truth.operator).status_code == 200
    shown = house.get(f"/truthstates/{house.truth.truthkey}", key=house.relay).json()
    assert (shown["status"], shown["verification_basis"]) == ("VERIFIED_TRUE", "HUMAN_CONSENSUS")
    assert house.sample("assay_votes_total", tenant="default", vote_type="RATIFY") == len(statuses)


def test_a_vote_is_counted_whichever_door_it_came_in_by(house: House) -> None:
    """The desk's own route answers the same ticket; the state that it makes is counted too."""
    question, eve = _question(house), house.truth.signed_in("user:eve", "12:44")
    body = {"choice": "ratify", "seen": question["shown_hash"], "reason": "I was there"}
    answer = house.post(f"/api/v1/tickets/{question['ticket_id']}/answers", body, key=eve)
    assert answer.status_code == 201, answer.text
    assert house.sample("assay_votes_total", tenant="default", vote_type="RATIFY") == 1
    assert house.sample("assay_truth_states_total", tenant="default", cause="vote") == 1


def _by_vote(house: House, name: str, choice: str) -> httpx.Response:
    return _vote(house, house.truth.signed_in(name, "12:44"), vote_type=choice)


def _by_desk(house: House, name: str, choice: str) -> httpx.Response:
    question = _question(house)
    body = {"choice": choice.lower(), "seen": question["shown_hash"], "reason": "I was there"}
    path = f"/api/v1/tickets/{question['ticket_id']}/answers"
    return house.post(path, body, key=house.truth.signed_in(name, "12:44"))


@pytest.mark.clause("kaori", "10.1")
@pytest.mark.parametrize("answer", [_by_vote, _by_desk])
def test_what_is_decided_can_be_contradicted_until_the_window_is_over(
    house: House, answer: Callable[[House, str, str], httpx.Response]
) -> None:
    """The queue and the pages say that it is decided; a challenge is heard and takes that back."""
    ticket_id, viewer = _question(house)["ticket_id"], house.truth.signed_in("user:fay", "12:44")
    cookie = {"cookie": f"{SESSION_COOKIE}={viewer}"}

    def told() -> tuple[str | None, str | None, str, bool, bool]:
        (line,) = house.get("/api/v1/desk/queue", key=viewer).json()["items"]
        seen = house.get(f"/api/v1/tickets/{ticket_id}/desk", key=viewer).json()
        pages = [
            house.client.get(f"/console{path}", headers=cookie).text for path in ("/review", f"/review/{ticket_id}")
        ]
        return (
            line["decided"],
            seen["decided"],
            line["settlement"]["state"],
            *("open to challenge" in one for one in pages),
        )

    for name in ("user:eve", "user:gus"):
        assert told() == (None, None, "open", False, False)
        assert answer(house, name, "RATIFY").status_code == 201
    assert told() == ("VERIFIED_TRUE", "VERIFIED_TRUE", "open", True, True)
    assert answer(house, "user:fay", "CHALLENGE").status_code == 201
    shown = house.get(f"/truthstates/{house.truth.truthkey}", key=house.relay).json()
    assert "disputed" in shown["transparency_flags"]
    assert told() == (None, None, "open", False, False)


def test_the_end_of_the_window_settles_what_was_decided(house: House) -> None:
    ticket_id = _question(house)["ticket_id"]
    for name in ("user:eve", "user:gus"):
        assert _by_vote(house, name, "RATIFY").status_code == 201
    expire_truth(house.tools, TENANT, at=house.truth.now("18:45"))
    seen = view_desk(house.tools, looking(None, at=house.truth.now("18:46")), ticket_id)
    assert (seen.review.recorded, seen.review.settlement.choice, seen.decided) == (True, "ratify", None)


def test_an_api_key_is_not_a_person(house: House) -> None:
    """Of a machine never, and of a person only in a session: the key may lie in a script."""
    refused(_vote(house, house.truth.key("user:eve")), 403, "identity.session_required")
    refused(_vote(house, house.join("service:bot", "reviewer")), 403, "identity.session_required")


def test_only_reviewers_vote(house: House) -> None:
    house.truth.add("user:zoe", kind=PrincipalKind.PERSON, roles=("auditor",))
    refused(_vote(house, house.truth.signed_in("user:zoe", "12:44")), 403, "identity.role")


def test_a_person_votes_once(house: House) -> None:
    eve = house.truth.signed_in("user:eve", "12:44")
    assert _vote(house, eve, vote_type="ABSTAIN").status_code == 201
    refused(_vote(house, eve), 409, "review.already_answered")


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"seen": "sha256:" + "0" * 64}, 409, "review.stale_ticket"),
        ({"seen": "0" * 64}, 422, "form.digest"),
        ({"vote_type": "MAYBE"}, 422, "http.fields"),
        ({"vote_type": "ratify"}, 422, "http.fields"),
        ({"weight": 10}, 422, "http.fields"),
        ({"vote_type": "REJECT", "reason": ""}, 400, "review.reason_missing"),
        ({"truthkey": "earth:flood:h3:0:surface:2026-01-07T12:00Z"}, 409, "truth.no_open_ticket"),
    ],
)
def test_a_vote_that_cannot_count_is_refused(house: House, members: dict[str, object], status: int, code: str) -> None:
    """And nothing is recorded: what the person saw must be what is asked."""
    eve = house.truth.signed_in("user:eve", "12:44")
    before = house.truth.head()
    refused(_vote(house, eve, **members), status, code)
    assert house.truth.head() == before


def test_a_vote_on_a_claim_that_changed_meanwhile_is_refused(house: House) -> None:
    """The question that was seen is withdrawn; the person has to look again."""
    seen = _question(house)["shown_hash"]
    for name in ("user:dan", "user:eva", "user:ida", "user:jon"):
        house.truth.trust(name, "specialist")
        house.truth.observe(
            name, {"severity": "low", "water_level_meters": 0.1}, at="12:41", claim_type="earth.flood.v2"
        )
    house.truth.compile("12:42")
    eve = house.truth.signed_in("user:eve", "12:44")
    assert _question(house)["shown_hash"] != seen
    refused(_vote(house, eve, seen=seen), 409, "review.stale_ticket")
    assert _vote(house, eve).status_code == 201


def test_the_question_is_for_those_who_may_see_all(house: House) -> None:
    """It shows who reported what."""
    path = f"/api/v1/states/{house.truth.truthkey}/question"
    refused(house.get(path, key=house.relay), 403, "identity.role")
    assert house.get(path, key=house.truth.signed_in("user:eve", "12:44")).status_code == 200


def test_a_vote_stands_though_its_key_cannot_be_compiled(house: House) -> None:
    """201, since it is on disk; why there is no state yet stands in the answer, and later states count the vote."""
    house.truth.compile("14:00", force=True)
    answer = _vote(house, house.truth.signed_in("user:eve", "12:44"))
    assert answer.status_code == 201, answer.text
    receipt = answer.json()
    assert (receipt["state"], receipt["version"], receipt["code"]) == (None, None, "truth.compile_time")
    assert "or later" in receipt["problem"]
    house.at("14:01")
    assert house.truth.compile("14:01").state.compile_inputs.vote_hashes
