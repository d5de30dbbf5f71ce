"""The routes of the specifications answer as version 0.1.0 did: status, headers and every byte of the body.

A difference that is meant is added to `changes-since-0.1.0.json` with its reason, by `tools/record_exchanges.py`.
"""

import json
import re
from pathlib import Path

import pytest

from tests.recorded import node
from tests.recorded.scripts import CHANGES, FOLDER, SCRIPTS
from tests.recorded.tape import compare, load_changes, load_tape, with_changes

# Of this program's own interface, of people's logins and pages, and what says nothing of a specification.
_OWN = ("/api/v1/", "/auth/", "/console")
_OWN_ROUTES = frozenset({"/", "/openapi.json"})
# Streams that are read by other means, or not at all.
_UNREAD = frozenset({("GET", "/api/v2/forja/fleet/watch")})


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_every_exchange_is_as_it_was_recorded(name: str, tmp_path: Path) -> None:
    recorded = with_changes(load_tape(FOLDER / f"{name}.json"), load_changes(CHANGES).get(name, {}))
    difference = compare(recorded, SCRIPTS[name](tmp_path))
    assert difference is None, difference


def test_every_route_of_the_specifications_is_recorded(tmp_path: Path) -> None:
    with node.whole_scene(tmp_path) as scene:
        paths = scene.ask("GET", "/openapi.json", {}, b"").json()["paths"]
    described = {
        (method.upper(), path)
        for path, operations in paths.items()
        for method in operations
        if method in {"get", "post", "put", "delete"} and not path.startswith(_OWN) and path not in _OWN_ROUTES
    }
    asked = {
        (one["request"]["method"], one["request"]["path"].partition("?")[0])
        for file in FOLDER.glob("*.json")
        for one in load_tape(file)
        if "method" in one["request"]
    }
    forms = {route: re.compile(re.sub(r"\{[^}]*\}", "[^?]+", route[1])) for route in described - _UNREAD}
    missing = {
        route
        for route, form in forms.items()
        if not any(method == route[0] and form.fullmatch(path) for method, path in asked)
    }
    assert missing == set()


def test_every_change_since_then_has_a_reason_and_is_one() -> None:
    for name, changes in load_changes(CHANGES).items():
        recorded = load_tape(FOLDER / f"{name}.json")
        for number, change in changes.items():
            assert change["why"]
            assert "request" in change or change["response"] != recorded[int(number) - 1]["response"]


def test_each_difference_is_named() -> None:
    """The comparison finds a changed status, member, order and length, and nothing in what is the same."""
    exchange = {
        "request": {"method": "GET", "path": "/x", "by": None},
        "response": {"status": 200, "b": {"c": [1]}},
        "rules": [],
    }
    text = json.dumps([exchange])
    same = json.loads(text)
    assert compare(same, json.loads(text)) is None
    changes = {
        '"status": 200': ('"status": 404', "`response.status` was 200, is 404"),
        "[1]": ("[2]", "`response.b.c[0]` was 1, is 2"),
        '"c": [1]': ('"d": 1, "c": [1]', "`response.b.d` is new: 1"),
        '"status": 200, "b": {"c": [1]}': ('"b": {"c": [1]}, "status": 200', "in another order"),
    }
    for before, (after, told) in changes.items():
        assert told in str(compare(same, json.loads(text.replace(before, after))))
    assert compare(same, []) == "expected 1 exchanges, got 0"
