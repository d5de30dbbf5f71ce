"""What only an administrator or an operator in their own session may send is answered as described, too."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.scale import scale
from tests.surfaces.http.v1._whole import opened_whole

_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_KEYS, _PRINCIPALS = "/api/v1/keys", "/api/v1/principals"
_NAMED = {"principal_id": "user:amira", "prefix": "ak_aaaaaaaaaaaa"}


class _Described(NamedTuple):
    schema: Any
    session: str


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Described]:
    """A node of its own: whoever is made up here is in nobody else's way."""
    with opened_whole(tmp_path_factory.mktemp("described")) as whole:
        app = create_app(whole.tools, load_config(whole.folder / "node"))
        yield _Described(schemathesis.openapi.from_asgi("/openapi.json", app), whole.keys["omar"])


@pytest.mark.parametrize(
    "path",
    [
        _PRINCIPALS,
        *(f"{_PRINCIPALS}/{{principal_id}}/{verb}" for verb in ("amend", "disable", "tier")),
        _KEYS,
        "/api/v1/tickets",
        *(f"{_KEYS}/{{prefix}}/{verb}" for verb in ("rotate", "revoke")),
    ],
)
def test_whatever_an_administrator_sends_is_answered_as_described(described: _Described, path: str) -> None:
    """No 500, and status, media type and body as the document says; about somebody who is there and about anybody."""
    modes = [described.schema[path]["POST"].as_strategy(generation_mode=mode) for mode in GenerationMode]

    @given(case=st.one_of(*modes), is_known=st.booleans())
    @settings(max_examples=scale(5, 300), suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case[Any], *, is_known: bool) -> None:
        if is_known:
            case.path_parameters.update({name: _NAMED[name] for name in case.path_parameters})
        case.call_and_validate(headers={"x-api-key": described.session}, checks=_CHECKS)

    check()
