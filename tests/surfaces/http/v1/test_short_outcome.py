"""`/api/v1/outcomes` by the id of an answer alone, with and without a key; the route of PRAMANA stays whole."""

import json

import pytest

from assay.surfaces.client import Client
from assay.surfaces.http.v1.common import PREFIX
from tests.surfaces.http.v1._whole import Whole

_URL = "http://testserver.local"


def _answer_id(whole: Whole) -> str:
    answered = whole.post(f"{PREFIX}/answers", whole.question(), "amira")
    assert answered.status_code == 201, answered.text
    return str(answered.json()["answer_id"])


@pytest.mark.parametrize("headers", [{}, {"idempotency_key": "short-1"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_an_outcome_is_reported_by_the_id_of_its_answer(whole: Whole, outcome: str, headers: dict[str, str]) -> None:
    told = {"answer_id": _answer_id(whole), "outcome": outcome}
    named = {name: f"{key}-{outcome}" for name, key in headers.items()}
    first, again = (whole.post(f"{PREFIX}/outcomes", told, "bell", **named) for _ in range(2))
    # Under the same key it is the same answer again, word for word.
    assert (first.status_code, again.status_code) == (201, 201 if headers else 200), first.text + again.text
    assert first.json()["sequence_number"] == again.json()["sequence_number"]
    [line] = whole.get(f"{PREFIX}/outcomes?answer_id={told['answer_id']}").json()["items"]
    assert (line["outcome"], line["sender"]) == (outcome, "service:bell")


@pytest.mark.clause("pramana", "7.4.1")
def test_the_wire_form_of_the_text_stays_whole(whole: Whole) -> None:
    """A sender that speaks PRAMANA writes every member, whoever answered."""
    told = {"answer_id": _answer_id(whole), "outcome": "failure"}
    before = whole.entries()
    assert whole.post("/api/v2/pramana/phala", told, "bell").json()["code"] == "delivery.outcome"
    lines = {"x-api-key": whole.keys["bell"], "content-type": "application/x-ndjson"}
    sent = whole.client.post(f"{PREFIX}/outcomes:bulk", content=json.dumps(told), headers=lines)
    assert json.loads(sent.text.splitlines()[0])["status"] == "refused"
    assert whole.entries() == before


def test_the_client_needs_no_more_either(whole: Whole) -> None:
    bell = Client(_URL, key=whole.keys["bell"], http=whole.client)
    told = {"answer_id": _answer_id(whole), "outcome": "indeterminate"}
    # Each call has a key of its own.
    assert [bell.outcome(told).is_new for _ in range(2)] == [True, False]
