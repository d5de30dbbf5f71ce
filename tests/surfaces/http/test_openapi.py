"""The description of the interface is true: what is sent by it is answered as it says."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from litestar import Litestar
from litestar.testing import TestClient
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import compile_truth
from assay.kernel.instant import Instant, render_instant
from assay.operations.problem import STATUS_BY_CODE
from assay.operations.table import TABLE
from assay.surfaces.http.app import create_app
from assay.surfaces.http.forja_document import ENDPOINTS
from assay.surfaces.http.v1.derive import derive_routes
from assay.wiring import open_node
from tests.acting_truth import observe, register_policy, release_contract
from tests.flows._truth import POLICY
from tests.scale import scale
from tests.surfaces.http.served import ACME, make_node
from tests.truth.records import OBSERVATION, contract_text, schema_bytes
from tools import error_codes, routes
from tools.routes import find_routes


@schemathesis.serializer("application/x-ndjson")
def _lines(_context: Any, value: Any) -> bytes:  # noqa: ANN401  whatever was made up
    """Texts as they are, which need not be lines of JSON."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


class _Api:
    """The application of one node for the whole module, with an operator's key."""

    key = ""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Litestar]:
    home = tmp_path_factory.mktemp("api") / "node"
    _Api.key = make_node(home)
    with open_node(home) as (tools, config):
        sign_checkpoint(tools, ACME, at=tools.clock.now())
        _speak(tools, _Api.key)
        yield create_app(tools, config)


def _speak(tools: Tools, key: str) -> None:
    """Enough truth and trust that every route has something to answer with."""
    now = tools.clock.now()
    release_contract(tools, contract_text("flood_v1"), schema_bytes("flood_v1"), credential=key, at=now)
    register_policy(tools, POLICY, credential=key, at=now)
    seen_at = render_instant(Instant(now - timedelta(minutes=1)))
    observation = {**OBSERVATION, "reporter_id": "svc:writer", "reported_at": seen_at}
    observed = observe(tools, observation, credential=key, at=tools.clock.now())
    compile_truth(tools, ACME, observed.truthkey, at=tools.clock.now())


@pytest.fixture(scope="module")
def api(app: Litestar) -> Any:  # noqa: ANN401  the schema's type is the library's own
    return schemathesis.openapi.from_asgi("/openapi.json", app)


_CONFORMING = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


# Answers without an end, which nobody here could wait for; they are tried in tests of their own.
_STREAMS = [
    ("GET", "/api/v1/events"),
    ("GET", "/api/v2/pramana/sense/events"),
    ("GET", "/api/v2/forja/fleet/watch"),
]
# The description itself is not in it.
# The document itself, and the way to the pages for people, are not among what it describes.
_ROUTES = [(route.method, route.path) for route in find_routes() if route.path not in ("/", "/openapi.json")]
# Mounted beside the routes, and described by hand: what is tried here shows that the description is true.
_FORJA = [(one.method, one.path) for one in ENDPOINTS]
_OPERATIONS = [one for one in (*_ROUTES, *_FORJA) if one not in _STREAMS]
# These need somebody else first, and show no more than the others: a service that announced itself, a held answer.
_UNSHOWN = {("GET", "/api/v1/services/{service_id}"), ("POST", "/api/v1/answers/{answer_id}/resume")}
_V1 = {
    (str(method), path.replace(":str}", "}"))
    for handler in derive_routes(TABLE)
    for path in getattr(handler, "paths", ())
    for method in getattr(handler, "http_methods", ())
} - _UNSHOWN


def test_every_operation_is_tried(api: Any) -> None:  # noqa: ANN401  the schema's type is the library's own
    """Also a new one: the list is made of the routes themselves."""
    found = [operation.ok() for operation in api.get_all_operations()]
    assert sorted((one.method.upper(), one.path) for one in found) == sorted([*_ROUTES, *_FORJA])


@pytest.mark.parametrize(("method", "path"), _OPERATIONS)
def test_whatever_is_sent_is_answered_as_described(api: Any, method: str, path: str) -> None:  # noqa: ANN401  its own
    """No 500, and status, media type and body as the document says."""

    @given(case=st.one_of(*(api[path][method].as_strategy(generation_mode=mode) for mode in GenerationMode)))
    @settings(max_examples=scale(10, 200), suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(headers={"x-api-key": _Api.key}, checks=_CONFORMING)

    check()


# Open, and says 401 to whoever does not know the password.
_LOGIN = (("POST", "/auth/login"), ("POST", "/api/v1/sessions"))


@pytest.mark.parametrize(("method", "path"), [one for one in _ROUTES if one not in _LOGIN])
def test_nobody_gets_in_without_a_credential(api: Any, method: str, path: str) -> None:  # noqa: ANN401  its own
    """A route is open only if the document says so."""
    is_open = api[path][method].definition.raw.get("security") == [{}]

    @given(case=api[path][method].as_strategy())
    @settings(max_examples=scale(3, 50), suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case[Any]) -> None:
        case.headers.clear()
        assert (case.call().status_code == 401) != is_open

    check()


def test_the_document_is_openapi_3_1_and_names_both_ways_to_sign_in(app: Litestar) -> None:
    with TestClient(app) as client:
        document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["components"]["securitySchemes"]) == {"bearer", "api_key"}
    body = document["paths"]["/api/v1/entries"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["note"]


def test_no_page_loads_anything_from_elsewhere(app: Litestar) -> None:
    """Only the JSON document is served; the framework's own pages would fetch scripts from other hosts."""
    assert all(not route.path.startswith(("/openapi/", "/schema", "/docs")) for route in app.routes)


def test_every_route_says_who_may_use_it(app: Litestar) -> None:
    """A route without a word about it would be refused for everybody; it is caught here first."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", []):
            if handler.http_methods != {"OPTIONS"}:
                assert handler.opt.get("open") or {"scope", "roles"} <= set(handler.opt), route.path


def test_the_page_of_routes_is_as_the_routes_are() -> None:
    """docs/routes.md is generated."""
    assert routes.PAGE.read_text() == routes.render_page()


# No body and no JSON: bytes of their own, an end of a session, and answers that need a firing, a held verdict, a
# receipt of the judge or an open question.
_WITHOUT_EXAMPLE = {
    "post /api/v1/sessions/end",
    "post /api/v1/models",
    "post /api/v1/models/evaluations",
    "post /api/v1/models/{weights}/activate",
    "post /api/v1/services/{service_id}/firings",
    "get /api/v1/reports",
    "get /api/v1/evidence/{evidence_hash}/content",
    "get /api/v1/states/{key}/question",
    "get /api/v1/tickets/{ticket_id}/verdict",
    "get /api/v1/verdicts/{sequence}/receipt",
}


def test_every_operation_of_v1_has_an_example(app: Litestar) -> None:
    """Of what is sent where something is sent, else of what is answered."""
    with TestClient(app) as client:
        document = client.get("/openapi.json").json()
    lacking = [
        f"{method} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if (method.upper(), path) in _V1 and not _has_example(operation)
    ]
    assert set(lacking) == _WITHOUT_EXAMPLE


# Figures, tiles and events are no JSON, and a login elsewhere is a redirect.
_NO_JSON = {
    ("GET", "/metrics"),
    ("GET", "/log/tile/{level}/{place}"),
    ("GET", "/auth/oidc/login"),
    ("GET", "/auth/oidc/callback"),
    ("GET", "/api/v2/pramana/sense/events"),
}


def test_every_operation_of_the_specifications_shows_what_is_sent_and_what_is_answered(app: Litestar) -> None:
    """All that is not `/api/v1`: every JSON body that is taken has an example, and one of the good answers."""
    with TestClient(app) as client:
        paths = client.get("/openapi.json").json()["paths"]
    shown = [one for one in _ROUTES if not one[1].startswith("/api/v1") and one not in _NO_JSON]
    assert len(shown) > 20
    assert [one for one in shown if not _is_shown(paths[one[1]][one[0].lower()])] == []


def _is_shown(operation: dict[str, Any]) -> bool:
    answers = [one for status, one in operation["responses"].items() if status.startswith("2")]
    taken = operation.get("requestBody", {}).get("content", {}).get("application/json", {"example": None})
    media = [one for answer in answers for one in answer.get("content", {}).values()]
    return "example" in taken and any("example" in one for one in media)


def _has_example(operation: dict[str, Any]) -> bool:
    answers = [one for status, one in operation["responses"].items() if status in {"200", "201"}]
    content = [*operation.get("requestBody", {}).get("content", {}).values()]
    content += [media for one in answers for media in one.get("content", {}).values()]
    return any("example" in media or "examples" in media for media in content)


def test_every_code_that_has_a_status_of_its_own_belongs_to_an_error() -> None:
    """docs/routes.md lists them with their statuses."""
    assert set(STATUS_BY_CODE) <= {code.code for code in error_codes.find_codes()}


def test_a_pair_is_described_as_two_of_a_kind(app: Litestar) -> None:
    with TestClient(app) as client:
        agreement = client.get("/openapi.json").json()["components"]["schemas"]["Agreement"]
    pair = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
    assert agreement["properties"]["rules"]["items"] == pair
