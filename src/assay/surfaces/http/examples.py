"""What was sent to the specifications' routes and what a node really answered; `examples.json` is written by its test.

the description of the interface + examples -> the same, each route with its own
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

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
