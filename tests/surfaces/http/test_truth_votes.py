"""People vote over HTTP: in their own session, on what they were shown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.identity.principal import PrincipalKind
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
    answer = house.get(f"/truthstates/{house.truth.truthkey}/validation", key=house.truth.operator)
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
    path = f"/truthstates/{house.truth.truthkey}/validation"
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
    path = f"/truthstates/{house.truth.truthkey}/validation"
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
