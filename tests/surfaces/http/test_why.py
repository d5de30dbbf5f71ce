"""Why can I, why can I not: what is told is what the door does, for every route there is."""

from collections.abc import Iterator
from typing import Any

import pytest

from assay.flows.identity.authenticate import authenticate
from assay.identity.access import find_unmet
from assay.identity.risk import RiskTier
from assay.operations.access import ExplainAccess, explain_access
from assay.operations.table import TABLE
from assay.registry.manifest import DEFAULT_PREFIX
from tests.surfaces.http._door import Door, opened_door
from tests.surfaces.http._house import refused
from tests.surfaces.http.served import issue


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened_door(tmp_path_factory.mktemp("door")) as opened:
        opened.add("user:high", roles=("auditor",), risk_ceiling=RiskTier.MODIFY, authenticity_level_floor=2)
        yield opened


def _why(door: Door, key: str, action: str, **query: str) -> dict[str, Any]:
    answer = door.browser.get("/api/v1/why", params={"action": action, **query}, headers={"x-api-key": key})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["allowed"] == all(one["met"] for one in found["requirements"])
    return found


def _unmet(found: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["remedy"] for one in found["requirements"] if not one["met"]}


@pytest.mark.parametrize(("roles", "scopes"), [(("auditor",), ("*",)), ((), ("truth:read",))], ids=["role", "scope"])
def test_what_is_told_is_what_the_door_does(door: Door, roles: tuple[str, ...], scopes: tuple[str, ...]) -> None:
    """For every closed route of the description: told no is refused in those very words, told yes is not."""
    key = issue(door.tools, f"svc:{'-'.join(roles) or 'nobody'}", roles=roles, scopes=scopes)
    caller = authenticate(door.tools, key, at=door.clock.at)
    known = {route for one in TABLE for route in (one.full_route, *one.dialects)}
    tools = door.browser.app.state.desk.tools
    document, told = door.browser.get("/openapi.json").json(), {True: 0, False: 0}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            # What is mounted has a door of its own, which rules by action.
            if operation.get("security") == [{}] or "events" in path or path.startswith(DEFAULT_PREFIX):
                continue
            action = f"{method.upper()} {path}"
            if action not in known:
                # Of HTTP itself: sessions of browsers, metrics.
                continue
            why = explain_access(tools, caller, ExplainAccess(action=action))
            answer = door.browser.request(method, path, headers={"x-api-key": key})
            unmet = find_unmet(why.requirements)
            if unmet is None:
                assert answer.status_code != 403 or answer.json()["detail"] not in {
                    one.reason for one in why.requirements
                }
            else:
                assert (answer.status_code, answer.json()["detail"]) == (403, unmet.reason), path
            told[why.allowed] += 1
    assert told[True] > 3
    assert told[False] > 10


def test_a_key_is_told_that_a_session_is_needed(door: Door) -> None:
    """Every route that takes a session says so: an administrator's key is refused there, and why says that it is."""
    key = issue(door.tools, "svc:root", roles=("admin", "operator", "reviewer"))
    routes = [str(one.full_route) for one in TABLE if one.needs.session and one.route is not None]
    assert len(routes) > 20
    for route in routes:
        method, _, path = route.partition(" ")
        assert _unmet(_why(door, key, route)) == {"session": "nothing: a machine is never given a session"}, route
        answer = door.browser.request(method, path, headers={"x-api-key": key})
        refused(answer, 403, "identity.session_required")
    session = door.log_in("user:high", to="token").json()["session_token"]
    assert "session" not in _unmet(_why(door, session, "POST /api/v1/keys"))


def test_of_somebody_else_it_is_told_what_they_can_do_in_a_session(door: Door) -> None:
    auditor = issue(door.tools, "svc:watcher", roles=("auditor",))
    assert "session" not in _unmet(_why(door, auditor, "POST /api/v1/keys", who="user:high"))
    assert "session" in _unmet(_why(door, auditor, "POST /api/v1/keys", who="svc:watcher"))


def test_each_no_says_what_would_change_it(door: Door) -> None:
    nobody = issue(door.tools, "svc:lost", scopes=("truth:read",))
    assert _unmet(_why(door, nobody, "POST /api/v1/entries")) == {
        "scope": "a credential that was issued with scope `log:write`",
        "role": "an admin grants one of `operator`",
    }


def test_a_risk_tier_and_a_level_are_requirements_too(door: Door) -> None:
    """By the functions with which the gates and the delivery decide."""
    auditor = issue(door.tools, "svc:asker", roles=("auditor",))
    about = {"who": "user:high"}
    assert "risk_ceiling" not in _unmet(_why(door, auditor, "POST /api/v1/claims", on="MODIFY", **about))
    assert _unmet(_why(door, auditor, "POST /api/v1/claims", on="DELETE", **about))["risk_ceiling"] == (
        "an admin raises the risk ceiling to DELETE"
    )
    assert "level_floor" in _unmet(_why(door, auditor, "GET /whoami", on="PRAMANA-1", **about))
    assert "level_floor" not in _unmet(_why(door, auditor, "GET /whoami", on="PRAMANA-2", **about))


def test_only_who_may_see_others_asks_about_others(door: Door) -> None:
    """And only in their own tenant: elsewhere nobody exists."""
    operator = issue(door.tools, "svc:curious", roles=("operator",))
    asked = door.browser.get(
        "/api/v1/why", params={"action": "GET /whoami", "who": "user:high"}, headers={"x-api-key": operator}
    )
    refused(asked, 403, "identity.role")
    assert _why(door, operator, "GET /whoami", who="svc:curious")["allowed"]


@pytest.mark.parametrize("query", [{"action": "GET /nothing"}, {"action": "GET /whoami", "on": "the moon"}])
def test_what_does_not_exist_is_not_found(door: Door, query: dict[str, str]) -> None:
    answer = door.browser.get("/api/v1/why", params=query, headers={"x-api-key": door.operator})
    refused(answer, 404, "flow.not_found")


@pytest.mark.parametrize("action", ["note.append", "ledger append", "POST /api/v1/entries"])
def test_an_operation_is_named_by_any_of_its_doors(door: Door, action: str) -> None:
    nobody = issue(door.tools, f"svc:by-{len(action)}", scopes=("truth:read",))
    assert set(_unmet(_why(door, nobody, action))) == {"scope", "role"}
