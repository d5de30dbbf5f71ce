"""What `/api/v1` shows: pages that neither skip nor repeat, things with their tags, and whose share is how much."""

import json
from hashlib import sha256
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.request import FieldsError, cut_named, next_cursor, read_number, read_text
from assay.operations.rate import RateLimit, TooFastError
from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole, with_http
from tests.truth.records import contract_text

PREFIX = "/api/v1"


def _all(whole: Whole, path: str, by: str = "operator", limit: int = 2) -> list[Any]:
    items: list[Any] = []
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        joined = "&" if "?" in path else "?"
        asked = f"{path}{joined}limit={limit}" + (f"&cursor={cursor}" if cursor else "")
        page = whole.get(PREFIX + asked, by).json()
        assert len(page["items"]) <= limit
        items += page["items"]
        cursor, pages = page["next"], pages + 1
        assert pages < 500
    return items


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/entries", lambda one: one["sequence_number"]),
        ("/observations", lambda one: one["sequence_number"]),
        ("/verdicts", lambda one: -one["outcome"]["sequence_number"]),
        ("/principals", lambda one: one["id"]),
        ("/outcomes", lambda one: -one["sequence_number"]),
        ("/answers", lambda one: -one["sequence_number"]),
        ("/rules", lambda one: one["rule_id"]),
        ("/contracts", lambda one: one["claim_type"]),
    ],
)
def test_pages_together_are_the_whole_list_in_order_and_once_each(whole: Whole, path: str, name: Any) -> None:  # noqa: ANN401  a function
    for number in range(3):
        whole.post(f"{PREFIX}/observations", whole.observation(9000 + number), "sensor")
        whole.post(f"{PREFIX}/contracts", {"document": contract_text("research_artifact_v1")}, "operator")
        whole.post(f"{PREFIX}/telemetry", whole.record(f"p-{number}"), "sensor")
        whole.post(f"{PREFIX}/answers", whole.question(), "amira")
        whole.post(f"{PREFIX}/outcomes", whole.outcome(query_context=f"p {number}"), "bell")
    found = [name(one) for one in _all(whole, path)]
    assert found == sorted(found)
    assert len(set(found)) == len(found) >= 2
    assert found == [name(one) for one in _all(whole, path, limit=500)]


def test_pages_of_tickets_are_all_of_them_in_the_order_they_were_opened(whole: Whole) -> None:
    """The order of their entries, whatever a clock that was set back says."""
    for number in range(3):
        whole.desk.ticket(title=f"paged {number}", eligible_roles=("reviewer",))
    listed = [one["ticket"]["id"] for one in _all(whole, "/tickets?settled=true")]
    opened = [one["body"]["ticket_id"] for one in _all(whole, "/entries?kind=ticket.opened", limit=500)]
    assert listed == [one for one in opened if one in set(listed)]
    assert len(set(listed)) == len(listed) >= 3
    assert listed == [one["ticket"]["id"] for one in _all(whole, "/tickets?settled=true", limit=500)]


def test_what_is_recorded_meanwhile_moves_no_page(whole: Whole) -> None:
    """A cursor is a place: newer items come before the first page, and the second is as it was."""
    first = whole.get(f"{PREFIX}/verdicts?limit=1").json()
    second = whole.get(f"{PREFIX}/verdicts?limit=1&cursor={first['next']}").json()
    whole.post(f"{PREFIX}/telemetry", whole.record("meanwhile"), "sensor")
    assert whole.get(f"{PREFIX}/verdicts?limit=1&cursor={first['next']}").json() == second


def test_a_cursor_of_another_list_or_of_nobody_is_refused(whole: Whole) -> None:
    for cursor in (next_cursor("verdicts", 3), next_cursor("entries", "a"), "AAAA", "eA", next_cursor("entries", -1)):
        problem = refused(whole.get(f"{PREFIX}/entries?cursor={cursor}"), 422, "http.fields")
        assert [one["field"] for one in problem["errors"]] == ["cursor"]
    for limit in ("0", "501", "x"):
        refused(whole.get(f"{PREFIX}/entries?limit={limit}"), 422, "http.fields")


@given(place=st.one_of(st.integers(0, 2**53 - 1), st.text(st.characters(exclude_characters="\x00"), max_size=50)))
def test_a_cursor_says_its_place_to_its_own_list_alone(place: int | str) -> None:
    try:
        place.encode() if isinstance(place, str) else None
    except UnicodeEncodeError:
        return
    cursor = next_cursor("a", place)
    read = read_number if isinstance(place, int) else read_text
    assert read("a", cursor) == place
    with pytest.raises(FieldsError):
        read("b", cursor)


@given(names=st.lists(st.text("abc", max_size=3), unique=True), limit=st.integers(1, 4))
def test_named_pages_partition_their_list(names: list[str], limit: int) -> None:
    held, seen, cursor = sorted(names), list[str](), None
    for _ in range(len(held) + 1):
        found = cut_named("x", held, cursor, limit, lambda one: one)
        page, cursor = found.items, found.next
        seen += page
        if cursor is None:
            break
    assert seen == held


def test_a_thing_that_is_held_already_is_not_sent_again(whole: Whole) -> None:
    """Strong tags; the hash of the content where that is its name, and then it may be kept for ever."""
    document = whole.get(f"{PREFIX}/graphs/active").json()["document_hash"]
    for path, is_immutable in ((f"/graphs/{document}", True), ("/entries/1", True), ("/agreement", False)):
        first = whole.get(PREFIX + path)
        tag = first.headers["etag"]
        for held in (tag, f'"other", {tag}', "*", f"W/{tag}"):
            again = whole.get(PREFIX + path, **{"if-none-match": held})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert whole.get(PREFIX + path, **{"if-none-match": '"other"'}).content == first.content
        twice = [("x-api-key", whole.keys["operator"]), ("if-none-match", '"other"'), ("if-none-match", tag)]
        assert whole.client.get(PREFIX + path, headers=twice).status_code == 304
        assert ("immutable" in first.headers["cache-control"]) is is_immutable
        assert first.headers["cache-control"].startswith("private")
    graph = whole.get(f"{PREFIX}/graphs/{document}")
    assert graph.headers["etag"] == f'"{document}"'
    assert f"sha256:{sha256(graph.content).hexdigest()}" == document


def test_everybody_sees_their_own_and_only_some_see_all(whole: Whole) -> None:
    whole.post(f"{PREFIX}/answers", whole.question(), "amira")
    [*mine] = whole.get(f"{PREFIX}/answers", "amira").json()["items"]
    assert {one["asked_by"] for one in mine} == {"user:amira"}
    assert whole.get(f"{PREFIX}/answers", "nobody").json() == {"items": [], "next": None}
    refused(whole.get(f"{PREFIX}/answers?asked_by=user:amira", "nobody"), 403, "identity.role")
    refused(whole.get(f"{PREFIX}/answers/{mine[0]['answer_id']}", "nobody"), 403, "identity.role")
    shown = whole.get(f"{PREFIX}/answers/{mine[0]['answer_id']}", "operator").json()
    assert shown["output"] is None
    assert whole.get(f"{PREFIX}/answers/{mine[0]['answer_id']}", "amira").json()["output"] == "clear"
    for path in ("/verdicts", "/entries", "/principals", "/outcomes", "/rules", "/coverage"):
        refused(whole.get(PREFIX + path, "nobody"), 403, "identity.role")
    refused(whole.get(f"{PREFIX}/principals/user:olga", "nobody"), 403, "identity.role")
    assert whole.get(f"{PREFIX}/tickets", "nobody").json()["items"] == []


def test_another_tenants_things_are_not_there(whole: Whole) -> None:
    for path in ("/entries/999999", "/verdicts/1", "/answers/ans_x", "/observations/none", "/services/none"):
        assert whole.get(PREFIX + path).status_code == 404


def _app(whole: Whole, **http: Any) -> TestClient[Litestar]:  # noqa: ANN401  settings of the server
    config = load_config(whole.folder / "node")
    return TestClient(create_app(whole.tools, with_http(config, http)))


def _ask(client: TestClient[Litestar], whole: Whole, by: str = "operator") -> httpx.Response:
    return client.get(f"{PREFIX}/agreement", headers={"x-api-key": whole.keys[by]})


def test_a_principal_has_its_share_and_is_told_what_is_left(whole: Whole) -> None:
    """RateLimit and RateLimit-Policy of the IETF draft; beyond it 429 with Retry-After, and nobody else suffers."""
    with _app(whole, rate_requests=2, rate_seconds=3600) as client:
        first, second, third = (_ask(client, whole) for _ in range(3))
        assert first.headers["ratelimit-policy"] == '"principal";q=2;w=3600'
        assert first.headers["ratelimit"] == '"principal";r=1;t=1800'
        assert second.headers["ratelimit"].startswith('"principal";r=0;t=')
        problem = refused(third, 429, "http.too_fast")
        assert int(third.headers["retry-after"]) <= 1800
        assert third.headers["ratelimit"].startswith('"principal";r=0')
        assert "2 requests in 3600 s" in problem["detail"]
        assert _ask(client, whole, "sensor").status_code == 200
        assert "ratelimit" not in client.get("/healthz").headers
    with _app(whole, rate_requests=0) as client:
        assert "ratelimit" not in _ask(client, whole).headers


def test_a_bucket_fills_as_time_goes_by() -> None:
    now = 0.0
    limit = RateLimit(10, 5, clock=lambda: now)
    for _ in range(10):
        limit.take(("t", "a"))
    with pytest.raises(TooFastError) as caught:
        limit.take(("t", "a"))
    assert caught.value.seconds == 1
    now = 0.5
    limit.take(("t", "a"))
    with pytest.raises(TooFastError):
        limit.take(("t", "a"))
    now = 1000.0
    assert limit.take(("t", "a")) == '"principal";r=9;t=1'


def test_pages_of_other_origins_may_ask_only_where_they_are_named(whole: Whole) -> None:
    ask = {"origin": "https://console.example.org", "access-control-request-method": "GET"}
    assert "access-control-allow-origin" not in whole.client.options(f"{PREFIX}/entries", headers=ask).headers
    with _app(whole, cors_origins=("https://console.example.org",)) as client:
        allowed = client.options(f"{PREFIX}/entries", headers=ask)
        assert allowed.headers["access-control-allow-origin"] == "https://console.example.org"
        assert "access-control-allow-credentials" not in allowed.headers
        assert {"GET", "HEAD", "POST", "PUT", "DELETE"} <= set(
            allowed.headers["access-control-allow-methods"].replace(" ", "").split(",")
        )
        for stranger in ("https://evil.example.org", "https://console-example.org", "null"):
            other = client.options(f"{PREFIX}/entries", headers={**ask, "origin": stranger})
            assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("origin", ["https://console.example.org", "https://evil.example.org", None])
def test_what_a_browser_keeps_is_its_askers_alone_also_for_pages_of_other_origins(
    whole: Whole, origin: str | None
) -> None:
    """Else the next person at the same browser is shown what the last one was told."""
    sent = {"x-api-key": whole.keys["operator"], **({} if origin is None else {"origin": origin})}
    with _app(whole, cors_origins=("https://console.example.org",)) as client:
        kept = client.get(f"{PREFIX}/entries/1", headers=sent)
    assert "immutable" in kept.headers["cache-control"]
    varies = {one.strip() for one in kept.headers["vary"].split(",")}
    assert {"authorization", "cookie", "x-api-key", "signature-input", "accept", "origin"} == varies


def test_a_server_that_is_about_to_end_is_not_ready_and_still_answers(whole: Whole) -> None:
    with _app(whole) as client:
        assert client.get("/readyz").status_code == 200
        client.app.state.desk.draining.set()
        problem = refused(client.get("/readyz"), 503, "http.not_ready")
        assert [one["field"] for one in problem["errors"]] == ["server"]
        assert client.get("/healthz").status_code == 200
        assert _ask(client, whole).status_code == 200


def test_a_body_that_is_too_long_or_too_deep_is_refused(whole: Whole) -> None:
    deep = b'{"note": ' + b'{"a":' * 80 + b"1" + b"}" * 81
    refused(whole.post(f"{PREFIX}/entries", deep), 422, "json.depth")
    long = json.dumps({"note": {"a": "x" * 1_100_000}}).encode()
    refused(whole.post(f"{PREFIX}/entries", long), 413, "http.body_size")


def test_a_contract_is_named_by_its_claim_type_and_never_changes(whole: Whole) -> None:
    """Its hash is its tag; another text under the same name is refused."""
    text = contract_text("research_artifact_v1")
    released = whole.post(f"{PREFIX}/contracts", {"document": text}).json()
    shown = whole.get(f"{PREFIX}/contracts/{released['claim_type']}", "nobody")
    assert released.items() <= shown.json().items()
    assert shown.headers["etag"] == f'"{released["claim_type_hash"]}"'
    assert "immutable" in shown.headers["cache-control"]
    assert whole.post(f"{PREFIX}/contracts", {"document": text}).status_code == 200
    other = {"document": text.replace("monitor", "critical", 1)}
    assert whole.post(f"{PREFIX}/contracts", other).status_code in {409, 422}
    refused(whole.get(f"{PREFIX}/contracts/earth.nothing.v1"), 404, "flow.not_found")
    refused(whole.post(f"{PREFIX}/contracts", {"document": text}, "sensor"), 403, "identity.role")


def test_root_causes_are_listed_until_they_are_concluded(whole: Whole) -> None:
    """By concluding its ticket one leaves the open ones; all of them stay listed, the newest first."""
    whole.delivery.fail(prefix="listed")
    opened = _all(whole, "/root-causes?open=true", limit=1)
    name = opened[0]["item"]["item_id"]
    assert [one["conclusion"] for one in opened] == [None] * len(opened)
    ticket = whole.get(f"{PREFIX}/root-causes/{name}").json()["ticket"]
    body = {"failure_category": "A", "siddhanta": "the question was not what the rule is about"}
    told = {"choice": "routing_failure", "seen": ticket["shown_hash"], "body": body, "reason": "looked"}
    answered = whole.post(f"{PREFIX}/tickets/{ticket['id']}/answers", told, "rita")
    assert answered.status_code == 201, answered.text
    assert name not in [one["item"]["item_id"] for one in _all(whole, "/root-causes?open=true")]
    assert whole.get(f"{PREFIX}/root-causes/{name}").json()["conclusion"]["failure_category"] == "A"
    everything = [one["item"]["item_id"] for one in _all(whole, "/root-causes", limit=1)]
    assert name in everything
    assert len(set(everything)) == len(everything)
    refused(whole.get(f"{PREFIX}/root-causes", "nobody"), 403, "identity.role")
    refused(whole.get(f"{PREFIX}/root-causes/rca_none"), 404, "flow.not_found")


def test_personal_values_are_for_operators_in_a_session_and_in_no_cache(whole: Whole) -> None:
    """An entry never changes; with its personal values it does, once they are erased."""
    note = {"note": {"who": "Ann Other"}, "personal": ["/who"]}
    number = whole.post(f"{PREFIX}/entries", note).json()["sequence_number"]
    path = f"{PREFIX}/entries/{number}"
    refused(whole.get(f"{path}?disclose=true"), 403, "identity.session_required")
    shown = whole.get(f"{path}?disclose=true", "omar")
    assert shown.json()["body"]["note"]["who"] == "Ann Other"
    plain = whole.get(path, "omar")
    assert "Ann Other" not in plain.text
    assert "immutable" in plain.headers["cache-control"]
    assert "immutable" not in shown.headers["cache-control"]
    assert shown.headers["etag"] != plain.headers["etag"]
    assert whole.post(f"{path}/erase", {"reason": "asked"}, "omar").status_code == 201
    erased = whole.get(f"{path}?disclose=true", "omar", if_none_match=shown.headers["etag"])
    assert erased.status_code == 200
    assert "Ann Other" not in erased.text


@pytest.mark.parametrize(("form", "media_type"), [("json", "application/json"), ("chat", "application/x-ndjson")])
def test_a_document_has_a_tag_and_a_described_media_type(whole: Whole, form: str, media_type: str) -> None:
    shown = whole.get(f"{PREFIX}/pairs?format={form}")
    described = whole.get("/openapi.json").json()["paths"][f"{PREFIX}/pairs"]["get"]["responses"]
    assert shown.headers["content-type"].partition(";")[0] == media_type
    assert media_type in described["200"]["content"]
    held = whole.get(f"{PREFIX}/pairs?format={form}", if_none_match=shown.headers["etag"])
    assert (held.status_code, held.content) == (304, b"")
    assert "304" in described
