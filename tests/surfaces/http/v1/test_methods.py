"""HEAD wherever there is GET, OPTIONS that names every method, and no body that is packed."""

import gzip
from typing import Any

import pytest

from assay.operations.table import TABLE
from assay.surfaces.http.forja_document import ENDPOINTS
from assay.surfaces.http.v1.derive import derive_routes
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole

PREFIX = "/api/v1"
_FORJA_PATHS = sorted({one.path for one in ENDPOINTS})
_PLAIN = [
    path
    for handler in derive_routes(TABLE)
    if "GET" in getattr(handler, "http_methods", ())
    for path in getattr(handler, "paths", ())
    if "{" not in path
]

# A report has a beginning; a verification that is not full goes on from where the one before it ended.
_QUERIES = {f"{PREFIX}/reports": "?from=2020-01-01", f"{PREFIX}/ledger/verification": "?full=true"}


def _told(response: Any) -> tuple[int, dict[str, str]]:  # noqa: ANN401  a response
    headers = {name: text for name, text in response.headers.items() if name not in ("ratelimit", "traceparent")}
    return response.status_code, headers


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json", "/whoami", *_PLAIN, f"{PREFIX}/entries/1"])
def test_head_is_answered_as_get_is_but_for_the_body(whole: Whole, path: str) -> None:
    """Status and headers are those of GET (RFC 9110 9.3.2), also of one that is refused."""
    asked = path + _QUERIES.get(path, "")
    got = whole.get(asked)
    head = whole.client.head(asked, headers={"x-api-key": whole.keys["operator"]})
    assert _told(head) == _told(got)
    assert head.content == b""


def test_head_is_as_closed_as_get(whole: Whole) -> None:
    told = whole.client.head(f"{PREFIX}/entries")
    assert (told.status_code, told.headers["www-authenticate"]) == (401, 'Bearer realm="assay"')
    held = whole.get(f"{PREFIX}/entries/1").headers["etag"]
    again = whole.client.head(
        f"{PREFIX}/entries/1", headers={"x-api-key": whole.keys["operator"], "if-none-match": held}
    )
    assert again.status_code == 304


def test_head_of_a_stream_ends_where_the_stream_would_begin(whole: Whole) -> None:
    told = whole.client.head(f"{PREFIX}/events", headers={"x-api-key": whole.keys["operator"]})
    assert (told.status_code, told.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert whole.client.app.state.desk.fanout.readers == 0


def test_head_of_what_only_takes_is_refused_with_what_it_has(whole: Whole) -> None:
    told = whole.client.head(f"{PREFIX}/telemetry")
    assert (told.status_code, told.headers["allow"]) == (405, "OPTIONS, POST")


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        (f"{PREFIX}/entries", "GET, HEAD, OPTIONS, POST"),
        (f"{PREFIX}/entries/7", "GET, HEAD, OPTIONS"),
        (f"{PREFIX}/telemetry", "OPTIONS, POST"),
        (f"{PREFIX}/tickets/t-1/draft", "DELETE, OPTIONS, PUT"),
        ("/observations", "GET, HEAD, OPTIONS, POST"),
    ],
)
def test_options_and_refusals_name_every_method_of_a_path(whole: Whole, path: str, methods: str) -> None:
    assert whole.client.options(path).headers["allow"] == methods
    told = whole.client.request("PATCH", path)
    refused(told, 405, "http.method")
    assert told.headers["allow"] == methods


@pytest.mark.parametrize("path", _FORJA_PATHS)
def test_endpoints_of_the_protocol_name_their_methods_too(whole: Whole, path: str) -> None:
    """As everywhere else: a method that an endpoint does not have is no endpoint that is missing."""
    methods = {one.method for one in ENDPOINTS if one.path == path} | {"OPTIONS"}
    allow = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
    asked = path.format(user_id="user:ann", service_id="portwatch") if "{" in path else path
    told = whole.client.options(asked)
    assert (told.status_code, told.headers["allow"], told.content) == (204, allow, b"")
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - methods:
        told = whole.client.request(method, asked)
        refused(told, 405, "forja.method")
        assert told.headers["allow"] == allow


@pytest.mark.parametrize("path", ["/nothing", "/announce/more", "/switch/nothing", "/"])
def test_an_endpoint_that_is_not_there_is_missing_whatever_the_method(whole: Whole, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        refused(whole.client.request(method, f"/api/v2/forja{path}"), 404, "forja.no_endpoint")


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        (f"{PREFIX}/entries", "application/json"),
        (f"{PREFIX}/observations:bulk", "application/x-ndjson"),
        ("/observations", "application/x-ndjson"),
        ("/auth/login", "application/json"),
    ],
)
def test_a_packed_body_is_refused_for_what_it_is(whole: Whole, path: str, media_type: str) -> None:
    """415 with `Accept-Encoding` (RFC 9110 15.5.16), not an answer about bytes that nobody meant."""
    before = whole.entries()
    headers = {"x-api-key": whole.keys["operator"], "content-type": media_type, "content-encoding": "gzip"}
    told = whole.client.post(path, content=gzip.compress(b'{"note": {}}\n'), headers=headers)
    refused(told, 415, "http.content_encoding")
    assert told.headers["accept-encoding"] == "identity"
    assert whole.entries() == before


def test_a_body_that_says_it_is_plain_is_read(whole: Whole) -> None:
    headers = {"content_encoding": "identity"}
    assert whole.post(f"{PREFIX}/entries", {"note": {"n": 1}}, **headers).status_code == 201
