"""Logging in over HTTP: cookies, tokens, throttling, and who may change something with a cookie alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from assay.identity.principal import PrincipalKind
from assay.identity.throttle import address_subject
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.surfaces.http.app import create_app
from tests.acting import issue_api_key
from tests.surfaces.http._door import AMIRA, Door, opened_door
from tests.surfaces.http._house import refused
from tests.surfaces.http._streams import running
from tests.surfaces.http.served import ACME, ADMIN, issue

_NOTE = {"note": {"n": 1}}


@pytest.fixture(scope="module")
def _opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened_door(tmp_path_factory.mktemp("door")) as opened:
        opened.add()
        yield opened


@pytest.fixture
def door(_opened: Door) -> Door:
    _opened.forget()
    return _opened


def test_a_browser_gets_a_cookie_that_no_script_reads(door: Door) -> None:
    """HttpOnly, SameSite=Lax, for the session's time; the answer holds no secret but the CSRF token."""
    answer = door.log_in()
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax", "Path=/", "Max-Age=900"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert answer.json()["session_token"] is None
    assert answer.headers["cache-control"] == "no-store"
    assert door.browser.get("/whoami").json()["via"] == "session"


def test_the_cookie_is_for_https_alone_where_the_node_is_reached_so(tmp_path: Path) -> None:
    """By the configured address: what stands before the node ends TLS, and the node itself sees http."""
    with opened_door(tmp_path, settings='public_url = "https://assay.example"\n') as door:
        door.add()
        cookie = door.log_in().headers["set-cookie"]
        assert {"Secure", "Path=/"} <= set(cookie.split("; "))
        # Another host of the same domain cannot set it: browsers take this name from the host itself alone.
        assert cookie.startswith("__Host-assay_session=st_")
        assert "Domain" not in cookie
        token = cookie.partition("=")[2].partition(";")[0]
        for name, status in (("assay_session", 401), ("__Host-assay_session", 200)):
            assert door.browser.get("/whoami", headers={"cookie": f"{name}={token}"}).status_code == status


def _failures(door: Door, address: str) -> int:
    found = door.tools.database.read(lambda unit: unit.access.find_failures(address_subject(address)))
    return 0 if found is None else found.count


_BEHIND = {"public_url": "https://assay.example"}
_AMONG = {"trusted_proxies": ("127.0.0.1", "10.0.0.0/8")}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, [(["192.0.2.1"], "127.0.0.1")]),
        (_BEHIND, [(["10.9.9.9, 192.0.2.3"], "192.0.2.3"), (["1.1.1.1", "192.0.2.4"], "192.0.2.4")]),
        (_BEHIND, [(["nonsense"], "127.0.0.1"), (["192.0.2.2"], "192.0.2.2")]),
        (_AMONG, [(["192.0.2.5, 10.1.1.1"], "192.0.2.5"), ([], "127.0.0.1")]),
    ],
)
def test_guesses_are_counted_for_whom_our_own_proxy_names(
    door: Door, settings: dict[str, Any], told: list[tuple[list[str], str]]
) -> None:
    """What a sender writes before the proxy's own word is not read; a proxy that is not ours is the sender."""
    config = door.browser.app.state.desk.config
    there = msgspec.structs.replace(config, http=msgspec.structs.replace(config.http, **settings))
    body = {"principal_id": AMIRA, "password": "wrong password here"}
    with running(create_app(door.tools, there)) as served:
        for lines, _ in told:
            headers = [("x-forwarded-for", one) for one in lines]
            assert httpx.post(f"{served.url}/auth/login", json=body, headers=headers).status_code == 401
    for _, counted in told:
        assert _failures(door, counted) == 1


def test_a_program_gets_the_token_and_no_cookie(door: Door) -> None:
    answer = door.log_in(to="token", lifetime_seconds=60)
    assert "set-cookie" not in answer.headers
    token = answer.json()["session_token"]
    assert door.who(token).json()["id"] == AMIRA
    door.wait(seconds=60)
    refused(door.who(token), 401, "identity.not_signed_in")


def test_a_login_is_an_entry_that_says_how_the_person_was_known(door: Door) -> None:
    door.log_in()
    rows = door.tools.database.read(lambda unit: list(unit.ledger.entries(ACME)))
    last = [row for row in rows if row.kind == EntryKind.CREDENTIAL_ISSUED][-1]
    body = json.loads(last.text)["body"]
    assert (body["credential"], body["principal_id"], body["proved_by"]) == ("session", AMIRA, "password")


def test_a_change_by_cookie_alone_needs_the_token_of_the_session(door: Door) -> None:
    """Another site can make the browser send the cookie; it cannot know the token, nor pass for our own page."""
    csrf = door.log_in().json()["csrf_token"]
    refused(door.browser.post("/api/v1/entries", json=_NOTE), 403, "http.csrf")
    refused(
        door.browser.post("/api/v1/entries", json=_NOTE, headers={"x-csrf-token": csrf[:-1] + "x"}), 403, "http.csrf"
    )
    for forged in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        refused(
            door.browser.post("/api/v1/entries", json=_NOTE, headers={"x-csrf-token": csrf, **forged}), 403, "http.csrf"
        )
    own = {"x-csrf-token": csrf, "origin": "http://testserver.local", "sec-fetch-site": "same-origin"}
    assert door.browser.post("/api/v1/entries", json=_NOTE, headers=own).status_code == 201


def test_a_page_reads_its_token_again_and_another_session_has_another(door: Door) -> None:
    csrf = door.log_in().json()["csrf_token"]
    assert door.browser.get("/auth/session").json()["csrf_token"] == csrf
    assert door.log_in().json()["csrf_token"] != csrf


def test_a_header_that_names_a_credential_goes_before_the_cookie(door: Door) -> None:
    """And a wrong one is refused, though the cookie would do: what is asked for explicitly is what counts."""
    door.log_in()
    assert door.browser.get("/whoami", headers={"x-api-key": door.operator}).json()["id"] == "svc:writer"
    assert door.browser.post("/api/v1/entries", json=_NOTE, headers={"x-api-key": door.operator}).status_code == 201
    refused(door.browser.get("/whoami", headers={"x-api-key": "nonsense"}), 401, "identity.not_signed_in")


def test_an_api_key_in_the_cookie_is_nobodys_session(door: Door) -> None:
    """It has no CSRF token and shows no person, so it opens nothing: not for changes, and not for reading."""
    door.browser.cookies.set("assay_session", door.operator)
    changed = door.browser.post("/api/v1/entries", json=_NOTE, headers={"x-csrf-token": "x"})
    refused(changed, 401, "identity.not_signed_in")
    refused(door.browser.get("/whoami"), 401, "identity.not_signed_in")


def test_logging_out_ends_the_session_everywhere(door: Door) -> None:
    csrf = door.log_in().json()["csrf_token"]
    token = door.browser.cookies["assay_session"]
    refused(door.browser.post("/auth/logout"), 403, "http.csrf")
    ended = door.browser.post("/auth/logout", headers={"x-csrf-token": csrf})
    assert ended.status_code == 200
    assert "Max-Age=0" in ended.headers["set-cookie"]
    refused(door.who(token), 401, "identity.not_signed_in")


@pytest.mark.parametrize("name", [AMIRA, "user:nobody", "not a name", "svc:writer"])
def test_whoever_is_refused_is_refused_in_the_same_words(door: Door, name: str) -> None:
    """Wrong password, no such person, no name at all, a machine: nobody learns which."""
    problem = refused(door.log_in(name, "wrong password here"), 401, "identity.not_signed_in")
    assert problem["detail"] == "expected a person of this tenant and that person's password, got something else"


@pytest.mark.parametrize("name", [AMIRA, "user:nobody"])
def test_failures_make_the_next_attempt_wait_twice_as_long(door: Door, name: str) -> None:
    """Five are free; then 1, 2, 4 … seconds, said in `Retry-After`, for unknown people as for known ones."""
    for _ in range(6):
        refused(door.log_in(name, "wrong password here"), 401, "identity.not_signed_in")
    for expected in (1, 2, 4):
        answer = door.log_in(name)
        refused(answer, 429, "identity.throttled")
        assert answer.headers["retry-after"] == str(expected)
        door.wait(seconds=expected)
        refused(door.log_in(name, "wrong password here"), 401, "identity.not_signed_in")


def test_the_right_password_ends_the_counting(door: Door) -> None:
    for _ in range(4):
        door.log_in(password="wrong password here")
    assert door.log_in().status_code == 200
    for _ in range(5):
        refused(door.log_in(password="wrong password here"), 401, "identity.not_signed_in")


def test_an_address_is_counted_over_all_accounts(door: Door) -> None:
    """Guessing at many accounts is guessing; the account that was left alone has to wait, too."""
    for number in range(21):
        refused(door.log_in(f"user:n{number}", "wrong password here"), 401, "identity.not_signed_in")
    refused(door.log_in(), 429, "identity.throttled")
    door.wait(seconds=1)
    assert door.log_in().status_code == 200


def test_a_restart_forgets_no_failure(tmp_path: Path) -> None:
    with opened_door(tmp_path) as door:
        for _ in range(6):
            door.log_in(password="wrong password here")
    with opened_door(tmp_path, at=door.clock.at) as again:
        refused(again.log_in(), 429, "identity.throttled")


def test_a_disabled_person_and_a_machine_get_no_session(door: Door) -> None:
    door.add("user:gone", disabled_at=door.clock.at)
    door.add("ai:robot", kind=PrincipalKind.AGENT)
    for name in ("user:gone", "ai:robot"):
        refused(door.log_in(name), 401, "identity.not_signed_in")


def test_without_a_provider_there_is_no_login_by_way_of_one(door: Door) -> None:
    for path in ("/auth/oidc/login", "/auth/oidc/callback?code=x&state=y"):
        refused(door.browser.get(path), 404, "identity.no_provider")


def test_a_key_that_was_issued_for_something_else_is_nobody_to_the_services(door: Door) -> None:
    """What a service asks is judged by the principal's own grant, so a narrow key must not bring it along."""
    path = "/api/v2/forja/trust/svc:narrow"
    narrow = issue(door.tools, "svc:narrow", scopes=("truth:read",))
    assert door.browser.get(path, headers={"x-api-key": narrow}).status_code == 401
    wide, _ = issue_api_key(
        door.tools, ACME, PrincipalId("svc:narrow"), scopes=("forja:act",), by=ADMIN, at=door.clock.at
    )
    assert door.browser.get(path, headers={"x-api-key": wide}).status_code == 200
