"""Answers as a node really gave them, for the description of the interface; `examples.json` is written by its test."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

EXAMPLES = "examples.json"


def example_of(route: str) -> object:
    """By `METHOD /path`; None for one that has none."""
    return _examples().get(route)


@cache
def _examples() -> dict[str, Any]:
    place = files("assay.surfaces.http.v1") / EXAMPLES
    known: dict[str, Any] = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    return known
