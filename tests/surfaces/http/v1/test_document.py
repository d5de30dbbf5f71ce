"""The description of the interface: every example in it is of the type that it is an example of."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.surfaces.http.v1._whole import Whole

_HERE = "urn:document"


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


def _absolute(part: Any) -> Any:  # noqa: ANN401  any part of the document
    if isinstance(part, list):
        return [_absolute(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        name: f"{_HERE}{one}" if name == "$ref" and isinstance(one, str) else _absolute(one)
        for name, one in part.items()
    }


def test_every_example_is_of_its_type(document: Any) -> None:  # noqa: ANN401  an OpenAPI document
    """Also what is null in it, and numbers that are whole."""
    registry: Any = Registry().with_resource(_HERE, DRAFT202012.create_resource(document))
    count, wrong = 0, list[str]()
    for place, content in _contents(document):
        validator = Draft202012Validator(_absolute(content.get("schema", {})), registry=registry)
        for example in _examples(content):
            count += 1
            wrong += [f"{place}: {error.message[:200]}" for error in validator.iter_errors(example)]
    assert wrong == []
    assert count > 60


def test_a_value_of_several_types_need_not_be_of_one_alone(document: Any, whole: Whole) -> None:  # noqa: ANN401  as above
    """20 is a number and an integer: `oneOf` of both is a type of nothing whole."""
    assert document["openapi"].startswith("3.1")
    text = whole.client.get("/openapi.json").text
    assert '"oneOf"' not in text
    assert '"next":null' in text
