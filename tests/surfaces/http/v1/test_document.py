"""The description of the interface: every example in it is of the type that it is an example of."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.surfaces.http.v1._whole import Whole


@pytest.fixture(scope="module")
def document(whole: Whole) -> Any:  # noqa: ANN401  an OpenAPI document
    return whole.client.get("/openapi.json").json()


def _contents(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401  an OpenAPI document
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for described in (operation.get("requestBody", {}), *operation.get("responses", {}).values()):
                for media_type, content in described.get("content", {}).items():
                    yield f"{method} {path} {media_type}", content


def _examples(content: dict[str, Any]) -> list[Any]:
    named = [one["value"] for one in content.get("examples", {}).values()]
    return [content["example"], *named] if "example" in content else named


def test_every_example_is_of_its_type(document: Any) -> None:  # noqa: ANN401  an OpenAPI document
    """Also what is null in it, and numbers that are whole."""
    count, wrong = 0, list[str]()
    for place, content in _contents(document):
        for example in _examples(content):
            count += 1
            # References are to places in the document.
            schema = {**content["schema"], "components": document["components"]}
            errors = jsonschema_rs.Draft202012Validator(schema).iter_errors(example)
            wrong += [f"{place}: {error.message[:200]}" for error in errors]
    assert wrong == []
    assert count > 130


def test_a_value_of_several_types_need_not_be_of_one_alone(document: Any, whole: Whole) -> None:  # noqa: ANN401  as above
    """20 is a number and an integer: `oneOf` of both is a type of nothing whole."""
    assert document["openapi"].startswith("3.1")
    text = whole.client.get("/openapi.json").text
    assert '"oneOf"' not in text
    assert '"next":null' in text
