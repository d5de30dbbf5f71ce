"""The description of the interface is true: what is sent by it is answered as it says."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
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

from assay.flows.compile_truth import compile_truth
from assay.flows.observe import observe
from assay.flows.register_policy import register_policy
from assay.flows.release_contract import release_contract
from assay.flows.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.instant import Instant, render_instant
from assay.surfaces.http.app import create_app
from assay.wiring import open_node
from tests.flows._truth import POLICY
from tests.scale import scale
from tests.surfaces.http.served import ACME, make_node
from tests.truth.records import OBSERVATION, contract_text, schema_bytes


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


_OPERATIONS = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/whoami"),
    ("GET", "/log/checkpoint"),
    ("GET", "/log/tile/{level}/{place}"),
    ("GET", "/log/entries/{sequence}"),
    ("GET", "/log/proof/{sequence}"),
    ("POST", "/log/entries"),
    ("GET", "/contracts"),
    ("GET", "/contracts/{claim_type}"),
    ("GET", "/contracts/{claim_type}/form"),
    ("POST", "/contracts"),
    ("GET", "/observations"),
    ("POST", "/observations"),
    ("GET", "/truthstates/{key}"),
    ("GET", "/truthstates/{key}/history"),
    ("GET", "/truthstates/{key}/validation"),
    ("POST", "/truthstates/{key}/compile"),
    ("GET", "/truthmap"),
    ("POST", "/verify"),
    ("POST", "/votes"),
    ("POST", "/windows"),
    ("GET", "/trust-snapshot"),
    ("GET", "/agents/{agent_id}"),
    ("GET", "/signals"),
    ("POST", "/signals"),
    ("GET", "/policies"),
    ("POST", "/policies"),
    ("POST", "/penalties"),
    ("POST", "/claims/gate"),
    ("POST", "/claims/{bundle_hash}/resume"),
    ("GET", "/claims/{bundle_hash}"),
    ("GET", "/claims"),
    ("POST", "/claims/evidence"),
    ("GET", "/claims/approvals/{ticket_id}"),
    ("POST", "/claims/approvals"),
    ("GET", "/claims/policies"),
    ("POST", "/claims/policies"),
    ("GET", "/api/health"),
    ("GET", "/api/canary"),
    ("GET", "/api/sovereignty"),
    ("POST", "/api/kg/load"),
    ("POST", "/api/evaluate"),
    ("GET", "/api/verdicts"),
    ("GET", "/api/v2/pramana/state"),
    ("GET", "/api/v2/pramana/state/{entity_id}"),
    ("GET", "/api/v2/pramana/trust/{user_id}"),
    ("POST", "/api/v2/pramana/query"),
    ("POST", "/api/v2/pramana/query/{answer_id}/resume"),
    ("POST", "/api/v2/pramana/phala"),
    ("GET", "/api/v2/pramana/rules"),
    ("GET", "/api/v2/pramana/rules/{rule_id}"),
    ("GET", "/api/v2/pramana/rca"),
    ("GET", "/api/v2/pramana/rca/{item_id}"),
    ("POST", "/api/v2/pramana/rca/{item_id}/conclusion"),
    ("GET", "/api/v2/pramana/trace/{answer_id}"),
    ("GET", "/api/v2/pramana/pairs"),
    ("GET", "/api/v2/pramana/pairs/queue"),
    ("GET", "/api/v2/pramana/queries"),
    ("GET", "/api/v2/pramana/peers/{peer}"),
    ("POST", "/api/v2/pramana/phala/foreign"),
    ("POST", "/api/v2/pramana/sense/emit"),
]
# Answers without an end, which nobody here could wait for; they are tried in tests of their own.
_STREAMS = [("GET", "/api/v1/events"), ("GET", "/api/v2/pramana/sense/events")]


def test_every_operation_is_tried(api: Any) -> None:  # noqa: ANN401  the schema's type is the library's own
    """A new route has to be listed here, and is then tried."""
    found = [operation.ok() for operation in api.get_all_operations()]
    assert sorted((one.method.upper(), one.path) for one in found) == sorted(_OPERATIONS + _STREAMS)


@pytest.mark.parametrize(("method", "path"), _OPERATIONS)
def test_whatever_is_sent_is_answered_as_described(api: Any, method: str, path: str) -> None:  # noqa: ANN401  its own
    """No 500, and status, media type and body as the document says."""

    @given(case=st.one_of(*(api[path][method].as_strategy(generation_mode=mode) for mode in GenerationMode)))
    @settings(max_examples=scale(10, 200), suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(headers={"x-api-key": _Api.key}, checks=_CONFORMING)

    check()


@pytest.mark.parametrize(("method", "path"), _OPERATIONS + _STREAMS)
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
    body = document["paths"]["/log/entries"]["post"]["requestBody"]["content"]["application/json"]["schema"]
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


def test_the_page_of_the_interface_lists_every_route_and_no_other(app: Litestar) -> None:
    """docs/http.md, first table."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "http.md").read_text()
    documented = {
        (method, path)
        for method, path in (
            (cells[1].strip(" `"), cells[2].strip(" `"))
            for cells in (line.split("|") for line in page.splitlines())
            if len(cells) > 3
        )
        if method in {"GET", "POST"}
    }
    served = {
        (method, route.path.replace(":str}", "}").replace(":path}", "}"))
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS"}
    }
    assert documented == served


def test_the_page_lists_every_status_that_is_narrower_than_its_blame() -> None:
    """And each of those codes belongs to an error that exists."""
    from assay.surfaces.http.problem import STATUS_BY_CODE
    from tools import error_codes

    error_codes.import_everything()
    known = {error.code for error in error_codes.find_errors()}
    assert set(STATUS_BY_CODE) <= known
    page = (Path(__file__).resolve().parents[3] / "docs" / "http.md").read_text()
    missing = [code for code, status in STATUS_BY_CODE.items() if f"| `{code}` | {int(status)} |" not in page]
    assert missing == []
