"""The description of the interface as it is sent, OpenAPI 3.1: what Litestar made of the routes, and what it means.

routes -> Litestar's document -> a value of a union is of any of its types -> Forja -> examples -> JSON, made once
"""

from typing import Any

from litestar import Litestar
from litestar.serialization import encode_json

from assay.surfaces.http.examples import show_examples
from assay.surfaces.http.forja_document import add_forja

__all__ = ["render_document"]

_KEY = "assay.document"


def render_document(app: Litestar) -> bytes:
    """The same bytes each time it is asked for."""
    known = app.state.get(_KEY)
    if isinstance(known, bytes):
        return known
    document = _any_of(app.openapi_schema.to_schema())
    add_forja(document)
    # Last: an example is shown as it was, whatever its members are called.
    show_examples(document)
    made = encode_json(document)
    app.state[_KEY] = made
    return made


def _any_of(part: Any) -> Any:  # noqa: ANN401 - any part of the document
    """Litestar says `oneOf`, exactly one: 20 is an integer and a number, and would be of neither."""
    if isinstance(part, list):
        return [_any_of(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {"anyOf" if name == "oneOf" else name: _any_of(one) for name, one in part.items()}
