"""The description of the interface as it is sent, OpenAPI 3.1: what Litestar made of the routes, and what it means.

routes -> Litestar's document -> unions and tuples as they are meant -> Forja -> examples -> JSON, made once
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from litestar import Litestar
from litestar.serialization import encode_json
from msgspec import UNSET, Struct, UnsetType

from assay.surfaces.http.forja_document import add_forja

_KEY = "assay.document"


EXAMPLES = "examples.json"


class Exchange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request and its answer; `sent` is absent where the route takes no JSON."""

    sent: Any | UnsetType = UNSET
    status: str
    media_type: str
    answered: Any


@cache
def load_exchanges() -> dict[str, Exchange]:
    """By `METHOD /path`, the path as the description has it."""
    text = (files("assay.surfaces.http") / EXAMPLES).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Exchange])


def show_examples(document: dict[str, Any]) -> None:
    """Put each exchange in its place: what was sent and what was answered then belong together."""
    for route, exchange in load_exchanges().items():
        method, _, path = route.partition(" ")
        operation = document["paths"][path][method.lower()]
        answer = operation["responses"][exchange.status]["content"][exchange.media_type]
        answer["example"] = exchange.answered
        if exchange.sent is not UNSET:
            operation["requestBody"]["content"]["application/json"]["example"] = exchange.sent


def render_document(app: Litestar) -> bytes:
    """The same bytes each time it is asked for."""
    known = app.state.get(_KEY)
    if isinstance(known, bytes):
        return known
    document = _meant(app.openapi_schema.to_schema())
    add_forja(document)
    # Last: an example is shown as it was, whatever its members are called.
    show_examples(document)
    made = encode_json(document)
    app.state[_KEY] = made
    return made


def _meant(part: Any) -> Any:  # noqa: ANN401 - any part of the document
    """Litestar says `oneOf`, exactly one: 20 is an integer and a number, and would be of neither."""
    if isinstance(part, list):
        return [_meant(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {"anyOf" if name == "oneOf" else name: _meant(one) for name, one in part.items()}
    return _tuple(found) if isinstance(found.get("prefixItems"), list) else found


def _tuple(schema: dict[str, Any]) -> dict[str, Any]:
    """Litestar does not say how long a tuple is. One of equal types is an array of that length, which more tools read.

    Schemathesis itself cannot check an answer by `prefixItems`.
    """
    members = schema["prefixItems"]
    sized = {**schema, "minItems": len(members), "maxItems": len(members)}
    if not members or any(one != members[0] for one in members):
        return sized
    del sized["prefixItems"]
    return {**sized, "items": members[0]}
