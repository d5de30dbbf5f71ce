"""Bodies of lines: each is answered by itself, in order, while the rest is still being read."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from itertools import pairwise
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from litestar.types import Message

from assay.surfaces.http.app import create_app
from assay.surfaces.http.v1.derive import Line, read_lines
from assay.surfaces.signing import SignedRequests
from assay.wiring import load_config
from tests.acting import register_signing_key
from tests.flows._delivery import BELL
from tests.flows._node import TENANT
from tests.flows._people import ADMIN
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole

PREFIX = "/api/v1"
_LINES = "application/x-ndjson"


def _send(whole: Whole, path: str, lines: Iterable[object], by: str) -> list[dict[str, Any]]:
    content = b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines)
    headers = {"x-api-key": whole.keys[by], "content-type": _LINES}
    response = whole.client.post(PREFIX + path, content=content, headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith(_LINES)
    return [json.loads(line) for line in response.content.splitlines()]


def test_one_bad_line_of_observations_costs_no_other_anything(whole: Whole) -> None:
    good = [whole.observation(number) for number in range(5000, 5003)]
    sent = [good[0], b"{", good[1], b"", {**good[2], "claim_type": "earth.none.v1"}, good[2], good[0]]
    told = _send(whole, "/observations:bulk", sent, "sensor")
    assert [(one["line"], one["status"]) for one in told] == [
        (1, "recorded"),
        (2, "refused"),
        (3, "recorded"),
        (5, "refused"),
        (6, "recorded"),
        (7, "known"),
    ]
    assert (told[1]["code"], told[3]["code"]) == ("json.malformed", "truth.not_released")
    assert told[5]["receipt"]["sequence_number"] == told[0]["receipt"]["sequence_number"]


def test_records_in_lines_are_judged_by_every_rule_and_known_the_second_time(whole: Whole) -> None:
    records = [whole.record(f"bulk-{number}") for number in range(4)]
    told = _send(whole, "/telemetry:bulk", [*records, {"subject": 3}, records[0]], "sensor")
    assert [one["status"] for one in told] == ["recorded"] * 4 + ["refused", "known"]
    assert told[0]["receipt"]["verdicts"][0]["envelope"]["verdict"] == "CLEAR"
    assert [one["receipt"]["telemetry_id"] for one in told[:4]] == [f"bulk-{number}" for number in range(4)]


def test_outcomes_in_lines_count_once_each_and_a_refused_one_holds_up_none(whole: Whole) -> None:
    signals = [whole.outcome(query_context=f"bulk {number}") for number in range(3)]
    foreign = whole.outcome(rule_id="OTHER-1")
    told = _send(whole, "/outcomes:bulk", [signals[0], foreign, signals[1], signals[0], signals[2]], "bell")
    assert [one["status"] for one in told] == ["recorded", "refused", "recorded", "known", "recorded"]
    tally = whole.get(f"{PREFIX}/rules/MAR-YK-007").json()["tally"]
    assert _send(whole, "/outcomes:bulk", signals, "bell")[0]["status"] == "known"
    assert whole.get(f"{PREFIX}/rules/MAR-YK-007").json()["tally"] == tally


def _deep(member: str, times: int) -> bytes:
    return b'{"%s":' % member.encode() + b"[" * times + b"]" * times + b"}"


@pytest.mark.parametrize("times", [70, 900, 20_000])
def test_a_line_that_is_nested_too_deep_is_refused_alone(whole: Whole, times: int) -> None:
    """One depth limit for every body: no line makes a decoder run out of stack, and its neighbours are recorded."""
    first, last = (whole.outcome(query_context=f"deep {times} {number}") for number in range(2))
    told = _send(whole, "/outcomes:bulk", [first, _deep("rule_ids", times), last], "bell")
    assert [(one["status"], one.get("code")) for one in told] == [
        ("recorded", None),
        ("refused", "delivery.outcome"),
        ("recorded", None),
    ]
    records = [whole.record(f"deep-{times}-{number}") for number in range(2)]
    told = _send(whole, "/telemetry:bulk", [records[0], _deep("subject", times), records[1]], "sensor")
    assert [one["status"] for one in told] == ["recorded", "refused", "recorded"]
    seen = [whole.observation(int(f"6{times}{number}")) for number in range(2)]
    told = _send(whole, "/observations:bulk", [seen[0], _deep("payload", times), seen[1]], "sensor")
    assert [one["status"] for one in told] == ["recorded", "refused", "recorded"]


@pytest.mark.parametrize("path", [f"{PREFIX}/outcomes", "/api/v2/pramana/phala"])
@pytest.mark.parametrize("keyed", [{}, {"idempotency_key": "deep"}], ids=["plain", "keyed"])
def test_an_outcome_that_is_nested_too_deep_is_refused(whole: Whole, path: str, keyed: dict[str, str]) -> None:
    for times in (70, 900, 20_000):
        told = whole.post(path, _deep("rule_ids", times), "bell", **keyed)
        assert told.status_code in (400, 422), told.text
        assert "expected at most" in told.json()["detail"]


def test_an_agent_that_signs_reports_outcomes_one_by_one_and_in_lines(whole: Whole) -> None:
    """Whose a signature is, is found where its nonce is on record; no API key is behind it."""
    signer = SignedRequests(Ed25519PrivateKey.generate(), clock=whole.clock)
    register_signing_key(whole.tools, TENANT, BELL, signer.public_key, by=ADMIN, at=whole.clock.now())
    one, many = (whole.outcome(query_context=f"signed {number}") for number in range(2))
    assert whole.client.post(f"{PREFIX}/outcomes", json=one, auth=signer).status_code == 201
    told = whole.client.post(
        f"{PREFIX}/outcomes:bulk", content=json.dumps(many), headers={"content-type": _LINES}, auth=signer
    )
    assert json.loads(told.text)["status"] == "recorded"


def test_what_refuses_every_line_refuses_the_request(whole: Whole) -> None:
    headers = {"x-api-key": whole.keys["sensor"]}
    told = whole.client.post(f"{PREFIX}/telemetry:bulk", content=b"{}", headers={**headers, "content-type": "text/csv"})
    refused(told, 415, "http.media_type")
    assert _send(whole, "/telemetry:bulk", [], "sensor") == []


def test_a_line_longer_than_a_record_is_passed_over(whole: Whole) -> None:
    long = b'{"a": "' + b"x" * 1_100_000 + b'"}'
    told = _send(whole, "/observations:bulk", [whole.observation(5100), long, whole.observation(5101)], "sensor")
    assert [one["status"] for one in told] == ["recorded", "refused", "recorded"]
    assert told[1]["code"] == "http.body_size"


def test_each_line_is_answered_before_the_next_part_is_read(whole: Whole) -> None:
    """Back-pressure: a sender that waits for its answer gets it, and nothing is read that is not worked on."""
    config = load_config(whole.folder / "node")
    app, heard = create_app(whole.tools, config), list[bytes]()
    parts = [json.dumps(whole.observation(number)).encode() + b"\n" for number in range(5200, 5203)]
    read = 0

    async def receive() -> Any:  # noqa: ANN401  one of ASGI's messages
        nonlocal read
        answered = b"".join(heard).count(b"\n")
        # What came before has been answered by now.
        assert answered == read
        if read == len(parts):
            return {"type": "http.request", "body": b"", "more_body": False}
        read += 1
        return {"type": "http.request", "body": parts[read - 1], "more_body": True}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            heard.append(message["body"])
        await asyncio.sleep(0)

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": f"{PREFIX}/observations:bulk",
        "raw_path": f"{PREFIX}/observations:bulk".encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [
            (b"x-api-key", whole.keys["sensor"].encode()),
            (b"content-type", _LINES.encode()),
            (b"host", b"testserver"),
        ],
        "server": ("testserver", 80),
        "client": ("127.0.0.1", 1),
        "state": {},
    }
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]  # as a server would
    told = [json.loads(line) for line in b"".join(heard).splitlines()]
    assert [(one["line"], one["status"]) for one in told] == [(1, "recorded"), (2, "recorded"), (3, "recorded")]


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"\n", b" ")), max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=8),
    longest=st.integers(1, 12),
)
def test_however_a_body_is_cut_its_lines_are_the_same(lines: list[bytes], cuts: list[int], longest: int) -> None:
    body = b"\n".join(lines)
    places = sorted({0, len(body), *(one for one in cuts if one < len(body))})
    parts = [body[start:end] for start, end in pairwise(places)]

    async def stream() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def read() -> list[Line]:
        return [line async for batch in read_lines(stream(), longest) for line in batch]

    expected = [
        Line(number, None if len(text) > longest else text)
        for number, text in enumerate(lines, 1)
        if len(text) > longest or text.strip()
    ]
    assert asyncio.run(read()) == expected


@pytest.mark.parametrize("path", ["/observations:bulk", "/telemetry:bulk", "/outcomes:bulk"])
def test_lines_too_are_for_whoever_proves_who_they_are(whole: Whole, path: str) -> None:
    told: httpx.Response = whole.client.post(PREFIX + path, content=b"{}\n", headers={"content-type": _LINES})
    refused(told, 401, "identity.not_signed_in")
