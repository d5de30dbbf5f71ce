"""Every route of the whole application that changes something takes an `Idempotency-Key`, or says why it needs none."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import httpx
import pytest
from litestar.routes import ASGIRoute

from assay.identity.risk import RiskTier
from assay.operations.claims import OPERATIONS as CLAIMS
from assay.surfaces.http.app import every_route
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole

_numbers = count(40_000)
_READING = {"GET", "HEAD", "OPTIONS"}
_LINES = "application/x-ndjson"
_BYTES = "application/octet-stream"

# Each line is known by its own id or content, so the same body again finds what it recorded.
_BY_CONTENT = "every line is known by its own id"
_NOTHING = "it records nothing"
_NO_KEY = {
    "POST /auth/login": "nobody has proved who they are, and a session token is kept nowhere",
    "POST /auth/logout": "the session has ended: whoever asks again is nobody",
    "POST /api/v1/observations:bulk": _BY_CONTENT,
    "POST /api/v1/telemetry:bulk": _BY_CONTENT,
    "POST /api/v1/outcomes:bulk": _BY_CONTENT,
    "POST /api/v1/claims:bulk": _BY_CONTENT,
    "POST /api/v1/entries:bulk": "each line is a note of its own, and answered by itself",
    "POST /api/v1/proofs/verify": _NOTHING,
    **{f"POST /api/v1{one.path}": _NOTHING for one in CLAIMS if one.http_method == "POST" and not one.writes},
    "POST /api/v1/tickets/{ticket_id}/acts/prepare": _NOTHING,
    "POST /api/v1/tickets/{ticket_id}/answers/prepare": _NOTHING,
    "POST /api/v1/desk/bulk/plan": _NOTHING,
    "POST /api/v1/graphs/impact": _NOTHING,
    "POST /api/v1/mandates/preview": _NOTHING,
    "POST /api/v1/graphs/{content_hash}/release/prepare": _NOTHING,
    "POST /api/v1/sovereignty/audit": _NOTHING,
    "POST /api/v1/sovereignty/quote": _NOTHING,
    "POST /api/v1/tickets/{ticket_id}/attest/prepare": _NOTHING,
    "POST /verify": _NOTHING,
    "POST /api/v1/policies:compare": _NOTHING,
    "POST /api/v1/states:verify": _NOTHING,
    "POST /api/v1/votes/prepare": _NOTHING,
}


def _changing() -> Iterator[str]:
    for handler in every_route():
        for method in set(getattr(handler, "http_methods", ())) - _READING:
            for path in getattr(handler, "paths", ()):
                yield f"{method} {path.replace(':str}', '}')}"


_CHANGES = sorted(_changing())


def _send(whole: Whole, route: str, body: bytes, by: str, **headers: str) -> httpx.Response:
    method, _, path = route.partition(" ")
    typed = {"content-type": "application/json", "x-api-key": whole.keys[by], **headers}
    return whole.client.request(method, path, content=body, headers=typed)


def test_what_needs_no_key_is_there() -> None:
    assert set(_NO_KEY) <= set(_CHANGES)


@pytest.mark.parametrize("route", [one for one in _CHANGES if one not in _NO_KEY])
def test_every_other_change_reads_the_key_before_it_does_anything(whole: Whole, route: str) -> None:
    """A key that cannot be kept is refused as such, by whoever asks, whatever else the request says."""
    before = whole.entries()
    path = route.replace("{ticket_id}", f"tk_{'a' * 26}").replace("{", "").replace("}", "")
    media_type = _BYTES if route.endswith(("/evidence", "/models", "/models/evaluations")) else "application/json"
    told = _send(whole, path, b"{}", "omar", **{"idempotency-key": "a b", "content-type": media_type})
    refused(told, 400, "http.idempotency_key")
    assert whole.entries() == before


def test_the_description_says_so_too(whole: Whole) -> None:
    document = whole.client.get("/openapi.json").json()["paths"]
    for route in set(_CHANGES) - set(_NO_KEY):
        method, _, path = route.partition(" ")
        told = document[path][method.lower()]
        assert "Idempotency-Key" in [one["name"] for one in told.get("parameters", ())], route
        assert {"400", "409", "422"} <= set(told["responses"]), route


@dataclass(frozen=True)
class _Sent:
    route: str
    body: bytes
    by: str
    media_type: str = "application/json"
    # Of a request that is another one.
    other: bytes = b'{"other": 1}'


def _json(route: str, body: Any, by: str = "operator") -> _Sent:  # noqa: ANN401  any JSON
    return _Sent(f"POST {route}", json.dumps(body).encode(), by)


def _bundle(number: int) -> int:
    """Four digits end a bundle's id, and those from 2000 on are this file's."""
    return 2_000 + number % 1_000


def _graph(whole: Whole, _number: int) -> _Sent:
    active = whole.get("/api/v1/graphs/active").json()["document_hash"]
    return _Sent("POST /api/kg/load", whole.get(f"/api/v1/graphs/{active}").content, "operator")


def _lines(whole: Whole, number: int) -> _Sent:
    body = json.dumps(whole.observation(number)).encode() + b"\n"
    return _Sent("POST /observations", body, "sensor", _LINES, b"{}\n")


def _question(whole: Whole, _number: int) -> _Sent:
    """Fields are read before the key, so another request is another question."""
    other = {**whole.question(), "question": {"ship": "Eve"}}
    return replace(_json("/api/v2/pramana/query", whole.question(), "amira"), other=json.dumps(other).encode())


# The routes that the specifications name; those of `/api/v1` have their own test.
_TWICE: dict[str, Callable[[Whole, int], _Sent]] = {
    "note": lambda _whole, number: _Sent(
        "POST /api/v1/entries", b'{"note": {"n": %d}}' % number, "operator", other=b'{"note": {"n": "another"}}'
    ),
    "observation": lambda whole, number: _json("/observations", whole.observation(number), "sensor"),
    "observations in lines": _lines,
    "v1 evidence": lambda _whole, number: _Sent("POST /api/v1/evidence", f"content {number}".encode(), "agent", _BYTES),
    "evaluate": lambda whole, number: _json("/api/evaluate", whole.record(f"old-{number}"), "sensor"),
    "graph": _graph,
    "question": _question,
    "outcome": lambda whole, number: _json("/api/v2/pramana/phala", whole.outcome(query_context=f"o {number}"), "bell"),
}


@pytest.mark.parametrize("name", _TWICE)
def test_the_same_request_again_is_answered_the_same_and_does_nothing(whole: Whole, name: str) -> None:
    """Also where the specification has no such header: the effect and its key are one commit."""
    sent = _TWICE[name](whole, next(_numbers))
    headers = {"idempotency-key": f"twice-{name.replace(' ', '-')}", "content-type": sent.media_type}
    before = whole.entries()
    first = _send(whole, sent.route, sent.body, sent.by, **headers)
    after = whole.entries()
    again = _send(whole, sent.route, sent.body, sent.by, **headers)
    assert first.status_code in {200, 201, 207}, first.text
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["content-type"] == first.headers["content-type"]
    # A graph that is in use already is in use, and nothing more is to be said.
    assert after > before or name == "graph"
    assert whole.entries() == after
    assert ("assay-is-kept" in first.headers, again.headers["assay-is-kept"]) == (False, "true")
    told = _send(whole, sent.route, sent.other, sent.by, **headers)
    refused(told, 422, "request.key_reused")
    assert whole.entries() == after


def _bulk(whole: Whole, number: int) -> dict[str, tuple[Any, str]]:
    return {
        "POST /api/v1/observations:bulk": (whole.observation(number), "sensor"),
        "POST /api/v1/telemetry:bulk": (whole.record(f"bulk-{number}"), "sensor"),
        "POST /api/v1/outcomes:bulk": (whole.outcome(query_context=f"bulk {number}"), "bell"),
        "POST /api/v1/claims:bulk": (whole.bundle(_bundle(number)), "agent"),
    }


@pytest.mark.parametrize("route", [one for one, why in _NO_KEY.items() if why == _BY_CONTENT])
def test_lines_that_were_taken_are_known_the_second_time(whole: Whole, route: str) -> None:
    record, by = _bulk(whole, next(_numbers))[route]
    body = json.dumps(record).encode() + b"\n"
    told = []
    for _ in range(2):
        answer = _send(whole, route, body, by, **{"content-type": _LINES})
        told.append((answer.json()["status"], whole.entries()))
    assert [status for status, _ in told] == ["recorded", "known"]
    assert told[0][1] == told[1][1]


def test_a_session_that_has_ended_cannot_be_ended_again(whole: Whole) -> None:
    whole.keys["leaving"] = whole.desk.session("user:rita")
    assert _send(whole, "POST /auth/logout", b"", "leaving").status_code == 200
    before = whole.entries()
    refused(_send(whole, "POST /auth/logout", b"", "leaving"), 401, "identity.not_signed_in")
    assert whole.entries() == before


def test_what_is_prepared_planned_or_checked_leaves_no_entry(whole: Whole) -> None:
    """As often as one likes."""
    gated = whole.post("/api/v1/claims", whole.bundle(_bundle(next(_numbers)), RiskTier.DELETE), "agent").json()
    ticket_id = gated["tickets"][0]["ticket_id"]
    shown = whole.get(f"/api/v1/tickets/{ticket_id}", "omar").json()["ticket"]
    choice = {"choice": shown["choices"][0], "seen": shown["shown_hash"], "reason": "looked"}
    observed = whole.post("/observations", whole.observation(next(_numbers)), "sensor").json()
    whole.post(f"/api/v1/states/{observed['truthkey']}/compile", None)
    [state, *_] = whole.get("/api/v1/states").json()["items"]
    before = whole.entries()
    for route, body in (
        (f"POST /api/v1/tickets/{ticket_id}/acts/prepare", {"act": "claim"}),
        (f"POST /api/v1/tickets/{ticket_id}/answers/prepare", choice),
        ("POST /api/v1/desk/bulk/plan", {"choice": "approve", "filter": {"kind": "approval"}}),
        ("POST /api/v1/mandates/preview", whole.terms(next(_numbers))),
        ("POST /verify", state["state"]),
    ):
        for _ in range(2):
            told = _send(whole, route, json.dumps(body).encode(), "omar")
            # Whoever has no key of their own is told that the node signs for them.
            assert told.status_code == 200 or told.json()["code"] == "review.reviewer_key", told.text
    assert whole.entries() == before


# Applications of their own beside the API, and why their changes bring no such key.
_MOUNTED = {
    "/api/v2/forja": "the protocol's own: an announce is signed and renews its lease, a firing is known by its episode",
    "/codex.json": "only read",
    "/.well-known/agent-card.json": "only read",
    "/console": "forms of a person in session: an answer is bound to what was shown, and given once",
}


def test_what_is_mounted_beside_the_api_says_why_it_needs_none(whole: Whole) -> None:
    found = {route.path for route in whole.client.app.routes if isinstance(route, ASGIRoute)}
    assert found == set(_MOUNTED)
